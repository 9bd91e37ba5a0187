"""The published evaluator's parsing rule, flaws included, for comparison with ours.

Its 2026 head (revision 33d0ac9 of F1mc/MedRCube) takes the first A, B, C or D of the upper-cased
reply that has no adjacent word character. The reproduction keeps these flaws: the article "a", the
D of "I'd", and a letter in a medical term, in the reasoning or of an option mentioned first all
count; a letter directly after a Chinese character, a digit or an underscore does not; the text of
an option never counts; a letter that is not an option of the item does; if the truth is not the
text of any option, the truth is the empty letter, which matches a reply without a letter; if two
options have the same text, the last is the truth. A question without a reply gets the fixed text
of the client and counts as wrong. The last two of these concern rows that our releases cannot
contain, since they are refused on reading.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.outcomes import (
    LOST,
    NOT_SHOWN,
    AnswerOutcome,
    Result,
    too_many_lost,
)
from medrcube.evaluate.statistics.grouping import grouped
from medrcube.evaluate.statistics.intervals import ratio

__all__ = [
    "KINDS",
    "NO_REPLY",
    "upstream_correct",
    "upstream_letter",
    "upstream_scores",
    "upstream_truth",
]

NO_REPLY = "Error: Request Failed"
"""What the upstream client returns if a question gets no reply."""

KINDS = ("other-letter", "letter-of-no-option", "abstained-here", "abstained-there")
"""Disagreements of the two rules: each gives another letter; upstream's letter is not an option of
the item; only upstream gives one; only ours does."""

_LONE = re.compile(r"(?<!\w)[A-D](?!\w)")


def upstream_letter(reply: object) -> str:
    """Return the letter that the published rule parses from a reply, or ``""``.

    Args:
        reply: its text; anything else is converted to text, so that ``None`` is read as the word.
    """
    match = _LONE.search(str(reply).upper())
    return match[0] if match else ""


def upstream_truth(options: Iterable[tuple[str, object]], answer: object) -> str:
    """Return the letter that the published loader takes as correct, or ``""``."""
    return next((letter for letter, text in reversed(list(options)) if text == answer), "")


def upstream_correct(reply: object, truth: str) -> bool:
    """Whether the published rule calls a reply correct."""
    return upstream_letter(reply) == truth


def upstream_scores(results: Sequence[Result]) -> dict[str, Any]:
    """Return the accuracy by the published rule, and its differences from ours.

    Args:
        results: one result per item. Items whose image is missing are left out, as in upstream's
            loader, and so are items that were not asked.

    Returns:
        ``global`` and ``by_task``: ``n``; ``correct`` and ``accuracy`` by the published rule;
        ``ours``, the accuracy by our rule over the same items; ``difference``, published minus
        ours. For an incomplete run the three accuracies are ``None``, and ``bounds`` and
        ``ours_bounds`` give their range over all items of the group, whatever the lost ones are.
        ``disagreements``: ``items`` on which the two rules differ, by ``kinds``;
        ``only_published`` and ``only_ours``, items that only one rule counts as correct;
        ``failed_counted_wrong``, questions without a reply in the denominator.
    """
    judged = [_judged(result) for result in results]
    loaded = [each for each in judged if each.outcome not in NOT_SHOWN]
    kinds = Counter(each.disagreement for each in loaded if each.disagreement is not None)
    group = _bounded_group if too_many_lost(results) else _group
    return {
        "global": group(judged),
        "by_task": {
            task: group(members)
            for (task,), members in grouped("task", judged, _item).items()
            if any(each.outcome not in NOT_SHOWN for each in members)
        },
        "disagreements": {
            "items": kinds.total(),
            "kinds": {kind: kinds[kind] for kind in KINDS},
            "only_published": sum(each.published and not each.ours for each in loaded),
            "only_ours": sum(each.ours and not each.published for each in loaded),
            "failed_counted_wrong": sum(each.outcome is AnswerOutcome.FAILED for each in loaded),
        },
    }


class _Judged(NamedTuple):
    """A result by both rules: whether each counts it as correct, and the kind of disagreement."""

    item: BenchmarkItem
    outcome: AnswerOutcome
    published: bool
    ours: bool
    disagreement: str | None


def _judged(result: Result) -> _Judged:
    item = result.item
    letter = upstream_letter(NO_REPLY if result.reply is None else result.reply)
    texts = dict(item.options)
    return _Judged(
        item=item,
        outcome=result.outcome,
        published=letter == upstream_truth(item.options, texts[item.key]),
        ours=result.outcome is AnswerOutcome.CORRECT,
        disagreement=_disagreement(letter, result.answer, texts),
    )


def _group(judged: Sequence[_Judged]) -> dict[str, Any]:
    loaded = [each for each in judged if each.outcome not in NOT_SHOWN]
    n = len(loaded)
    correct, ours = sum(each.published for each in loaded), sum(each.ours for each in loaded)
    return {
        "n": n,
        "correct": correct,
        "accuracy": ratio(correct, n),
        "ours": ratio(ours, n),
        "difference": ratio(correct - ours, n),
    }


def _bounded_group(judged: Sequence[_Judged]) -> dict[str, Any]:
    """Return a group of an incomplete run: lost replies are not wrong, nor a random sample."""
    replied = [each for each in judged if each.outcome not in LOST]
    n, missing = len(judged), len(judged) - len(replied)
    published, ours = sum(each.published for each in replied), sum(each.ours for each in replied)
    return {
        **_group(judged),
        **dict.fromkeys(("accuracy", "ours", "difference")),
        "bounds": [published / n, (published + missing) / n] if n else None,
        "ours_bounds": [ours / n, (ours + missing) / n] if n else None,
    }


def _disagreement(letter: str, answer: str | None, texts: Mapping[str, str]) -> str | None:
    if letter == (answer or ""):
        return None
    if letter and letter not in texts:
        return "letter-of-no-option"
    if not letter:
        return "abstained-there"
    return "abstained-here" if answer is None else "other-letter"


def _item(judged: _Judged) -> BenchmarkItem:
    return judged.item
