"""Items and replies as script files, which a page can load from ``file://`` too.

Browsers do not read JSON from ``file://``, so each file is a script that passes one JSON value to
the page. Questions are in one series of files; keys, evidence and replies are in another, which a
page loads only on request.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeGuard

from medrcube.console.progress import Advance, ignored
from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.outcomes import AnswerOutcome, Result
from medrcube.evaluate.reporting.failures import SHOWN_OUTCOMES
from medrcube.evaluate.reporting.markup.escaping import capped, clip
from medrcube.evaluate.reporting.scored_runs import ScoredRun
from medrcube.evaluate.site.evidence import ItemEvidence
from medrcube.evaluate.site.images import LONGEST_SIDE, SiteImage
from medrcube.evaluate.site.page_names import CellName
from medrcube.files.atomic import write_again
from medrcube.forms.drawn_place import drawn_place
from medrcube.taxonomy import Anatomy, Modality, Task
from medrcube.vocabulary.word import with_shipped

__all__ = [
    "ANSWERS_IN_A_FILE",
    "FOLDER",
    "ITEMS_IN_A_FILE",
    "LIMITS",
    "MOST_REPLY_BYTES",
    "NOT_ASKED",
    "ItemData",
    "reply_limit",
    "write_items",
    "write_script",
]

FOLDER = "data"

ITEMS_IN_A_FILE = 500
ANSWERS_IN_A_FILE = 50

MOST_REPLY_BYTES = 35_000_000
"""Maximum total bytes of all replies."""

LIMITS = (4000, 2000, 1000, 500, 250, 120, 60)
"""Candidate maximum reply lengths in characters; the longest at which all replies fit is used."""

NOT_ASKED = "-"

_ENDS: list[AnswerOutcome] = [
    outcome
    for outcome in AnswerOutcome
    if outcome not in {AnswerOutcome.NOT_ASKED, AnswerOutcome.NOT_REACHED}
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemData:
    """Data of the item pages.

    Attributes:
        items: all items of the release, in order.
        runs: the runs, in the order of the leaderboard.
        pictures: image of each item by its name.
        evidence: evidence of each item by its name.
    """

    items: Sequence[BenchmarkItem]
    runs: Sequence[ScoredRun]
    pictures: Mapping[str, SiteImage]
    evidence: Mapping[str, ItemEvidence]


def write_items(
    out: Path, data: ItemData, models: Sequence[tuple[str, str]], advance: Advance = ignored
) -> int:
    """Write all files.

    Args:
        out: folder for them.
        data: what to write.
        models: (label, page) of the runs.
        advance: called with the number of finished items.

    Returns:
        Length to which replies are truncated, in characters.
    """
    results = [{result.item.name: result for result in run.results} for run in data.runs]
    limit = reply_limit(result.reply for by_item in results for result in by_item.values())
    rules = sorted({result.rule for by_item in results for result in by_item.values()})
    place = {rule: number for number, rule in enumerate(rules)}
    sources = sorted({item.dataset for item in data.items})
    write_script(
        out / "about.js",
        "about",
        {
            "count": len(data.items),
            "itemsInFile": ITEMS_IN_A_FILE,
            "answersInFile": ANSWERS_IN_A_FILE,
            "models": [{"label": label, "page": page} for label, page in models],
            "outcomes": [outcome.value for outcome in _ENDS],
            "goneWrong": [outcome.value for outcome in SHOWN_OUTCOMES],
            "rules": rules,
            "tasks": [task.value for task in Task],
            "modalities": with_shipped(Modality, (item.modality for item in data.items)),
            "parts": with_shipped(Anatomy, (item.parts for item in data.items)),
            "sources": sources,
            "limit": limit,
        },
    )
    for number, items in _files(data.items, ITEMS_IN_A_FILE):
        rows = [_row(item, data.pictures[item.name], results) for item in items]
        write_script(out / f"items-{number}.js", f"items-{number}", rows)
    for number, items in _files(data.items, ANSWERS_IN_A_FILE):
        answers = [
            {
                **_answers(item, data.evidence.get(item.name), results, place, limit),
                "drawn": _drawing(item, data.pictures[item.name]),
            }
            for item in items
        ]
        write_script(out / f"answers-{number}.js", f"answers-{number}", answers)
        advance(len(items))
    return limit


def reply_limit(replies: Iterable[str | None]) -> int:
    """Return the longest of ``LIMITS`` at which all replies fit ``MOST_REPLY_BYTES``."""
    totals = dict.fromkeys(LIMITS, 0)
    for reply in replies:
        if reply:
            characters, size = len(reply), len(json.dumps(reply))
            for limit in LIMITS:
                totals[limit] += size * min(limit, characters) // characters
    return next((limit for limit in LIMITS if totals[limit] <= MOST_REPLY_BYTES), LIMITS[-1])


def write_script(path: Path, name: str, value: Any) -> None:
    """Write a script that passes a named value to the page; ASCII, and without ``<``."""
    text = json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
    write_again(path, f"medrcubeData({json.dumps(name)},{text});\n".encode("ascii"))


def _files(
    items: Sequence[BenchmarkItem], size: int
) -> Iterator[tuple[int, Sequence[BenchmarkItem]]]:
    for number, start in enumerate(range(0, len(items), size)):
        yield number, items[start : start + size]


def _row(
    item: BenchmarkItem, picture: SiteImage, results: Sequence[Mapping[str, Result]]
) -> Mapping[str, Any]:
    """Return the public part of an item, without its key."""
    return {
        "name": item.name,
        "source": item.dataset,
        "task": item.task.value,
        "modality": item.modality.value,
        "parts": item.parts.value,
        "cell": CellName(item.task, item.modality, item.parts).page,
        "question": capped(item.question),
        "options": [[letter, capped(text)] for letter, text in item.options],
        "picture": picture.file,
        "why": picture.why,
        "outcomes": "".join(_code(by_item.get(item.name)) for by_item in results),
    }


def _code(result: Result | None) -> str:
    """Return the outcome as one character, for the model filter."""
    return chr(ord("a") + _ENDS.index(result.outcome)) if _was_asked(result) else NOT_ASKED


def _was_asked(result: Result | None) -> TypeGuard[Result]:
    return result is not None and result.outcome in _ENDS


def _answers(
    item: BenchmarkItem,
    evidence: ItemEvidence | None,
    results: Sequence[Mapping[str, Result]],
    rules: Mapping[str, int],
    limit: int,
) -> Mapping[str, Any]:
    return {
        "right": item.right_reply,
        "evidence": evidence.facts if evidence else (),
        "options": evidence.options if evidence else {},
        "replies": [
            _reply(number, result, item, rules, limit)
            for number, by_item in enumerate(results)
            if _was_asked(result := by_item.get(item.name))
        ],
    }


def _drawing(item: BenchmarkItem, picture: SiteImage) -> Mapping[str, Any] | None:
    """Return the target of a point or box item, if its image is on the site."""
    place = drawn_place(item.target, LONGEST_SIDE) if picture.file else None
    return asdict(place) if place else None


def _reply(
    number: int, result: Result, item: BenchmarkItem, rules: Mapping[str, int], limit: int
) -> Sequence[Any]:
    """Return (model, outcome, answer, rule, text); no text if it is just the answer.

    The answer is a letter in the release's order, or an open form's answer in words.
    """
    letters = {text: letter for letter, text in item.options}
    answer = letters.get(result.choice or "") if item.target is None else result.choice
    shown_text = (
        None if result.reply in (None, result.answer) else capped(clip(result.reply, limit))
    )
    return (number, _ENDS.index(result.outcome), answer, rules[result.rule], shown_text)
