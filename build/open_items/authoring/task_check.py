"""Contract checks of a task with a rule (``medrcube tasks check``).

Nothing is rendered: the rule is tried on placeholder cases of every source. The test suite runs the
same checks on the tasks of the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from medrcube.build.open_items.authoring.trial_views import trial_views, unknown_views
from medrcube.build.open_items.question import OpenQuestion
from medrcube.build.open_items.rule_files import load_rule, open_questions
from medrcube.build.open_items.wording import question_values, stem_faults
from medrcube.build.questions.authoring.own_templates import render_wording
from medrcube.build.source_checks.source_check import ContractCheck
from medrcube.forms import form_of
from medrcube.forms.option import OptionTarget
from medrcube.forms.protocol import TargetError
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.card import Card
from medrcube.tasks.declaration import TaskError
from medrcube.taxonomy import Task
from medrcube.templates import TemplateError, Wordings

__all__ = ["WORDINGS", "asking_sources", "check_open_task", "sources_of", "too_few_wordings"]

WORDINGS = 3
"""Fewest wordings of a task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _RuleTrial:
    """A task with the questions that its rule yields for the placeholder cases of all sources."""

    task: Task
    cards: Sequence[Card]
    questions: Sequence[OpenQuestion]
    reasons: Sequence[str]


def check_open_task(task: Task, cards: Sequence[Card]) -> tuple[ContractCheck, ...]:
    """Check one task with a rule against its contract.

    Args:
        task: the task; its declaration was checked when it was read.
        cards: cards of all sources.
    """
    name = "its rule runs on every source"
    try:
        rule = load_rule(task)
        questions = [
            question
            for card in cards
            for view in trial_views(task, card)
            for question in open_questions(view, rule)
        ]
    except TaskError as error:
        return (ContractCheck(name=name, failures=(str(error),)),)
    trial = _RuleTrial(
        task=task,
        cards=cards,
        questions=[question for question in questions if not question.bar_reason],
        reasons=sorted({question.bar_reason for question in questions if question.bar_reason}),
    )
    return (
        ContractCheck(name=name, failures=()),
        *(
            ContractCheck(name=name, failures=tuple(check(trial)))
            for name, check in _CHECKS.items()
        ),
    )


def asking_sources(task: Task, cards: Sequence[Card]) -> list[Card]:
    """Return the sources for which the rule of a task may yield questions, by placeholder cases."""
    rule = load_rule(task)
    return [
        card
        for card in cards
        if any(
            not question.bar_reason
            for view in trial_views(task, card)
            for question in open_questions(view, rule)
        )
    ]


def sources_of(task: Task, cards: Sequence[Card]) -> list[str]:
    """Return the ids of the sources that support a task: by their cards, or by its rule."""
    if task.declaration.rule:
        return [card.id for card in asking_sources(task, cards)]
    return [card.id for card in cards if any(voxel.task == task for voxel in card.voxels)]


def too_few_wordings(task: Task) -> Iterator[str]:
    """Yield what is wrong if a task has too few wordings, or one that cannot be read."""
    try:
        wordings = Wordings(tasks=[task])
    except TemplateError as error:
        yield str(error)
        return
    names = wordings.variants(task)
    if len(names) < WORDINGS:
        file = wordings.where(task)
        yield f"{file}: number of wordings: {len(names)}, expected {WORDINGS} or more"


def _words_fit(trial: _RuleTrial) -> Iterator[str]:
    try:
        wordings = Wordings(tasks=[trial.task])
    except TemplateError:  # reported by the check of the wordings
        return
    terms = load_terms()
    for name in wordings.variants(trial.task):
        for question in trial.questions:
            values = question_values(question, terms)
            try:
                text = render_wording(wordings, trial.task, name, values)
            except TemplateError as error:
                yield str(error)
                break
            faults = stem_faults(question, text, values)
            if faults:
                rule, message = faults[0]
                file = wordings.where(trial.task, name)
                yield f"{file}: {text!r} breaks the rule {rule}: {message}"
                break


def _is_asked(trial: _RuleTrial) -> Iterator[str]:
    if not trial.questions:
        reasons = (
            f"; it bars all that it finds: {', '.join(trial.reasons)}" if trial.reasons else ""
        )
        yield f"its rule asks nothing of any of {len(trial.cards)} sources{reasons}"


def _targets_are_sound(trial: _RuleTrial) -> Iterator[str]:
    for question in trial.questions:
        fault = _target_fault(question)
        if fault:
            yield f"{question.sample.source}: {question.concept}: {fault}"
            return


def _target_fault(question: OpenQuestion) -> str:
    target = question.target
    if isinstance(target, OptionTarget):
        letters = [letter for letter, _ in target.options]
        texts = {text.casefold() for _, text in target.options}
        if target.key not in letters or not 2 <= len(texts) == len(letters) <= 4:
            return "expected two to four different options, one of which is the key"
        return ""
    form = form_of(target)
    try:
        again = form.read_target(*form.write_target(target))
    except TargetError as error:
        return str(error)
    return "" if again == target else "the target is another one when it is read back"


def _sets_have_roles(trial: _RuleTrial) -> Iterator[str]:
    if trial.task.declaration.sets == "none":
        return
    if any(not question.role for question in trial.questions):
        yield "set = \"pair\" needs a role of every question, such as 'yes' and 'no'"


def _unknown_is_refused(trial: _RuleTrial) -> Iterator[str]:
    rule = load_rule(trial.task)
    for card in trial.cards:
        for view in unknown_views(trial.task, card):
            fields = {label.field for label in view.case.labels}
            questions = (q for q in open_questions(view, rule) if not q.bar_reason)
            question = next((q for q in questions if q.field in fields), None)
            if question is not None:
                yield f"{card.id}: {question.field!r} is asked where all of it is unknown"
                break


_CHECKS: dict[str, Callable[[_RuleTrial], Iterator[str]]] = {
    "it has several wordings": lambda trial: too_few_wordings(trial.task),
    "a fact may be asked": _is_asked,
    "its wordings fit all that its rule asks": _words_fit,
    "its targets are sound": _targets_are_sound,
    "members of its sets have roles": _sets_have_roles,
    "what is unknown is not asked": _unknown_is_refused,
}
