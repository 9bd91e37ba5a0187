from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dicom_stacks import (
    TURNS,
    Stack,
    stored_as,
    write_rtstruct,
    write_seg,
    write_stack,
)

from medrcube.build.pixels.volume import stack_slices
from medrcube.build.readers import read, read_mask
from medrcube.build.regions.rasterize import rasterise
from medrcube.errors import ReadError
from medrcube.facts import ImageRef, MaskFile, Outline, Polygons, Rectangle
from medrcube.sources._synthetic import images
from medrcube.sources._synthetic.dicom import outline_of
from medrcube.sources._synthetic.images import CANARY

COUNT, ROWS, COLUMNS = 5, 24, 32
STACK = Stack(name="a", count=COUNT, spacing=(3.0, 1.0, 1.5), origin=(-20.0, 35.0, -60.0))
PIXELS = np.stack([images.picture(ROWS, COLUMNS, seed=k, maximum=4095) for k in range(COUNT)])
LESION = np.stack([images.lesion(ROWS, COLUMNS, seed=k) for k in range(COUNT)])
LESION[[0, 4]] = False
AXIAL = [turn for turn in TURNS if not turn[2] and not turn[5]]


def load(paths):
    return read(ImageRef(paths=tuple(paths)))


@pytest.fixture
def series(tmp_path):
    """Files of the series, in slice order."""
    return write_stack(tmp_path / "s", PIXELS, STACK)


@pytest.mark.parametrize("how", ["references", "positions", "BINARY", "FRACTIONAL", "LABELMAP"])
def test_segmentation_lands_on_the_lesion_in_any_frame_order(series, tmp_path, how):
    other = ~LESION
    write_seg(
        tmp_path / "seg.dcm",
        {"Body": other, "Lesion": LESION},
        STACK,
        frames=[3, 0, 4, 1, 2],
        references=how != "positions",
        positions=how != "references",
        kind=how if how.isupper() else "BINARY",
    )
    volume = load(series)
    stacks = [
        stack_slices(read_mask(MaskFile(paths=(tmp_path / "seg.dcm",), values=values), volume))
        for values in ((1,), (2,), (), (1, 2))
    ]
    assert np.array_equal(stacks[0], other)
    assert np.array_equal(stacks[1], LESION)
    assert stacks[2].all()
    assert stacks[3].all()


@pytest.mark.parametrize(("count", "rows", "columns"), [(5, 23, 31), (3, 5, 7), (2, 3, 3)])
def test_frames_of_odd_size_are_cut_at_the_right_bit(tmp_path, count, rows, columns):
    place = replace(STACK, count=count)
    paths = write_stack(tmp_path / "odd", PIXELS[:count, :rows, :columns], place)
    marked = np.random.default_rng(4).random((count, rows, columns)) < 0.5
    write_seg(tmp_path / "seg.dcm", {"Lesion": marked}, place)
    mask = stack_slices(read_mask(MaskFile(paths=(tmp_path / "seg.dcm",)), load(paths)))
    assert np.array_equal(mask, marked)


def test_segmentation_of_another_orientation_is_turned_to_its_image(series, tmp_path):
    for turn in AXIAL:
        place, (mask,) = stored_as(STACK, turn, LESION)
        write_seg(tmp_path / "seg.dcm", {"Lesion": mask}, place, references=False)
        stack = stack_slices(read_mask(MaskFile(paths=(tmp_path / "seg.dcm",)), load(series)))
        assert np.array_equal(stack, LESION)


def test_segment_that_the_file_lacks_is_refused(series, tmp_path):
    write_seg(tmp_path / "seg.dcm", {"Lesion": LESION}, STACK)
    with pytest.raises(ReadError, match=r"segment 4 .* segments 1") as excinfo:
        read_mask(MaskFile(paths=(tmp_path / "seg.dcm",), values=(4,)), load(series))
    assert excinfo.value.code == "missing-segment"


def test_segmentation_between_the_slices_or_of_nowhere_is_refused(series, tmp_path):
    beside = Stack(name="b", count=COUNT, spacing=STACK.spacing, origin=(-20.0, 35.0, -58.6))
    volume = load(series)
    write_seg(tmp_path / "one.dcm", {"Lesion": LESION}, beside)
    write_seg(tmp_path / "two.dcm", {"Lesion": LESION}, beside, positions=False)
    for name in ("one.dcm", "two.dcm"):
        with pytest.raises(ReadError) as excinfo:
            read_mask(MaskFile(paths=(tmp_path / name,)), volume)
        assert excinfo.value.code == "mask-place"


def test_segmentation_that_contradicts_its_reference_is_refused(series, tmp_path):
    moved = Stack(name="a", count=COUNT, spacing=STACK.spacing, origin=(-20.0, 35.0, -57.0))
    write_seg(tmp_path / "seg.dcm", {"Lesion": LESION}, moved)
    with pytest.raises(ReadError, match="references one slice but lies on another"):
        read_mask(MaskFile(paths=(tmp_path / "seg.dcm",)), load(series))


def rois(masks, extra=()):
    return {k: [outline_of(mask), *extra] for k, mask in enumerate(masks) if mask.any()}


@pytest.mark.parametrize("turn", AXIAL)
def test_structure_lands_on_the_lesion_however_the_slices_are_stored(tmp_path, turn):
    place, (pixels, mask) = stored_as(STACK, turn, PIXELS, LESION)
    paths = write_stack(tmp_path / "s", pixels, place, SOPInstanceUID="")
    # Lines in space know nothing of rows and columns.
    write_rtstruct(tmp_path / "rt.dcm", {"GTV-1": rois(LESION), "Heart": {}}, STACK)
    stack, nothing = (
        stack_slices(read_mask(MaskFile(paths=(tmp_path / "rt.dcm",), member=name), load(paths)))
        for name in ("GTV-1", "Heart")
    )
    assert np.array_equal(stack, mask)
    assert not nothing.any()


