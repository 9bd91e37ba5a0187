"""A mask lies on the grid of its image, whatever the source: no wrong affine is carried over."""

import functools
import re

import nibabel
import numpy as np
import pytest

from medrcube.build.pixels.case_image import open_case_images
from medrcube.build.pixels.volume import stack_slices
from medrcube.build.stages.plan import plan_jobs
from medrcube.errors import ReadError
from medrcube.facts import Case, MaskFile
from medrcube.sources.registry import find_sources

SOURCES = find_sources()
_VOLUMES = re.compile(r"\.(nii(\.gz)?|mh[ad])$", re.IGNORECASE)
MASKLESS = {"ixi", "covid-ct", "luna16"}
LAYOUTS = [
    (name, layout.name)
    for name, source in SOURCES.items()
    for layout in source.card.layouts
    if name not in MASKLESS and any(".nii" in glob or ".mh" in glob for glob in layout.expect)
]
PLACE = (-91.3, 126.8, -72.4)


def mirrored(axis):
    """Across the origin of space: a mask turned in its own place lies on the grid of its image."""
    flip = np.eye(4)
    flip[axis, axis] = -1
    return flip


WRONG = {
    "mirrored": lambda affine, _: mirrored(0) @ affine,
    "shifted 15 mm": lambda affine, _: affine + np.outer([15.0, 0, 0, 0], [0, 0, 0, 1]),
    "identity": lambda *_: np.eye(4),
    "spacing without origin": lambda affine, _: np.diag([*_zooms(affine), 1.0]),
    "z-flipped": lambda affine, _: mirrored(2) @ affine,
}


def _zooms(affine):
    return np.linalg.norm(affine[:3, :3], axis=0)


@functools.cache
def realistic():
    """A tilt of a few degrees and an origin, as scanners write them."""
    turn = np.eye(4)
    c, s = np.cos(0.1), np.sin(0.1)
    turn[1:3, 1:3] = [[c, -s], [s, c]]
    turn[:3, 3] = PLACE
    return turn


def move(path, change):
    """Give a volume another affine; ``change`` takes the one that it has and its shape."""
    if path.name.lower().endswith((".mhd", ".mha")):
        _move_metaimage(path, change)
        return
    image = nibabel.load(path)
    shape = (*image.shape, 1)[:3]
    values = np.asarray(image.dataobj).copy()
    nibabel.save(nibabel.Nifti1Image(values, change(image.affine, shape)), path)


def _move_metaimage(path, change):
    """In a text header: spacing, directions by rows, and origin, all of LPS."""
    lines = dict(line.split(" = ") for line in path.read_text().splitlines())
    spacing = np.array(lines["ElementSpacing"].split(), float)
    affine = np.eye(4)
    affine[:3, :3] = np.array(lines["TransformMatrix"].split(), float).reshape(3, 3).T * spacing
    affine[:3, 3] = np.array(lines["Offset"].split(), float)
    affine = change(affine, tuple(int(size) for size in lines["DimSize"].split()))
    lines["ElementSpacing"] = " ".join(map(str, _zooms(affine)))
    lines["TransformMatrix"] = " ".join(map(str, (affine[:3, :3] / _zooms(affine)).T.ravel()))
    lines["Offset"] = " ".join(map(str, affine[:3, 3]))
    last = lines.pop("ElementDataFile")
    text = [f"{key} = {value}\n" for key, value in lines.items()]
    path.write_text("".join([*text, f"ElementDataFile = {last}\n"]))


@pytest.fixture(scope="module", params=LAYOUTS, ids="-".join)
def masked(request, tmp_path_factory):
    """Jobs of all cases of one mask, on realistic affines, and that mask."""
    name, layout = request.param
    source, root = SOURCES[name], tmp_path_factory.mktemp(name)
    source.build_fixture(root, layout)
    cases = [entry for entry in source.scan(root, layout) if isinstance(entry, Case)]
    of_mask = {}
    for case in cases:
        for shape in case.shapes():
            if isinstance(shape, MaskFile) and _VOLUMES.search(shape.paths[0].name):
                of_mask.setdefault(shape.paths[0], {})[case.key] = case
    usable = next(
        (path for path, value in of_mask.items() if all(map(_opens(source, root), value.values()))),
        None,
    )
    assert usable, "no mask in a volume: if that is so, add the source to MASKLESS"
    entries = list(of_mask[usable].values())
    for path in {path for case in entries for path in case.files() if _VOLUMES.search(path.name)}:
        move(path, lambda affine, _: realistic() @ affine)
    return plan_jobs(source, root, entries), usable


