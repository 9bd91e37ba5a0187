from __future__ import annotations

import numpy as np
import pytest
from dicom_stacks import TURNS, Stack, stored_as, write_seg, write_stack
from hypothesis import given, settings
from hypothesis import strategies as st

from medrcube.build.pixels.geometry import orientation_of, reorient
from medrcube.build.pixels.volume import stack_slices
from medrcube.build.pixels.windowing.policy import display_transform
from medrcube.build.readers import read
from medrcube.build.readers.dicom.header import common_window
from medrcube.build.regions.rasterize import rasterise
from medrcube.errors import ReadError
from medrcube.facts import ImageRef, MaskFile
from medrcube.sources._formats.dicom.headers import in_slice_order, read_header
from medrcube.sources._synthetic import images
from medrcube.sources._synthetic.dicom import uid_of
from medrcube.sources._synthetic.images import CANARY

COUNT, ROWS, COLUMNS = 5, 24, 32
STACK = Stack(name="a", count=COUNT, spacing=(3.0, 1.0, 1.5), origin=(-20.0, 35.0, -60.0))
PIXELS = np.stack([images.picture(ROWS, COLUMNS, seed=k, maximum=4095) for k in range(COUNT)])
LESION = np.stack([images.lesion(ROWS, COLUMNS, seed=k) for k in range(COUNT)])
LESION[[0, 4]] = False


def load(paths, frame=None):
    return read(ImageRef(paths=tuple(paths), frame=frame))


def refused(paths, frame=None):
    with pytest.raises(ReadError) as excinfo:
        stack_slices(load(paths, frame).slices)
    assert CANARY not in str(excinfo.value)
    assert "/" not in str(excinfo.value)
    return excinfo.value.code


@pytest.fixture
def series(tmp_path):
    """Write the series, some of whose elements may differ by slice: ``series(Rows=[...])``."""

    def write(*, at=STACK, pixels=PIXELS, folder="s", **each):
        for k in range(at.count):
            stack = Stack(
                name=at.name,
                count=1,
                spacing=at.spacing,
                orientation=at.orientation,
                origin=tuple(at.position(k)),
            )
            tags = {keyword: values[k] for keyword, values in each.items()}
            tags = {"SOPInstanceUID": at.slice(k), "InstanceNumber": k + 1, **tags}
            write_stack(tmp_path / folder / "new", pixels[k : k + 1], stack, **tags)[0].rename(
                tmp_path / folder / f"{(7 * k) % 11}.dcm"
            )
        return [tmp_path / folder / f"{(7 * k) % 11}.dcm" for k in range(at.count)]

    return write


def test_slices_are_stacked_by_position(series):
    paths = series()
    assert sorted(paths) != paths
    volume = load(paths)
    assert volume.slices.shape == PIXELS.shape
    assert volume.slices.dtype == PIXELS.dtype
    assert np.array_equal(stack_slices(volume.slices), PIXELS)
    assert volume.spacing == pytest.approx((3.0, 1.0, 1.5))
    assert list(volume.slice_ids) == [STACK.slice(k) for k in range(COUNT)]
    assert not volume.uneven


@settings(max_examples=25, deadline=None)
@given(order=st.permutations(range(COUNT)))
def test_order_of_the_files_means_nothing(tmp_path_factory, order):
    folder = tmp_path_factory.getbasetemp() / "shuffled"
    paths = [folder / f"1-{k + 1:03d}.dcm" for k in range(COUNT)]
    if not folder.exists():
        write_stack(folder, PIXELS, STACK)
    volume = load([paths[k] for k in order])
    assert np.array_equal(stack_slices(volume.slices), PIXELS)
    assert list(volume.slice_ids.values()) == list(range(COUNT))


