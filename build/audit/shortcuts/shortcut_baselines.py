"""Shortcut baselines: answer by position, length or frequent label, without the image.

Each baseline gives rows of figures with ``within``: whether it scores no better than chance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from medrcube.build.audit.leakage.conditional_logit import folds
from medrcube.build.audit.leakage.leakage_tests import ALL, groups_of, score_against_chance
from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.stages.samples import Sample

__all__ = [
    "POSITION_P",
    "Row",
    "chi_square_p",
    "first_option",
    "key_positions",
    "label_prior",
    "longest_option",
    "most_frequent_label",
    "other_keys",
]

POSITION_P = 0.01
"""Key positions whose chi-square p is below this are not uniform (item rules, key position)."""
PRIOR_P = 0.01
"""Probability that any label of a task is flagged by chance, divided among its labels (Bonferroni).
"""
TASK_SE = 3.0
"""Standard errors from chance that a simple shortcut may reach in one of the many tasks; over all
tasks 2.
"""

Row = dict[str, Any]


def key_positions(items: Iterable[ChoiceItem]) -> list[Row]:
    """Count key positions by number of options, with the chi-square p against uniformity.

    Scales and numbered boxes keep their natural order and are not counted; nor are items whose key
    is not one of their options, which are reported as failures.
    """
    positions: dict[int, Counter[int]] = {}
    for item in items:
        if not item.ordered and 0 <= item.key < len(item.options) > 1:
            positions.setdefault(len(item.options), Counter())[item.key] += 1
    rows = []
    for options, counts in sorted(positions.items()):
        observed = [counts[position] for position in range(options)]
        expected = sum(observed) / options
        statistic = sum((count - expected) ** 2 / expected for count in observed)
        p = chi_square_p(statistic, options - 1)
        rows.append(
            {
                "options": options,
                "n": sum(observed),
                "counts": observed,
                "p": p,
                "threshold": POSITION_P,
                "within": p > POSITION_P,
            }
        )
    return rows


def chi_square_p(statistic: float, freedom: int) -> float:
    """Upper tail of the chi-square distribution, exact for whole degrees of freedom.

    By the recurrence of the regularised gamma function, DLMF 8.8.2.

    Raises:
        ValueError: no degree of freedom, or a negative statistic.
    """
    if freedom < 1 or statistic < 0:
        raise ValueError(f"chi-square of {statistic} with {freedom} degrees of freedom")
    half = statistic / 2
    tail = math.erfc(math.sqrt(half)) if freedom % 2 else math.exp(-half)
    for k in range(freedom % 2 or 2, freedom, 2):
        tail += half ** (k / 2) * math.exp(-half) / math.gamma(k / 2 + 1)
    return tail


def label_prior(items: Iterable[ChoiceItem]) -> list[Row]:
    """Return how often each label is the key of the items that show it, for each task.

    A label among n options should be the key once in n times: it is a distractor (n - 1) times as
    often as a key. ``z`` is the deviation in standard errors of the most deviating label.
    """
    uses_of: dict[str, dict[str, list[tuple[bool, float]]]] = {}
    for item in items:
        for index, option in enumerate(item.options):
            if option.concept:
                uses = uses_of.setdefault(item.task, {}).setdefault(option.concept, [])
                uses.append((index == item.key, 1 / len(item.options)))
    return [_prior_row(task, labels) for task, labels in sorted(uses_of.items())]


def _prior_row(task: str, labels: dict[str, list[tuple[bool, float]]]) -> Row:
    deviations = []
    for label, uses in labels.items():
        keyed, due = sum(key for key, _ in uses), sum(chance for _, chance in uses)
        error = math.sqrt(sum(chance * (1 - chance) for _, chance in uses))
        deviations.append(((keyed - due) / error, label, keyed, len(uses) - keyed, due))
    z, label, keyed, wrong, due = max(deviations, key=lambda entry: (abs(entry[0]), entry[1]))
    p = min(1.0, math.erfc(abs(z) / math.sqrt(2)) * len(deviations))
    return {
        "task": task,
        "labels": len(deviations),
        "label": label,
        "key": keyed,
        "distractor": wrong,
        "key_due": due,
        "z": z,
        "p": p,
        "threshold": PRIOR_P,
        "within": p > PRIOR_P,
    }


def longest_option(items: Iterable[ChoiceItem], samples: Iterable[Sample]) -> list[Row]:
    """Score of choosing the longest option, ties broken at random, for each task and overall.

    Items whose options are all equally long are uninformative and left out.
    """
    guesses = {}
    for item in items:
        sizes = [len(option.text) for option in item.options]
        longest = [index for index, size in enumerate(sizes) if size == max(sizes)]
        if len(longest) < len(sizes):
            guesses[item] = longest
    return _trick_rows(guesses, groups_of(guesses, samples), both_sides=True)


def first_option(items: Iterable[ChoiceItem], samples: Iterable[Sample]) -> list[Row]:
    """Score of choosing the first option, for each task and overall, including scales and boxes."""
    guesses = {item: [0] for item in items}
    return _trick_rows(guesses, groups_of(guesses, samples), both_sides=False)


def most_frequent_label(items: Iterable[ChoiceItem], samples: Iterable[Sample]) -> list[Row]:
    """Score of choosing the label that is most often a key in the other folds, by task."""
    labelled = [item for item in items if item.options[item.key].concept]
    groups = groups_of(labelled, samples)
    guesses: dict[ChoiceItem, list[int]] = {}
    for members in _by_task(labelled).values():
        fold_of = folds((groups[item.id] for item in members), 5)
        if len(set(fold_of.values())) < 2:
            continue
        counts: dict[int, Counter[str]] = {}
        for item in members:
            counts.setdefault(fold_of[groups[item.id]], Counter())[_key_label(item)] += 1
        total = sum(counts.values(), Counter())
        for item in members:
            own = counts[fold_of[groups[item.id]]]
            often = [total[option.concept] - own[option.concept] for option in item.options]
            guesses[item] = [index for index, n in enumerate(often) if n == max(often)]
    return _trick_rows(guesses, groups, both_sides=False)


def other_keys(items: Iterable[ChoiceItem], samples: Iterable[Sample]) -> list[Row]:
    """Score of naming the option that is least, or most, often the key of the other items.

    Items with the same question and the same options are compared. This reader must know the other
    keys: someone who trains on a part of the batch, or has memorised it. ``trick`` states which of
    the two a row describes.
    """
    labelled = [item for item in items if item.options[item.key].concept]
    groups = groups_of(labelled, samples)
    keyed = Counter((_text(item), _key_label(item)) for item in labelled)
    rows = []
    for trick, sign in (("least", -1), ("most", 1)):
        guesses: dict[ChoiceItem, list[int]] = {}
        for item in labelled:
            text = _text(item)
            others = [
                sign * (keyed[text, option.concept] - (place == item.key))
                for place, option in enumerate(item.options)
            ]
            guesses[item] = [place for place, n in enumerate(others) if n == max(others)]
        rows += [{"trick": trick, **row} for row in _trick_rows(guesses, groups, both_sides=False)]
    return rows


def _text(item: ChoiceItem) -> tuple[str, ...]:
    return (item.question, *sorted(option.concept for option in item.options))


def _key_label(item: ChoiceItem) -> str:
    return item.options[item.key].concept


def _trick_rows(
    guesses: dict[ChoiceItem, list[int]], groups: dict[str, str], *, both_sides: bool
) -> list[Row]:
    """Return one row for each task and one overall: choices of a shortcut against chance."""
    tasks = _by_task(guesses)
    rows = []
    for task, members in [*tasks.items(), *([(ALL, list(guesses))] if guesses else [])]:
        row = score_against_chance(
            [
                (
                    (item.key in guesses[item]) / len(guesses[item]),
                    1 / len(item.options),
                    groups[item.id],
                )
                for item in members
            ]
        )
        high = row["chance"] + (2.0 if task == ALL else TASK_SE) * row["se"]
        low = row["chance"] - TASK_SE * row["se"] if both_sides else 0.0
        within = low <= row["accuracy"] <= high
        rows.append({"task": task, **row, "least": low, "threshold": high, "within": within})
    return rows


def _by_task(items: Iterable[ChoiceItem]) -> dict[str, list[ChoiceItem]]:
    tasks: dict[str, list[ChoiceItem]] = {}
    for item in items:
        tasks.setdefault(item.task, []).append(item)
    return dict(sorted(tasks.items()))
