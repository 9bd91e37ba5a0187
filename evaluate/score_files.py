"""Rows and bytes of the files that scoring writes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from medrcube.evaluate.outcomes import LOST, AnswerOutcome, Result
from medrcube.evaluate.runner.run_folder import RESULTS
from medrcube.release_format.rows import LETTERS

__all__ = [
    "FORMS",
    "UPSTREAM_METRICS",
    "UPSTREAM_RESULTS",
    "json_of",
    "lines_of",
    "outcome_row",
    "result_row",
    "upstream_row",
    "write_parts",
]

UPSTREAM_RESULTS, UPSTREAM_METRICS = "results.json", "metrics_summary.json"
"""Files in the format of the published evaluator."""


def outcome_row(result: Result) -> dict[str, Any]:
    """Return the row of ``outcomes.jsonl``: one presentation of an item."""
    presentation = result.question.presentation
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
    """Return the credit of an item without options; 0 for a reply without an answer."""
    if result.outcome in LOST:
        return None
    return 0.0 if result.score is None else result.score.credit


def result_row(result: Result) -> dict[str, Any]:
    """Return the row of ``results.jsonl``: one item."""
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


def upstream_row(result: Result) -> dict[str, Any]:
    """Return the row of ``results.json``: the release's fields and upstream's two.

    The path distinguishes images of two sources.
    """
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


def lines_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Yield each row as one line of JSON."""
    for row in rows:
        yield _bytes(f"{_ROW.encode(row)}\n")


def _indented_list(rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Format a list of flat objects as ``json_of`` does, several times as fast."""
    before = "[\n"
    for row in rows:
        yield _bytes(f"{before}  {{\n    {_INDENTED_ROW.encode(row)[1:-1]}\n  }}")
        before = ",\n"
    yield b"\n]\n" if before == ",\n" else b"[]\n"


def json_of(value: Any) -> Iterator[bytes]:
    """Yield one value as indented JSON."""
    yield _bytes(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _bytes(text: str) -> bytes:
    # A lone surrogate, which models may send, cannot be encoded as UTF-8.
    return text.encode("utf-8", "backslashreplace")


def write_parts(path: Path, parts: Iterable[bytes]) -> str:
    """Write a file part by part; return the SHA-256 of the whole."""
    total = hashlib.sha256()
    with path.open("wb") as file:
        for part in parts:
            total.update(part)
            file.write(part)
    return total.hexdigest()


_ROW = json.JSONEncoder(ensure_ascii=False)

_INDENTED_ROW = json.JSONEncoder(ensure_ascii=False, separators=(",\n    ", ": "))

FORMS: Mapping[str, Callable[[Any], Iterator[bytes]]] = {
    RESULTS: lines_of,
    UPSTREAM_RESULTS: _indented_list,
    UPSTREAM_METRICS: json_of,
}
"""Writer of each file with one result per item."""
