from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import nibabel as nib
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from medrcube.build.pixels.volume import Volume
from medrcube.build.regions import polygon_fill
from medrcube.build.regions.rasterize import rasterise
from medrcube.errors import ReadError
from medrcube.facts import Consensus, MaskFile, Outline, Polygons, Rectangle, Runs

SIZE = (14, 17)
CORNERS = st.lists(
    st.tuples(st.integers(-1, SIZE[1]), st.integers(-1, SIZE[0])), min_size=3, max_size=9
)
SQUARE = ((3.0, 2.0), (9.0, 2.0), (9.0, 7.0), (3.0, 7.0))
HOLE = ((5.0, 4.0), (7.0, 4.0), (7.0, 5.0), (5.0, 5.0))


def image(count=1, size=SIZE, ids=()):
    ids = {uid: k for k, uid in enumerate(ids)}
    return Volume(slices=np.zeros((count, *size), np.uint8), slice_ids=ids)


def refused(shape, volume):
    with pytest.raises(ReadError) as excinfo:
        rasterise(shape, volume)
    return excinfo.value.code


def box(mask):
    """First and last row and column of what is marked, with a check that nothing else is."""
    rows, columns = np.nonzero(mask)
    bounds = (rows.min(), rows.max(), columns.min(), columns.max())
    assert mask[bounds[0] : bounds[1] + 1, bounds[2] : bounds[3] + 1].all()
    return tuple(int(number) for number in bounds)


def on_line(points, x, y):
    for (x0, y0), (x1, y1) in zip(points, [*points[1:], points[0]], strict=True):
        across = (x1 - x0) * (y - y0) == (y1 - y0) * (x - x0)
        within = min(x0, x1) <= x <= max(x0, x1) and min(y0, y1) <= y <= max(y0, y1)
        if across and within:
            return True
    return False


def is_inside(points, x, y):
    """Even-odd rule in exact numbers, by a ray to the left."""
    crossings = 0
    for (x0, y0), (x1, y1) in zip(points, [*points[1:], points[0]], strict=True):
        if (y0 <= y) != (y1 <= y):
            crossings += x0 + Fraction((y - y0) * (x1 - x0), y1 - y0) < x
    return crossings % 2 == 1


@given(CORNERS)
def test_pixels_off_the_line_are_inside_exactly_by_the_even_odd_rule(points):
    filled = polygon_fill.fill_polygon(points, SIZE)
    for y in range(SIZE[0]):
        for x in range(SIZE[1]):
            if not on_line(points, x, y):
                assert filled[y, x] == is_inside(points, x, y), (x, y)


@given(CORNERS)
def test_the_line_covers_each_lattice_point_that_it_crosses_and_stays_within_a_pixel(points):
    line = polygon_fill.outline_pixels(points, SIZE)
    ring = [*points, points[0]]
    for y in range(SIZE[0]):
        for x in range(SIZE[1]):
            if on_line(points, x, y):
                assert line[y, x], (x, y)
    for y, x in np.argwhere(line):
        gaps = []
        for (x0, y0), (x1, y1) in pairwise(ring):
            along = np.array([x1 - x0, y1 - y0], float)
            t = np.clip(np.dot((x - x0, y - y0), along) / max(along @ along, 1e-9), 0, 1)
            gaps.append(np.hypot(x - x0 - t * along[0], y - y0 - t * along[1]))
        assert min(gaps) <= 0.5 + 1e-9


@given(CORNERS, st.integers(0, 8))
def test_where_and_in_which_direction_a_line_starts_makes_no_difference(points, start):
    turned = [*points[start % len(points) :], *points[: start % len(points)]]
    for make in (polygon_fill.fill_polygon, polygon_fill.outline_pixels):
        whole = make(points, SIZE)
        assert np.array_equal(whole, make(turned, SIZE))
        assert np.array_equal(whole, make(points[::-1], SIZE))


@given(CORNERS)
def test_inner_and_outer_edge_differ_by_the_line_alone(points):
    outer, inner = (
        rasterise(Polygons(outlines=(Outline(points=tuple(points), edge=edge),)), image())[0]
        for edge in (True, False)
    )
    line = polygon_fill.outline_pixels(points, SIZE)
    assert np.array_equal(outer, inner | line)
    assert not (inner & line).any()


def test_edge_decides_whether_the_pixels_under_the_line_belong():
    with_edge = rasterise(Polygons(outlines=(Outline(points=SQUARE),)), image())
    without = rasterise(Polygons(outlines=(Outline(points=SQUARE, edge=False),)), image())
    assert with_edge.dtype == np.bool_
    assert box(with_edge[0]) == (2, 7, 3, 9)
    assert box(without[0]) == (3, 6, 4, 8)


@pytest.mark.parametrize("order", [1, -1])
def test_hole_subtracts_whatever_the_order(order):
    outlines = (Outline(points=SQUARE), Outline(points=HOLE, hole=True))[::order]
    mask = rasterise(Polygons(outlines=outlines), image())[0]
    assert mask.sum() == 6 * 7 - 2 * 3
    assert not mask[4:6, 5:8].any()


