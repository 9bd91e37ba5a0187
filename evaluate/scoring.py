"""Score a run: turn its attempts into outcomes and metrics; never calls a model.

Every item has exactly one outcome. Infrastructure failures (failed, missing-image) are separate
from the model's behaviour (wrong, unparsed, refused, cut), from questions not asked yet and from
steps of a chain that were not reached, as an earlier step has no reply to go on from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from medrcube.errors import WorkspaceError
from medrcube.evaluate.answer_parsing.published_rule import upstream_scores
from medrcube.evaluate.answer_parsing.refusals import is_refusal
from medrcube.evaluate.answer_parsing.reply_forms import read_reply, read_truncated_reply
from medrcube.evaluate.answer_parsing.thinking_blocks import strip_reasoning
from medrcube.evaluate.dataset import LETTERS, held_once
from medrcube.evaluate.errata import withdrawn_of
from medrcube.evaluate.judge.prompt import Judge, read_judgements
from medrcube.evaluate.outcomes import LOST, NOT_SHOWN, AnswerOutcome, Result, score_answer
from medrcube.evaluate.questions.conditions import Condition, Presentation
from medrcube.evaluate.runner.attempt_log import read_attempts
from medrcube.evaluate.runner.conversations import said_text, standing_replies
from medrcube.evaluate.runner.run_folder import (
    ITEMS,
    METRICS,
    OUTCOMES,
    RESULTS,
    AskedQuestion,
    attempts_path,
    each_json_line,
    read_asked,
    read_manifest,
)
from medrcube.evaluate.statistics.chain_metrics import chain_metrics
from medrcube.evaluate.statistics.condition_contrasts import (
    condition_contrasts,
    epochs,
    other_conditions,
)
from medrcube.evaluate.statistics.credibility import credibility
from medrcube.evaluate.statistics.form_metrics import form_metrics
from medrcube.evaluate.statistics.metrics import (
    METRICS_VERSION,
    metrics,
    replies_account,
    run_metrics,
    task_metrics,
    upstream_metrics,
)
from medrcube.files.atomic import replacing, sha256_of

__all__ = [
    "EARLIER_STEP",
    "NOT_TRIED",
    "NO_REPLY",
    "UPSTREAM_METRICS",
    "UPSTREAM_RESULTS",
    "is_imported",
    "main_results",
    "read_by_rules",
    "read_metrics",
    "read_outcomes",
    "read_results",
    "recompute_scores",
    "score",
    "score_attempts",
    "score_reply",
    "withdrawn_items",
]

UPSTREAM_RESULTS, UPSTREAM_METRICS = "results.json", "metrics_summary.json"

NO_REPLY, NOT_TRIED = "no-reply", "not-tried"
"""Rule of a question without a reply: after a try, or because it was not tried yet."""

EARLIER_STEP = "earlier-step"
"""Rule of a step of a chain that was not reached."""


def score(run: Path, judge: Judge | None = None) -> Mapping[str, Any]:
    """Score a run and replace all derived files together.

    No file is replaced before all are on disk, and ``metrics.json``, which holds the digest of the
    outcomes, comes last: ``read_metrics`` refuses scores that a kill left partly old.

    ``outcomes.jsonl`` has a row for each presentation; ``results.jsonl``, ``metrics.json`` and
    upstream's two files are of one result an item, see ``main_results``. Upstream's files have its
    format, but ``correct`` in them is by our rules; the accuracy by the published rule is in
    ``metrics.json`` under ``upstream``. ``strict`` there is by the rules alone, ``lenient`` by the
    rules and a judge.

    Args:
        run: run folder.
        judge: judge of the replies that the rules could not parse; ``None`` scores by the rules
            alone, even where verdicts are stored.

    Returns:
        Content of ``metrics.json``.

    Raises:
        WorkspaceError: the folder is no run, or cannot be written.
    """
    manifest = read_manifest(run)
    asked = read_asked(run)
    replies, tried = standing_replies(asked, _attempts(run))
    by_rules = _score_replies(asked, replies, None if is_imported(manifest) else tried)
    results = by_rules if judge is None else judge.rescored(by_rules)
    account = _judge_unused(run) if judge is None else judge.account(by_rules)
    summary = _summary(run, results, by_rules, replies, account)
    with ExitStack() as stack:

        def write(name: str, lines: Iterable[bytes]) -> str:
            return _write(stack.enter_context(replacing(run / name)), lines)

        # Entered first, so replaced last.
        metrics_file = stack.enter_context(replacing(run / METRICS))
        summary["outcomes_sha256"] = write(OUTCOMES, _lines(map(_outcome_row, results)))
        for name, content in _derived(results).items():
            write(name, _FORMS[name](content))
        _write(metrics_file, _json(summary))
    return summary


def recompute_scores(run: Path, results: Sequence[Result]) -> Mapping[str, Any]:
    """Recompute every derived file except the outcomes; nothing is written.

    Args:
        run: run folder.
        results: results from ``read_results``; they are not judged again.

    Returns:
        JSON content by file name: rows of ``results.jsonl`` and ``results.json``, objects of
        ``metrics.json`` and ``metrics_summary.json``.

    Raises:
        WorkspaceError: the folder is no run, or has no scores.
    """
    stored = read_metrics(run)
    replies, _ = standing_replies(read_asked(run), _attempts(run))
    summary = {
        **_summary(run, results, read_by_rules(run), replies, stored["judge"]),
        "outcomes_sha256": stored["outcomes_sha256"],
    }
    # As JSON: string keys, lists for tuples.
    derived = {
        name: list(content) if isinstance(content, Iterator) else content
        for name, content in _derived(results).items()
    }
    recomputed: Mapping[str, Any] = json.loads(json.dumps({METRICS: summary, **derived}))
    return recomputed


def read_by_rules(run: Path) -> list[Result]:
    """Results of all presentations by the rules alone; nothing is written.

    Raises:
        WorkspaceError: the folder is no run.
    """
    manifest, asked = read_manifest(run), read_asked(run)
    replies, tried = standing_replies(asked, _attempts(run))
    return _score_replies(asked, replies, None if is_imported(manifest) else tried)


def read_results(run: Path) -> list[Result]:
    """Results that ``score`` wrote: one for each presentation, in the order of asking.

    Raises:
        WorkspaceError: the run was never scored, or its questions changed since.
    """
    path = run / OUTCOMES
    try:
        path.stat()
        return [
            Result(
                asked=asked,
                outcome=AnswerOutcome(row["outcome"]),
                answer=held_once(row["answer"]),
                rule=held_once(row["rule"]),
                reply=row["reply"],
                cut=row.get("cut", False),
            )
            for asked, row in zip(read_asked(run), each_json_line(path), strict=True)
            if _same_name(asked, row)
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(f"{run}: has no scores; run  medrcube score {run}") from error


def read_outcomes(run: Path) -> Iterator[AnswerOutcome]:
    """Outcomes alone that ``score`` wrote: one for each presentation, in the order of asking.

    Raises:
        WorkspaceError: the run was never scored.
    """
    try:
        for row in each_json_line(run / OUTCOMES):
            yield AnswerOutcome(row["outcome"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(f"{run}: has no scores; run  medrcube score {run}") from error


def read_metrics(run: Path) -> dict[str, Any]:
    """Content of ``metrics.json``.

    Raises:
        WorkspaceError: the run was never scored, or its files are of different scorings.
    """
    try:
        metrics: dict[str, Any] = json.loads((run / METRICS).read_text(encoding="utf-8"))
        outcomes = sha256_of(run / OUTCOMES)
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"{run}: has no scores; run  medrcube score {run}") from error
    if (metrics.get("version"), metrics.get("outcomes_sha256")) != (METRICS_VERSION, outcomes):
        raise WorkspaceError(
            f"{run}: {METRICS} and {OUTCOMES} are not of one scoring, or of another version; "
            f"run  medrcube score {run}"
        )
    return metrics


def withdrawn_items(run: Path) -> list[str]:
    """Names of the withdrawn items of a run.

    Raises:
        WorkspaceError: the lists of the run cannot be read.
    """
    withdrawn = withdrawn_of(run)
    if not withdrawn:
        return []
    try:
        rows = each_json_line(run / ITEMS)
        return [name for row in rows if (name := f"{row['dataset']}/{row['id']}") in withdrawn]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(f"{run / ITEMS}: cannot be read: {error!r}") from error


def main_results(results: Sequence[Result]) -> list[Result]:
    """One result an item: the first condition of the run, its first epoch."""
    first = min((r.asked.presentation for r in results), key=_order, default=None)
    if first is None:
        return []
    return [
        result
        for result in results
        if (presentation := result.asked.presentation).condition is first.condition
        and presentation.turn == presentation.epoch == 0
    ]


def score_attempts(
    questions: Iterable[AskedQuestion], attempts: Iterable[Mapping[str, Any]]
) -> list[Result]:
    """Results of the questions; the last reply to each counts."""
    questions = list(questions)
    return _score_replies(questions, *standing_replies(questions, attempts))


def is_imported(manifest: Mapping[str, Any]) -> bool:
    """Whether a run was imported, so that tries without a reply are unknown."""
    return str(manifest["model"].get("adapter", "")).startswith("import/")


def score_reply(
    asked: AskedQuestion, reply: Mapping[str, Any] | None, *, tried: bool = True
) -> Result:
    """Result of one presentation; ``tried`` tells whether it was sent at all."""
    if asked.key is None:
        return _result_without_answer(asked, AnswerOutcome.MISSING_IMAGE, "no-picture", None)
    if reply is None:
        if tried:
            return _result_without_answer(asked, AnswerOutcome.FAILED, NO_REPLY, None)
        return _result_without_answer(asked, AnswerOutcome.NOT_ASKED, NOT_TRIED, None)
    text, reason = reply["text"], reply["finish_reason"]
    if reason == "length":
        answer, rule = read_truncated_reply(text, asked.item)
        return replace(_answer_result(asked, answer, rule, text, AnswerOutcome.CUT), cut=True)
    if reason in {"content_filter", "refusal"}:
        return _result_without_answer(asked, AnswerOutcome.REFUSED, "finish-reason", text)
    if not strip_reasoning(text).closed:
        return replace(
            _result_without_answer(asked, AnswerOutcome.CUT, "unclosed-reasoning", text), cut=True
        )
    answer, rule = read_reply(text, asked.item)
    refused = answer is None and is_refusal(strip_reasoning(text).text)
    return _answer_result(
        asked, answer, rule, text, AnswerOutcome.REFUSED if refused else AnswerOutcome.UNPARSED
    )


def _attempts(run: Path) -> Iterator[Mapping[str, Any]]:
    """Attempts of a run with what scoring reads; equal values of several are one object."""
    counts: dict[str, Mapping[str, Any]] = {}
    for record in read_attempts(attempts_path(run)):
        kept = {name: record[name] for name in _SCORED if name in record}
        if (usage := kept.get("usage")) is not None:
            kept["usage"] = counts.setdefault(repr(usage), usage)
        for name in _OFTEN_EQUAL.intersection(kept):
            kept[name] = held_once(kept[name])
        yield kept


_SCORED = ("key", "status", "text", "finish_reason", "usage", "model", "history")
_OFTEN_EQUAL = frozenset({"status", "finish_reason", "model"})


def _score_replies(
    questions: Iterable[AskedQuestion],
    replies: Mapping[str, Mapping[str, Any]],
    tried: Collection[str] | None,
) -> list[Result]:
    def was_tried(question: AskedQuestion) -> bool:
        return tried is None or question.key in tried

    def reply_to(question: AskedQuestion) -> Mapping[str, Any] | None:
        return None if question.key is None else replies.get(question.key)

    results = []
    for question in questions:
        broken = next((s for s in question.before if not _goes_on(reply_to(s))), None)
        if broken is None:
            result = score_reply(question, reply_to(question), tried=was_tried(question))
        elif broken.key is not None and reply_to(broken) is None and not was_tried(broken):
            result = _result_without_answer(question, AnswerOutcome.NOT_ASKED, NOT_TRIED, None)
        else:
            result = _result_without_answer(question, AnswerOutcome.NOT_REACHED, EARLIER_STEP, None)
        results.append(result)
    return results


def _goes_on(reply: Mapping[str, Any] | None) -> bool:
    """Whether a conversation goes on after a reply."""
    return reply is not None and said_text(reply) != ""


def _answer_result(
    asked: AskedQuestion, answer: str | None, rule: str, reply: str, otherwise: AnswerOutcome
) -> Result:
    """Result of a parsed reply; ``otherwise`` is the outcome without an answer."""
    if answer is None:
        return _result_without_answer(asked, otherwise, rule, reply)
    passed = score_answer(asked.item, answer).passed
    outcome = AnswerOutcome.CORRECT if passed else AnswerOutcome.WRONG
    return Result(asked=asked, outcome=outcome, answer=answer, rule=rule, reply=reply)


def _summary(
    run: Path,
    results: Sequence[Result],
    by_rules: Sequence[Result],
    replies: Mapping[str, Mapping[str, Any]],
    account: Mapping[str, Any],
) -> dict[str, Any]:
    """Content of ``metrics.json`` without the digest of the outcomes."""
    main, strict = main_results(results), main_results(by_rules)
    return {
        **metrics(main),
        "options": task_metrics(_with_options(main)),
        "forms": form_metrics(main),
        "strict": _brief(strict),
        "lenient": _brief(main) if account["used"] else None,
        "judge": account,
        "upstream": upstream_scores(_with_options(strict)),
        "conditions": other_conditions(results),
        "contrasts": condition_contrasts(results),
        "epochs": epochs(results),
        "credibility": credibility(main),
        "chains": chain_metrics(results, replies),
        "replies": replies_account(replies.values()),
        "withdrawn": withdrawn_items(run),
    }


def _derived(results: Sequence[Result]) -> dict[str, Any]:
    """Content of the files of one result an item; of a list an iterator of its rows."""
    main = main_results(results)
    optional = _with_options(main)
    return {
        RESULTS: map(_row, main),
        UPSTREAM_RESULTS: map(_upstream_row, (r for r in optional if r.outcome not in NOT_SHOWN)),
        UPSTREAM_METRICS: upstream_metrics(optional),
    }


def _with_options(results: Sequence[Result]) -> list[Result]:
    """Results of the items that the published evaluator knows."""
    return [result for result in results if result.item.target is None]


def _brief(results: Sequence[Result]) -> dict[str, Any]:
    group = run_metrics(results)
    return {name: group[name] for name in ("n", "correct", "accuracy", "accuracy_answered")}


def _judge_unused(run: Path) -> dict[str, Any]:
    return {"used": False, "kept": sum(1 for _ in read_judgements(run))}


def _result_without_answer(
    asked: AskedQuestion, outcome: AnswerOutcome, rule: str, reply: str | None
) -> Result:
    return Result(asked=asked, outcome=outcome, answer=None, rule=rule, reply=reply)


def _order(presentation: Presentation) -> int:
    return list(Condition).index(presentation.condition)


def _outcome_row(result: Result) -> dict[str, Any]:
    presentation = result.asked.presentation
    return {
        "item": result.item.name,
        "condition": presentation.condition.value,
        "turn": presentation.turn,
        "epoch": presentation.epoch,
        **({"chain": presentation.chain, "step": presentation.step} if presentation.chain else {}),
        "outcome": result.outcome.value,
        "answer": result.answer,
        "choice": result.choice,
        "rule": result.rule,
        "reply": result.reply,
        "cut": result.cut,
        **({} if result.item.target is None else {"credit": _credit(result)}),
    }


def _credit(result: Result) -> float | None:
    """Credit of an item without options; 0 for a reply without an answer."""
    if result.outcome in LOST:
        return None
    return 0.0 if result.score is None else result.score.credit


def _row(result: Result) -> dict[str, Any]:
    item = result.item
    return {
        "id": item.id,
        "dataset": item.dataset,
        "task": item.task.value,
        "modality": item.modality.value,
        "parts": item.parts.value,
        "image_path": item.image,
        "outcome": result.outcome.value,
        "answer": result.answer,
        "rule": result.rule,
        "reply": result.reply,
    }


def _upstream_row(result: Result) -> dict[str, Any]:
    """The release's fields and upstream's two; the path distinguishes images of two sources."""
    item = result.item
    texts = dict(item.options)
    return {
        "id": item.id,
        "dataset": item.dataset,
        "image_path": item.image,
        "question": item.question,
        **{f"option_{letter}": texts[letter] for letter in LETTERS if letter in texts},
        "gt_answer": texts[item.key],
        "correct_index": LETTERS.index(item.key),
        "task": item.task.release_name,
        "modality": item.modality.value,
        "parts": item.parts.value,
        "original_task": item.original_task,
        "restricted": item.restricted,
        "model_response": result.reply or "",
        "correct": None if result.outcome in LOST else result.outcome is AnswerOutcome.CORRECT,
    }


def _lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    for row in rows:
        yield _bytes(f"{_ROW.encode(row)}\n")


def _indented_list(rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """A list of flat objects, as ``_json`` writes it; several times as fast."""
    before = "[\n"
    for row in rows:
        yield _bytes(f"{before}  {{\n    {_INDENTED_ROW.encode(row)[1:-1]}\n  }}")
        before = ",\n"
    yield b"\n]\n" if before == ",\n" else b"[]\n"


def _same_name(asked: AskedQuestion, row: Mapping[str, Any]) -> bool:
    if asked.item.name != row["item"]:
        raise ValueError(f"outcome of {row['item']} where {asked.item.name} was asked")
    return True


def _json(value: Any) -> Iterator[bytes]:
    yield _bytes(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _bytes(text: str) -> bytes:
    # A lone surrogate, as models send, has no UTF-8 form.
    return text.encode("utf-8", "backslashreplace")


def _write(path: Path, parts: Iterable[bytes]) -> str:
    """Write a file part by part; SHA-256 of the whole."""
    total = hashlib.sha256()
    with path.open("wb") as file:
        for part in parts:
            total.update(part)
            file.write(part)
    return total.hexdigest()


_ROW = json.JSONEncoder(ensure_ascii=False)
_INDENTED_ROW = json.JSONEncoder(ensure_ascii=False, separators=(",\n    ", ": "))
_FORMS: Mapping[str, Callable[[Any], Iterator[bytes]]] = {
    RESULTS: _lines,
    UPSTREAM_RESULTS: _indented_list,
    UPSTREAM_METRICS: _json,
}