@pytest.mark.parametrize(
    "numbers", [[None] * COUNT, [1] * COUNT, [5, 4, 3, 2, 1], ["", 3, None, 3, 1]]
)
def test_instance_numbers_that_lack_or_lie_change_nothing(series, numbers):
    assert np.array_equal(stack_slices(load(series(InstanceNumber=numbers)).slices), PIXELS)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The series in the storage that its pixels are listed in."""
    return load(write_stack(tmp_path_factory.mktemp("plain"), PIXELS, STACK))


@pytest.mark.few(6)
@pytest.mark.parametrize("turn", TURNS)
def test_every_storage_gives_one_picture_with_the_mask_on_the_same_pixels(tmp_path, turn, plain):
    place, (pixels, mask) = stored_as(STACK, turn, PIXELS, LESION)
    volume = load(reversed(write_stack(tmp_path / "s", pixels, place)))
    write_seg(tmp_path / "seg.dcm", {"Lesion": mask}, place)
    marked = rasterise(MaskFile(paths=(tmp_path / "seg.dcm",)), volume)
    lesions = {
        "axial": LESION,
        "coronal": LESION.transpose(1, 0, 2)[:, ::-1],
        "sagittal": LESION.transpose(2, 0, 1)[:, ::-1],
    }
    for plane, lesion in lesions.items():
        view, plain_view = reorient(volume, plane), reorient(plain, plane)
        assert np.array_equal(stack_slices(view.slices), stack_slices(plain_view.slices)), plane
        assert view.spacing == pytest.approx(plain_view.spacing), plane
        assert np.allclose(view.affine, plain_view.affine), plane
        orientation = orientation_of(volume, plane)
        turned = marked.turned(orientation.axes, orientation.flips)
        assert np.array_equal(stack_slices(turned), lesion), plane


def test_identities_follow_the_slices_into_display(tmp_path):
    place, (pixels,) = stored_as(STACK, (-1.0, 0.0, 0.0, 0.0, 1.0, 0.0), PIXELS)
    volume = reorient(load(write_stack(tmp_path / "s", pixels, place)), "axial")
    assert list(volume.slice_ids) == [place.slice(k) for k in reversed(range(COUNT))]
    assert list(volume.slice_ids.values()) == list(range(COUNT))
    assert not reorient(load(tmp_path.glob("s/*")), "coronal").slice_ids


@pytest.mark.thorough
def test_adapter_sees_the_order_of_the_stack(tmp_path):
    for number, turn in enumerate(TURNS):
        place, (pixels,) = stored_as(STACK, turn, PIXELS)
        paths = write_stack(tmp_path / str(number), pixels, place)
        order = in_slice_order(reversed(paths))
        volume = load(order)
        uids = [read_header(path, ["SOPInstanceUID"])["SOPInstanceUID"] for path in order]
        assert uids == list(volume.slice_ids)


def test_copy_of_a_slice_is_left_out_by_its_number_and_still_known_by_name(series, tmp_path):
    paths = series()
    other = Stack(name="copy", count=1, spacing=STACK.spacing, origin=tuple(STACK.position(2)))
    copies = write_stack(
        tmp_path / "copy",
        PIXELS[:1],
        other,
        SeriesInstanceUID=uid_of(STACK.name),
        InstanceNumber=9,
    )
    volume = load([*copies, *paths])
    assert np.array_equal(stack_slices(volume.slices), PIXELS)
    assert volume.slice_ids[other.slice(0)] == 2
    assert len(volume.slice_ids) == COUNT + 1
    write_stack(
        tmp_path / "copy", PIXELS[:1], other, SeriesInstanceUID=uid_of(STACK.name), InstanceNumber=1
    )
    assert np.array_equal(load([*copies, *paths]).slices[2], PIXELS[0])


def test_moments_of_one_place_are_no_copies(series, tmp_path):
    paths = series(TemporalPositionIdentifier=[1] * COUNT)
    later = write_stack(
        tmp_path / "later",
        PIXELS,
        STACK,
        TemporalPositionIdentifier=2,
    )
    assert refused([*paths, *later]) == "several-volumes"


@pytest.mark.parametrize(
    ("keyword", "values", "code"),
    [
        ("SeriesInstanceUID", ["1.2"] * 4 + ["1.3"], "mixed-series"),
        ("PhotometricInterpretation", ["MONOCHROME2"] * 4 + ["MONOCHROME1"], "mixed-series"),
        ("PixelSpacing", [[1.0, 1.5]] * 4 + [[1.0, 1.6]], "mixed-geometry"),
        (
            "ImageOrientationPatient",
            [[1, 0, 0, 0, 1, 0]] * 4 + [[1, 0, 0, 0, 0, -1]],
            "mixed-geometry",
        ),
        ("ImagePositionPatient", [None, *[[0, 0, k] for k in range(4)]], "no-position"),
        ("ImageOrientationPatient", [None, *[[1, 0, 0, 0, 1, 0]] * 4], "no-position"),
        (
            "ImageType",
            [["ORIGINAL", "PRIMARY", "AXIAL"]] * 4 + [["ORIGINAL", "PRIMARY", "LOCALIZER"]],
            "localiser",
        ),
    ],
)
def test_files_that_make_no_stack_are_refused(series, keyword, values, code):
    assert refused(series(**{keyword: values})) == code


def test_slices_of_other_sizes_are_refused(series, tmp_path):
    paths = series()
    small = Stack(name="a", count=1, origin=(0.0, 0.0, 99.0), spacing=STACK.spacing)
    odd = write_stack(tmp_path / "odd", PIXELS[:1, :20], small)
    assert refused([*paths, *odd]) == "mixed-geometry"


def test_missing_element_is_named(series):
    paths = series(ImagePositionPatient=[None] * COUNT)
    with pytest.raises(ReadError, match="ImagePositionPatient is missing"):
        load(paths)
    assert load(paths[:1]).slices.shape == (1, ROWS, COLUMNS)


def test_other_files_among_the_slices_are_refused(series, tmp_path):
    (tmp_path / "LICENSE.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert refused([*series(), tmp_path / "LICENSE.png"]) == "series-unsupported"


def test_missing_slice_leaves_the_native_plane_and_refuses_the_others(series):
    paths = series()
    volume = load([*paths[:2], *paths[3:]])
    assert volume.uneven
    view = reorient(volume, "axial")
    assert np.array_equal(stack_slices(view.slices), PIXELS[[0, 1, 3, 4]])
    with pytest.raises(ReadError) as excinfo:
        reorient(volume, "coronal")
    assert excinfo.value.code == "uneven-spacing"


def test_small_unevenness_is_no_unevenness(series):
    places = [[-20.0, 35.0, -60 + 3 * k + 0.05 * (k % 2)] for k in range(COUNT)]
    assert not load(series(ImagePositionPatient=places)).uneven


def test_tilted_gantry_is_shown_in_its_own_plane_only(series):
    tilt = np.deg2rad(20)
    down = [0.0, np.cos(tilt), -np.sin(tilt)]
    volume = load(series(ImageOrientationPatient=[[1, 0, 0, *down]] * COUNT))
    assert np.array_equal(stack_slices(reorient(volume, "axial").slices), PIXELS)
    with pytest.raises(ReadError) as excinfo:
        reorient(volume, "sagittal")
    assert excinfo.value.code == "slanted-slices"


def test_only_the_wanted_slice_is_decoded(series):
    paths = series()
    volume = load(paths)
    for path in paths[:2] + paths[3:]:
        path.unlink()
    assert np.array_equal(volume.slices[2], PIXELS[2])
    with pytest.raises(ReadError, match="FileNotFoundError"):
        volume.slices[1]


def test_slice_that_ends_early_is_refused_before_anything_is_shown(series):
    paths = series()
    paths[3].write_bytes(paths[3].read_bytes()[:-100])
    with pytest.raises(ReadError) as excinfo:
        load(paths)
    assert excinfo.value.code == "truncated"


def test_a_chosen_slice_stands_alone_in_its_place(series):
    paths = series()
    volume = load(paths, frame=3)
    assert np.array_equal(stack_slices(volume.slices), PIXELS[3:4])
    assert dict(volume.slice_ids) == {STACK.slice(3): 0}
    assert np.allclose(volume.affine[:3, 3], (20.0, -35.0, -51.0))
    assert refused(paths, frame=COUNT) == "missing-frame"


def test_one_scale_for_the_series(series):
    same = load(
        series(RescaleSlope=[1.0] * COUNT, RescaleIntercept=[-1024.0] * COUNT, folder="same")
    )
    assert (same.greys.slope, same.greys.intercept) == (1.0, -1024.0)
    slopes = [1.0, 0.5, 2.0, 1.0, 1.0]
    intercepts = [-1024.0, -1000.0, -1024.0, 0.0, -1024.0]
    hu = PIXELS.astype(float) // 4 * 2
    pixels = np.stack([(hu[k] - intercepts[k]) / slopes[k] for k in range(COUNT)]).astype(np.uint16)
    mixed = load(series(pixels=pixels, RescaleSlope=slopes, RescaleIntercept=intercepts))
    assert mixed.slices.dtype == np.float32
    assert np.array_equal(stack_slices(mixed.slices), hu)
    grey = display_transform(mixed, "ct:mediastinum")
    pictures = [grey.apply(mixed.slices[k]) for k in range(COUNT)]
    table = {}
    for picture, values in zip(pictures, hu, strict=True):
        for value, shade in zip(values.ravel(), picture.ravel(), strict=True):
            assert table.setdefault(value, shade) == shade


def test_signed_and_unsigned_slices_have_one_scale(series, tmp_path):
    paths = series()
    signed = Stack(name="a", count=1, origin=(-20.0, 35.0, -45.0), spacing=STACK.spacing)
    more = write_stack(
        tmp_path / "signed",
        (PIXELS[:1].astype(np.int16) - 2000),
        signed,
        SOPInstanceUID="1.2.3",
    )
    volume = load([*paths, *more])
    assert volume.slices.dtype == np.float32
    assert np.array_equal(volume.slices[5], PIXELS[0].astype(float) - 2000)


def test_window_of_a_series_is_the_median_of_its_slices(series):
    windows = {"WindowCenter": [40] * COUNT, "WindowWidth": [400] * COUNT}
    same = display_transform(load(series(**windows, folder="same")), "header").numbers
    assert (same["centre"], same["width"], same.get("median_of")) == (40, 400, None)
    windows["WindowCenter"] = [40, 900, 41, 40, -7]
    each = display_transform(load(series(**windows)), "header").numbers
    assert (each["centre"], each["width"], each["median_of"]) == (40, 400, COUNT)
    alone = display_transform(load(series(**windows), frame=1), "header").numbers
    assert alone == each


@settings(max_examples=50)
@given(
    centres=st.lists(st.integers(-500, 500), min_size=1, max_size=9),
    order=st.randoms(use_true_random=False),
)
def test_median_window_is_that_of_a_slice_with_half_of_the_slices_on_either_side(centres, order):
    each = [(((float(centre), 100.0),), "linear") for centre in centres]
    order.shuffle(each)
    windows, function, median_of = common_window(each)
    ((centre, width),) = windows
    assert (width, function) == (100, "linear")
    assert 2 * sum(entry < centre for entry in centres) <= len(centres)
    assert 2 * sum(entry > centre for entry in centres) <= len(centres)
    assert median_of == (0 if len(set(centres)) == 1 else len(centres))


def test_windows_of_few_slices_or_of_two_functions_are_none_of_the_series():
    counts, none = (((1.0, 2.0),), "linear"), ((), "linear")
    assert common_window([counts, none, none]) == ((), "linear", 0)
    assert common_window([counts, counts, none]) == (*counts, 2)
    assert common_window([counts, (counts[0], "sigmoid")]) == ((), "linear", 0)