def test_outlines_of_one_slice_are_joined():
    second = tuple((x + 2, y + 1) for x, y in SQUARE)
    first, two = (Outline(points=points) for points in (SQUARE, second))
    both = rasterise(Polygons(outlines=(first, two)), image())[0]
    parts = [rasterise(Polygons(outlines=(part,)), image())[0] for part in (first, two)]
    assert np.array_equal(both, parts[0] | parts[1])


def test_outline_lies_on_the_slice_that_it_names():
    volume = image(3, ids=("1.1", "1.2", "1.3"))
    mask = rasterise(Polygons(outlines=(Outline(points=SQUARE, slice="1.3"),)), volume)
    assert (mask.areas() > 0).tolist() == [False, False, True]


def test_outline_on_an_unknown_slice_is_refused_without_its_uid():
    shape = Polygons(outlines=(Outline(points=SQUARE, slice="1.9.77"),))
    with pytest.raises(ReadError) as excinfo:
        rasterise(shape, image(3, ids=("1.1", "1.2", "1.3")))
    assert excinfo.value.code == "unknown-slice"
    assert "1.9.77" not in str(excinfo.value)


def test_shape_that_names_no_slice_needs_a_single_one():
    shapes = (
        Polygons(outlines=(Outline(points=SQUARE),)),
        Rectangle(xyxy=(1, 1, 3, 3)),
        Runs(runs=((0, 3),), size=SIZE),
    )
    assert {refused(shape, image(2)) for shape in shapes} == {"no-slice"}


def test_outline_of_another_size_of_the_image_is_refused():
    far = Outline(points=((0, 0), (40, 0), (40, 9)))
    assert refused(Polygons(outlines=(far,)), image()) == "outline-outside"
    broken = Outline(points=((0, 0), (float("nan"), 0), (4, 9)))
    assert refused(Polygons(outlines=(broken,)), image()) == "outline-outside"


def test_single_point_marks_its_pixel_and_nothing_without_an_edge():
    point = ((4.4, 6.5),)
    mask = rasterise(Polygons(outlines=(Outline(points=point),)), image())
    assert np.argwhere(mask[0]).tolist() == [[7, 4]]
    assert not rasterise(Polygons(outlines=(Outline(points=point, edge=False),)), image()).any()


def test_box_marks_every_pixel_that_it_touches():
    mask = rasterise(Rectangle(xyxy=(2.2, 3, 5.1, 6)), image())
    assert box(mask[0]) == (3, 5, 2, 5)


def test_box_in_a_volume_lies_on_its_slices():
    mask = rasterise(Rectangle(xyxy=(1, 1, 3, 3), slices=(1, 3)), image(4))
    assert mask.areas().tolist() == [0, 4, 4, 0]


@pytest.mark.parametrize("slices", [(2, 5), (-1, 2), (2, 2), (3, 1)])
def test_box_on_slices_that_the_image_lacks_is_refused(slices):
    assert refused(Rectangle(xyxy=(1, 1, 3, 3), slices=slices), image(4)) == "box-outside"


@pytest.mark.parametrize("factor", [2, 3])
def test_an_outline_follows_a_copy_that_is_smaller_by_one_factor(factor):
    points = tuple((factor * (x + 0.5) - 0.5, factor * (y + 0.5) - 0.5) for x, y in SQUARE)
    frame = (SIZE[1] * factor, SIZE[0] * factor)
    smaller = rasterise(Polygons(outlines=(Outline(points=points),), frame=frame), image())
    same = rasterise(Polygons(outlines=(Outline(points=SQUARE),), frame=SIZE[::-1]), image())
    assert box(smaller[0]) == box(same[0]) == (2, 7, 3, 9)


@pytest.mark.parametrize("frame", [(34, 32), (17, 15), (16, 14)])
def test_an_outline_of_a_copy_that_was_cropped_or_stretched_is_refused(frame):
    shape = Polygons(outlines=(Outline(points=SQUARE),), frame=frame)
    assert refused(shape, image()) == "outline-frame"


def test_box_of_another_copy_is_refused():
    assert refused(Rectangle(xyxy=(1, 1, 30, 3)), image()) == "box-outside"
    assert refused(Rectangle(xyxy=(1, 1, 3, 3), frame=(34, 32)), image()) == "box-frame"
    assert refused(Rectangle(xyxy=(1, 1, 3, 3), frame=(17, 15)), image()) == "box-frame"


@given(
    frame=st.tuples(st.integers(100, 400), st.integers(100, 400)),
    longer=st.integers(32, 300),
    part=st.tuples(*[st.floats(0, 0.8), st.floats(0, 0.8), st.floats(0.05, 0.2)]),
)
@example(frame=(100, 100), longer=75, part=(0.0, 0.7999999999999999, 0.125))
def test_a_box_covers_the_same_part_of_a_copy_made_larger_or_smaller(frame, longer, part):
    width, height = frame
    factor = longer / max(frame)
    size = (max(1, round(height * factor)), max(1, round(width * factor)))
    if (size[0] == height) != (size[1] == width):
        return
    left, top, side = part
    corners = (left * width, top * height, (left + side) * width, (top + side) * height)
    mask = rasterise(Rectangle(xyxy=corners, frame=frame), image(size=size))[0]
    first_row, last_row, first_column, last_column = box(mask)
    shares = ((first_column, size[1], left), (first_row, size[0], top))
    for index, length, share in shares:
        assert index - 1e-6 <= share * length < index + 1 + 1e-6  # rounding of floats
    for index, length, share in ((last_column, size[1], left), (last_row, size[0], top)):
        assert index < (share + side) * length + 1e-6 <= index + 1 + 2e-6


