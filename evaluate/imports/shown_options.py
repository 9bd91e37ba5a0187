"""Compare the question and options in a result file with those of the release."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

from medrcube.console.counts import counted
from medrcube.errors import WorkspaceError
from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.imports.item_matching import MatchedReplies
from medrcube.evaluate.imports.replies import ForeignReply, ForeignRun
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.questions.option_letters import misplaced_option
from medrcube.evaluate.runner.run_state import FAILURE_GATE
from medrcube.release_format.rows import LETTERS

__all__ = ["LIST_LIMIT", "drop_differing", "question_and_options", "shown_difference"]

LIST_LIMIT = 5
"""Number of items listed in a message."""

_LISTS = ("options", "choices")
_LETTERED = re.compile(r"\(?([A-Z])[.):]\s*(\S.*)", re.DOTALL)
_NO_VALUES = frozenset(("", "#n/a", "n/a", "na", "nan", "none", "null", "<na>"))
"""Texts that a table may parse as missing, in lower case."""


def question_and_options(row: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return question and option texts of a row, in its order; empty if it has none.

    Options are columns ``A`` to ``D`` or ``option_A`` to ``option_D``, or a list or object, its
    JSON, or lines, in ``options`` or ``choices``, with or without their letters.
    """
    question = row.get("question")
    texts: Sequence[Any] = ()
    for form in ("{}", "option_{}"):
        texts = texts or [row.get(form.format(letter)) for letter in LETTERS]
        texts = [text for text in texts if not _is_blank(text)]
    for name in _LISTS:
        texts = texts or _listed(row.get(name))
    return question if isinstance(question, str) else "", tuple(map(str, texts))


def shown_difference(reply: ForeignReply, item: BenchmarkItem) -> str | None:
    """Return ``question`` or ``options`` if what the reply answers differs from the item."""
    shown_texts = [_plain(text) for text in reply.options]
    own_texts = [_plain(text) for _, text in item.options]
    if len(shown_texts) != len(own_texts):
        shown_texts, own_texts = (
            [text for text in part if not _is_lost(text)] for part in (shown_texts, own_texts)
        )
    if reply.options and not (
        len(shown_texts) == len(own_texts) and all(map(_same, shown_texts, own_texts))
    ):
        return "options"
    if reply.question.strip() and _plain(item.question) not in _plain(reply.question):
        return "question"
    misplaced = misplaced_option(reply.question, item.question, item.options)
    return "options" if misplaced and {*misplaced[1]} - {misplaced[0]} else None


def drop_differing(
    matched: MatchedReplies, run: ForeignRun, items: Sequence[BenchmarkItem], path: Path
) -> MatchedReplies:
    """Drop replies to questions or options that differ from the release.

    Rotated and reworded items are checked against the questions asked, not against the release.

    Raises:
        WorkspaceError: more than one item and ``FAILURE_GATE`` of those with a reply differ.
    """
    if run.condition in {Condition.CIRCULAR, Condition.REWORDED}:
        return matched
    by_name = {item.name: item for item in items}
    other = {
        name: what
        for (name, _, _), reply in matched.replies.items()
        if (what := shown_difference(reply, by_name[name]))
    }
    answered = {name for name, _, _ in matched.replies}
    if len(other) > max(1, FAILURE_GATE * len(answered)):
        names = ", ".join(f"{name} ({what})" for name, what in list(other.items())[:LIST_LIMIT])
        raise WorkspaceError(
            f"{path}: {counted(len(other), 'item')} of {len(answered):,} have a question or "
            f"options that differ from the release: {names}; expected replies to this release, "
            "options in its order"
        )
    missing = {*matched.missing, *other}
    return replace(
        matched,
        replies={key: reply for key, reply in matched.replies.items() if key[0] not in other},
        differing=tuple(other),
        missing=tuple(item.name for item in items if item.name in missing),
    )


def _listed(value: Any) -> list[Any]:
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if isinstance(value, str) and len(lines := value.split("\n")) > 1:
        value = [line for line in lines if line.strip()]
    if isinstance(value, Mapping):
        value = [value[letter] for letter in sorted(value, key=str)]
    if not isinstance(value, list) or not all(
        isinstance(text, str | int | float) for text in value
    ):
        return []
    lettered = [_LETTERED.fullmatch(str(text).strip()) for text in value]
    texts = {match[1]: match[2] for match in lettered if match}
    # Texts with their letters, as in prompts.
    return [texts[letter] for letter in sorted(texts)] if len(texts) == len(value) else value


def _is_blank(value: Any) -> bool:
    # pandas represents missing cells as NaN.
    return value is None or str(value).strip() == "" or (isinstance(value, float) and isnan(value))


def _is_lost(text: str) -> bool:
    return text.lower() in _NO_VALUES


def _plain(text: str) -> str:
    """Normalise white space and the leading apostrophe of spreadsheet cells."""
    plain = " ".join(unicodedata.normalize("NFC", text).split())
    return plain[1:] if plain[:1] == "'" and plain[1:2] in tuple("=+-@") else plain


def _same(shown_text: str, own_text: str) -> bool:
    if shown_text == own_text:
        return True
    with suppress(ValueError):  # a table may write 1 as 1.0
        return float(shown_text) == float(own_text)
    return False
