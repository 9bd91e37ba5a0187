"""Rules of item writing that a program can check on one question.

From the NBME guide (criteria listed in BMC Med Educ 2016, doi 10.1186/s12909-016-0559-7) and the
19-criteria rubric of SAQUET and BenchMarker (arXiv 2602.06221). An error stops an item, a
warning goes to the reviewer. Rules over a whole batch (key position, longest option) are part of
the audit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from medrcube.ontologies.words import content_words, normalise

ERROR = "error"
WARNING = "warning"

_ALL_OF_THE_ABOVE = re.compile(
    r"\b(all|none|both|neither|any) of (the|these)\b|\b[A-D] and [A-D]\b", re.IGNORECASE
)
_NEGATIVE = re.compile(r"\b(not|except|least|false)\b", re.IGNORECASE)
_OPEN = re.compile(r"which of the following is true|\bregarding\b", re.IGNORECASE)
_ABSOLUTE = frozenset({"always", "never", "only", "all", "every", "invariably", "completely"})
_VAGUE = re.compile(
    r"\b(often|usually|may|sometimes|rarely|frequently|associated with)\b", re.IGNORECASE
)
_MODIFIERS = frozenset(
    {"acute", "chronic", "left", "right", "mild", "moderate", "severe", "minimal", "diffuse"}
)
_ABBREVIATION = re.compile(r"\b[A-Z][A-Z0-9*]+\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A question before it becomes an item.

    Attributes:
        question: the stem with its lead-in.
        options: option texts in display order.
        key: index of the right option.
        kinds: term kind of each option; empty strings where options are no concepts.
        grouped: whether the options are one exclusive group, whose kinds may differ.
    """

    question: str
    options: tuple[str, ...]
    key: int
    kinds: tuple[str, ...]
    grouped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """One broken rule."""

    rule: str
    level: str
    message: str


def lint(draft: Draft) -> tuple[Flaw, ...]:
    """Check one question against every rule; errors first.

    A draft without two options and a key among them gets that error alone: every other rule
    compares options.
    """
    broken = [
        Flaw(rule="option-count", level=ERROR, message=message) for message in _option_count(draft)
    ]
    if broken:
        return tuple(broken)
    flaws = [
        Flaw(rule=rule, level=level, message=message)
        for rule, level, check in _RULES
        for message in check(draft)
    ]
    return tuple(sorted(flaws, key=lambda flaw: flaw.level != ERROR))


def _duplicates(draft: Draft) -> Iterator[str]:
    names = [normalise(option) for option in draft.options]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield f"{draft.options[index]!r} stands twice among the options"


def _option_count(draft: Draft) -> Iterator[str]:
    if len(draft.options) < 2:
        yield f"{len(draft.options)} option, expected two or more"
    if not 0 <= draft.key < len(draft.options):
        yield f"key index {draft.key} points at no option"


def _combined_options(draft: Draft) -> Iterator[str]:
    for option in draft.options:
        if _ALL_OF_THE_ABOVE.search(option):
            yield f"{option!r} stands for other options"


def _mixed_kinds(draft: Draft) -> Iterator[str]:
    kinds = {kind for kind in draft.kinds if kind != "normality"}
    if len(kinds) > 1 and not draft.grouped:
        yield f"options are of several kinds: {', '.join(sorted(kinds))}"


def _not_a_question(draft: Draft) -> Iterator[str]:
    if not draft.question.strip().endswith("?"):
        yield "the lead-in does not end with a question mark"
    if _OPEN.search(draft.question):
        yield "the lead-in cannot be answered without the options"


def _negative_stem(draft: Draft) -> Iterator[str]:
    found = _NEGATIVE.search(draft.question)
    if found:
        yield f"the stem is negative ({found.group()!r})"


def _absolute_terms(draft: Draft) -> Iterator[str]:
    holders = [option for option in draft.options if _ABSOLUTE & set(option.casefold().split())]
    if len(holders) == 1:
        yield f"only {holders[0]!r} holds an absolute term"


def _word_repeats(draft: Draft) -> Iterator[str]:
    shared = content_words(draft.question) & content_words(draft.options[draft.key])
    for word in sorted(shared):
        if not all(word in content_words(option) for option in draft.options):
            yield f"{word!r} stands in the stem and in the key but not in every option"


def _text_leak(draft: Draft) -> Iterator[str]:
    stem = f" {normalise(draft.question)} "
    key = normalise(draft.options[draft.key])
    if key and f" {key} " in stem:
        yield f"the stem names the key {draft.options[draft.key]!r}"


def _length(draft: Draft) -> Iterator[str]:
    sizes = [len(option) for option in draft.options]
    if max(sizes) > 1.5 * median(sizes):
        yield "the longest option is more than 1.5 times the median"
    words = [len(option.split()) for option in draft.options]
    if max(words) - sorted(words)[-2] > 2:
        yield "one option has more than two words more than any other"


def _longest_is_key(draft: Draft) -> Iterator[str]:
    sizes = [len(option) for option in draft.options]
    if sizes[draft.key] > max(size for i, size in enumerate(sizes) if i != draft.key):
        yield "the key is the longest option"


def _vague_terms(draft: Draft) -> Iterator[str]:
    found = _VAGUE.search(" ".join((draft.question, *draft.options)))
    if found:
        yield f"vague term {found.group()!r}"


def _abbreviations(draft: Draft) -> Iterator[str]:
    holders = [option for option in draft.options if _ABBREVIATION.search(option)]
    if len(holders) == 1:
        yield f"only {holders[0]!r} holds an abbreviation"


def _convergence(draft: Draft) -> Iterator[str]:
    """The key must not share more words with the others than each of them does."""
    words = [content_words(option) for option in draft.options]
    shared = [sum(len(own & other) for other in words) - len(own) for own in words]
    rivals = [count for index, count in enumerate(shared) if index != draft.key]
    if len(rivals) > 1 and shared[draft.key] > max(rivals):
        yield "the key shares more words with the other options than any of them"


def _specificity(draft: Draft) -> Iterator[str]:
    counts = [len(_MODIFIERS & content_words(option)) for option in draft.options]
    if max(counts) - min(counts) > 1:
        yield "options differ by more than one modifier"


_RULES: Sequence[tuple[str, str, Callable[[Draft], Iterator[str]]]] = (
    ("duplicate-options", ERROR, _duplicates),
    ("combined-options", ERROR, _combined_options),
    ("mixed-kinds", ERROR, _mixed_kinds),
    ("not-a-question", ERROR, _not_a_question),
    ("negative-stem", ERROR, _negative_stem),
    ("absolute-terms", ERROR, _absolute_terms),
    ("word-repeats", ERROR, _word_repeats),
    ("text-leak", ERROR, _text_leak),
    ("length", WARNING, _length),
    ("longest-is-key", WARNING, _longest_is_key),
    ("vague-terms", WARNING, _vague_terms),
    ("abbreviations", WARNING, _abbreviations),
    ("convergence", WARNING, _convergence),
    ("specificity", WARNING, _specificity),
)
