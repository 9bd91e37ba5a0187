"""Which key does what on the review page, and a reader's own choice of keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from medrcube.review.errors import InvalidAnswerError

OFF = "off"
"""Name in a stored map that turns keys of one character off (WCAG 2.1.4)."""
NAMED = (
    "Enter", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp",
    "PageDown", "Insert", "Delete", "Backspace",
    *(f"F{number}" for number in range(1, 13)),
)  # fmt: skip
"""Keys of more than one character that may be chosen, as ``KeyboardEvent.key`` names them."""

SIGNS = {"ArrowLeft": "←", "ArrowRight": "→", "ArrowUp": "↑", "ArrowDown": "↓"}
"""What stands on such a key."""


@dataclass(frozen=True, slots=True)
class Action:
    """What a key can do: its name in the page, in words, and its key unless chosen otherwise."""

    name: str
    text: str
    key: str


ACTIONS: tuple[Action, ...] = (
    Action("option-1", "Answer A", "1"),
    Action("option-2", "Answer B", "2"),
    Action("option-3", "Answer C", "3"),
    Action("option-4", "Answer D", "4"),
    Action("continue", "Send this step", "Enter"),
    Action("accept", "Accept", "a"),
    Action("revise", "Revise: needs an edit", "e"),
    Action("reject", "Reject", "r"),
    Action("overlay", "Show or hide the mark", "o"),
    Action("invert", "Invert grey values", "i"),
    Action("zoom-in", "Larger", "+"),
    Action("zoom-out", "Smaller", "-"),
    Action("zoom-reset", "Whole picture", "0"),
    Action("pan-left", "Move left", "ArrowLeft"),
    Action("pan-right", "Move right", "ArrowRight"),
    Action("pan-up", "Move up", "ArrowUp"),
    Action("pan-down", "Move down", "ArrowDown"),
    Action("window", "Next grey-value window", "w"),
    Action("skip", "Not my field", "n"),
    Action("help", "Show the keys", "?"),
)


def keys_of(stored: Mapping[str, Any]) -> dict[str, str]:
    """Action -> key for a reader, defaults where they chose nothing."""
    return {action.name: str(stored.get(action.name, action.key)) for action in ACTIONS}


def are_off(stored: Mapping[str, Any]) -> bool:
    """Whether a reader wants no keys of one character."""
    return stored.get(OFF) is True


def chosen(keys: Mapping[str, str], *, off: bool) -> dict[str, Any]:
    """What to store for a reader: where their keys differ from the default.

    Raises:
        InvalidAnswerError: a key is none, or stands for two actions.
    """
    wanted = {action.name: keys.get(action.name, action.key).strip() for action in ACTIONS}
    taken: dict[str, str] = {}
    for action in ACTIONS:
        key = wanted[action.name]
        if key not in NAMED and (len(key) != 1 or not key.isprintable()):
            names = ", ".join(NAMED[:5])
            raise InvalidAnswerError(
                f"“{action.text}”: {key!r} is no key; give one character, or a name such as {names}"
            )
        if key.casefold() in taken:
            raise InvalidAnswerError(
                f"the key {key!r} stands for two things: “{taken[key.casefold()]}” and "
                f"“{action.text}”; change one of them"
            )
        taken[key.casefold()] = action.text
    different = {it.name: wanted[it.name] for it in ACTIONS if wanted[it.name] != it.key}
    return {**different, OFF: True} if off else different
