"""Key balance: finds and drops options that are always or never the key.

Someone who knows a source can learn, without an image, that one option is always right or that
another never is. Therefore no option that a source and task show often enough to learn from may be
always or never the key, neither in one set of options nor over all sets, and no source may have a
task with a single answer. A source has one modality, and mostly one organ, by its nature: for these
tasks the sources are pooled, and what the source itself gives away is measured separately
(``audit/source_leakage``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from medrcube.build.questions.eligibility import is_constant_answer
from medrcube.build.questions.item_table import ChoiceItem

__all__ = [
    "LEARNABLE",
    "UnbalancedOption",
    "comparison_places",
    "drop_unbalanced",
    "option_set",
    "unbalanced_options",
]

LEARNABLE = 10
"""Number of items from which one can learn that an option is always or never the key: among four
options, a given one is never the key of ten items by chance in 6 of 100 sets.
"""

ALL_SOURCES = "all sources"
"""Place of items of tasks for which each source has one answer by its nature."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class UnbalancedOption:
    """An option that is always or never the key.

    Attributes:
        place: source, or ``ALL_SOURCES``.
        task: task.
        options: concepts of the set of options; empty if the option is counted over all of its
            sets, and for the only answer of a task.
        concept: concept of the option.
        key: how often it is the key.
        shown: how often it is shown.
    """

    place: str
    task: str
    options: tuple[str, ...]
    concept: str
    key: int
    shown: int


def unbalanced_options(items: Iterable[ChoiceItem]) -> list[UnbalancedOption]:
    """Return every option that breaks the rule, sorted; numbered boxes have no concept to count.

    An option breaks it if it is always or never the key of at least ``LEARNABLE`` items with one
    set of options, or of as many that show it in any set, or if it is the only key of a source and
    task.
    """
    show_counts: Counter[tuple[str, str, tuple[str, ...], str]] = Counter()
    key_counts: Counter[tuple[str, str, tuple[str, ...], str]] = Counter()
    tasks: dict[tuple[str, str], Counter[str]] = {}
    for item, place in comparison_places(items):
        options, key = option_set(item), item.options[item.key].concept
        tasks.setdefault((place, item.task), Counter())[key] += 1
        for scope in (options, ()):
            key_counts[place, item.task, scope, key] += 1
            for concept in options:
                show_counts[place, item.task, scope, concept] += 1
    unbalanced = [
        UnbalancedOption(
            place=place, task=task, options=scope, concept=name, key=key_counts[entry], shown=count
        )
        for entry, count in show_counts.items()
        for place, task, scope, name in [entry]
        if count >= LEARNABLE and key_counts[entry] in (0, count)
    ]
    unbalanced += [
        UnbalancedOption(
            place=place, task=task, options=(), concept=name, key=keys[name], shown=keys[name]
        )
        for (place, task), keys in tasks.items()
        if len(keys) == 1
        for name in keys
    ]
    return sorted(set(unbalanced))


def drop_unbalanced(items: Sequence[ChoiceItem]) -> tuple[ChoiceItem, ...]:
    """Drop the items that show an option which is always or never the key; the order is kept.

    The remaining items may be unbalanced again, so this is repeated until none is.
    """
    remaining = tuple(items)
    while unbalanced := unbalanced_options(remaining):
        sets = {(entry.place, entry.task, entry.options) for entry in unbalanced if entry.options}
        options = {
            (entry.place, entry.task, entry.concept) for entry in unbalanced if not entry.options
        }
        out = {
            item.id
            for item, place in comparison_places(remaining)
            if (place, item.task, option_set(item)) in sets
            or any((place, item.task, concept) in options for concept in option_set(item))
        }
        remaining = tuple(item for item in remaining if item.id not in out)
    return remaining


def comparison_places(items: Iterable[ChoiceItem]) -> list[tuple[ChoiceItem, str]]:
    """Return items whose options name concepts, each with the source or pool it is compared in."""
    comparable = [item for item in items if item.options and item.options[0].concept]
    answers: dict[tuple[str, str, str], set[str]] = {}
    for item in comparable:
        key = item.options[item.key].concept
        answers.setdefault((item.source, item.task, item.group), set()).add(key)
    return [
        (
            item,
            ALL_SOURCES
            if is_constant_answer(item.task, answers[item.source, item.task, item.group])
            else item.source,
        )
        for item in comparable
    ]


def option_set(item: ChoiceItem) -> tuple[str, ...]:
    """Return the concepts of the options in a canonical order."""
    return tuple(sorted(option.concept for option in item.options))
