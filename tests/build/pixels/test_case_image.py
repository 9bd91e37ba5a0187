from __future__ import annotations

from dataclasses import replace

import nibabel as nib
import numpy as np
import pytest
from dicom_stacks import TURNS, Stack, stored_as, write_seg, write_stack
from PIL import Image

from medrcube.build.pixels.case_image import choose_case_slices, open_case_images
from medrcube.build.pixels.volume import stack_slices
from medrcube.build.readers.masks import describe_values
from medrcube.build.stages.plan import Artefact, RenderJob
from medrcube.errors import ReadError, RefusedError
from medrcube.facts import Case, ImageRef, MaskFile, Outline, Polygons, Rectangle, Region, Runs
from medrcube.sources._framework.card_parts.pixels import PixelPolicy
from medrcube.sources._synthetic import images
from medrcube.sources._synthetic.dicom import outline_of

STACK = Stack(name="a", count=5, spacing=(3.0, 1.0, 1.5), origin=(-20.0, 35.0, -60.0))
PIXELS = np.stack([images.picture(24, 32, seed=k, maximum=4095) for k in range(5)])
LESION = np.stack([images.lesion(24, 32, seed=k) for k in range(5)])
LESION[[0, 4]] = False


@pytest.fixture
def job(toy, tmp_path):
    """Make a job of one image: ``job(paths, shape, orient=..., window=...)``."""

    def make(paths, *shapes, plane="axial", **policy):
        image = ImageRef(paths=tuple(paths))
        regions = tuple(
            Region(field="region", value="g", shape=shape, evidence="table row 7")
            for shape in shapes
        )
        pixels = {
            "window": "percentile:0-100",
            "slice": "largest-mask",
            "plane": plane,
            "orient": "affine",
            "spacing": "header",
            "colour": "keep",
            **policy,
        }
        return RenderJob(
            source="toy",
            folder=toy.folder,
            root=tmp_path,
            case=Case(key="a", images=(image,), regions=regions),
            concepts=tuple("glioma" for _ in regions),
            policy=PixelPolicy(**pixels),
            plane=plane,
            artefacts=(Artefact(kind="clean"),),
            name="a",
        )

    return make


def refused(job):
    with pytest.raises(ReadError) as excinfo:
        open_case_images(job)
    return excinfo.value


@pytest.mark.thorough
@pytest.mark.parametrize(
    "plane",
    ["axial", *(pytest.param(p, marks=pytest.mark.thorough) for p in ("coronal", "sagittal"))],
)
def test_every_storage_of_a_series_gives_one_picture_and_one_mask(job, tmp_path, plane):
    results = set()
    for number, turn in enumerate(TURNS):
        place, (pixels, mask) = stored_as(STACK, turn, PIXELS, LESION)
        folder = tmp_path / str(number)
        paths = write_stack(folder, pixels, place)
        write_seg(folder / "seg", {"Lesion": mask}, place, references=False)
        here = job(reversed(paths), MaskFile(paths=(folder / "seg",)), plane=plane)
        tiles = open_case_images(here)
        (choice,) = choose_case_slices(here, tiles)
        picture, lesion = tiles[0].picture(choice.index), tiles[0].masks_on(choice.index)[0]
        assert picture.shape == lesion.shape
        results.add((choice.index, picture.tobytes(), lesion.tobytes()))
    assert len(results) == 1


def test_readers_outlines_and_boxes_lie_where_the_segmentation_does(job, tmp_path):
    paths = write_stack(tmp_path, PIXELS, STACK)
    outlines = tuple(
        Outline(points=tuple(outline_of(mask)), slice=STACK.slice(k), edge=False)
        for k, mask in enumerate(LESION)
        if mask.any()
    )
    x0, y0, x1, y1 = images.bounds(LESION[2])
    shapes = (Polygons(outlines=outlines), Rectangle(xyxy=(x0, y0, x1, y1), slices=(2, 3)))
    (tile,) = open_case_images(job(paths, *shapes))
    outlined, boxed = stack_slices(tile.masks[0]), stack_slices(tile.masks[1])
    assert not (outlined & ~LESION).any()
    assert (outlined[2] & ~boxed[2]).sum() == 0
    assert images.bounds(boxed[2]) == (x0, y0, x1, y1)


