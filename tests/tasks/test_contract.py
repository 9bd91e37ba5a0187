"""One contract for every task; a new task of the package brings no test file of its own."""

import pytest

from medrcube.build.open_items.authoring.trial_views import trial_views
from medrcube.build.open_items.rule_files import open_questions, open_tasks
from medrcube.build.open_items.wording import question_values
from medrcube.build.profile.answerable import answerable_facts
from medrcube.build.questions.authoring.occasions import occasions
from medrcube.build.questions.authoring.task_check import check_task
from medrcube.build.questions.question_wording import wording_values
from medrcube.evaluate.answer_parsing import extract
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task, cube_tasks
from medrcube.templates import package_wordings

CARDS = [source.card for source in find_sources().values()]
LONGEST = 300
"""Characters of a question; prompts of small models hold it with its options and an image."""
GARBAGE = ("", "?", "I cannot tell.", "lorem ipsum", "{}", "\ufffd" * 40, "E. none of these")


@pytest.mark.few(6)
@pytest.mark.parametrize("task", Task)
def test_a_task_holds_its_contract(task):
    assert [failure for check in check_task(task, CARDS) for failure in check.failures] == []


@pytest.mark.parametrize("task", cube_tasks())
def test_every_wording_of_a_task_fits_into_a_prompt(task):
    terms, relations, wordings = load_terms(), load_relations(), package_wordings()
    texts = {
        wordings.render(task, name, **wording_values(occasion.query, terms, relations))
        for occasion in occasions(CARDS, terms, relations)
        if occasion.query.task == task
        for name in wordings.variants(task)
    }
    assert texts
    assert max(map(len, texts)) < LONGEST


@pytest.mark.few(2)
@pytest.mark.parametrize("task", open_tasks())
def test_every_wording_of_a_task_with_a_rule_fits_into_a_prompt(task):
    terms, wordings = load_terms(), package_wordings()
    questions = [
        question
        for card in CARDS
        for view in trial_views(task, card)
        for question in open_questions(view)
        if not question.bar_reason
    ]
    texts = {
        wordings.render(task, name, **question_values(question, terms))
        for question in questions
        for name in wordings.variants(task)
    }
    assert texts
    assert max(map(len, texts)) < LONGEST


@pytest.mark.parametrize("task", cube_tasks())
@pytest.mark.parametrize("reply", GARBAGE)
def test_a_reply_that_names_no_option_of_a_task_is_no_answer(task, reply):
    labels = next(
        names
        for card in CARDS
        for fact in answerable_facts(card)
        for question in fact.prepared.ready
        if question.query.task == task
        and len(names := tuple(getattr(question.compatible, "labels", ("Box 1", "Box 2")))) > 1
    )
    options = list(zip("ABCD", labels[:4], strict=False))
    assert extract(reply, options).letter is None
