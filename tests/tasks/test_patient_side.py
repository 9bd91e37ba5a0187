"""Patient side: asked where the sides are known, of what lies on one of them as a whole."""

from dataclasses import replace

import pytest

from medrcube.build.open_items.rule_files import open_questions

TASK = "Patient Side"
NODULE = ("lidc-idri", ["lung nodule >= 3 mm"])
LEFT = {"side": "left", "whole_side": "left"}


def only_question(view):
    [question] = open_questions(view)
    return question


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_key_is_the_side_on_which_all_of_the_region_lies(view_of, side):
    question = only_question(view_of(TASK, *NODULE, {"side": side, "whole_side": side}))
    texts = dict(question.target.options)
    assert texts[question.target.key] == f"The patient's {side} side"
    assert (question.role, question.bar_reason) == (side, "")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"right_at": "", "side": "", "whole_side": ""}, "sides-unknown"),
        ({"whole_side": "both"}, "both-sides"),
        ({"from_midline": 0.079}, "near-midline"),
        ({"from_midline": 0.08}, ""),
        ({"from_midline": 0.149, "midline_from": "picture"}, "near-midline"),
        ({"from_midline": 0.15, "midline_from": "picture"}, ""),
        ({"partial": True}, "partial"),
    ],
)
def test_what_lies_on_no_side_for_certain_is_barred(view_of, change, reason):
    assert only_question(view_of(TASK, *NODULE, change)).bar_reason == reason


def test_a_second_mark_on_the_other_side_bars_the_question(view_of):
    view = view_of(TASK, *NODULE)
    (row,) = view.geometry
    same = replace(row, region=1)
    assert not only_question(replace(view, geometry=(row, same))).bar_reason
    assert (
        only_question(replace(view, geometry=(row, replace(same, **LEFT)))).bar_reason
        == "both-sides"
    )


def test_a_set_has_two_images_of_one_source_concept_view_and_convention(view_of):
    view = view_of(TASK, *NODULE)
    (row,) = view.geometry
    here, there = (
        only_question(replace(view, geometry=(each,))) for each in (row, replace(row, **LEFT))
    )
    assert here.stratum == there.stratum
    assert here.role != there.role
    for other in (replace(row, view="coronal"), replace(row, right_at="right")):
        assert only_question(replace(view, geometry=(other,))).stratum != here.stratum


def test_no_image_of_a_source_without_proved_sides_is_asked(view_of):
    assert (
        only_question(view_of(TASK, "msd-lung", ["primary lung tumor"])).bar_reason
        == "sides-unknown"
    )
