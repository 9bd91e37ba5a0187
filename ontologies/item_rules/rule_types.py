"""Types of the item-writing rules: the text of an item, rules and flaws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

__all__ = ["ERROR", "WARNING", "Flaw", "ItemRule", "ItemText", "RuleLevel"]

RuleLevel = Literal["error", "warning"]
ERROR: RuleLevel = "error"
WARNING: RuleLevel = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemText:
    """Text and metadata of a question, as the rules see it.

    A tuple with one entry for each option may be empty where its fact is not known; the rules
    that need it then say nothing.

    Attributes:
        question: the stem with its lead-in.
        options: option texts in display order.
        key: index of the right option.
        kinds: term kind of each option; empty strings where options are no concepts.
        grouped: whether the options are one exclusive group, whose kinds may differ.
        concepts: label of each option in the term table; empty strings for numbered boxes.
        content: information content of each option in an ontology, 0 to 1, ``None`` where it is
            in none.
        ranks: place of each option on its scale; only for scales and numbered boxes.
        above: what each option is a kind of by the relation table, without itself.
        target: name of the concept that the stem itself names, such as what a box holds.
        file: name of the image's file.
    """

    question: str
    options: tuple[str, ...]
    key: int
    kinds: tuple[str, ...]
    grouped: bool = False
    concepts: tuple[str, ...] = ()
    content: tuple[float | None, ...] = ()
    ranks: tuple[int, ...] = ()
    above: tuple[frozenset[str], ...] = ()
    target: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """One broken rule; the message says what was found and what to change."""

    rule: str
    level: RuleLevel
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRule:
    """One rule of item writing.

    Attributes:
        id: stored with every item that bends the rule.
        level: an error stops the item, a warning goes to the reviewer.
        asks: the rule in one line.
        check: yields a message for each flaw.
    """

    id: str
    level: RuleLevel
    asks: str
    check: Callable[[ItemText], Iterator[str]]