def test_line_that_lies_beside_the_slice_that_it_names_is_refused(series, tmp_path):
    moved = replace(STACK, origin=(-20.0, 35.0, -57.0))
    write_rtstruct(tmp_path / "rt.dcm", {"GTV-1": rois(LESION)}, moved)
    with pytest.raises(ReadError, match=r"1\.0 slices away from it"):
        read_mask(MaskFile(paths=(tmp_path / "rt.dcm",), member="GTV-1"), load(series))


def test_points_spoil_only_the_region_that_they_are(series, tmp_path):
    regions = {"iso point": {1: [[(3.0, 3.0)]]}, "GTV-1": rois(LESION)}
    write_rtstruct(tmp_path / "rt.dcm", regions, STACK)
    volume = load(series)
    assert read_mask(MaskFile(paths=(tmp_path / "rt.dcm",), member="GTV-1"), volume).any()
    with pytest.raises(ReadError, match="points or open contours"):
        read_mask(MaskFile(paths=(tmp_path / "rt.dcm",), member="iso point"), volume)


def test_damaged_structure_set_is_refused_in_general_words(series, tmp_path):
    write_rtstruct(tmp_path / "rt.dcm", {"GTV-1": rois(LESION)}, STACK)
    data = (tmp_path / "rt.dcm").read_bytes()
    (tmp_path / "rt.dcm").write_bytes(data.replace(b"-57.0", b"-5x.0"))
    with pytest.raises(ReadError, match="damaged DICOM elements") as excinfo:
        read_mask(MaskFile(paths=(tmp_path / "rt.dcm",), member="GTV-1"), load(series))
    assert CANARY not in str(excinfo.value)


def test_line_within_a_line_is_a_hole(series, tmp_path):
    whole = [(4.0, 3.0), (20.0, 3.0), (20.0, 15.0), (4.0, 15.0)]
    hole = [(8.2, 6.2), (12.2, 6.2), (12.2, 9.2), (8.2, 9.2)]
    key = [*whole, whole[0], *hole, hole[0]]
    write_rtstruct(tmp_path / "rt.dcm", {"xor": {2: [whole, hole]}, "key": {2: [key]}}, STACK)
    volume = load(series)
    xor, keyhole = (
        stack_slices(read_mask(MaskFile(paths=(tmp_path / "rt.dcm",), member=name), volume))
        for name in ("xor", "key")
    )
    assert np.array_equal(xor, keyhole)
    assert xor[2].sum() == 16 * 12 - 4 * 3
    assert not xor[2, 7:10, 9:13].any()


def test_structure_is_asked_for_by_its_exact_name(series, tmp_path):
    write_rtstruct(tmp_path / "rt.dcm", {"GTV-1": rois(LESION)}, STACK)
    volume = load(series)
    for name in (None, "gtv-1", "GTV"):
        with pytest.raises(ReadError) as excinfo:
            read_mask(MaskFile(paths=(tmp_path / "rt.dcm",), member=name), volume)
        assert excinfo.value.code == "missing-member"


@pytest.mark.parametrize(("thickness", "words"), [(1.0, "finer"), (6.0, "coarser")])
def test_structure_drawn_on_other_slices_is_refused(series, tmp_path, thickness, words):
    other = Stack(name="o", count=COUNT, spacing=(thickness, 1.0, 1.5), origin=STACK.origin)
    square = [(4.0, 3.0), (20.0, 3.0), (20.0, 15.0), (4.0, 15.0)]
    write_rtstruct(tmp_path / "rt.dcm", {"GTV-1": {k: [square] for k in range(COUNT)}}, other)
    volume = load(series)
    mask_file = MaskFile(paths=(tmp_path / "rt.dcm",), member="GTV-1")
    with pytest.raises(ReadError) as excinfo:
        read_mask(mask_file, volume)
    assert excinfo.value.code == "unknown-slice"
    nameless = load(write_stack(tmp_path / "nameless", PIXELS, STACK, SOPInstanceUID=""))
    assert not nameless.slice_ids
    with pytest.raises(ReadError, match=words):
        read_mask(mask_file, nameless)


def test_lines_in_space_need_slices_in_space(series, tmp_path):
    write_rtstruct(tmp_path / "rt.dcm", {"GTV-1": rois(LESION)}, STACK)
    mask = MaskFile(paths=(tmp_path / "rt.dcm",), member="GTV-1")
    with pytest.raises(ReadError) as excinfo:
        read_mask(mask, load([*series[:2], *series[3:]]))
    assert excinfo.value.code == "uneven-spacing"


def test_outline_of_a_reader_lands_on_the_lesion(series):
    outlines = tuple(
        Outline(points=tuple(outline_of(mask)), slice=STACK.slice(k), edge=False)
        for k, mask in enumerate(LESION)
        if mask.any()
    )
    stack = stack_slices(rasterise(Polygons(outlines=outlines), load(reversed(series))))
    assert stack.any(axis=(1, 2)).tolist() == [False, True, True, True, False]
    assert not (stack & ~LESION).any()


def test_box_counts_slices_in_the_order_of_the_stack(series):
    mask = rasterise(Rectangle(xyxy=(1, 1, 4, 4), slices=(1, 2)), load(reversed(series)))
    assert (mask.areas() > 0).tolist() == [False, True, False, False, False]
