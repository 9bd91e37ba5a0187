"""How items of a case were compared when ``0008_who_was_blind`` was written.

A copy that stays as it is, so that the migration does the same whatever becomes of the comparison.
Only the relations of concepts are those of the package that runs it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import TermError

__all__ = ["Pair", "asked_of", "pairs_of"]

_TOKEN = re.compile(r"[^\W\d_]{2,}")
_STEM = 5
"""Letters that two words share where they speak of one thing: radiograph, radiography."""
_UNTELLING = frozenset({"fingerprint", "licence", "sample", "wording"})
"""What of the provenance says nothing about the patient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an item asks and what its second step shows.

    Attributes:
        texts: of the options.
        key: index of the right one.
        true: concept of the key; empty for none.
        concepts: of key, options and mark.
        group: exclusive group of the options, or empty.
        known: provenance, as text.
    """

    item: str
    question: str
    texts: tuple[str, ...]
    key: int
    true: str
    concepts: frozenset[str]
    group: str
    known: str


@dataclass(frozen=True, slots=True)
class Pair:
    """``by`` tells ``told``: at sight, or only once its key is shown."""

    by: str
    told: str
    at_sight: bool


def asked_of(
    item: str,
    question: str,
    options: Sequence[Mapping[str, Any]],
    key: int,
    provenance: Mapping[str, Any],
) -> Asked:
    """The columns of a version, as they are compared."""
    concepts = [str(option.get("concept") or "") for option in options]
    about = str(provenance.get("concept") or "")
    return Asked(
        item=item,
        question=question,
        texts=tuple(str(option.get("text", "")) for option in options),
        key=key,
        true=concepts[key] or about,
        concepts=frozenset(filter(None, (*concepts, about))),
        group=str(provenance.get("group") or ""),
        known="\n".join(str(value) for name, value in provenance.items() if name not in _UNTELLING),
    )


def tells(by: Asked, told: Asked) -> Pair | None:
    """Whether somebody who was shown one item of a case is not blind to another one.

    At sight, where its question holds the key of the other ("this axial MRI slice"). With its key,
    where the two share a concept, right or wrong, or an exclusive group; where one concept implies
    the other, or its key excludes an option; where key and provenance hold the other's key.
    """
    answer = _telling(told)
    if _holds(by.question, answer, told.texts[told.key]):
        return Pair(by.item, told.item, at_sight=True)
    shown = f"{by.texts[by.key]}\n{by.known}"
    related = (
        bool(by.concepts & told.concepts)
        or bool(by.group and by.group == told.group)
        or _holds(shown, answer, told.texts[told.key])
        or any(_implied(mine, other) for mine in by.concepts for other in told.concepts)
        or any(_excludes(by.true, other) for other in told.concepts)
    )
    return Pair(by.item, told.item, at_sight=False) if related else None


def pairs_of(case: Sequence[Asked]) -> list[Pair]:
    """All pairs within one case."""
    found = (tells(by, told) for by in case for told in case if by.item != told.item)
    return [pair for pair in found if pair is not None]


def _telling(asked: Asked) -> tuple[str, ...]:
    """Words of the key that no other option has."""
    others = {
        word for at, text in enumerate(asked.texts) if at != asked.key for word in _words(text)
    }
    return tuple(word for word in _words(asked.texts[asked.key]) if word not in others)


def _holds(text: str, answer: Sequence[str], whole: str) -> bool:
    """Whether a text holds a key: its words, in any form, or all of it."""
    if _TOKEN.search(whole) and whole.casefold() in text.casefold():
        return True
    return any(_alike(word, other) for word in answer for other in _words(text))


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    """Words of four letters or more, and abbreviations in capitals."""
    found = _TOKEN.findall(text)
    return tuple(word if word.isupper() else word.casefold() for word in found if _says(word))


def _says(word: str) -> bool:
    return word.isupper() or len(word) >= 4


def _alike(one: str, other: str) -> bool:
    if one.isupper() and other.isupper():
        return one.startswith(other) or other.startswith(one)
    return one[:_STEM] == other[:_STEM]


@cache
def _implied(one: str, other: str) -> bool:
    try:
        return load_relations().implied(one, other)
    except TermError:  # a concept of the user's own, without relations
        return False


@cache
def _excludes(one: str, other: str) -> bool:
    try:
        return bool(one) and one != other and load_relations().excludes(one, other)
    except TermError:
        return False
