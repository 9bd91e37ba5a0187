"""Create a run from replies that another harness collected."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from medrcube.console.counts import counted
from medrcube.errors import ModelError, WorkspaceError
from medrcube.evaluate.dataset import Benchmark
from medrcube.evaluate.imports.detect_format import read_foreign, read_replies
from medrcube.evaluate.imports.item_matching import MatchedReplies, Question, match_replies
from medrcube.evaluate.imports.replies import ForeignReply, ForeignRun
from medrcube.evaluate.imports.shown_options import LIST_LIMIT, drop_differing, shown_difference
from medrcube.evaluate.models.protocol import Json, ModelRequest, Reply
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.questions.selection import ItemFilter
from medrcube.evaluate.runner.begin_run import write_plan
from medrcube.evaluate.runner.plan import plan_run
from medrcube.evaluate.runner.question_states import QuestionStates, states_of
from medrcube.evaluate.runner.run_folder import (
    MANIFEST,
    AskedQuestion,
    attempts_path,
    now,
    read_manifest,
    write_json_lines,
    write_manifest,
)
from medrcube.evaluate.scoring import score
from medrcube.evaluate.stored_scores import read_results

__all__ = ["ImportedRun", "import_run", "score_replies", "write_run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRun:
    """Result of an import.

    Attributes:
        tool: harness that wrote the file, or ``replies`` for plain rows.
        model: name of the model in the run.
        replies: imported replies.
        matched: replies of the file by item, and those that matched none.
        metrics: content of ``metrics.json``.
        standing: states of the questions of the run.
    """

    tool: str
    model: str
    replies: int
    matched: MatchedReplies
    metrics: Mapping[str, Any]
    standing: QuestionStates

    @property
    def unanswered(self) -> tuple[str, ...]:
        """Items of the release without a reply in the file."""
        return self.matched.missing


def import_run(
    path: Path,
    benchmark: Benchmark,
    out: Path,
    *,
    model: str | None = None,
    edition: Benchmark | None = None,
) -> ImportedRun:
    """Create a run from a result file of another harness; every row must match this release.

    Args:
        path: result file.
        benchmark: the release.
        out: folder of the new run.
        model: name of the model; by default the one in the file.
        edition: the edition that was asked, for the condition ``reworded``.

    Raises:
        WorkspaceError: the file cannot be read, names items that the release does not have, has
            more than a few items whose question or options differ from the release, or any rotated
            or reworded one that differs from the release or edition, or ``out`` is not empty.
    """
    foreign = read_foreign(path, model)
    matched = match_replies(foreign, benchmark.items, benchmark.errata)
    if strange := (*matched.unknown, *matched.ambiguous):
        raise WorkspaceError(
            f"{path}: has replies to {counted(len(strange), 'item')} that {benchmark.root} does "
            f"not have: {', '.join(strange[:LIST_LIMIT])}; expected a result of this release"
        )
    matched = drop_differing(matched, foreign, benchmark.items, path)
    return write_run(
        foreign, matched, benchmark, out, digest=_digest(path), model=model, edition=edition
    )


def score_replies(
    path: Path, benchmark: Benchmark, out: Path, *, model: str | None = None
) -> ImportedRun:
    """Create and score a run from replies in a file to items of a release.

    Unknown, repeated and missing items are counted in ``ImportedRun.matched``; an item without a
    reply is ``failed``, not wrong. Replies are scored whether or not this copy of the release has
    the images, since they were obtained elsewhere.

    Raises:
        WorkspaceError: the file cannot be read, has no reply to any item of the release, has more
            than a few items with a different question or options, or ``out`` is not empty.
    """
    foreign = read_replies(path, model)
    matched = match_replies(foreign, benchmark.items, benchmark.errata)
    if not matched.replies:
        names = ", ".join((*matched.unknown, *matched.ambiguous, *matched.conflicting)[:LIST_LIMIT])
        raise WorkspaceError(
            f"{path}: has no reply that belongs to one item of {benchmark.root}"
            f"{f'; it names {names}' if names else ''}; expected DATASET/ID, or the id"
        )
    matched = drop_differing(matched, foreign, benchmark.items, path)
    return write_run(foreign, matched, benchmark, out, digest=_digest(path), model=model)


def write_run(
    foreign: ForeignRun,
    matched: MatchedReplies,
    benchmark: Benchmark,
    out: Path,
    *,
    digest: str,
    model: str | None = None,
    choice: ItemFilter | None = None,
    about: Mapping[str, Any] | None = None,
    edition: Benchmark | None = None,
) -> ImportedRun:
    """Write a run folder from replies matched with the items of a release.

    Args:
        foreign: the replies, and their model.
        matched: the replies by item.
        benchmark: the release.
        out: folder of the new run.
        digest: digest of the replies, part of the run's identity.
        model: name of the model; by default that of ``foreign``.
        choice: items that were asked; all by default.
        about: additional entries of the manifest.
        edition: the edition that was asked, for the condition ``reworded``.

    Raises:
        WorkspaceError: ``out`` is not empty, a required edition is missing, or a rotated or
            reworded item had different options.
    """
    if (out / MANIFEST).exists():
        raise WorkspaceError(f"{out}: holds a run; choose another folder")
    name = f"{foreign.tool}/{model or foreign.model or 'unnamed'}"
    asker = _Elsewhere(name=name, tool=foreign.tool, digest=digest)
    epochs = 1 + max((epoch for _, epoch, _ in matched.replies), default=0)
    plan = plan_run(
        out,
        benchmark,
        asker,
        conditions=(foreign.condition,),
        epochs=epochs,
        choice=choice,
        elsewhere=True,
        edition=edition,
    )
    questions = plan.questions
    # An edition need not ask about every fact.
    forms = {question.item.name for question in questions}
    _same_options(questions, matched.replies, foreign)
    write_plan(out, plan)
    write_json_lines(attempts_path(out), _attempts(questions, matched.replies, foreign))
    manifest = read_manifest(out)
    # The other tool may have worded the question differently.
    worded = {"name": "", "version": foreign.prompt or f"of {foreign.tool}"}
    models = [foreign.model] if foreign.model else []
    ended = {"ended": now(), "prompt": worded, "models": models}
    write_manifest(out, {**manifest, **ended, **(about or {})})
    metrics = score(out)
    return ImportedRun(
        tool=foreign.tool,
        model=name,
        replies=len(matched.replies),
        matched=replace(matched, missing=tuple(n for n in matched.missing if n in forms)),
        metrics=metrics,
        standing=states_of(read_results(out)),
    )


def _same_options(
    questions: Iterable[AskedQuestion],
    replies: Mapping[Question, ForeignReply],
    foreign: ForeignRun,
) -> None:
    """Check options of rotated and reworded items, which the release alone does not determine."""
    if foreign.condition not in {Condition.CIRCULAR, Condition.REWORDED}:
        return
    reworded = foreign.condition is Condition.REWORDED
    expected = f"a log of this release{', and the edition that was asked' if reworded else ''}"
    for question in questions:
        reply = replies.get(_question(question))
        if reply is None:
            continue
        other = shown_difference(reply, question.item) if reply.options else "options"
        if other is not None:
            form = f"{foreign.condition.value}, turn {question.presentation.turn}"
            raise WorkspaceError(
                f"{question.item.name} was asked with different {other} ({form}); "
                f"expected {expected}"
            )
    forms = {_question(question) for question in questions}
    if strange := [key for key in replies if key not in forms]:
        raise WorkspaceError(
            f"{strange[0][0]} was asked in a form that it does not have "
            f"({foreign.condition.value}, turn {strange[0][2]}); expected {expected}"
        )


def _question(question: AskedQuestion) -> Question:
    presentation = question.presentation
    return question.item.name, presentation.epoch, presentation.turn


def _attempts(
    questions: tuple[AskedQuestion, ...],
    replies: Mapping[Question, ForeignReply],
    foreign: ForeignRun,
) -> Iterator[dict[str, Any]]:
    at = now()
    for question in questions:
        reply = replies.get(_question(question))
        if reply is not None:
            yield {
                "key": question.key,
                "item": question.item.name,
                "try": 1,
                "at": at,
                "status": "reply",
                "text": reply.text,
                "finish_reason": reply.finish_reason,
                "usage": dict(reply.usage),
                "model": foreign.model,
                "latency": 0.0,
            }


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Elsewhere:
    """Model of an imported run, which cannot be asked again."""

    name: str
    tool: str
    digest: str

    @property
    def identity(self) -> Mapping[str, Json]:
        return {"adapter": f"import/{self.tool}", "name": self.name, "file_sha256": self.digest}

    async def answer(self, request: ModelRequest) -> Reply:
        raise ModelError(f"{self.name} ran in another tool; {request.item} cannot be asked again")

    async def close(self) -> None:
        """Nothing to close."""
