"""Item-writing rules on cueing: words and grammar that point at the key or exclude an option."""

from __future__ import annotations

import re
from collections.abc import Iterator

from medrcube.ontologies.item_rules.rule_types import ERROR, WARNING, ItemRule, ItemText
from medrcube.ontologies.label_words import content_words
from medrcube.ontologies.name_grammar import asks_for_an, is_plural

__all__ = ["CUE_RULES"]

_ABSOLUTE = frozenset({"always", "never", "only", "all", "every", "invariably", "completely"})
_VAGUE = re.compile(
    r"\b(often|usually|may|sometimes|rarely|frequently|associated with)\b", re.IGNORECASE
)
_ARTICLE = re.compile(r"\b(an?)\s*[:_.?\s]*$", re.IGNORECASE)
_PLURAL = re.compile(
    r"\b(which|what)\b(?:(?!\b(?:is|was|does|in|that)\b)[^,?])*?\b(are|were)\b", re.IGNORECASE
)
_BOX = re.compile(r"box \d+", re.IGNORECASE)


def _absolute_terms(draft: ItemText) -> Iterator[str]:
    holders = [option for option in draft.options if _ABSOLUTE & set(option.casefold().split())]
    if len(holders) == 1:
        yield f"only {holders[0]!r} contains an absolute term; remove the word"


def _vague_terms(draft: ItemText) -> Iterator[str]:
    match = _VAGUE.search("\n".join((draft.question, *draft.options)))
    if match:
        yield f"vague term {match.group()!r}; say what is seen"


def _longest_is_key(draft: ItemText) -> Iterator[str]:
    sizes = [len(option) for option in draft.options]
    if sizes[draft.key] > max(size for i, size in enumerate(sizes) if i != draft.key):
        yield (
            f"the key {draft.options[draft.key]!r} is the longest option; choose a distractor of "
            "its length"
        )


def _word_repeats(draft: ItemText) -> Iterator[str]:
    """Flag words of the stem that occur in the key but not in every option.

    Numbered boxes are exempt: their number is a name, so a figure in the stem is not a cue.
    """
    if all(_BOX.fullmatch(option) for option in draft.options):
        return
    shared = content_words(draft.question) & content_words(draft.options[draft.key])
    for word in sorted(shared):
        if not all(word in content_words(option) for option in draft.options):
            yield (
                f"{word!r} occurs in the stem and the key but not in every option; remove it from "
                f"the stem or choose distractors that contain it"
            )


def _grammar(draft: ItemText) -> Iterator[str]:
    yield from _article(draft)
    yield from _leading_articles(draft)
    yield from _plural(draft)
    yield from _verb_form(draft)


def _article(draft: ItemText) -> Iterator[str]:
    ending = _ARTICLE.search(draft.question)
    if not ending:
        return
    vowel = ending.group(1).casefold() == "an"
    for option in draft.options:
        if asks_for_an(option) != vowel:
            yield (
                f"{option!r} does not follow {ending.group(1)!r} at the end of the lead-in; end "
                "it with the noun that is asked for"
            )


def _leading_articles(draft: ItemText) -> Iterator[str]:
    with_article = [option.casefold().startswith(("a ", "an ", "the ")) for option in draft.options]
    if with_article.count(with_article[draft.key]) == 1 and len(with_article) > 1:
        yield "only the key begins with, or without, an article; begin all options alike"


def _plural(draft: ItemText) -> Iterator[str]:
    """Flag a plural lead-in that rules out singular options but not others."""
    if not _PLURAL.search(draft.question):
        return
    singular = [option for option in draft.options if not is_plural(option)]
    if 0 < len(singular) < len(draft.options):
        yield (
            f"{singular[0]!r} is singular and does not agree with the plural lead-in; ask in the "
            "singular ('which ... is')"
        )


def _verb_form(draft: ItemText) -> Iterator[str]:
    infinitives = [option.casefold().startswith("to ") for option in draft.options]
    if len(set(infinitives)) > 1:
        yield "some options begin with an infinitive and others do not; use one verb form"


CUE_RULES = (
    ItemRule(
        id="absolute-terms",
        level=ERROR,
        asks="No absolute term (always, never, only, all ...) in one option alone.",
        flaw="One option alone contains an absolute term (always, never, only, all ...).",
        check=_absolute_terms,
    ),
    ItemRule(
        id="word-repeats",
        level=ERROR,
        asks="No word of the stem occurs in the key but not in every distractor.",
        flaw="A word of the stem occurs in the key but not in every distractor.",
        check=_word_repeats,
    ),
    ItemRule(
        id="grammar-cue",
        level=ERROR,
        asks="Article, number and verb form of the lead-in fit every option.",
        flaw="Article, number or verb form of the lead-in does not fit every option.",
        check=_grammar,
    ),
    ItemRule(
        id="longest-is-key",
        level=WARNING,
        asks="The key is not the single longest option.",
        flaw="The key is the single longest option.",
        check=_longest_is_key,
    ),
    ItemRule(
        id="vague-terms",
        level=WARNING,
        asks="No vague term (often, usually, may, associated with ...).",
        flaw="The wording contains a vague term (often, usually, may, associated with ...).",
        check=_vague_terms,
    ),
)