def test_volume_that_does_not_say_how_it_lies_is_refused_unless_the_card_does(job, tmp_path):
    path = tmp_path / "a.nii.gz"
    image = nib.Nifti1Image(PIXELS.T.astype(np.int16), None)
    nib.save(image, path)
    assert int(image.header["sform_code"]) == int(image.header["qform_code"]) == 0
    error = refused(job([path]))
    assert error.code == "no-orientation"
    assert 'orient = "stored"' in str(error)
    (tile,) = open_case_images(job([path], orient="stored"))
    assert np.array_equal(tile.volume.slices, PIXELS)


def test_oblique_slices_are_refused_unless_the_card_turns_them_in_their_plane(job, tmp_path):
    path = tmp_path / "a.nii.gz"
    half = np.sqrt(0.5)
    affine = np.diag([-1.0, 1, 1, 1])
    affine[:3, 1:3] = [[0, 0], [-half, half], [-half, -half]]
    affine[:3, 2] *= 1.0001
    nib.save(nib.Nifti1Image(PIXELS.T.astype(np.int16), affine), path)
    error = refused(job([path]))
    assert error.code == "oblique"
    assert 'orient = "in-plane"' in str(error)
    (tile,) = open_case_images(job([path], orient="in-plane"))
    assert tile.volume.slices.shape[0] == len(PIXELS)


@pytest.mark.parametrize(("count", "code"), [(1, ""), (2, "no-orientation")])
def test_two_slices_of_a_body_have_to_say_how_they_lie(job, tmp_path, count, code):
    path = tmp_path / "few.nii"
    nib.save(nib.Nifti1Image(PIXELS[:count].T.astype(np.int16), None), path)
    if code:
        assert refused(job([path])).code == code
    else:
        assert open_case_images(job([path]))


def test_a_slice_to_be_turned_in_its_plane_has_to_say_how_it_lies(job, tmp_path):
    path = tmp_path / "one.nii"
    nib.save(nib.Nifti1Image(PIXELS[:1].T.astype(np.int16), None), path)
    assert refused(job([path], orient="in-plane")).code == "no-orientation"


def test_film_and_single_slice_need_no_orientation(job, tmp_path):
    images.write_dicom(tmp_path / "cine.dcm", PIXELS)
    nib.save(nib.Nifti1Image(PIXELS[:1].T.astype(np.int16), None), tmp_path / "one.nii")
    for name, count in (("cine.dcm", 5), ("one.nii", 1)):
        (tile,) = open_case_images(job([tmp_path / name]))
        assert tile.volume.slices.shape[0] == count


def test_mask_shares_the_affine_of_its_image_even_where_the_card_calls_it_a_dummy(job, tmp_path):
    paths = [tmp_path / name for name in ("image.nii", "mask.nii")]
    shape = MaskFile(paths=(paths[1],))
    nib.save(nib.Nifti1Image(PIXELS.T.astype(np.int16), np.diag([1.0, 1, 1, 1])), paths[0])
    nib.save(nib.Nifti1Image(LESION.T.astype(np.uint8), np.diag([1.0, 1, 1, 1])), paths[1])
    (tile,) = open_case_images(job(paths[:1], shape, orient="stored"))
    assert np.array_equal(stack_slices(tile.masks[0]), LESION)
    nib.save(nib.Nifti1Image(LESION.T.astype(np.uint8), np.diag([-1.0, -1, 1, 1])), paths[1])
    for orient in ("stored", "affine"):
        assert refused(job(paths[:1], shape, orient=orient)).code == "mask-place"


