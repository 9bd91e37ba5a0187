"""Images under numbers: the order is drawn by lot, and no pixel of an image is lost."""

from collections import Counter
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.pixels.panels import LEAST_SIDE, enlarge_panels, number_panels, panel_order
from medrcube.build.regions.draw_marks import draw_numbers
from medrcube.build.stages.plan import Artefact


@pytest.mark.thorough
@given(source=st.text(max_size=5), case=st.text(max_size=9), count=st.integers(2, 4))
def test_an_order_holds_every_image_once_and_is_the_same_again(source, case, count):
    order = panel_order(source, case, count)
    assert sorted(order) == list(range(count))
    assert panel_order(source, case, count) == order


def test_every_order_comes_about_as_often_as_any_other():
    for count, orders in ((2, 2), (3, 6)):
        counts = Counter(panel_order("toy", f"case {n}", count) for n in range(600 * orders))
        assert len(counts) == orders
        assert all(500 < n < 700 for n in counts.values())


@given(
    rows=st.lists(st.integers(1, 90), min_size=2, max_size=4),
    columns=st.integers(1, 90),
    colour=st.booleans(),
    data=st.data(),
)
def test_each_image_stands_whole_below_its_own_number(rows, columns, colour, data):
    grey = data.draw(st.lists(st.integers(1, 254), min_size=len(rows), max_size=len(rows)))
    shapes = [(height, columns, 3) if colour else (height, columns) for height in rows]
    pictures = [np.full(shape, g, np.uint8) for shape, g in zip(shapes, grey, strict=True)]
    order = data.draw(st.permutations(range(len(rows))))
    joined = number_panels(pictures, order)
    strip = joined.shape[0] - max(rows)
    for place, index in enumerate(order):
        left = place * (columns + 8)
        panel = joined[strip : strip + rows[index], left : left + columns]
        assert (panel == grey[index]).all()
        assert set(np.unique(joined[:strip, left : left + columns])) <= {0, 255}


def test_the_numbers_count_the_places_from_one():
    first, second = (np.full((40, 40), grey, np.uint8) for grey in (90, 200))
    straight, turned = (
        number_panels([first, second], (0, 1)),
        number_panels([first, second], (1, 0)),
    )
    strip = straight.shape[0] - 40
    assert (straight[:strip] == turned[:strip]).all()
    assert (straight[:strip, :40] != straight[:strip, 48:]).any()
    assert straight[-1, 0] == 90
    assert turned[-1, 0] == 200


