"""Visibility check of a card: its notes compared with the ``visible`` of its fields.

A note written for people ("the slice may not show the lesion") excludes nothing by itself. If the
text of a card says that something cannot be seen, a field must say so too.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

from medrcube.facts import Scope, Visibility
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_parts.fields import CardField

__all__ = ["overclaimed_slices", "visibility_contradictions"]

_UNSEEN = re.compile(
    r"\b(?:may|might|can|could|does|do|did|is|are|need)(?: ?not|n't)"
    r"(?: \w+)? ?(?:be )?(?:seen|shows?|shown|visible|recogni[sz](?:ed|able)|told)\b"
    r"|\bnot (?:seen|visible|shown)\b|\binvisible\b|\bmicroscop"
    r"|\bonly in part\b|\bno longer shows?\b",
    re.IGNORECASE,
)
"""Phrases with which the notes of a card admit that its images do not show something."""

_QUOTED = re.compile(r"'''.*?'''|\"(?:\\.|[^\"\\])*\"|'[^']*'")


def visibility_contradictions(card: Card, text: str) -> Iterator[str]:
    """Yield notes that admit that something cannot be seen although all of their fields are asked.

    A comment in a ``[[field]]`` applies to that field, a quirk to its ``fields``, and anything else
    to the whole card, at least one field of which must then be ``partly`` or ``no``.

    Args:
        card: the card.
        text: text of the card file, for its comments.
    """
    for quirk in card.quirks:
        if quirk.action == "note" and _UNSEEN.search(quirk.reason):
            yield from _asked_all_the_same(card, quirk.fields, f"the note {quirk.reason!r}")
    for name, comment in _comments(text):
        if _UNSEEN.search(comment) and name not in card.measures:
            yield from _asked_all_the_same(card, (name,) if name else (), f"# {comment!r}")
    for field in card.fields.values():
        why = field.reasons["visible"]
        if _UNSEEN.search(why.reason):
            yield from _asked_all_the_same(card, (field.name,), f"the reason {why.reason!r}")


def overclaimed_slices(card: Card) -> Iterator[str]:
    """Yield fields wider than a slice that the card claims to be visible on the slice.

    ``shows`` means that a statement about a study may be asked about its image, not that the image
    shows it. One slice of CT or MRI never shows everything that the volume does.
    """
    if not card.modality.volume:
        return
    for field in card.fields.values():
        wide = field.scope > Scope.IMAGE and field.scope is not Scope.BREAST
        if wide and field.visible is Visibility.YES:
            yield (
                f"field {field.name!r} is about a {field.scope.name.lower()}, of which one slice "
                'is shown: set visible = "partly" or "no"'
            )


def _asked_all_the_same(card: Card, names: tuple[str, ...], words: str) -> Iterator[str]:
    about = [card.fields[name] for name in names] or _fields_with_concepts(card)
    hidden = {name for quirk in card.quirks if quirk.action == "unseen" for name in quirk.fields}
    doubtful = [field.visible is not Visibility.YES or field.name in hidden for field in about]
    if about and not (all(doubtful) if names else any(doubtful)):
        subject = ", ".join(field.name for field in about)
        yield (
            f'{words} says that something cannot be seen, yet visible = "yes" for {subject}: set '
            '"partly" or "no", or name cases and fields in a [[quirk]] with action = "unseen"'
        )


def _fields_with_concepts(card: Card) -> list[CardField]:
    return [field for field in card.fields.values() if field.concepts()]


def _comments(text: str) -> Iterator[tuple[str, str]]:
    """Yield every comment with the name of the field whose table contains it, or an empty name."""
    fields = (entry["name"] for entry in tomllib.loads(text).get("field", ()))
    inside = ""
    for line in text.splitlines():
        plain = _QUOTED.sub("", line)
        head = plain.partition("#")[0].strip()
        if head == "[[field]]":
            inside = next(fields)
        elif head.startswith("[") and not head.startswith("[field."):
            inside = ""
        if "#" in plain:
            yield inside, plain.partition("#")[2].strip()
