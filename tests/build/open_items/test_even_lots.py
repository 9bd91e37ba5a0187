"""Numbers of a cell are drawn so evenly that no blind answer passes much."""

from collections import Counter
from dataclasses import fields, replace
from itertools import count
from random import Random

import numpy as np
import pytest

from medrcube.build.open_items.chance.blind_chance import FEW
from medrcube.build.open_items.chance.even_lots import even_lots
from medrcube.build.open_items.chance.number_chance import asks_numbers, number_chance
from medrcube.build.open_items.question import OpenQuestion
from medrcube.build.stages.samples import Sample
from medrcube.forms import form_of
from medrcube.forms.number import NumberAsk, NumberTarget
from medrcube.taxonomy import Task

BLANK = {"str": "", "int": 0, "float": 0.0, "bool": False}
SAMPLE = Sample(**{column.name: BLANK.get(str(column.type), "") for column in fields(Sample)})


PATIENTS = count()


def question_of(value, *, visible_values=(), within=8.0):
    target = NumberTarget(
        ask=NumberAsk(unit="%"), value=value, low=max(value - within, 0), high=value + within
    )
    return OpenQuestion(
        task=Task("Ejection Fraction"),
        sample=replace(SAMPLE, patient=f"p{next(PATIENTS)}"),
        field="left_ejection_fraction",
        concept="LV",
        target=target,
        lot=str(int(value // 12.5)),
        visible_values=visible_values,
    )


def chance_of(questions):
    return number_chance(questions, [str(number) for number in range(len(questions))])


@pytest.fixture(scope="module")
def fractions():
    """Ejection fractions of an outpatient clinic: most are normal."""
    luck = np.random.default_rng(0)
    low, high = luck.uniform(12, 50, 150), luck.normal(62, 5, 450)
    return [question_of(float(value)) for value in luck.permutation([*low, *high])]


def test_without_a_draw_one_number_passes_most(fractions):
    assert chance_of(fractions) > 0.6


def test_an_even_draw_keeps_as_many_as_the_bound_allows(fractions):
    selection = even_lots(fractions, most=0.4)
    assert chance_of(selection) <= 0.4
    sizes = Counter(question.lot for question in selection)
    assert len(sizes) >= 4
    assert 150 < len(selection) < 400
    assert [question for question in fractions if question in selection] == selection


def test_a_bound_out_of_reach_keeps_more_than_a_handful(fractions):
    selection = even_lots(fractions, most=0.1)
    assert len(selection) > 50
    assert chance_of(selection) < 0.45


def test_nothing_is_left_out_where_the_bound_holds_or_there_are_few(fractions):
    assert even_lots(fractions, most=1.0) == fractions
    few = [question_of(60.0) for _ in range(FEW - 1)]
    assert even_lots(few, most=0.25) == few


def test_where_no_draw_keeps_to_the_bound_the_least_share_stays():
    questions = [question_of(60.0 + number / 100) for number in range(30)]
    selection = even_lots(questions, most=0.25)
    assert chance_of(selection) == 1.0
    assert selection == questions


def test_a_reader_of_the_frame_counts_as_blind():
    luck = np.random.default_rng(1)
    extents = luck.uniform(1, 3, 80)
    questions = [
        question_of(float(np.exp(extent)), visible_values=(float(extent),), within=0.5)
        for extent in extents
    ]
    untold = [question_of(question.target.value, within=0.5) for question in questions]
    assert chance_of(questions) > 0.9
    assert chance_of(untold) < 0.3
    assert asks_numbers(questions)


def test_answers_of_baselines_pass_no_more_than_the_chance(fractions):
    selection = even_lots(fractions, most=0.4)
    chance, form = chance_of(selection), form_of(selection[0].target)
    spread = 2 * (chance * (1 - chance) / len(selection)) ** 0.5
    for draw in (None, Random(0), Random(1)):
        passed = [
            form.score(
                float(form.blind_reply(question.target.ask, draw).split()[0]), question.target
            ).passed
            for question in selection
        ]
        assert np.mean(passed) <= chance + spread
