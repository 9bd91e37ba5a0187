"""Scoring of answers without options: bars, credits and regions."""

from __future__ import annotations

import math
from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.forms import OPEN_FORMS, form_of
from medrcube.forms.box import BoxAsk, BoxTarget, overlap
from medrcube.forms.number import NumberAsk, NumberTarget, relative_accuracy
from medrcube.forms.option import score_letter
from medrcube.forms.order import OrderAsk, OrderTarget
from medrcube.forms.pair import PairAsk, PairTarget
from medrcube.forms.point import PointAsk, PointTarget
from medrcube.forms.protocol import TargetError
from medrcube.forms.regions import EllipseRegion, MaskRegion, PolygonRegion, read_region
from medrcube.forms.units import UNITS, convert

WIDTH, HEIGHT = 9, 7
values = st.floats(0.1, 1e4)
sides = st.lists(st.floats(0, 1000), min_size=2, max_size=2, unique=True).map(sorted)
boxes = st.tuples(sides, sides).map(lambda pair: (pair[0][0], pair[1][0], pair[0][1], pair[1][1]))
masks = st.lists(st.booleans(), min_size=WIDTH * HEIGHT, max_size=WIDTH * HEIGHT).filter(any)


def number(value=23.0, low=19.0, high=27.0, unit="mm"):
    return NumberTarget(ask=NumberAsk(unit=unit), value=value, low=low, high=high)


def region_of(pixels):
    """Run-length mask of pixels listed down the columns."""
    counts, current = [0], False
    for pixel in pixels:
        if pixel != current:
            counts.append(0)
            current = pixel
        counts[-1] += 1
    return MaskRegion(size=(WIDTH, HEIGHT), counts=tuple(counts))


def targets():
    square = PolygonRegion(polygons=(((100, 50), (200, 50), (200, 150), (100, 150)),))
    return [
        number(),
        PointTarget(ask=PointAsk(), size=(400, 200), region=square, margin=2),
        BoxTarget(ask=BoxAsk(), size=(400, 200), box=(100, 50, 200, 150), iou=0.5),
        OrderTarget(ask=OrderAsk(labels=("a", "b", "c")), order=("b", "a", "c")),
        PairTarget(ask=PairAsk(statements=("one", "two")), answers=(True, False)),
    ]


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.form)
def test_a_target_survives_writing_and_reading(target):
    form = form_of(target)
    assert form.read_target(*form.write_target(target)) == target


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.form)
def test_a_blind_reply_is_the_same_for_the_same_draw(target):
    form = form_of(target)
    replies = [form.blind_reply(target.ask, Random(3)) for _ in range(2)]
    assert replies[0] == replies[1]
    assert form.blind_reply(target.ask, None) == form.blind_reply(target.ask, None)


@pytest.mark.parametrize("form", OPEN_FORMS.values(), ids=lambda form: form.name)
@given(
    ask=st.dictionaries(st.text(max_size=9), st.none() | st.integers()), truth=st.text() | st.none()
)
def test_what_is_no_target_is_refused(form, ask, truth):
    with pytest.raises(TargetError):
        form.read_target(ask, truth)


@pytest.mark.parametrize(("length", "sound"), [(2_000, True), (2_001, False)])
def test_what_a_model_is_told_has_a_bounded_length(length, sound):
    ask, truth = {"statements": ["x" * length, "y"]}, {"answers": [True, False]}
    if sound:
        assert OPEN_FORMS["pair"].read_target(ask, truth)
    else:
        with pytest.raises(TargetError, match="2,001 characters"):
            OPEN_FORMS["pair"].read_target(ask, truth)


def test_an_option_passes_with_the_letter_of_the_key():
    scores = [score_letter(letter, "B") for letter in "AB"]
    assert [(score.passed, score.credit) for score in scores] == [(False, 0), (True, 1)]


@pytest.mark.parametrize(
    ("answer", "passed"), [(19, True), (27, True), (23, True), (18.99, False), (27.01, False)]
)
def test_a_number_passes_within_its_bounds(answer, passed):
    assert form_of(number()).score(answer, number()).passed is passed


@pytest.mark.parametrize(
    ("answer", "accuracy"),
    [
        (100, 1),
        (104, 1),
        (106, 0.9),
        (95.5, 1),
        (80.5, 0.7),
        (50, 0),
        (149, 0.1),
        (1e9, 0),
        (-3, 0),
    ],
)
def test_relative_accuracy_is_the_share_of_thresholds_that_are_met(answer, accuracy):
    assert relative_accuracy(answer, 100) == pytest.approx(accuracy)


@given(values, values, values)
def test_a_larger_error_earns_no_more_credit(value, error, more):
    target = number(value, value / 2, value * 2)
    score = form_of(target).score
    near, far = score(value + error, target), score(value + error + more, target)
    assert near.credit >= far.credit
    assert near.passed or not far.passed


