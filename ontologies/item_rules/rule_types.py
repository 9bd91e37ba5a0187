"""Types for the item-writing rules: item text, rules and flaws."""

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

    A tuple with one entry per option may be empty if the fact is unknown; the rules that need it
    are then skipped.

    Attributes:
        question: the stem with its lead-in.
        options: option texts in display order.
        key: index of the right option.
        kinds: term kind of each option; empty strings if options are not concepts.
        grouped: whether the options form one exclusive group, whose kinds may differ.
        concepts: label of each option in the term table; empty strings for numbered boxes.
        content: information content of each option in an ontology, 0 to 1, ``None`` if it is in
            none.
        ranks: position of each option on its scale; only for scales and numbered boxes.
        above: ancestors of each option by the relation table, without itself.
        target: name of the concept that the stem itself names, such as the content of a box.
        file: name of the image file.
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
    """One violation of a rule; the message says what was found and what to change."""

    rule: str
    level: RuleLevel
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRule:
    """One item-writing rule.

    Attributes:
        id: stored with every item that violates the rule.
        level: an error blocks the item, a warning goes to the reviewer.
        asks: the rule in one line.
        flaw: what is wrong with an item that violates it, in one line.
        check: yields a message for each flaw.
    """

    id: str
    level: RuleLevel
    asks: str
    flaw: str
    check: Callable[[ItemText], Iterator[str]]