@pytest.fixture(scope="module")
def marks_before(masked):
    """What the mask marks in the image of each case, as it is stored."""
    return {job.case.key: _marks(job) for job in masked[0]}


def _opens(source, root):
    def opens(case):
        (job,) = plan_jobs(source, root, [case])
        try:
            open_case_images(job)
        except ReadError:
            return False
        return True

    return opens


def test_a_mask_on_the_grid_of_its_image_is_taken(masked):
    jobs, _ = masked
    assert all(open_case_images(job) for job in jobs)


@pytest.mark.parametrize("wrong", WRONG)
def test_a_mask_of_a_wrong_affine_is_refused_for_every_case_that_it_marks(masked, wrong):
    jobs, mask = masked
    content = mask.read_bytes()
    move(mask, WRONG[wrong])
    try:
        codes = {job.case.key: _refusal(job) for job in jobs}
    finally:
        mask.write_bytes(content)
    assert set(codes.values()) == {"mask-place"}, codes


@pytest.mark.parametrize("axes", ["RPI", "LPS", "ASR"])
def test_a_mask_stored_along_other_axes_marks_the_same_place_unless_affines_are_dummies(
    masked, marks_before, axes
):
    jobs, mask = masked
    if mask.suffix == ".mhd":
        return
    content = mask.read_bytes()
    image = loaded(mask)
    orientation = nibabel.orientations.axcodes2ornt(axes)
    if image.ndim < 3:
        return
    walk = nibabel.orientations.ornt_transform(nibabel.io_orientation(image.affine), orientation)
    same = nibabel.aff2axcodes(image.affine) == tuple(axes)
    nibabel.save(image.as_reoriented(walk), mask)
    try:
        codes = {job.case.key: _refusal(job) for job in jobs}
        after = {job.case.key: _marks(job) for job in jobs if not codes[job.case.key]}
    finally:
        mask.write_bytes(content)
    if jobs[0].policy.orient == "stored" and not same:
        assert "" not in codes.values(), codes
    else:
        assert after == marks_before, codes


def test_a_mask_that_alone_says_how_it_lies_is_refused_where_affines_are_dummies(masked):
    jobs, mask = masked
    if mask.suffix == ".mhd" or jobs[0].policy.orient != "stored":
        return
    content = mask.read_bytes()
    image = loaded(mask)
    image.set_sform(None, 0)
    image.set_qform(None, 0)
    image.header["sform_code"] = image.header["qform_code"] = 0
    nibabel.save(image, mask)
    try:
        codes = {job.case.key: _refusal(job) for job in jobs}
    finally:
        mask.write_bytes(content)
    assert set(codes.values()) == {"mask-place"}, codes


def loaded(path):
    """A volume that is no longer tied to its file, which can then be written anew."""
    image = nibabel.load(path)
    return nibabel.Nifti1Image(np.asarray(image.dataobj).copy(), image.affine, image.header)


def _marks(job):
    """Marked voxels of each region, on its image as displayed."""
    return [
        {number: np.argwhere(stack_slices(mask)).tolist() for number, mask in tile.masks.items()}
        for tile in open_case_images(job)
    ]


def test_a_mask_of_another_size_is_refused_for_every_case_that_it_marks(masked):
    jobs, mask = masked
    if mask.suffix == ".mhd":
        return
    content = mask.read_bytes()
    image = nibabel.load(mask)
    values = np.ones((*image.shape[:1], image.shape[1] - 1, *image.shape[2:]), np.uint8)
    nibabel.save(nibabel.Nifti1Image(values, image.affine), mask)
    try:
        codes = {job.case.key: _refusal(job) for job in jobs}
    finally:
        mask.write_bytes(content)
    assert set(codes.values()) == {"mask-size"}, codes


def _refusal(job):
    """Why a mask is refused: with its volume, or with the place alone where a picture is kept."""
    try:
        tiles = open_case_images(job)
    except ReadError as error:
        return error.code
    refused = [tile.unplaced or tile.misled for tile in tiles]
    assert not any(tile.masks for tile, why in zip(tiles, refused, strict=True) if why)
    return next((why[0] for why in refused if why), "")
