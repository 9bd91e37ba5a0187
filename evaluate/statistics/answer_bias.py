"""Answer bias in sets: how often a model says yes, and says that an image cannot tell.

Set accuracy tells that a model leans to one answer; these figures tell to which one. A set of
abstention has an image that shows a fact and one that cannot, with the roles ``shown`` and
``hidden`` in ``sets.json``; the answer to the second is the abstention.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from medrcube.evaluate.outcomes import Result
from medrcube.evaluate.statistics.intervals import ratio

__all__ = ["abstention", "yes_no"]

_YES_NO = {"yes", "no"}
_SHOWN, _HIDDEN = "shown", "hidden"


def yes_no(results: Sequence[Result]) -> dict[str, Any] | None:
    """Share of yes among the answers to questions that are answered with yes or no.

    Args:
        results: one result an item of a set.

    Returns:
        ``n``; ``answered``, with a letter; ``yes_share`` of these; ``yes_keys``, the share whose
        key is yes. ``None`` without such questions.
    """
    asked = [
        result
        for result in results
        if {text.casefold() for _, text in result.item.options} == _YES_NO
    ]
    if not asked:
        return None
    choices = [result.choice.casefold() for result in asked if result.choice is not None]
    keys = sum(_key(result).casefold() == "yes" for result in asked)
    return {
        "n": len(asked),
        "answered": len(choices),
        "yes_share": ratio(choices.count("yes"), len(choices)),
        "yes_keys": ratio(keys, len(asked)),
    }


def abstention(sets: Sequence[Sequence[Result]]) -> dict[str, Any] | None:
    """How often a model abstains where the image tells, and answers where it cannot.

    Args:
        sets: the results of each set.

    Returns:
        ``shown`` and ``hidden``, numbers of items with a letter as answer; ``false_abstention``,
        the share of ``shown`` answered with the abstention; ``false_confidence``, the share of
        ``hidden`` answered with anything else. ``None`` without sets of these roles.
    """
    shown: list[bool] = []
    hidden: list[bool] = []
    twins = 0
    for results in sets:
        members = {result.item.role: result for result in results}
        if members.keys() != {_SHOWN, _HIDDEN}:
            continue
        twins += 1
        abstained = _key(members[_HIDDEN])
        for role, answers in ((_SHOWN, shown), (_HIDDEN, hidden)):
            choice = members[role].choice
            if choice is not None:
                answers.append(choice == abstained)
    if not twins:
        return None
    return {
        "shown": len(shown),
        "hidden": len(hidden),
        "false_abstention": ratio(sum(shown), len(shown)),
        "false_confidence": ratio(len(hidden) - sum(hidden), len(hidden)),
    }


def _key(result: Result) -> str:
    """Text of the right option."""
    return dict(result.item.options)[result.item.key]
