"""Contract checks of a task on the sources that provide it (``medrcube tasks check``).

Nothing is rendered: every wording is tried on every occasion that the cards allow, and placeholder
cases determine which facts may be asked about. The test suite runs the same checks on the tasks of
the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from medrcube.build.open_items.authoring.task_check import check_open_task, too_few_wordings
from medrcube.build.profile.answerable import answerable_facts, prepare_cases
from medrcube.build.questions.authoring.own_templates import check_wordings
from medrcube.build.source_checks.source_check import ContractCheck
from medrcube.facts import Case, ImageRef, Label, LabelState
from medrcube.sources._framework.card import Card
from medrcube.taxonomy import Task
from medrcube.templates import TemplateError, Wordings

__all__ = ["check_task"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _CubeTask:
    """A task with the cards of the sources that provide it."""

    task: Task
    cards: Sequence[Card]


def check_task(task: Task, cards: Sequence[Card]) -> tuple[ContractCheck, ...]:
    """Check one task against its contract.

    Args:
        task: the task; its declaration was checked when it was read.
        cards: cards of all sources.
    """
    if task.declaration.rule:
        return check_open_task(task, cards)
    asking_cards = [card for card in cards if any(voxel.task == task for voxel in card.voxels)]
    trial = _CubeTask(task=task, cards=asking_cards)
    return tuple(
        ContractCheck(name=name, failures=tuple(check(trial))) for name, check in _CHECKS.items()
    )


def _words_fit(trial: _CubeTask) -> Iterator[str]:
    try:
        wordings = Wordings(tasks=[trial.task])
    except TemplateError:  # reported by the check of the wordings
        return
    try:
        check_wordings(wordings, [trial.task], trial.cards)
    except TemplateError as error:
        yield str(error)


def _is_given(trial: _CubeTask) -> Iterator[str]:
    if not trial.cards:
        yield (
            f"no source gives {trial.task}; name it under  tasks  in the card of a source, and "
            "the folder of that source by  --source-path"
        )


def _is_asked(trial: _CubeTask) -> Iterator[str]:
    tasks = (
        question.query.task
        for card in trial.cards
        for fact in answerable_facts(card)
        for question in fact.prepared.ready
    )
    if trial.cards and trial.task not in tasks:
        names = ", ".join(card.id for card in trial.cards)
        kinds = ", ".join(trial.task.declaration.kinds)
        yield f"none of its sources ({names}) has a fact that may be asked; expected one of {kinds}"


def _unknown_is_refused(trial: _CubeTask) -> Iterator[str]:
    for card in trial.cards:
        for field in card.fields.values():
            if field.constant is not None or field.kind not in trial.task.declaration.kinds:
                continue
            labels = tuple(
                Label(
                    field=field.name,
                    value=field.raw_value(concept),
                    state=LabelState.UNKNOWN,
                    evidence="stand-in",
                )
                for concept in field.concepts()
            )
            case = Case(key="any", images=(ImageRef(paths=()),), labels=labels)
            ready = prepare_cases(card, [case]).ready
            questions = {(question.query.task, question.query.field) for question in ready}
            if (trial.task, field.name) in questions:
                yield f"{card.id}: {field.name!r} is asked where all of it is unknown"


_CHECKS: dict[str, Callable[[_CubeTask], Iterator[str]]] = {
    "it has several wordings": lambda trial: too_few_wordings(trial.task),
    "a source gives it": _is_given,
    "its wordings fit all that its sources can ask": _words_fit,
    "a fact may be asked": _is_asked,
    "what is unknown is not asked": _unknown_is_refused,
}