@given(values, st.floats(0, 1))
def test_an_error_counts_alike_above_and_below(value, share):
    error = round(share, 3) * value
    assert relative_accuracy(value + error, value) == relative_accuracy(value - error, value)
    score = form_of(number()).score
    double, half = (score(value * f, number(value, 0, 1e9)).errors["log_ratio"] for f in (2, 0.5))
    assert double == pytest.approx(-half)


@pytest.mark.parametrize(
    ("answer", "slips"), [(2.3, ("a tenth",)), (230, ("ten times",)), (23, ()), (50, ())]
)
def test_a_slip_of_a_unit_is_named_and_not_counted(answer, slips):
    form = form_of(number())
    assert form.slips(answer, number()) == slips
    assert form.score(answer, number()).passed is (answer == 23)


@given(st.sampled_from(UNITS), st.sampled_from(UNITS), values)
def test_units_convert_there_and_back(first, second, value):
    there = convert(value, first, second)
    assert (there is None) == (first.dimension != second.dimension)
    assert there is None or convert(there, second, first) == pytest.approx(value)


@given(masks, st.floats(0, 1000), st.floats(0, 1000))
def test_the_distance_from_a_mask_is_that_to_its_nearest_pixel(pixels, x, y):
    inside = [divmod(index, HEIGHT) for index, pixel in enumerate(pixels) if pixel]
    column = min(math.floor(x * WIDTH / 1000), WIDTH - 1)
    row = min(math.floor(y * HEIGHT / 1000), HEIGHT - 1)
    expected = min(math.hypot(c - column, r - row) for c, r in inside)
    measured = region_of(pixels).distance(x * WIDTH / 1000, y * HEIGHT / 1000)
    assert measured == pytest.approx(expected)


@given(masks)
def test_the_centre_of_a_mask_is_inside_it(pixels):
    region = region_of(pixels)
    assert region.distance(*region.centre()) == 0
    assert read_region("region", region.to_json(), (WIDTH, HEIGHT)) == region


@given(masks, st.floats(0, 1000), st.floats(0, 1000), st.floats(0, 5), st.floats(0, 5))
def test_a_wider_margin_fails_no_point_that_passed(pixels, x, y, margin, more):
    narrow, wide = (
        PointTarget(ask=PointAsk(), size=(WIDTH, HEIGHT), region=region_of(pixels), margin=each)
        for each in (margin, margin + more)
    )
    score = OPEN_FORMS["point"].score
    assert score((x, y), wide).passed or not score((x, y), narrow).passed


@pytest.mark.parametrize(
    ("x", "passed"), [(95, False), (100, True), (200, True), (300, True), (305, False)]
)
def test_a_point_passes_up_to_its_margin(x, passed):
    square = PolygonRegion(polygons=(((14, 0), (26, 0), (26, 100), (14, 100)),))
    target = PointTarget(ask=PointAsk(), size=(100, 100), region=square, margin=4)
    assert OPEN_FORMS["point"].score((x, 500), target).passed is passed


@pytest.mark.parametrize(
    ("point", "distance"), [((5, 5), 0), ((2, 5), 0), ((12, 5), 2), ((13, 14), 5), ((5, -1), 1)]
)
def test_the_distance_from_a_polygon_is_that_to_its_edge(point, distance):
    square = PolygonRegion(polygons=(((0, 0), (10, 0), (10, 10), (0, 10)),))
    assert square.distance(*point) == pytest.approx(distance)


def test_the_hole_of_a_polygon_is_outside_and_its_centre_inside():
    outer, hole = ((0, 0), (12, 0), (12, 12), (0, 12)), ((2, 2), (10, 2), (10, 10), (2, 10))
    ring = PolygonRegion(polygons=(outer, hole))
    assert ring.distance(6, 6) == pytest.approx(4)
    assert ring.distance(*ring.centre()) == 0


def test_the_centre_of_polygons_lies_in_one_though_a_gap_is_between_them():
    upper, lower = (((0, y), (10, y), (10, y + 10), (0, y + 10)) for y in (0, 90))
    region = PolygonRegion(polygons=(upper, lower))
    assert region.distance(*region.centre()) == 0


shapes = st.tuples(*[st.floats(1, 60)] * 4).map(
    lambda box: (box[0], box[1], box[0] + box[2], box[1] + box[3])
)


