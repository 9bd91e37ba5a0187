"""Numbers over a whole batch: what it holds, what would give answers away, what stops a release."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from medrcube.build.items import Item
from medrcube.build.samples import Sample
from medrcube.ontologies.words import normalise
from medrcube.records import Grade, Problem
from medrcube.taxonomy import Anatomy, Modality, Task, UnknownNameError

POSITION_P = 0.01
"""Key positions whose chi-square p lies below this are not even."""


def audit(
    samples: Sequence[Sample],
    items: Sequence[Item],
    problems: Sequence[Problem],
    absent: Mapping[str, int],
) -> dict[str, Any]:
    """Audit a build; the result is ready for JSON and the same for any order of the input.

    Args:
        samples: all pictures.
        items: all items.
        problems: the quarantine.
        absent: source -> number of cases whose images are not in this copy.

    Returns:
        Counts, checks of the batch, and ``failures``: sentences that each stop a release.
    """
    pictures = {sample.id: sample for sample in samples}
    failures = _failures(items, pictures)
    return {
        "pictures": len(samples),
        "items": len(items),
        "by_task": _count(item.task for item in items),
        "by_source": _count(item.source for item in items),
        "by_voxel": _count(f"{it.anatomy} / {it.modality} / {it.task}" for it in items),
        "by_options": _count(str(len(item.options)) for item in items),
        "by_state": _count(item.state for item in items),
        "by_strategy": _count(item.strategy for item in items),
        "by_grade": _count(
            option.grade for item in items for option in item.options if option.grade
        ),
        "warnings": _count(warning for item in items for warning in item.warnings),
        "patients": len({(s.source, s.patient) for s in samples if s.patient}),
        "absent": dict(sorted(absent.items())),
        "quarantine": _count(f"{p.source} / {p.stage} / {p.code}" for p in problems),
        "key_positions": key_positions(items),
        "longest_is_key": longest_is_key(items),
        "most_frequent_answer": most_frequent_answer(items),
        "duplicate_pictures": duplicate_pictures(samples),
        "failures": failures,
    }


def key_positions(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Key positions by number of options, with the chi-square p against an even spread.

    Scales and numbered boxes keep their natural order and are not counted; nor are items whose
    key is none of their options, which are failures of their own.
    """
    found: dict[int, Counter[int]] = {}
    for item in items:
        if not item.ordered and 0 <= item.key < len(item.options) > 1:
            found.setdefault(len(item.options), Counter())[item.key] += 1
    rows = []
    for options, counts in sorted(found.items()):
        observed = [counts[position] for position in range(options)]
        expected = sum(observed) / options
        statistic = sum((count - expected) ** 2 / expected for count in observed)
        p = chi_square_p(statistic, options - 1)
        row = {"options": options, "counts": observed, "p": p, "even": p > POSITION_P}
        rows.append(row)
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


def longest_is_key(items: Iterable[Item]) -> dict[str, Any]:
    """How often the key is the one longest option, against chance within 3 standard errors.

    Only items with one longest option count; boxes have none.
    """
    hits, chances = 0, []
    for item in items:
        sizes = [len(option.text) for option in item.options]
        if sizes and sizes.count(max(sizes)) == 1:
            chances.append(1 / len(sizes))
            hits += sizes.index(max(sizes)) == item.key
    expected = sum(chances)
    error = math.sqrt(sum(chance * (1 - chance) for chance in chances))
    return {
        "n": len(chances),
        "share": hits / len(chances) if chances else None,
        "expected": expected / len(chances) if chances else None,
        "within_3_se": abs(hits - expected) <= 3 * error,
    }


def most_frequent_answer(items: Iterable[Item]) -> dict[str, dict[str, Any]]:
    """Score of always naming a task's most frequent answer, by source and task.

    What a model gains that has learnt the answers but sees no picture; boxes have no label.
    """
    cells: dict[str, list[Item]] = {}
    for item in items:
        if item.options and item.options[0].concept:
            cells.setdefault(f"{item.source} / {item.task}", []).append(item)
    result = {}
    for cell, members in sorted(cells.items()):
        counts = Counter(item.concept for item in members)
        label = min(counts, key=lambda name: (-counts[name], name))
        chance = sum(1 / len(item.options) for item in members) / len(members)
        share = counts[label] / len(members)
        result[cell] = {"n": len(members), "answer": label, "share": share, "chance": chance}
    return result


def duplicate_pictures(samples: Iterable[Sample]) -> list[dict[str, Any]]:
    """Clean pictures that are equal pixel for pixel although they come from different cases."""
    clean = sorted(
        (sample for sample in samples if sample.artefact == "clean"),
        key=lambda sample: (sample.pixel_sha256, sample.source, sample.case, sample.id),
    )
    rows = []
    for digest, group in groupby(clean, key=lambda sample: sample.pixel_sha256):
        members = list(group)
        cases = sorted({f"{sample.source}/{sample.case}" for sample in members})
        if len(cases) > 1:
            patients = {(sample.source, sample.patient) for sample in members if sample.patient}
            row = {
                "pixel_sha256": digest,
                "cases": cases,
                "patients": len(patients),
                "sources": len({sample.source for sample in members}),
            }
            rows.append(row)
    return rows


def _failures(items: Sequence[Item], pictures: Mapping[str, Sample]) -> list[str]:
    failures = [
        f"item {item.id}: {fault}"
        for item in sorted(items, key=lambda item: (item.source, item.task, item.id))
        for fault in _faults(item, pictures)
    ]
    repeated = [name for name, count in Counter(item.id for item in items).items() if count > 1]
    failures += [f"item {name}: the id stands more than once" for name in sorted(repeated)]
    return failures


def _faults(item: Item, pictures: Mapping[str, Sample]) -> Iterable[str]:
    if item.sample not in pictures:
        yield f"its picture {item.sample!r} is not among the samples"
    if not 2 <= len(item.options) <= 4:
        yield f"{len(item.options)} options, expected two to four"
    if not 0 <= item.key < len(item.options):
        yield f"the key {item.key} is none of the options"
    elif item.options[item.key].strategy != "key":
        yield f"option {item.key} is named as key but was made as a distractor"
    if sum(option.strategy == "key" for option in item.options) != 1:
        yield "not exactly one option was made as key"
    yield from _option_faults(item)
    for axis, value in ((Task, item.task), (Anatomy, item.anatomy), (Modality, item.modality)):
        try:
            axis.parse(value)
        except UnknownNameError as error:
            yield str(error)


def _option_faults(item: Item) -> Iterable[str]:
    names = [normalise(option.text) for option in item.options]
    if len(set(names)) < len(names):
        yield "two options read the same"
    if not all(names):
        yield "an option is empty"
    wrong = [option for option in item.options if option.strategy != "key"]
    if not all(option.grade in tuple(Grade) for option in wrong):
        yield "a wrong option carries no evidence that it is wrong"


def _count(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
