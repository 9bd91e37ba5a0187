"""Key bindings of the review page: each key has the same meaning in every step.

Lower-case letters, digits and named keys are used; Shift with a letter ticks a reason. Users who
cannot use single-character shortcuts, for example with speech input, can turn them off in their
account (WCAG 2.1.4).
"""

from __future__ import annotations

from dataclasses import dataclass

from medrcube.review.reviewing.questionnaire import Reason

__all__ = ["ACTIONS", "REASON_KEYS", "Action", "key_rows"]

_SYMBOLS = {"ArrowLeft": "←", "ArrowRight": "→", "ArrowUp": "↑", "ArrowDown": "↓"}


@dataclass(frozen=True, slots=True)
class Action:
    """Action of a key: its id in the page, description, and key as in ``KeyboardEvent.key``."""

    name: str
    text: str
    key: str


ACTIONS: tuple[Action, ...] = (
    Action("option-1", "Answer A", "1"),
    Action("option-2", "Answer B", "2"),
    Action("option-3", "Answer C", "3"),
    Action("option-4", "Answer D", "4"),
    Action("cannot-tell", "I cannot tell", "5"),
    Action("confidence-1", "Guessing", "7"),
    Action("confidence-2", "Fairly sure", "8"),
    Action("confidence-3", "Sure", "9"),
    Action("needs-yes", "The question needs the image", "y"),
    Action("needs-no", "The question does not need the image", "n"),
    Action("needs-unsure", "Unsure whether it needs the image", "u"),
    Action("adequate-yes", "The image is good enough", "g"),
    Action("adequate-no", "The image is not good enough", "b"),
    Action("accept", "Accept", "a"),
    Action("revise", "Revise", "e"),
    Action("reject", "Reject", "r"),
    Action("wording", "Propose another wording (with Revise)", "t"),
    Action("continue", "Submit this step", "Enter"),
    Action("overlay", "Show or hide the mark", "o"),
    Action("invert", "Invert grey values", "i"),
    Action("zoom-in", "Zoom in", "+"),
    Action("zoom-out", "Zoom out", "-"),
    Action("zoom-reset", "Fit the image", "0"),
    Action("zoom-pixel", "One image pixel per screen pixel", "p"),
    Action("full-screen", "Full screen", "f"),
    Action("reset", "Reset the view", "Backspace"),
    Action("pan-left", "Pan left", "ArrowLeft"),
    Action("pan-right", "Pan right", "ArrowRight"),
    Action("pan-up", "Pan up", "ArrowUp"),
    Action("pan-down", "Pan down", "ArrowDown"),
    Action("slice-previous", "Previous slice (volumes)", ","),
    Action("slice-next", "Next slice", "."),
    Action("slice-own", "Back to the slice of the item", "m"),
    Action("preset-next", "Next window", "v"),
    Action("level-down", "Lower the window level (brighter)", "j"),
    Action("level-up", "Raise the window level (darker)", "k"),
    Action("width-down", "Narrow the window (more contrast)", "h"),
    Action("width-up", "Widen the window", "l"),
    Action("window-drag", "Switch dragging to window level and width", "w"),
    Action("skip", "Choose “Not my field”", "s"),
    Action("help", "Show the keyboard shortcuts", "?"),
)

REASON_KEYS: dict[str, str] = {
    reason.value: chr(ord("A") + place) for place, reason in enumerate(Reason)
}
"""Reason -> letter that ticks it with Shift."""


def key_rows() -> list[tuple[str, str]]:
    """Return description and key of every action, for the help page."""
    return [(action.text, _SYMBOLS.get(action.key, action.key)) for action in ACTIONS]