@given(shapes, st.floats(0, 120), st.floats(0, 120))
def test_the_distance_from_an_ellipse_is_that_to_the_nearest_of_its_points(box, x, y):
    left, top, right, bottom = box
    turns = [math.tau * step / 4000 for step in range(4000)]
    line = [
        (
            (left + right + (right - left) * math.cos(turn)) / 2,
            (top + bottom + (bottom - top) * math.sin(turn)) / 2,
        )
        for turn in turns
    ]
    off = math.hypot(
        (2 * x - left - right) / (right - left), (2 * y - top - bottom) / (bottom - top)
    )
    expected = 0 if off <= 1 else min(math.dist((x, y), place) for place in line)
    assert EllipseRegion(boxes=(box,)).distance(x, y) == pytest.approx(expected, abs=0.05)


@given(st.lists(shapes, min_size=1, max_size=3))
def test_the_centre_of_ellipses_is_inside_and_no_corner_of_a_box_around_one(boxes):
    region = EllipseRegion(boxes=tuple(boxes))
    assert region.distance(*region.centre()) == 0
    assert read_region("region", region.to_json(), (200, 200)) == region
    left, top, right, bottom = region.bounds()
    assert all(left <= box[0] and top <= box[1] for box in boxes)
    assert all(box[2] <= right and box[3] <= bottom for box in boxes)
    assert region.distance(left, top) > 0


def test_a_point_on_any_of_several_ellipses_is_inside():
    region = EllipseRegion(boxes=((0, 0, 10, 10), (50, 50, 60, 70)))
    assert [region.distance(*place) for place in ((5, 5), (55, 60), (5, 12))] == [
        0,
        0,
        pytest.approx(2),
    ]


def test_a_number_far_from_a_huge_truth_has_a_log_ratio():
    score = form_of(number()).score(1e-20, number(1e308, 1, 1e308))
    assert score.errors["log_ratio"] == pytest.approx(-328 * math.log(10))


@pytest.mark.parametrize(
    ("answer", "slip"),
    [
        ((700, 300), "x and y exchanged"),
        ((0.375, 0.5), "shares from 0 to 1"),
        ((37.5, 50), "per cent"),
        ((150, 100), "pixels"),
        ((375, 500), None),
    ],
)
def test_a_point_of_another_convention_fails_and_is_named(answer, slip):
    target = targets()[1]
    form = OPEN_FORMS["point"]
    assert form.score(answer, target).passed is (slip is None)
    assert form.slips(answer, target) == (() if slip is None else (slip,))


@given(boxes, boxes)
def test_overlap_is_symmetric_and_whole_only_for_equal_boxes(first, second):
    assert overlap(first, second) == overlap(second, first)
    assert 0 <= overlap(first, second) <= 1
    assert overlap(first, first) == pytest.approx(1)


@given(st.floats(0, 400), st.floats(0, 400))
def test_a_box_that_is_farther_away_overlaps_no_more(shift, more):
    box = (100, 100, 300, 300)
    near, far = ((box[0] + s, box[1], box[2] + s, box[3]) for s in (shift, shift + more))
    assert overlap(near, box) >= overlap(far, box)


@pytest.mark.parametrize(
    ("answer", "slip"),
    [
        ((250, 250, 750, 500), "x and y exchanged"),
        ((100, 50, 200, 150), "pixels"),
        ((0.25, 0.25, 0.5, 0.75), "shares from 0 to 1"),
        ((250, 250, 250, 500), "width and height"),
    ],
)
def test_a_box_of_another_convention_fails_and_is_named(answer, slip):
    target = targets()[2]
    assert not OPEN_FORMS["box"].score(answer, target).passed
    assert slip in OPEN_FORMS["box"].slips(answer, target)


def test_a_box_passes_at_its_bar():
    target = BoxTarget(ask=BoxAsk(), size=(1000, 1000), box=(0, 0, 100, 100), iou=0.5)
    score = OPEN_FORMS["box"].score
    assert [score((0, 0, right, 100), target).passed for right in (49, 50, 200, 201)] == [
        False, True, True, False,
    ]  # fmt: skip
    assert score((0, 0, 100, 1001), target).credit == 0


def test_the_credit_of_an_order_is_the_share_of_pairs_in_order():
    target = OrderTarget(ask=OrderAsk(labels=tuple("abcd")), order=tuple("abcd"))
    score = OPEN_FORMS["order"].score
    credits_of = {order: score(order, target).credit for order in permutations("abcd")}
    assert credits_of[tuple("abcd")] == 1
    assert credits_of[tuple("dcba")] == 0
    assert credits_of[tuple("abdc")] == pytest.approx(5 / 6)
    assert sum(credits_of.values()) / len(credits_of) == pytest.approx(0.5)
    assert [order for order in credits_of if score(order, target).passed] == [tuple("abcd")]


@pytest.mark.parametrize(
    ("answer", "credit"), [((True, False), 1), ((True, True), 0.5), ((False, True), 0)]
)
def test_a_pair_passes_with_both_right(answer, credit):
    score = OPEN_FORMS["pair"].score(answer, targets()[4])
    assert (score.passed, score.credit) == (credit == 1, credit)
