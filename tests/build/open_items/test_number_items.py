"""Items that ask for a number are drawn evenly, and state what a blind answer passes of them."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from medrcube.build.audit.shortcuts.number_shortcuts import constant_numbers, numbers_by_frame
from medrcube.build.open_items.authoring.trial_views import trial_views
from medrcube.build.open_items.compose import compose_open_items
from medrcube.build.open_items.rule_files import open_questions
from medrcube.facts import Grade, Visibility
from medrcube.forms.number import NumberAsk, NumberTarget
from medrcube.ontologies.terms import load_terms
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task
from medrcube.templates import Wordings

TASK = "Ejection Fraction"


@pytest.fixture(scope="module")
def placeholder():
    """A question that the rule asks of a placeholder case of echonet-dynamic."""
    views = trial_views(Task(TASK), find_sources()["echonet-dynamic"].card)
    return next(q for view in views for q in open_questions(view) if not q.bar_reason)


def fraction(question, number, value, visible_values=(0.0,)):
    name = f"{number:04}"
    sample = replace(question.sample, id=name, case=name, patient=name, pixel_sha256=name)
    target = NumberTarget(
        ask=NumberAsk(unit="%"), value=value, low=max(value - 8, 0), high=value + 8
    )
    return replace(
        question,
        sample=sample,
        target=target,
        visible_values=visible_values,
        lot=str(int(value / 100 * 8)),
    )


def compose(questions, per_cell=None):
    return compose_open_items(
        questions,
        load_terms(),
        Wordings(tasks=[Task(TASK)]),
        bar_counts={},
        evidence=Grade.B,
        least_visible=Visibility.PARTLY,
        seed=0,
        per_cell=per_cell,
    )


@pytest.fixture(scope="module")
def clinic(placeholder):
    """Of 400 patients most have a normal fraction."""
    luck = np.random.default_rng(0)
    values = luck.permutation([*luck.uniform(12, 50, 120), *luck.normal(62, 5, 280)])
    return [fraction(placeholder, n, round(float(value), 1)) for n, value in enumerate(values)]


def test_normal_numbers_do_not_fill_the_items(clinic):
    result = compose(clinic)
    values = [json.loads(item.truth)["value"] for item in result.items]
    assert len(values) > 100
    assert Counter(value >= 50 for value in values)[True] < len(values) / 2
    [reason] = result.dropped
    assert reason.endswith("enough of its class of size are asked")
    assert result.dropped[reason] == len(clinic) - len(values)


def test_no_constant_passes_more_than_the_chance_that_items_state(clinic):
    items = compose(clinic).items
    [chance] = {item.chance for item in items}
    assert chance < 0.45
    bands = [json.loads(item.truth) for item in items]
    for constant in range(0, 100, 2):
        passed = [band["low"] <= constant <= band["high"] for band in bands]
        assert np.mean(passed) <= chance + 1e-4


def test_the_draw_depends_on_the_questions_and_the_seed_alone(clinic):
    assert compose(clinic) == compose(clinic[::-1])


def test_a_quantity_of_which_one_number_passes_most_is_not_asked(placeholder):
    alike = [fraction(placeholder, n, 60 + n / 10) for n in range(30)]
    result = compose(alike)
    assert result.items == ()
    assert sum(result.dropped.values()) == 30


def test_of_few_patients_all_are_asked_with_their_chance_and_a_warning(placeholder):
    few = [fraction(placeholder, n, 60.0) for n in range(4)]
    assert compose(few).items == ()
    result = compose([*few, fraction(placeholder, 4, 30.0)])
    assert [item.chance for item in result.items] == [0.8] * 5
    [warning] = result.warnings
    assert "fewer than 10 patients cannot show" in warning


def test_the_audit_finds_a_chance_that_is_stated_too_low(clinic):
    items = compose(clinic).items
    samples = [question.sample for question in clinic]
    for audit in (constant_numbers, numbers_by_frame):
        [row] = audit(items, samples)
        assert (row["task"], row["n"], row["within"]) == (TASK, len(items), True)
        [row] = audit([replace(item, chance=0.05) for item in items], samples)
        assert row["within"] is False
        [row] = audit(items[:5], samples)
        assert row["within"] is None


def test_the_audit_finds_numbers_that_follow_the_frame(placeholder):
    luck = np.random.default_rng(1)
    extents = luck.uniform(2.5, 4.3, 60)
    lengths = [
        fraction(placeholder, n, float(np.exp(extent)), visible_values=(float(extent),))
        for n, extent in enumerate(extents)
    ]
    assert compose(lengths).items == ()
