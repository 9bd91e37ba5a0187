"""What the best constant answer of other patients passes."""

import pandas as pd
import pytest

from medrcube.build.audit.shortcuts.blind_priors import blind_priors, priors_to_frame


def table(boxes, *, patients=None, longest=10.0, **changes):
    """Regions of one concept on pictures of 100 x 50 pixels."""
    rows = [
        {
            "sample": f"s{number}",
            "source": "toy",
            "case": f"c{number}",
            "patient": f"p{number}" if patients is None else patients[number],
            "concept": "nodule",
            "view": "axial",
            "width": 100,
            "height": 50,
            "x0": x0,
            "y0": y0,
            "x1": x1,
            "y1": y1,
            "shape": "area",
            "pieces": 1,
            "cut": False,
            "partial": False,
            "scale": "object",
            "mm_per_pixel": 0.5,
            "longest": longest,
        }
        | changes
        for number, (x0, y0, x1, y1) in enumerate(boxes)
    ]
    return pd.DataFrame(rows)


HERE, THERE = (10, 10, 30, 20), (60, 30, 80, 40)


def test_regions_that_lie_alike_are_passed_by_a_constant():
    [prior] = blind_priors(table([HERE] * 4))
    assert (prior.box, prior.point, prior.length) == (1, 1, 1)
    assert (prior.regions, prior.patients, prior.lengths) == (4, 4, 4)


def test_regions_that_lie_apart_are_passed_by_none():
    [prior] = blind_priors(table([(10 * k, 0, 10 * k + 9, 9) for k in range(9)]))
    assert (prior.box, prior.point) == (0, 0)


def test_the_corner_of_a_drawn_box_holds_no_constant_point():
    at_the_corner = [(10, 10, 30, 30), (8, 8, 14, 14)]
    assert next(blind_priors(table(at_the_corner))).point == 0.5
    assert next(blind_priors(table(at_the_corner, shape="box"))).point == 0


def test_the_most_frequent_place_is_the_constant():
    [prior] = blind_priors(table([HERE] * 3 + [THERE]))
    assert prior.box == prior.point == 0.75


def test_a_patients_own_regions_never_choose_the_constant():
    [prior] = blind_priors(table([HERE, HERE, THERE], patients=["a", "a", "b"]))
    assert prior.box == 0
    [prior] = blind_priors(table([HERE, HERE, THERE], patients=["a", "b", "c"]))
    assert prior.box == pytest.approx(2 / 3)


def test_cases_stand_for_patients_whom_a_source_does_not_name():
    [prior] = blind_priors(table([HERE] * 3, patients=[""] * 3))
    assert prior.patients == 3


def test_of_one_patient_nothing_is_known():
    [prior] = blind_priors(table([HERE] * 3, patients=["a"] * 3))
    assert (prior.box, prior.point, prior.length) == (None, None, None)


def test_two_regions_of_a_concept_on_one_picture_are_no_question():
    frame = pd.concat([table([HERE, THERE]).assign(sample="s"), table([HERE] * 3)])
    [prior] = blind_priors(frame)
    assert prior.regions == 3


@pytest.mark.parametrize(
    "change",
    [
        {"scale": "projection"},
        {"shape": "box"},
        {"pieces": 2},
        {"cut": True},
        {"partial": True},
    ],
)
def test_lengths_are_those_of_whole_regions_in_millimetres_of_the_body(change):
    [prior] = blind_priors(table([HERE] * 3, **change))
    assert (prior.lengths, prior.length, prior.box) == (0, None, 1)


def test_a_length_passes_within_the_tolerance():
    frame = table([HERE] * 4).assign(longest=[10.0, 11.9, 12.1, 100.0])
    [prior] = blind_priors(frame, tolerance=0.2)
    assert prior.length == 0.75
    [prior] = blind_priors(frame, tolerance=0.01)
    assert prior.length == 0


def test_a_wider_bar_passes_no_fewer_boxes():
    frame = table([HERE, (12, 10, 32, 20), (20, 10, 40, 20), THERE])
    [strict], [mild] = blind_priors(frame, iou=0.75), blind_priors(frame, iou=0.3)
    assert strict.box <= mild.box


def test_the_frame_has_a_row_for_each_source_concept_and_view():
    frame = pd.concat(
        [table([HERE] * 2), table([HERE] * 2, view="coronal").assign(sample=["t0", "t1"])]
    )
    assert list(priors_to_frame(blind_priors(frame))["view"]) == ["axial", "coronal"]
