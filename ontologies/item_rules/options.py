"""Item-writing rules on the set of options: comparable, distinct, alike in form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations
from statistics import median

from medrcube.ontologies.item_rules.rule_types import ERROR, WARNING, ItemRule, ItemText
from medrcube.ontologies.label_words import content_words, normalise, tokens
from medrcube.ontologies.terms import NORMALITY

__all__ = ["COUNT_RULE", "OPTION_RULES"]

DEPTH = 0.25
"""Maximum difference in information content between a distractor and the key."""

_COMBINED = re.compile(
    r"\b(all|none|both|neither|any) of (the|these)\b|\b[A-D] and [A-D]\b", re.IGNORECASE
)
# "grade 2 (moderate)" is a number with a name, "grade 2 glioma" is a disease.
_NUMBERED = re.compile(
    r"^((?:(?!of |with |in )[\w-]+ ){0,3})(box|bi-?rads|grade|stage|score|category|class|type|ct)"
    r"[ -]?\d+[A-C]?(?=$|\s?[(:,;]| (?:to|in|of|or|and|for)\b)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?]$")
_MODIFIERS = frozenset(
    (
        *("acute", "subacute", "chronic", "early", "late", "primary", "secondary"),
        *("left", "right", "bilateral", "upper", "lower", "anterior", "posterior"),
        *("minimal", "mild", "moderate", "severe", "small", "large", "diffuse", "focal"),
    )
)
_DENIALS = re.compile(r"^(no|not|absent|absence of|no signs? of|no evidence of|without)\s+")
_COMPLEMENTS = (
    ("normal", "abnormal"),
    ("present", "absent"),
    ("positive", "negative"),
    ("with", "without"),
    ("complete", "incomplete"),
)
_ABBREVIATION = re.compile(r"\b[A-Z][A-Z0-9*]+\b")


def _option_count(draft: ItemText) -> Iterator[str]:
    if len(draft.options) < 2:
        yield f"{len(draft.options)} option, expected two or more; add a safe distractor"
    if not 0 <= draft.key < len(draft.options):
        yield f"key index {draft.key} points at no option; name one of the options as key"


def _duplicates(draft: ItemText) -> Iterator[str]:
    names = [normalise(option) for option in draft.options]
    for index, name in enumerate(names):
        concept = draft.concepts[index] if draft.concepts else ""
        if name in names[:index] or (concept and concept in draft.concepts[:index]):
            yield f"{draft.options[index]!r} occurs twice among the options; replace one of them"


def _combined_options(draft: ItemText) -> Iterator[str]:
    for option in draft.options:
        if _COMBINED.search(option):
            yield f"{option!r} combines other options; replace it with a separate answer"


def _mixed_kinds(draft: ItemText) -> Iterator[str]:
    kinds = {kind for kind in draft.kinds if kind != NORMALITY}
    if len(kinds) > 1 and not draft.grouped:
        yield (
            f"options are of several kinds ({', '.join(sorted(kinds))}); replace those that are "
            "not of the key's kind"
        )


def _mixed_slots(draft: ItemText) -> Iterator[str]:
    """Flag mixed forms. A negative option ("nothing is there") is compatible with any form."""
    slots = [
        _slot(option)
        for index, option in enumerate(draft.options)
        if not draft.kinds or draft.kinds[index] != NORMALITY
    ]
    if len(set(slots)) > 1:
        yield (
            f"options differ in form ({', '.join(sorted(set(slots)))}); write all of them so that "
            "each fills the same place of the question"
        )


def _slot(option: str) -> str:
    numbered = _NUMBERED.match(option)
    if numbered:
        return f"numbered {normalise(numbered.group(1) + numbered.group(2))}"
    return "sentence" if _SENTENCE.search(option.strip()) else "name"


def _depth(draft: ItemText) -> Iterator[str]:
    key = draft.content[draft.key] if draft.content else None
    if key is None:
        return
    for option, content in zip(draft.options, draft.content, strict=True):
        if content is not None and abs(content - key) > DEPTH:
            wider = "more general" if content < key else "more special"
            yield (
                f"{option!r} is much {wider} than the key (information content {content:.2f} "
                f"against {key:.2f}); choose one within {DEPTH}"
            )


def _length(draft: ItemText) -> Iterator[str]:
    sizes = [len(option) for option in draft.options]
    longest = draft.options[sizes.index(max(sizes))]
    if max(sizes) > 1.5 * median(sizes):
        yield (
            f"{longest!r} is more than 1.5 times as long as the median option; shorten it or "
            "lengthen the others"
        )
    words = sorted((len(option.split()), option) for option in draft.options)
    if words[-1][0] - words[-2][0] > 2:
        yield f"{words[-1][1]!r} has over two words more than any other option; shorten it"


def _specificity(draft: ItemText) -> Iterator[str]:
    counts = [len(_MODIFIERS & set(tokens(option))) for option in draft.options]
    if max(counts) - min(counts) > 1:
        most = draft.options[counts.index(max(counts))]
        yield (
            f"{most!r} has {max(counts)} modifiers and another option {min(counts)}; give all "
            "options the same detail"
        )


def _exhaustive_subset(draft: ItemText) -> Iterator[str]:
    """Flag two options that are exhaustive, so that the others cannot be right."""
    if len(draft.options) < 3:
        return
    for option, other in permutations(draft.options, 2):
        if _complementary(normalise(option), normalise(other)):
            yield (
                f"{option!r} and {other!r} are complementary, so no other option can be right; "
                f"drop one of the two or all others"
            )


def _complementary(option: str, other: str) -> bool:
    denied = _DENIALS.sub("", other)
    if denied not in (other, "") and denied == option:
        return True
    words, others = option.split(), other.split()
    return len(words) == len(others) and [
        pair for pair in zip(words, others, strict=True) if pair[0] != pair[1]
    ] in [[pair] for pair in _COMPLEMENTS]


def _abbreviations(draft: ItemText) -> Iterator[str]:
    holders = [option for option in draft.options if _ABBREVIATION.search(option)]
    if len(holders) == 1:
        yield (
            f"only {holders[0]!r} contains an abbreviation; spell it out or use abbreviations "
            "throughout"
        )


def _convergence(draft: ItemText) -> Iterator[str]:
    """Flag convergence: writers vary the key, so the option most like the others is the key."""
    words = [content_words(option) for option in draft.options]
    shared = [sum(len(own & other) for other in words) - len(own) for own in words]
    rivals = [count for index, count in enumerate(shared) if index != draft.key]
    if len(rivals) > 1 and shared[draft.key] > max(rivals):
        yield (
            f"the key {draft.options[draft.key]!r} shares more words with the other options than "
            "any of them; replace a distractor that was made from the key"
        )


COUNT_RULE = ItemRule(
    id="option-count",
    level=ERROR,
    asks="At least two options, one of which is the key.",
    flaw="There are fewer than two options, or none of them is the key.",
    check=_option_count,
)
OPTION_RULES = (
    ItemRule(
        id="duplicate-options",
        level=ERROR,
        asks="No two options have the same text or concept.",
        flaw="Two options have the same text or concept.",
        check=_duplicates,
    ),
    ItemRule(
        id="combined-options",
        level=ERROR,
        asks='No "all", "none", "both", "any of the above" and no "A and C".',
        flaw='An option combines others, such as "all of the above".',
        check=_combined_options,
    ),
    ItemRule(
        id="mixed-kinds",
        level=ERROR,
        asks='All options are of one kind; "no abnormality" fits any kind.',
        flaw="The options are of several kinds.",
        check=_mixed_kinds,
    ),
    ItemRule(
        id="mixed-slots",
        level=ERROR,
        asks="All options have one form: numbered, name or sentence.",
        flaw="The options differ in form: numbered, name or sentence.",
        check=_mixed_slots,
    ),
    ItemRule(
        id="content-depth",
        level=WARNING,
        asks=f"Information content of every option within {DEPTH} of the key's.",
        flaw=f"An option is more general or more special than the key by over {DEPTH} of 1.",
        check=_depth,
    ),
    ItemRule(
        id="length",
        level=WARNING,
        asks="Longest option at most 1.5 times the median length and two words longer than the "
        "next.",
        flaw="One option is much longer than the others, in letters or in words.",
        check=_length,
    ),
    ItemRule(
        id="specificity",
        level=WARNING,
        asks="The number of modifiers (acute, left, mild ...) differs by at most one.",
        flaw="One option has at least two modifiers (acute, left, mild ...) more than another.",
        check=_specificity,
    ),
    ItemRule(
        id="exhaustive-subset",
        level=WARNING,
        asks="No two complementary options among several.",
        flaw="Two options are complementary, so no other option can be right.",
        check=_exhaustive_subset,
    ),
    ItemRule(
        id="abbreviations",
        level=WARNING,
        asks="Abbreviations in all, several or no options, but not in only one.",
        flaw="One option alone contains an abbreviation.",
        check=_abbreviations,
    ),
    ItemRule(
        id="convergence",
        level=WARNING,
        asks="The key does not share more words with the others than each of them does.",
        flaw="The key shares more words with the other options than any of them does.",
        check=_convergence,
    ),
)
