"""What the figures of chains count, and what they leave out."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.statistics.chain_metrics import chain_metrics
from medrcube.evaluate.statistics.comparison.compare_runs import _compare_chains
from medrcube.taxonomy import Task

TASKS = [Task("View Recognition"), Task("ROI Grounding"), Task("Disease Diagnosis")]
NOT_REACHED, FAILED = AnswerOutcome.NOT_REACHED, AnswerOutcome.FAILED


@pytest.fixture
def chain(result):
    """A chain of one patient: 1 right, 0 wrong, or an outcome, for each step."""

    def make_chain(name, *steps, count=4, unit=""):
        rows = []
        for place, step in enumerate(steps):
            lost = step if isinstance(step, AnswerOutcome) else None
            row = result(
                f"{name}-{place}",
                None if lost else step,
                outcome=lost,
                picture=name,
                count=count,
                condition=Condition.CHAIN,
                task=TASKS[place],
                unit=unit,
            )
            presentation = replace(row.question.presentation, chain=f"chain-{name}", step=place + 1)
            question = replace(row.question, presentation=presentation, key=f"{name}-{place}")
            rows.append(replace(row, question=question))
        return rows

    return make_chain


def test_a_run_without_chains_has_no_figures(result):
    assert chain_metrics([result("a")], {}) is None


def test_a_step_is_told_apart_after_right_and_after_wrong_ones(chain):
    rows = [*chain("a", 1, 1, 1), *chain("b", 1, 0, 1), *chain("c", 0, 1, 0), *chain("d", 1, 1, 0)]
    summary = chain_metrics(rows, {})
    third = summary["steps"][2]
    assert (third["n"], third["correct"]) == (4, 2)
    assert (third["after_right"]["n"], third["after_right"]["correct"]) == (2, 1)
    assert (third["after_wrong"]["n"], third["after_wrong"]["correct"]) == (2, 1)
    assert summary["steps"][0]["after_right"] is None
    assert summary["whole"]["accuracy"] == 0.25
    assert summary["depth"]["mean"] == pytest.approx((3 + 1 + 0 + 2) / 4)
    assert list(summary["level"]) == ["low", "mid", "high"]
    assert list(summary["task"]) == TASKS


def test_chance_is_that_of_independent_guesses(chain):
    summary = chain_metrics([*chain("a", 1, 1), *chain("b", 0, 0, count=2)], {})
    assert summary["whole"]["chance"] == pytest.approx((1 / 16 + 1 / 4) / 2)
    assert summary["depth"]["chance"] == pytest.approx((1 / 4 + 1 / 16 + 1 / 2 + 1 / 4) / 2)
    assert summary["steps"][1]["chance"] == pytest.approx((1 / 4 + 1 / 2) / 2)


def test_a_step_that_was_not_reached_is_not_wrong_but_its_chain_is_not_right(chain):
    rows = [*chain("a", 1, 1), *chain("b", AnswerOutcome.REFUSED, NOT_REACHED)]
    summary = chain_metrics(rows, {})
    second = summary["steps"][1]
    assert (second["n"], second["correct"], second["not_reached"]) == (1, 1, 1)
    assert (summary["whole"]["n"], summary["whole"]["correct"]) == (2, 1)


def test_a_chain_with_a_lost_reply_is_left_out_and_counted(chain):
    rows = [row for n in range(20) for row in chain(f"a{n}", 1, 1)]
    summary = chain_metrics([*rows, *chain("b", FAILED, NOT_REACHED)], {})
    assert (summary["n"], summary["lost"], summary["whole"]["n"]) == (21, 1, 20)
    assert not summary["incomplete"]
    assert summary["steps"][0]["n"] == 20


def test_many_lost_chains_leave_no_accuracy(chain):
    summary = chain_metrics([*chain("a", 1, 1), *chain("b", FAILED, NOT_REACHED)], {})
    assert summary["incomplete"]
    assert (summary["whole"]["accuracy"], summary["steps"], summary["depth"]["mean"]) == (
        None,
        [],
        None,
    )


def test_chains_of_one_patient_count_as_one_witness(chain):
    rows = [row for n in range(40) for row in chain(f"a{n}", 1, n % 2, unit=f"patient-{n // 8}")]
    alone = [row for n in range(40) for row in chain(f"a{n}", 1, n % 2)]
    summary, independent = chain_metrics(rows, {}), chain_metrics(alone, {})
    assert (summary["whole"]["units"], independent["whole"]["units"]) == (5, 40)
    uneven = [
        row for n in range(40) for row in chain(f"a{n}", 1, n // 8 % 2, unit=f"patient-{n // 8}")
    ]
    low, high = chain_metrics(uneven, {})["whole"]["interval"]
    near = independent["whole"]["interval"]
    assert high - low > 2 * (near[1] - near[0])


def test_later_steps_are_compared_with_the_same_questions_alone(chain, result):
    rows = [*chain("a", 1, 1), *chain("b", 1, 0), *chain("c", 0, NOT_REACHED)]
    alone = [result(f"{name}-1", 0, picture=name, task=TASKS[1]) for name in "abc"]
    outcome = chain_metrics([*rows, *alone], {})["alone"]
    assert (outcome["n"], outcome["first"], outcome["second"]) == (2, 0.5, 0)
    assert chain_metrics(rows, {})["alone"] is None


def test_a_history_that_costs_no_tokens_was_dropped(chain):
    rows = chain("a", 1, 1, 1)

    def replies(*tokens):
        return {f"a-{n}": {"usage": {"prompt_tokens": count}} for n, count in enumerate(tokens)}

    assert chain_metrics(rows, replies(100, 140, 180))["history"] == {"checked": 2, "dropped": 0}
    assert chain_metrics(rows, replies(100, 30, 30))["history"] == {"checked": 2, "dropped": 2}
    assert chain_metrics(rows, {})["history"] == {"checked": 0, "dropped": 0}


def test_one_step_left_of_a_chain_is_no_chain(chain):
    assert chain_metrics(chain("a", 1), {}) is None


def compared(first, second):
    runs = (
        SimpleNamespace(results=[row for entry in rows for row in entry])
        for rows in (first, second)
    )
    return _compare_chains(*runs)


def test_chains_that_two_runs_asked_are_compared_whole(chain):
    first = [chain(str(n), 1, 1, unit=f"patient-{n}") for n in range(8)]
    second = [chain(str(n), 1, int(n < 2), unit=f"patient-{n}") for n in range(8)]
    row = compared([*first, chain("alone", 1, 1)], [*second, chain("another", 1, 1)])
    assert (row["n"], row["first"], row["second"]) == (8, 1, 0.25)
    assert row["mcnemar_p"] == pytest.approx(2 / 2**6)
    assert row["unit_kinds"] == {"patient": 8}


def test_chains_of_other_steps_are_not_compared(chain):
    assert compared([chain("a", 1, 1)], [chain("b", 1, 1)]) is None
    assert compared([chain("a", 1, 1, 1)], [chain("a", 1, 1)]) is None
    assert compared([chain("a", 1, 1)], [chain("a", 1, 1)])["n"] == 1


@pytest.mark.parametrize(("whole", "expected"), [(18, False), (19, True)])
def test_chains_of_which_more_than_a_twentieth_lost_a_reply_have_no_difference(
    chain, whole, expected
):
    first = [chain(str(n), 1, n % 2) for n in range(whole + 1)]
    second = [chain(str(n), 1, 1) for n in range(whole)] + [chain(str(whole), 1, FAILED)]
    row = compared(first, second)
    assert row["n"] == whole
    assert (row["difference"] is not None) is expected