def tilted(degrees, axis=0):
    """An affine in RAS of which the slices are turned about one axis."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turn = np.eye(4)
    rows = [k for k in range(3) if k != axis]
    turn[np.ix_(rows, rows)] = [[c, -s], [s, c]]
    return turn @ np.diag([1.0, 1.0, 3.0, 1.0])


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("degrees", "named"),
    [(0, True), (30, True), (36, True), (38, False), (44, False), (46, False), (60, True)],
)
def test_a_body_that_is_cut_at_a_slant_has_no_plane(job, tmp_path, degrees, axis, named):
    path = tmp_path / "image.nii"
    nib.save(nib.Nifti1Image(PIXELS.T.astype(np.int16), tilted(degrees, axis)), path)
    if named:
        assert open_case_images(job([path]))
        return
    error = refused(job([path]))
    assert (type(error), error.code) == (RefusedError, "oblique")
    assert f"tilted by {degrees if degrees < 45 else 90 - degrees} degrees" in str(error)


def test_turning_within_the_slice_is_no_tilt(job, tmp_path):
    path = tmp_path / "image.nii"
    nib.save(nib.Nifti1Image(PIXELS.T.astype(np.int16), tilted(44, axis=2)), path)
    assert open_case_images(job([path]))


def test_rule_of_an_adapter_cannot_follow_the_pseudonym_of_a_patient(job, tmp_path):
    """A workspace draws its own pseudonyms; a slice that followed them would differ elsewhere."""
    paths = write_stack(tmp_path, PIXELS, STACK)
    named = job(paths)
    adapter = named.folder / "adapter.py"
    rule = "\n\ndef frames(case, volume):\n    return [0 if case.patient is None else 3]\n"
    adapter.write_text(adapter.read_text() + rule)
    pseudonymous_job = replace(named, case=replace(named.case, patient="4e2f"))
    (choice,) = choose_case_slices(pseudonymous_job, open_case_images(pseudonymous_job))
    assert choice.index == 0


def test_slices_that_the_job_names_are_shown_where_the_volume_has_them(job, tmp_path):
    paths = write_stack(tmp_path, PIXELS, STACK)
    named = replace(job(paths, slice="middle"), frames=(1, 3))
    assert [choice.index for choice in choose_case_slices(named, open_case_images(named))] == [1, 3]
    beyond = replace(job(paths, slice="middle"), frames=(1, 99))
    assert len(choose_case_slices(beyond, open_case_images(beyond))) == 1


def test_region_that_does_not_fit_names_its_evidence(job, tmp_path):
    paths = write_stack(tmp_path, PIXELS, STACK)
    error = refused(job(paths, Rectangle(xyxy=(0, 0, 99, 5), slices=(0, 1))))
    assert error.code == "box-outside"
    assert str(error).startswith("table row 7: ")
    assert refused(job(paths, Polygons(outlines=()))).code == "empty-mask"


def test_repair_of_the_card_reaches_the_grey_values(job, tmp_path):
    hounsfield = np.arange(-1000, 1000, dtype=np.int64).reshape(40, 50)
    images.write_dicom(
        tmp_path / "a.dcm",
        (hounsfield % 4096).astype(np.uint16),
        BitsStored=12,
        HighBit=11,
        RescaleSlope=1,
        RescaleIntercept=0,
    )
    (broken,) = open_case_images(job([tmp_path / "a.dcm"], window="ct:brain"))
    (mended,) = open_case_images(job([tmp_path / "a.dcm"], window="ct:brain", repair="wrap-12-bit"))
    assert broken.picture(0)[0, 0] == 255
    assert mended.picture(0)[0, 0] == 0
    assert mended.picture(0)[-1, -1] == 255
    assert mended.greys.numbers["repair"] == "wrap-12-bit"


def _png(path, pixels):
    Image.fromarray(pixels).save(path)
    return path


@pytest.mark.parametrize("kind", ["runs", "file"])
def test_a_film_of_another_size_than_its_mask_is_kept_without_a_place(job, tmp_path, kind):
    film = _png(tmp_path / "film.png", images.picture(24, 32, seed=1).astype(np.uint8))
    mask = _png(tmp_path / "mask.png", np.full((48, 64), 255, np.uint8))
    shapes = {"runs": Runs(runs=((0, 9),), size=(48, 64)), "file": MaskFile(paths=(mask,))}
    (tile,) = open_case_images(job([film], shapes[kind]))
    assert tile.unplaced is not None
    assert tile.unplaced[0] == "mask-size"
    assert not tile.masks
    assert choose_case_slices(job([film], shapes[kind]), [tile])[0].index == 0


def test_a_film_with_a_box_that_lies_outside_is_kept_without_a_place(job, tmp_path):
    film = _png(tmp_path / "film.png", images.picture(24, 32, seed=1).astype(np.uint8))
    inside, outside = Rectangle(xyxy=(0, 0, 9, 5)), Rectangle(xyxy=(0, 0, 99, 5))
    (tile,) = open_case_images(job([film], inside, outside))
    assert tile.unplaced[0] == "box-outside"
    assert not tile.masks
    (tile,) = open_case_images(job([film], inside))
    assert tile.unplaced is None
    assert sorted(tile.masks) == [0]


def test_a_volume_of_another_size_than_its_mask_is_refused(job, tmp_path):
    affine = np.eye(4)
    for name, shape in (("image", (8, 9, 5)), ("mask", (8, 10, 5))):
        nib.save(nib.Nifti1Image(np.ones(shape, np.uint8), affine), tmp_path / f"{name}.nii")
    case_job = job([tmp_path / "image.nii"], MaskFile(paths=(tmp_path / "mask.nii",)))
    assert refused(case_job).code == "mask-size"


@pytest.mark.parametrize(("voxels", "code"), [((0,), ""), ((0, 2), ""), ((0, 255), "empty-mask")])
def test_an_optional_region_may_be_missing_but_not_hide_behind_other_values(
    job, tmp_path, voxels, code
):
    film = _png(tmp_path / "film.png", images.picture(24, 32, seed=1).astype(np.uint8))
    pixels = np.zeros((24, 32), np.uint8)
    for k, value in enumerate(voxels):
        pixels[4 * k : 4 * k + 4] = value
    mask = _png(tmp_path / "mask.png", pixels)
    case_job = job([film], *(MaskFile(paths=(mask,), values=(value,)) for value in (1, 2)))
    regions = tuple(replace(region, optional=True) for region in case_job.case.regions)
    case_job = replace(case_job, case=replace(case_job.case, regions=regions))
    if code:
        error = refused(case_job)
        assert error.code == code
        assert "the mask holds 0, 255; expected 1" in str(error)
    else:
        assert len(open_case_images(case_job)[0].masks) == len(voxels) - 1


@pytest.mark.parametrize(("place", "code"), [((2, 3, 1), "not-finite"), ((0, 0, 0), "")])
def test_a_voxel_without_a_value_is_background_but_for_a_marked_region(job, tmp_path, place, code):
    affine = np.eye(4)
    image = np.random.default_rng(1).normal(100, 10, (8, 9, 5)).astype(np.float32)
    image[place] = np.nan
    mask = np.zeros(image.shape, np.uint8)
    mask[2:5, 2:5, 1] = 1
    for name, values in (("image", image), ("mask", mask)):
        nib.save(nib.Nifti1Image(values, affine), tmp_path / f"{name}.nii")
    case_job = job([tmp_path / "image.nii"], MaskFile(paths=(tmp_path / "mask.nii",)))
    if code:
        error = refused(case_job)
        assert error.code == code
        assert "1 of 9 voxels of the region 'g'" in str(error)
    else:
        assert open_case_images(case_job)[0].volume.greys.filled == 1


@pytest.mark.parametrize(
    ("suffix", "values", "expected"),
    [
        (".png", (), "the mask holds 0; expected more than 0"),
        (".jpg", (), "the mask holds 0; expected more than 127"),
        (".png", (1, 2), "the mask holds 0; expected 1 or 2"),
    ],
)
def test_a_mask_that_marks_nothing_tells_what_it_holds_and_what_would_mark(
    tmp_path, suffix, values, expected
):
    path = tmp_path / f"mask{suffix}"
    Image.fromarray(np.zeros((16, 16), np.uint8)).save(path)
    assert describe_values(MaskFile(paths=(path,), values=values)) == expected


def nifti(path, values, affine=None):
    nib.save(nib.Nifti1Image(values, np.eye(4) if affine is None else affine), path)
    return path


def with_changes(case_job, **changes):
    return replace(case_job, case=replace(case_job.case, **changes))


def test_a_guide_chooses_the_slice_in_place_of_the_regions_and_turns_with_them(job, tmp_path):
    values = np.zeros((6, 5, 8), np.uint8)
    region, guide = values.copy(), values.copy()
    region[1:4, 1:4, 2], guide[2, 3, 6] = 1, 1
    affine = np.diag([1.0, 1.0, -1.0, 1.0])
    image, mask_path, leading = (
        nifti(tmp_path / f"{name}.nii", array, affine)
        for name, array in (("image", values + 7), ("region", region), ("guide", guide))
    )
    case_job = job([image], MaskFile(paths=(mask_path,)))
    (alone,) = choose_case_slices(case_job, open_case_images(case_job))
    assert alone.index == 7 - 2
    guided = with_changes(case_job, guide=(MaskFile(paths=(leading,)),))
    (tile,) = images_of_case = open_case_images(guided)
    assert choose_case_slices(guided, images_of_case)[0].index == 7 - 6
    assert [mask.areas().tolist() for mask in tile.guide] == [[0, 1, 0, 0, 0, 0, 0, 0]]
    assert tile.misled is None


def test_a_case_that_may_do_without_its_guide_says_why_it_did(job, tmp_path):
    image = nifti(tmp_path / "image.nii", np.zeros((6, 5, 8), np.uint8))
    elsewhere = nifti(tmp_path / "guide.nii", np.ones((6, 6, 8), np.uint8))
    guided = with_changes(job([image]), guide=(MaskFile(paths=(elsewhere,)),))
    assert refused(guided).code == "mask-size"
    spared = with_changes(guided, unguided="stride:4")
    tiles = open_case_images(spared)
    assert tiles[0].misled[0] == "mask-size"
    choices = choose_case_slices(spared, tiles)
    assert [choice.index for choice in choices] == [1, 5]
    assert {choice.instead for choice in choices} == {tiles[0].misled}


def test_a_case_that_may_do_without_its_guide_follows_it_where_it_fits(job, tmp_path):
    image = nifti(tmp_path / "image.nii", np.zeros((6, 5, 8), np.uint8))
    marked = np.zeros((6, 5, 8), np.uint8)
    marked[2, 3, 6] = 1
    bare = with_changes(job([image], slice="middle"), unguided="all")
    assert len(choose_case_slices(bare, open_case_images(bare))) == 8
    guided = with_changes(
        job([image]), unguided="all", guide=(MaskFile(paths=(nifti(tmp_path / "g.nii", marked),)),)
    )
    (choice,) = choose_case_slices(guided, open_case_images(guided))
    assert (choice.index, choice.instead) == (6, None)


@pytest.mark.parametrize(("shape", "code"), [((6, 5, 8), ""), ((6, 6, 8), "mask-size")])
def test_a_guide_for_the_rule_of_an_adapter_lies_on_the_grid_of_the_image(
    job, tmp_path, shape, code
):
    image = nifti(tmp_path / "image.nii", np.zeros((6, 5, 8), np.uint8))
    leading = nifti(tmp_path / "guide.nii", np.ones(shape, np.uint8))
    case_job = job([image])
    adapter = case_job.folder / "adapter.py"
    rule = "\n\ndef frames(case, volume):\n    return [5, len(case.guide)]\n"
    adapter.write_text(adapter.read_text() + rule)
    guided = with_changes(case_job, guide=(MaskFile(paths=(leading,)),))
    if code:
        assert refused(guided).code == code
        return
    (tile,) = tiles = open_case_images(guided)
    assert tile.guide == ()
    choices = choose_case_slices(guided, tiles)
    assert [(choice.index, choice.reason) for choice in choices] == [
        (5, "the adapter's own rule"),
        (1, "the adapter's own rule"),
    ]


def test_the_guide_of_a_case_lies_on_its_first_image_alone(job, tmp_path):
    first, second = (
        nifti(tmp_path / f"{name}.nii", np.zeros(shape, np.uint8))
        for name, shape in (("one", (6, 5, 8)), ("two", (7, 4, 8)))
    )
    leading = nifti(tmp_path / "guide.nii", np.ones((6, 5, 8), np.uint8))
    case_job = job([first])
    case_job = with_changes(
        case_job,
        images=(*case_job.case.images, ImageRef(paths=(second,))),
        guide=(MaskFile(paths=(leading,)),),
    )
    assert [len(tile.guide) for tile in open_case_images(case_job)] == [1, 0]


@pytest.mark.parametrize(("orient", "code"), [("stored", "mask-place"), ("affine", "")])
def test_images_side_by_side_that_are_shown_as_stored_have_to_be_stored_alike(
    job, tmp_path, orient, code
):
    paths = [
        nifti(tmp_path / f"{number}.nii", np.zeros((6, 5, 8), np.uint8), np.diag([sign, 1, 1, 1.0]))
        for number, sign in enumerate((1.0, 1.0, -1.0))
    ]
    beside = [ImageRef(paths=(path,)) for path in paths]
    case_job = job(paths[:1], orient=orient)
    assert len(open_case_images(with_changes(case_job, images=tuple(beside[:2])))) == 2
    for odd in (beside, beside[1:]):
        if code:
            error = refused(with_changes(case_job, images=tuple(odd)))
            assert error.code == code
            assert str(error).startswith("2.nii")
        else:
            assert len(open_case_images(with_changes(case_job, images=tuple(odd)))) == len(odd)


def test_images_side_by_side_hold_equal_numbers_of_slices(job, tmp_path):
    paths = [nifti(tmp_path / f"{n}.nii", np.zeros((6, 5, n), np.uint8)) for n in (8, 9)]
    case_job = job(paths[:1], slice="all")
    uneven = with_changes(case_job, images=tuple(ImageRef(paths=(path,)) for path in paths))
    with pytest.raises(ReadError, match="8, 9") as excinfo:
        choose_case_slices(uneven, open_case_images(uneven))
    assert excinfo.value.code == "uneven-montage"


def test_a_frame_that_the_job_names_has_to_lie_in_the_volume(job, tmp_path):
    path = nifti(tmp_path / "a.nii", np.zeros((6, 5, 8), np.uint8))
    for frames, count in (((7,), 1), ((8,), 8)):
        named = replace(job([path], slice="all"), frames=frames)
        assert len(choose_case_slices(named, open_case_images(named))) == count


def test_a_region_of_another_image_or_of_no_question_is_not_read(job, tmp_path):
    path = nifti(tmp_path / "a.nii", np.zeros((6, 5, 8), np.uint8))
    mask = nifti(tmp_path / "m.nii", np.ones((6, 5, 8), np.uint8))
    case_job = job([path], *[MaskFile(paths=(mask,))] * 3)
    case_job = replace(case_job, concepts=("glioma", None, "glioma"))
    regions = (*case_job.case.regions[:2], replace(case_job.case.regions[2], image=1))
    case_job = with_changes(case_job, regions=regions, images=case_job.case.images * 2)
    assert [sorted(tile.masks) for tile in open_case_images(case_job)] == [[0], [2]]


@pytest.mark.parametrize(
    ("far", "code"), [(2e6, "singular-affine"), (-2e6, "singular-affine"), (900.0, "")]
)
def test_a_body_that_lies_a_kilometre_off_lies_nowhere(job, tmp_path, far, code):
    affine = np.eye(4)
    affine[1, 3] = far
    path = nifti(tmp_path / "far.nii", np.zeros((6, 5, 8), np.uint8), affine)
    if code:
        error = refused(job([path]))
        assert error.code == code
        assert str(error).startswith("far.nii: ")
    else:
        assert open_case_images(job([path]))
