"""Contrasts of conditions: figures of positions and of epochs, by hand."""

from __future__ import annotations

import pytest

from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.statistics.clustered_inference import UnitTally, share_interval
from medrcube.evaluate.statistics.condition_contrasts import (
    condition_contrasts,
    epochs,
    other_conditions,
)
from medrcube.taxonomy import Task

FULL, BLIND, CIRCULAR = Condition.FULL, Condition.BLIND, Condition.CIRCULAR
RIGHT, WRONG = True, False


@pytest.fixture
def circle(result):
    def make(name, choices, unit="", **more):
        return [
            result(
                name, None, choice=choice, condition=CIRCULAR, turn=turn, count=len(choices),
                picture=name, unit=unit, **more,
            )
            for turn, choice in enumerate(choices)
        ]  # fmt: skip

    return make


def circles(circle):
    """Of twelve items of six patients: steady and right, steady and wrong, unsteady."""
    kinds = [(0, 0), (0, 0), (0, 1), (1, 1), (0, 0), (1, 0)]
    return [
        row
        for i in range(12)
        for row in circle(f"q{i:02}", kinds[i // 2], unit=f"patient-{i // 2:016x}")
    ]


def test_shares_over_turns_have_intervals_of_whole_patients(circle):
    row = condition_contrasts(circles(circle))["position"]["global"]
    assert (row["n"], row["units"], row["unit_kinds"]) == (12, 6, {"patient": 6})
    assert (row["consistency"], row["accuracy_all_turns"]) == (8 / 12, 6 / 12)
    steady = [UnitTally(total, 2) for total in (2, 2, 0, 2, 2, 0)]
    right = [UnitTally(total, 2) for total in (2, 2, 0, 0, 2, 0)]
    assert row["consistency_interval"] == list(share_interval(steady))
    assert row["accuracy_all_turns_interval"] == list(share_interval(right))
    assert row["accuracy_first_turn"] == 8 / 12
    assert row["mean_accuracy"] == pytest.approx((6 + 2 * 0.5 + 2 * 0.5) / 12)
    assert row["small"] is False


def test_positions_are_cut_by_task_and_voxel(circle):
    rows = circle("a", [0, 0]) + circle("b", [0, 1], task=Task("ROI Grounding"))
    position = condition_contrasts(rows)["position"]
    assert {name: row["consistency"] for name, row in position["task"].items()} == {
        "ROI Grounding": 0,
        "Disease Diagnosis": 1,
    }
    assert {row["task"]: row["consistency"] for row in position["voxels"]} == {
        "ROI Grounding": 0,
        "Disease Diagnosis": 1,
    }
    assert position["global"]["small"] is True
    assert position["left_out"] == {"lost": 0, "not_asked": 0}


def test_letters_are_those_of_the_replies_that_give_one(circle):
    """Turn t shows text i under letter i + t; an item of two options has no C."""
    contrasts = condition_contrasts(circle("a", [0, 0, None]) + circle("b", [0, 0]))
    assert contrasts["position"]["global"]["letters"] == {
        "A": {"share": 2 / 4, "chance": pytest.approx((2 / 3 + 2 / 2) / 4)},
        "B": {"share": 2 / 4, "chance": pytest.approx((2 / 3 + 2 / 2) / 4)},
        "C": {"share": 0, "chance": pytest.approx((2 / 3) / 4)},
    }
    assert contrasts["position"]["global"]["letter_bias"] == pytest.approx(1 / 6)


def test_without_any_letter_there_is_no_bias(circle):
    row = condition_contrasts(circle("a", [None, None]))["position"]["global"]
    assert (row["letters"], row["letter_bias"]) == ({}, None)


def test_turns_are_put_in_order_and_an_item_without_all_of_them_is_left_out(circle):
    rows = circle("a", [0, 1, 1])
    whole = condition_contrasts(rows[::-1])["position"]["global"]
    assert (whole["accuracy_first_turn"], whole["mean_accuracy"]) == (1, pytest.approx(1 / 3))
    position = condition_contrasts([*rows, *circle("b", [0, 0, 0])[:2]])["position"]
    assert (position["global"]["n"], position["left_out"]["lost"]) == (1, 1)


def test_full_comes_before_the_unturned_form_of_circular(result):
    rows = [
        result("a", WRONG, condition=CIRCULAR),
        result("a", RIGHT, condition=FULL),
        result("a", WRONG, condition=BLIND),
    ]
    assert condition_contrasts(rows)["image_gain"]["global"]["difference"] == 1


def test_every_other_condition_stands_against_full(result):
    others = {
        "image_gain": BLIND,
        "image_swap": Condition.IMAGE_SWAP,
        "reworded": Condition.REWORDED,
        "degraded": Condition.DEGRADED,
    }
    rows = [result("a", RIGHT), *[result("a", WRONG, condition=c) for c in others.values()]]
    contrasts = condition_contrasts(rows)
    assert list(contrasts) == list(others)
    assert {row["global"]["difference"] for row in contrasts.values()} == {1}


def test_voxels_are_adjusted_together(result):
    rows = [
        result(f"{task}{i}", right, condition=condition, picture=f"{task}{i}", task=Task(task))
        for task in ("ROI Grounding", "Disease Diagnosis")
        for i in range(12)
        for condition, right in ((FULL, RIGHT), (BLIND, WRONG))
    ]
    gain = condition_contrasts(rows)["image_gain"]
    for row in (*gain["task"].values(), *gain["voxels"]):
        assert row["mcnemar_p_holm"] == pytest.approx(2 * 2 / 2**12)
    assert gain["global"]["unit_kinds"] == {"picture": 24}


def test_steps_that_a_chain_did_not_reach_are_no_answers(result):
    rows = [
        result("a", RIGHT, condition=Condition.CHAIN),
        result("b", outcome=AnswerOutcome.NOT_REACHED, condition=Condition.CHAIN),
    ]
    conditions = other_conditions(rows)
    assert list(conditions) == ["chain"]
    assert (conditions["chain"]["global"]["n"], conditions["chain"]["global"]["accuracy"]) == (1, 1)
    assert other_conditions(rows[1:]) == {}


def test_epochs_compare_the_first_condition_unturned(result):
    rows = [
        result("a", None, choice=choice, condition=condition, turn=turn, epoch=epoch)
        for epoch in range(2)
        for condition, turn, choice in ((BLIND, 0, epoch), (CIRCULAR, 0, 0), (CIRCULAR, 1, epoch))
    ]
    first = min((BLIND, CIRCULAR), key=list(Condition).index)
    outcome = epochs(rows)
    assert (outcome["epochs"], outcome["items"], outcome["left_out"]) == (2, 1, 0)
    assert outcome["flip_rate"] == (1 if first is BLIND else 0)


def test_the_flip_rate_has_the_interval_of_whole_patients(result):
    flips = [(0, 0), (0, 1), (1, 2), (1, 1), (0, 0), (0, 1)]
    rows = [
        result(
            f"q{i}", None, choice=flips[i // 2][epoch], epoch=epoch, unit=f"patient-{i // 2:016x}"
        )
        for i in range(12)
        for epoch in range(2)
    ]
    outcome = epochs(rows)
    tallies = [UnitTally(total, 2) for total in (0, 2, 2, 0, 0, 2)]
    assert outcome["interval"] == list(share_interval(tallies))
    assert (outcome["flip_rate"], outcome["outcome_flip_rate"]) == (6 / 12, 4 / 12)


def test_an_epoch_whose_replies_are_all_lost_has_no_accuracy(result):
    lost = AnswerOutcome.FAILED
    rows = epochs([result("a"), result("a", outcome=lost, epoch=1)])
    assert rows["accuracy"] == [1, None]
    assert (rows["mean_accuracy"], rows["items"], rows["flip_rate"]) == (1, 0, None)
    assert (rows["interval"], rows["outcome_flip_rate"], rows["left_out"]) == (None, None, 1)