@pytest.mark.parametrize("count", [2, 3, 4])
def test_of_images_that_are_compared_each_keeps_nearly_half_of_the_side_that_a_model_takes(count):
    phases = [f"phase {number}" for number in range(count)]
    job = SimpleNamespace(source="toy", case=SimpleNamespace(key="case"), panels=phases)
    artefact = Artefact(kind="compared", field="sequence", concept="phase 0")
    pictures = [np.full((240, 240), 50 * (number + 1), np.uint8) for number in range(count)]
    canvas = draw_numbers(job, artefact, pictures)
    strip = 22
    assert 240 * 448 / max(canvas.pixels.shape) > 202
    for place, index in enumerate(canvas.order):
        top, left = (240 + strip + 8) * (place // 2) + strip, (240 + 8) * (place % 2)
        panel = canvas.pixels[top : top + 240, left : left + 240]
        assert (panel == pictures[index]).all()


@given(
    sides=st.lists(st.tuples(st.integers(60, 300), st.integers(60, 300)), min_size=2, max_size=4),
    colour=st.booleans(),
)
def test_images_that_are_compared_are_shown_large_enough_by_one_whole_factor(sides, colour):
    rng = np.random.default_rng(len(sides))
    pictures = [rng.integers(0, 256, (*side, 3) if colour else side, np.uint8) for side in sides]
    panels = enlarge_panels(pictures)
    factor = panels[0].shape[0] // sides[0][0]
    least = min(min(side) for side in sides)
    assert least * factor >= LEAST_SIDE
    assert factor == 1 or least * (factor - 1) < LEAST_SIDE
    for picture, large in zip(pictures, panels, strict=True):
        assert large.shape[:2] == (picture.shape[0] * factor, picture.shape[1] * factor)
        for row, column in product(range(factor), repeat=2):
            assert (large[row::factor, column::factor] == picture).all()


@pytest.mark.parametrize("kind", ["compared", "numbered"])
def test_frames_of_the_published_tasks_keep_their_size(kind):
    job = SimpleNamespace(source="toy", case=SimpleNamespace(key="case"), panels=["one", "two"])
    artefact = Artefact(kind=kind, field="phase", concept="one")
    canvas = draw_numbers(job, artefact, [np.full((112, 112), 50, np.uint8)] * 2)
    assert canvas.pixels.shape[1] == 8 + 2 * (224 if kind == "compared" else 112)


@pytest.mark.parametrize("case", [f"case {n}" for n in range(8)])
@pytest.mark.parametrize("concept", ["end-diastole", "end-systole"])
def test_the_right_number_is_that_of_the_image_which_shows_the_fact(case, concept):
    phases = ("end-diastole", "end-systole")
    job = SimpleNamespace(source="toy", case=SimpleNamespace(key=case), panels=phases)
    greys = dict(zip(phases, (90, 200), strict=True))
    pictures = [np.full((40, 40), greys[phase], np.uint8) for phase in phases]
    artefact = Artefact(kind="numbered", field="phase", concept=concept)
    canvas = draw_numbers(job, artefact, pictures)
    assert canvas.pixels[-1, (canvas.truth - 1) * 48] == greys[concept]
    assert len(canvas.order) == 2


@pytest.mark.parametrize("columns", [9, 10, 40, 41, 321])
def test_a_number_stands_in_the_middle_of_the_strip_above_its_image(columns):
    pictures = [np.full((40, columns), 90, np.uint8)] * 2
    joined = number_panels(pictures, (0, 1))
    strip = joined[: joined.shape[0] - 40, :columns]
    lit = np.flatnonzero(strip.any(axis=0))
    assert abs(lit[0] - (columns - 1 - lit[-1])) <= 1


@pytest.mark.parametrize(
    ("side", "scale"), [(20, 1), (160, 1), (239, 1), (241, 2), (399, 2), (401, 3)]
)
@pytest.mark.parametrize("colour", [False, True])
def test_numbers_grow_with_the_longest_side_of_the_images(side, scale, colour):
    shapes = [(20, 20), (side, 20)], [(20, side), (20, 20)]
    for pair in shapes:
        pictures = [np.full((*shape, 3) if colour else shape, 90, np.uint8) for shape in pair]
        joined = number_panels(pictures, (0, 1))
        assert joined.shape[0] - max(shape[0] for shape in pair) == 11 * scale


def test_rows_of_grey_and_coloured_images_become_one_coloured_image():
    grey, colour = np.full((40, 40), 90, np.uint8), np.full((40, 50, 3), 0, np.uint8)
    colour[..., 1] = 200
    joined = number_panels([grey, colour], (0, 1), columns=1)
    strip = 11
    assert joined.shape == (2 * (40 + strip) + 8, 50, 3)
    assert (joined[strip : strip + 40, :40] == 90).all()
    assert not joined[:, 40:][: strip + 40 + 8].any()
    assert not joined[strip + 40 : strip + 48].any()
    assert (joined[-40:] == (0, 200, 0)).all()


def test_four_images_stand_in_one_row_unless_fewer_are_asked():
    pictures = [np.full((40, 40), 50 * (number + 1), np.uint8) for number in range(4)]
    for columns, rows in ((1, 4), (2, 2), (3, 2), (4, 1)):
        joined = number_panels(pictures, (0, 1, 2, 3), columns=columns)
        assert joined.shape == (rows * (11 + 40) + (rows - 1) * 8, columns * 40 + (columns - 1) * 8)
    assert number_panels(pictures, (0, 1, 2, 3)).shape == (51, 4 * 40 + 3 * 8)
