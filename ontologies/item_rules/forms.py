"""Item-writing rules on the form of options: nouns, number, case, level of detail."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations

from medrcube.ontologies.item_rules.rule_types import ERROR, ItemRule, ItemText
from medrcube.ontologies.label_words import content_words
from medrcube.ontologies.name_grammar import is_fragment, is_plural, phrase, tail
from medrcube.ontologies.terms import NORMALITY

__all__ = ["FORM_RULES"]

_CAPITAL = re.compile(r"[A-Z][a-z-]*(?!\S)")
_APART = re.compile(r"\bother than\b.*")
STEPS = 2
"""Maximum difference in depth below the options' common ancestor."""


def _fragments(draft: ItemText) -> Iterator[str]:
    """Flag fragments. Grades of a scale ("mild, moderate, severe") are answers by themselves."""
    if draft.ranks:
        return
    for option in draft.options:
        if is_fragment(option):
            yield f"{option!r} is a descriptor without its noun; name what it describes"


def _mixed_case(draft: ItemText) -> Iterator[str]:
    """Flag mixed case. Abbreviations keep their capitals in any list."""
    small = [option for option in draft.options if option[:1].islower()]
    large = [option for option in draft.options if _CAPITAL.match(option)]
    if small and large:
        yield (
            f"{small[0]!r} begins with a lower-case letter and others do not; begin all options "
            "alike"
        )


def _mixed_number(draft: ItemText) -> Iterator[str]:
    several = [option for option in _names(draft) if is_plural(option)]
    if 0 < len(several) < len(_names(draft)):
        yield f"{several[0]!r} is plural and others are not; use singular or plural throughout"


def _mixed_form(draft: ItemText) -> Iterator[str]:
    """Flag a word that precedes the noun in one option and follows it in another; figures may."""
    for option, other in permutations(_names(draft), 2):
        both = content_words(phrase(option)) & content_words(_trailing_words(other))
        shared = frozenset(word for word in both if not word.isdigit())
        if shared - content_words(phrase(other)) - content_words(_trailing_words(option)):
            yield (
                f"{min(shared)!r} precedes the noun in {option!r} and follows it in {other!r}; "
                f"use one form"
            )
            return


def _mixed_level(draft: ItemText) -> Iterator[str]:
    """Flag mixed levels of detail. An exclusive group covers its subject, so levels may differ."""
    if draft.grouped or not draft.above:
        return
    for index, other in permutations(range(len(draft.options)), 2):
        if draft.concepts and draft.concepts[other] in draft.above[index]:
            kind, general = draft.options[index], draft.options[other]
            yield f"{kind!r} is a kind of {general!r}; drop one of them"
            return
    ancestors = [above for above in draft.above if above]
    common = frozenset.intersection(*ancestors) if ancestors else frozenset()
    steps = [len(above - common) for above in ancestors]
    if common and max(steps) - min(steps) >= STEPS:
        yield "options are on different levels of one hierarchy; choose concepts of one level"


def _trailing_words(option: str) -> str:
    """Return what follows the noun, except what the option distinguishes itself from."""
    return _APART.sub("", tail(option))


def _names(draft: ItemText) -> list[str]:
    """Return the options that name something; denials of a finding fit next to any form."""
    kinds = draft.kinds or ("",) * len(draft.options)
    pairs = zip(draft.options, kinds, strict=True)
    return [option for option, kind in pairs if kind != NORMALITY]


FORM_RULES = (
    ItemRule(
        id="fragment",
        level=ERROR,
        asks="Every option contains its noun: no bare descriptor such as irregular or benign.",
        flaw="An option lacks its noun, such as irregular or benign alone.",
        check=_fragments,
    ),
    ItemRule(
        id="mixed-case",
        level=ERROR,
        asks="All options begin with a capital letter, or none does.",
        flaw="Some options begin with a capital letter and others do not.",
        check=_mixed_case,
    ),
    ItemRule(
        id="mixed-number",
        level=ERROR,
        asks="All options are singular, or all are plural.",
        flaw="Some options are singular and others plural.",
        check=_mixed_number,
    ),
    ItemRule(
        id="mixed-form",
        level=ERROR,
        asks="No word precedes the noun in one option and follows it in another.",
        flaw="A word precedes the noun in one option and follows it in another.",
        check=_mixed_form,
    ),
    ItemRule(
        id="mixed-level",
        level=ERROR,
        asks="No option is a subtype of another or two levels below it, except within a group.",
        flaw="An option is a subtype of another, or two levels below it.",
        check=_mixed_level,
    ),
)
