"""Answer bias in sets: how often a model says yes, and how often it abstains.

Set accuracy reveals that a model favours one answer; these metrics show which one. An abstention
set has an image that shows a fact and one that cannot, with the roles ``shown`` and ``hidden`` in
``sets.json``; the correct answer to the second is the abstention.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from medrcube.evaluate.outcomes import Result
from medrcube.evaluate.statistics.intervals import ratio

__all__ = ["abstention", "yes_no"]

_YES_NO = {"yes", "no"}
_SHOWN_FACT, _HIDDEN_FACT = "shown", "hidden"


def yes_no(results: Sequence[Result]) -> dict[str, Any] | None:
    """Return the share of yes among the answers to yes/no questions.

    Args:
        results: one result per item of a set.

    Returns:
        ``n``; ``answered``, those with a letter; ``yes_share`` of these; ``yes_keys``, the share
        whose key is yes. ``None`` without such questions.
    """
    answers = [
        result
        for result in results
        if {text.casefold() for _, text in result.item.options} == _YES_NO
    ]
    if not answers:
        return None
    choices = [result.choice.casefold() for result in answers if result.choice is not None]
    keys = sum(_key(result).casefold() == "yes" for result in answers)
    return {
        "n": len(answers),
        "answered": len(choices),
        "yes_share": ratio(choices.count("yes"), len(choices)),
        "yes_keys": ratio(keys, len(answers)),
    }


def abstention(sets: Sequence[Sequence[Result]]) -> dict[str, Any] | None:
    """Return how often a model abstains although the image shows the fact, or answers if not.

    Args:
        sets: the results of each set.

    Returns:
        ``shown`` and ``hidden``, numbers of items answered with a letter; ``false_abstention``,
        the share of ``shown`` answered with the abstention; ``false_confidence``, the share of
        ``hidden`` answered with anything else. ``None`` without sets with these roles.
    """
    shown_answers: list[bool] = []
    hidden: list[bool] = []
    twins = 0
    for results in sets:
        members = {result.item.role: result for result in results}
        if members.keys() != {_SHOWN_FACT, _HIDDEN_FACT}:
            continue
        twins += 1
        abstained = _key(members[_HIDDEN_FACT])
        for role, answers in ((_SHOWN_FACT, shown_answers), (_HIDDEN_FACT, hidden)):
            choice = members[role].choice
            if choice is not None:
                answers.append(choice == abstained)
    if not twins:
        return None
    return {
        "shown": len(shown_answers),
        "hidden": len(hidden),
        "false_abstention": ratio(sum(shown_answers), len(shown_answers)),
        "false_confidence": ratio(len(hidden) - sum(hidden), len(hidden)),
    }


def _key(result: Result) -> str:
    """Return the text of the right option."""
    return dict(result.item.options)[result.item.key]
