"""Turn the attempts of a run into outcomes and metrics; never calls a model.

Every item ends as exactly one outcome. What the machinery lost (failed, missing-image) stays
apart from what the model did (wrong, unparsed, refused, truncated).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from medrcube.evaluate.answers import extract
from medrcube.evaluate.attempts import read_attempts
from medrcube.evaluate.benchmark import LETTERS, Item
from medrcube.evaluate.metrics import accounting, metrics, upstream_metrics
from medrcube.evaluate.outcomes import Outcome, Result
from medrcube.evaluate.phrases import is_refusal
from medrcube.evaluate.reasoning import strip_reasoning
from medrcube.evaluate.run_folder import (
    METRICS,
    RESULTS,
    Asked,
    attempts_path,
    read_asked,
    read_manifest,
    write_lines,
)
from medrcube.files import write_text

UPSTREAM_RESULTS, UPSTREAM_METRICS = "results.json", "metrics_summary.json"


def score(run: Path) -> Mapping[str, Any]:
    """Write ``results.jsonl``, ``metrics.json`` and upstream's two files anew, each atomically.

    Returns:
        What stands in ``metrics.json``.

    Raises:
        WorkspaceError: the folder is no run, or cannot be written.
    """
    read_manifest(run)
    attempts = list(read_attempts(attempts_path(run)))
    results = judge_run(read_asked(run), attempts)
    summary = {**metrics(results), "requests": accounting(attempts)}
    write_lines(run / RESULTS, map(_row, results))
    _write_json(run / METRICS, summary)
    # Upstream's loader drops an item whose picture is absent, so its files know nothing of it.
    shown = [result for result in results if result.outcome is not Outcome.MISSING_IMAGE]
    _write_json(run / UPSTREAM_RESULTS, [_upstream_row(result) for result in shown])
    _write_json(run / UPSTREAM_METRICS, upstream_metrics(shown))
    return summary


def judge_run(asked: Iterable[Asked], attempts: Iterable[Mapping[str, Any]]) -> list[Result]:
    """The outcome of every item; the last reply to its question counts."""
    replies = {record["key"]: record for record in attempts if record["status"] == "reply"}
    return [judge(a, replies.get(a.key) if a.key is not None else None) for a in asked]


def judge(asked: Asked, reply: Mapping[str, Any] | None) -> Result:
    """The outcome of one item."""
    item = asked.item
    if asked.key is None:
        return _none(item, Outcome.MISSING_IMAGE, "no-picture", None)
    if reply is None:
        return _none(item, Outcome.FAILED, "no-reply", None)
    text, reason = reply["text"], reply["finish_reason"]
    if reason == "length":
        return _none(item, Outcome.TRUNCATED, "finish-reason", text)
    if reason in {"content_filter", "refusal"}:
        return _none(item, Outcome.REFUSED, "finish-reason", text)
    if not strip_reasoning(text).closed:
        return _none(item, Outcome.TRUNCATED, "unclosed-reasoning", text)
    letter, rule = extract(text, item.options)
    if letter is None:
        refused = is_refusal(strip_reasoning(text).text)
        return _none(item, Outcome.REFUSED if refused else Outcome.UNPARSED, rule, text)
    outcome = Outcome.CORRECT if letter == item.key else Outcome.WRONG
    return Result(item=item, outcome=outcome, answer=letter, rule=rule, reply=text)


def _none(item: Item, outcome: Outcome, rule: str, reply: str | None) -> Result:
    return Result(item=item, outcome=outcome, answer=None, rule=rule, reply=reply)


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
    """The release's fields and upstream's two; the path tells pictures of two sources apart."""
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
        "correct": result.outcome is Outcome.CORRECT,
    }


def _write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")
