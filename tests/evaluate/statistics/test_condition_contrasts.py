"""Contrasts: pairs of one item, lost sides left out, and position apart from content."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.statistics.condition_contrasts import (
    condition_contrasts,
    epochs,
    other_conditions,
)
from medrcube.taxonomy import Anatomy, Modality, Task

RIGHT, WRONG = True, False

FULL, BLIND, SWAP = Condition.FULL, Condition.BLIND, Condition.IMAGE_SWAP


@pytest.fixture
def pair(result):
    def make(name, full, blind, condition=BLIND, **axes):
        picture = axes.pop("picture", name)
        return [
            result(name, full, condition=FULL, picture=picture, **axes),
            result(name, blind, condition=condition, picture=picture, **axes),
        ]

    return make


def test_the_gain_is_what_the_picture_brings(pair):
    outcome = condition_contrasts(
        [*pair("a", RIGHT, WRONG), *pair("b", RIGHT, RIGHT), *pair("c", WRONG, RIGHT)]
        + [r for i in range(5) for r in pair(f"d{i}", RIGHT, WRONG)]
    )["image_gain"]["global"]
    assert (outcome["n"], outcome["only_first"], outcome["only_second"]) == (8, 6, 1)
    assert outcome["difference"] == pytest.approx(7 / 8 - 2 / 8)
    assert outcome["mcnemar_p"] == pytest.approx(0.125)


def test_a_swap_is_set_against_full_as_well(pair):
    contrasts = condition_contrasts(pair("a", RIGHT, WRONG, SWAP))
    assert list(contrasts) == ["image_swap"]
    assert contrasts["image_swap"]["global"]["difference"] == 1


@pytest.mark.parametrize("sides", [(FULL, BLIND), (BLIND, FULL)], ids=["full", "blind"])
@pytest.mark.parametrize("lost", [AnswerOutcome.FAILED, AnswerOutcome.MISSING_IMAGE])
def test_a_pair_with_a_lost_side_is_left_out_and_counted(result, pair, lost, sides):
    rows = [
        *pair("a", RIGHT, WRONG),
        result("b", outcome=lost, condition=sides[0]),
        result("b", RIGHT, condition=sides[1]),
    ]
    gain = condition_contrasts(rows)["image_gain"]
    assert gain["global"]["n"] == 1
    assert gain["left_out"] == {"lost": 1, "not_asked": 0}


def test_an_item_that_one_condition_does_not_ask_is_counted(result, pair):
    swap = condition_contrasts([*pair("a", RIGHT, WRONG, SWAP), result("b", condition=FULL)])[
        "image_swap"
    ]
    assert swap["left_out"] == {"lost": 0, "not_asked": 1}


def test_a_reply_without_a_letter_is_not_right_but_stands_apart(pair):
    outcome = condition_contrasts([*pair("a", RIGHT, None), *pair("b", RIGHT, RIGHT)])[
        "image_gain"
    ]["global"]
    assert (outcome["difference"], outcome["n"]) == (0.5, 2)
    assert (outcome["answered"]["difference"], outcome["answered"]["n"]) == (0, 1)


def test_slices_add_up_to_the_whole(pair):
    rows = pair("a", RIGHT, WRONG) + pair("b", RIGHT, RIGHT, task=Task("ROI Grounding"))
    rows += pair("c", WRONG, RIGHT, modality=Modality("MRI"), parts=Anatomy("Brain"))
    gain = condition_contrasts(rows)["image_gain"]
    assert {name: row["n"] for name, row in gain["task"].items()} == {
        "ROI Grounding": 1,
        "Disease Diagnosis": 2,
    }
    assert [(v["modality"], v["parts"], v["difference"]) for v in gain["voxels"]] == [
        ("CT", "Lungs", 0),
        ("CT", "Lungs", 1),
        ("MRI", "Brain", -1),
    ]


def test_tasks_are_adjusted_together(pair):
    rows = [r for i in range(12) for r in pair(f"a{i}", RIGHT, WRONG)]
    rows += [r for i in range(12) for r in pair(f"b{i}", RIGHT, RIGHT, task=Task("ROI Grounding"))]
    task = condition_contrasts(rows)["image_gain"]["task"]
    assert task["Disease Diagnosis"]["mcnemar_p_holm"] == pytest.approx(2 * 2 / 2**12)


def test_the_unturned_form_of_circular_stands_for_full(result):
    rows = [
        result("a", RIGHT, condition=Condition.CIRCULAR),
        result("a", WRONG, condition=Condition.CIRCULAR, turn=1),
        result("a", WRONG, condition=BLIND),
    ]
    assert condition_contrasts(rows)["image_gain"]["global"]["difference"] == 1


def test_one_condition_alone_contrasts_with_nothing(result):
    assert condition_contrasts([result("a")]) == {}
    assert condition_contrasts([result("a", condition=BLIND)]) == {}
    assert condition_contrasts([]) == {}


@pytest.fixture
def circle(result):
    def make(name, choices, **more):
        return [
            result(
                name,
                choice=choice,
                right=None,
                condition=Condition.CIRCULAR,
                turn=turn,
                count=len(choices),
                picture=name,
                **more,
            )
            for turn, choice in enumerate(choices)
        ]

    return make


@pytest.mark.parametrize(
    ("choices", "consistent", "all_right", "mean_accuracy"),
    [
        ([0, 0, 0, 0], 1, 1, 1),
        ([2, 2, 2, 2], 1, 0, 0),
        ([0, 0, 0, 1], 0, 0, 0.75),
        ([0, 0, None, 0], 0, 0, 0.75),
        ([None] * 4, 0, 0, 0),
    ],
)
def test_consistent_means_one_text_in_all_turns(
    circle, choices, consistent, all_right, mean_accuracy
):
    row = condition_contrasts(circle("a", choices))["position"]["global"]
    assert row["consistency"] == consistent
    assert row["accuracy_all_turns"] == all_right
    assert row["mean_accuracy"] == mean_accuracy


def test_one_who_always_says_a_has_the_bias_of_a(circle):
    # Turn t moves text i to letter i + t: letter A then holds text -t.
    row = condition_contrasts(circle("a", [0, 3, 2, 1]))["position"]["global"]
    assert row["letters"]["A"] == {"share": 1, "chance": 0.25}
    assert row["letter_bias"] == 0.75
    assert (row["consistency"], row["accuracy_first_turn"], row["mean_accuracy"]) == (0, 1, 0.25)


@given(st.integers(2, 4).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1))))
def test_one_who_follows_the_text_has_no_bias(result, example):
    count, text = example
    turns = [
        result(
            "a", None, choice=text, condition=Condition.CIRCULAR, turn=turn, count=count
        )
        for turn in range(count)
    ]  # fmt: skip
    row = condition_contrasts(turns)["position"]["global"]
    assert row["letter_bias"] == pytest.approx(0)
    assert row["consistency"] == 1


def test_chance_of_all_turns_knows_the_number_of_options(circle):
    row = condition_contrasts(circle("a", [0, 0]) + circle("b", [0, 1, 2, 0]))["position"]["global"]
    assert row["chance_all_turns"] == pytest.approx((1 / 4 + 1 / 256) / 2)
    assert row["chance_consistency"] == pytest.approx((1 / 2 + 1 / 64) / 2)


def test_an_item_with_a_lost_turn_is_left_out(result, circle):
    rows = circle("a", [0, 0, 0, 0])
    rows += circle("b", [0, 0, 0, 0])[:3]
    rows.append(
        result("b", outcome=AnswerOutcome.FAILED, condition=Condition.CIRCULAR, turn=3, picture="b")
    )
    position = condition_contrasts(rows)["position"]
    assert (position["global"]["n"], position["left_out"]["lost"]) == (1, 1)


def test_each_condition_has_its_own_numbers(pair):
    conditions = other_conditions([*pair("a", RIGHT, WRONG), *pair("b", RIGHT, WRONG)])
    assert list(conditions) == ["full", "blind"]
    assert conditions["full"]["global"]["accuracy"] == 1
    assert conditions["blind"]["task"]["Disease Diagnosis"]["accuracy"] == 0


def test_later_epochs_change_no_contrast(result, pair):
    rows = pair("a", RIGHT, WRONG)
    more = [result("a", WRONG, epoch=1), result("a", RIGHT, condition=BLIND, epoch=1)]
    assert condition_contrasts(rows + more) == condition_contrasts(rows)
    assert other_conditions(rows + more) == other_conditions(rows)


def test_epochs_tell_how_often_a_choice_flips(result):
    choices = {"a": [0, 0, 0], "b": [0, 1, 0], "c": [1, 2, 3], "d": [0, None, 0]}
    rows = [
        result(name, None, choice=choice, epoch=epoch)
        for name, listed in choices.items()
        for epoch, choice in enumerate(listed)
    ]
    outcome = epochs(rows)
    assert outcome["accuracy"] == [0.75, 0.25, 0.75]
    assert outcome["mean_accuracy"] == pytest.approx(7 / 12)
    assert outcome["flip_rate"] == 0.75
    assert outcome["outcome_flip_rate"] == 0.5


def test_an_item_lost_in_an_epoch_flips_nothing(result):
    rows = [result("a"), result("a", epoch=1), result("b")]
    rows.append(result("b", outcome=AnswerOutcome.FAILED, epoch=1))
    outcome = epochs(rows)
    assert (outcome["items"], outcome["left_out"], outcome["flip_rate"]) == (1, 1, 0)
    assert outcome["accuracy"] == [1, 1]


def test_one_epoch_has_no_flip_rate(result):
    assert epochs([result("a")]) is None
    assert epochs([]) is None
