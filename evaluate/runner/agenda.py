"""Agenda of a session: which questions it asks, and which remain afterwards."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.questions.selection import WITHDRAWN
from medrcube.evaluate.runner.attempt_log import read_attempts
from medrcube.evaluate.runner.conversations import Conversations, standing_replies
from medrcube.evaluate.runner.plan import RunPlan, draw_order
from medrcube.evaluate.runner.run_folder import AskedQuestion, read_manifest
from medrcube.evaluate.runner.run_state import RunProgress, RunSummary
from medrcube.evaluate.stored_scores import withdrawn_items

__all__ = ["Agenda"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agenda:
    """Agenda of a session.

    Attributes:
        questions: every question of the run.
        distinct: those with a usable image; two items or conditions may ask the same question on
            the same image, which is asked once.
        todo: questions that this session asks.
        postponed: questions left for a later session because of ``first``.
        first: only the first items of the draw are asked.
        conversations: replies that later steps of chains build on.
    """

    questions: tuple[AskedQuestion, ...]
    distinct: Mapping[str, AskedQuestion]
    todo: list[AskedQuestion]
    postponed: list[AskedQuestion]
    first: int | None
    conversations: Conversations

    @classmethod
    def of(
        cls,
        plan: RunPlan,
        attempts: Path,
        replied: Collection[str],
        *,
        again: Collection[AnswerOutcome],
        first: int | None,
    ) -> Agenda:
        """Plan questions without a reply, or with ``again`` those with the given outcomes."""
        distinct = {a.key: a for a in plan.questions if a.key is not None}
        conversations, answered = _conversations(plan.questions, attempts, replied)
        if again:
            ended = _ended(plan.questions, attempts, again)
            candidates = [a for a in distinct.values() if _is_among(a, ended)]
        else:
            candidates = [a for key, a in distinct.items() if key not in answered]
        todo, postponed = _of_first(candidates, plan, first)
        conversations.forget(todo)
        return cls(
            questions=plan.questions,
            distinct=distinct,
            todo=todo,
            postponed=postponed,
            first=first,
            conversations=conversations,
        )

    def progress(self) -> RunProgress:
        """Return the progress before the first question."""
        total = len(self.distinct) - len(self.postponed)
        return RunProgress(total=total, reused=total - len(self.todo))

    def summary(
        self,
        out: Path,
        progress: RunProgress,
        *,
        seconds: float,
        cost: float | None,
        max_cost: float | None,
    ) -> RunSummary:
        """Return the summary of the run after the session."""
        answerable = sum(question.key is not None for question in self.questions)
        missing = _missing(self.questions)
        broke_off = sum(map(self.conversations.broke_off, self.todo))
        unasked = len(self.todo) - progress.done_count - broke_off
        left_count = unasked + len(self.postponed)
        return RunSummary(
            out=out,
            asked=len(self.questions),
            reused=progress.reused,
            answered=progress.done_count - progress.failed,
            failed=progress.failed,
            missing=missing,
            unreached=broke_off + len(self.questions) - answerable - missing,
            shared=answerable - len(self.distinct),
            left=left_count,
            left_out=_left_out(out),
            seconds=seconds,
            cost=cost,
            stopped=_why_stopped(unasked, max_cost, self.first)
            if unasked or self.postponed
            else None,
        )


def _left_out(out: Path) -> Mapping[str, int]:
    """Return the selected items that are not asked, by reason."""
    selection_counts = dict((read_manifest(out).get("selection") or {}).get("left_out", {}))
    withdrawn = len(withdrawn_items(out))
    return {**selection_counts, WITHDRAWN: withdrawn} if withdrawn else selection_counts


def _why_stopped(unasked: int, max_cost: float | None, first: int | None) -> str:
    if unasked:
        return f"the cost limit of {max_cost:g} US dollars is reached"
    return f"only the first {first:,} items of a fair draw were requested"


def _conversations(
    asked_questions: Iterable[AskedQuestion], attempts: Path, replied: Collection[str]
) -> tuple[Conversations, Collection[str]]:
    """Return the conversations so far, and the keys of questions whose reply still counts."""
    questions = list(asked_questions)
    conversations = Conversations.of(questions)
    if not conversations.earlier:
        return conversations, replied
    replies, _ = standing_replies(questions, read_attempts(attempts))
    for key, record in replies.items():
        conversations.hear(key, record)
    return conversations, replies.keys()


def _of_first(
    todo: list[AskedQuestion], plan: RunPlan, first: int | None
) -> tuple[list[AskedQuestion], list[AskedQuestion]]:
    """Return the questions of the first items of the draw, with all earlier steps; and the rest."""
    if first is None:
        return todo, []
    names = {item.name for item in draw_order(plan.items)[:first]}
    now, later = list[AskedQuestion](), list[AskedQuestion]()
    for question in todo:
        is_among = all(step.item.name in names for step in (*question.before, question))
        (now if is_among else later).append(question)
    return now, later


def _missing(questions: Iterable[AskedQuestion]) -> int:
    """Return questions without a usable image; the steps of chains after them are not reached."""
    keyless = (question for question in questions if question.key is None)
    return sum(all(step.key is not None for step in question.before) for question in keyless)


def _is_among(question: AskedQuestion, keys: Collection[str]) -> bool:
    """Whether a question or an earlier step of its chain has one of these keys."""
    return any(str(step.key) in keys for step in (*question.before, question))


def _ended(
    questions: Iterable[AskedQuestion], attempts: Path, outcomes: Collection[AnswerOutcome]
) -> set[str]:
    """Return the keys of questions with one of these outcomes."""
    # Takes a quarter of a second to import, which only ``again`` needs.
    from medrcube.evaluate.reply_outcomes import score_attempts  # noqa: PLC0415

    results = score_attempts(questions, read_attempts(attempts))
    return {str(result.question.key) for result in results if result.outcome in outcomes}