def test_runs_go_along_rows_or_down_columns():
    along = rasterise(Runs(runs=((16, 3), (40, 1)), size=SIZE), image())[0]
    assert np.argwhere(along).tolist() == [[0, 16], [1, 0], [1, 1], [2, 6]]
    down = rasterise(Runs(runs=((13, 3),), size=SIZE, down=True), image())[0]
    assert sorted(np.argwhere(down).tolist()) == [[0, 1], [1, 1], [13, 0]]


@given(st.binary(min_size=SIZE[0] * SIZE[1], max_size=SIZE[0] * SIZE[1]), st.booleans())
def test_runs_give_back_the_mask_that_they_code(data, down):
    mask = np.frombuffer(data, np.uint8).reshape(SIZE) > 127
    flat = np.flatnonzero(mask.T if down else mask)
    runs = tuple((int(first), 1) for first in flat)
    assert np.array_equal(rasterise(Runs(runs=runs, size=SIZE, down=down), image())[0], mask)


def test_runs_of_another_size_or_beyond_the_image_are_refused():
    assert refused(Runs(runs=((0, 1),), size=(17, 14)), image()) == "mask-size"
    assert refused(Runs(runs=((230, 9),), size=SIZE), image()) == "run-outside"
    assert refused(Runs(runs=((-1, 3),), size=SIZE), image()) == "run-outside"


@pytest.mark.parametrize(("share", "least"), [(0.5, 2), (0.75, 3), (1.0, 4), (0.51, 3), (0.0, 1)])
def test_consensus_keeps_what_enough_readings_mark(share, least):
    readings = [Rectangle(xyxy=(0, 0, columns, 3)) for columns in (2, 4, 6, 8)]
    mask = rasterise(Consensus(readings=tuple(readings), share=share), image())
    assert box(mask[0])[3] + 1 == (8, 6, 4, 2)[least - 1]


def test_reading_that_marks_nothing_counts_as_a_reading():
    polygons = Polygons(outlines=(Outline(points=SQUARE),))
    nothing = Polygons(outlines=())
    assert rasterise(Consensus(readings=(polygons, nothing)), image()).any()
    assert not rasterise(Consensus(readings=(polygons, nothing, nothing)), image()).any()


def test_share_that_is_no_exact_number_asks_for_no_reading_more():
    assert 0.28 * 25 > 7
    polygons = Polygons(outlines=(Outline(points=SQUARE),))
    readings = (*[polygons] * 7, *[Polygons(outlines=())] * 18)
    assert rasterise(Consensus(readings=readings, share=0.28), image()).any()


def test_consensus_of_nobody_is_refused():
    assert refused(Consensus(readings=()), image()) == "no-reading"


def test_mask_file_is_read(tmp_path):
    mask = np.zeros(SIZE, np.uint8)
    mask[2:4, 5:9] = 255
    Image.fromarray(mask).save(tmp_path / "m.png")
    shape = MaskFile(paths=(tmp_path / "m.png",))
    assert box(rasterise(shape, image())[0]) == (2, 3, 5, 8)
    half = Consensus(readings=(shape, Rectangle(xyxy=(5, 0, 7, 14))), share=1.0)
    assert box(rasterise(half, image())[0]) == (2, 3, 5, 6)


def test_boundary_between_two_regions_belongs_to_one_of_them():
    left = [(0, 0), (6.5, 0), (6.5, 13), (0, 13)]
    right = [(6.5, 0), (13, 0), (13, 13), (6.5, 13)]
    both = polygon_fill.fill_polygon(left, SIZE).astype(int) + polygon_fill.fill_polygon(
        right, SIZE
    )
    assert set(np.unique(both)) == {0, 1}
    shared = [(0, 0), (6, 0), (6, 13), (0, 13)], [(6, 0), (13, 0), (13, 13), (6, 13)]
    assert (sum(polygon_fill.fill_polygon(part, SIZE).astype(int) for part in shared) <= 1).all()


def test_dummy_affine_of_a_label_map_means_nothing_where_the_image_has_none(tmp_path):
    labels = np.zeros((17, 14, 1), np.uint8)
    labels[3, 5, 0] = 1
    nib.save(nib.Nifti1Image(labels, np.diag([-7.0, 3, 2, 1])), tmp_path / "m.nii")
    mask = rasterise(MaskFile(paths=(tmp_path / "m.nii",)), image())
    assert np.argwhere(mask[0]).tolist() == [[5, 3]]
