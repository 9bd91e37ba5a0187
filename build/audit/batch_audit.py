"""Batch audit: counts, rule results, and failures that prevent a release.

A faulty item is a failure: a missing image, a key that is not one of the options, a distractor
without evidence. So is a broken batch rule of level error. Other batch rules and item-writing
warnings are reported with their figures for people to judge, since a batch may be small or its
sources unbalanced by nature.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from medrcube.build.audit.asked_pictures import PictureTotals
from medrcube.build.audit.batch_rules import batch_rules
from medrcube.build.audit.leakage.source_leakage import source_leakage
from medrcube.build.audit.reason_texts import reason_text
from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.stages.samples import Sample
from medrcube.errors import UnknownNameError
from medrcube.facts import Grade, QuarantineRow
from medrcube.ontologies.item_rules import ERROR, RULES
from medrcube.ontologies.label_words import normalise
from medrcube.taxonomy import Anatomy, Modality, Task

__all__ = [
    "audit_batch",
    "describe_rules",
    "duplicate_pictures",
    "item_rules",
    "most_frequent_answer",
]


def audit_batch(
    samples: Sequence[Sample],
    items: Sequence[ChoiceItem],
    problems: Sequence[QuarantineRow],
    absent: Mapping[str, int],
    totals: PictureTotals | None = None,
) -> dict[str, Any]:
    """Audit a build; the result is ready for JSON and does not depend on the order of the input.

    Args:
        samples: all images; or, with ``totals``, at least the ``related_pictures`` of the items.
        items: all items.
        problems: the quarantine.
        absent: source -> number of cases whose images are not in this copy.
        totals: counts over all images; by default over ``samples``.

    Returns:
        Counts; ``item_rules`` and ``batch_rules``, every rule with its figures, including those
        that hold; and ``failures``: one sentence for each problem that prevents a release.
    """
    if totals is None:
        patients = {(sample.source, sample.patient) for sample in samples if sample.patient}
        totals = PictureTotals(
            pictures=len(samples), patients=len(patients), repeated=tuple(samples)
        )
    pictures = {sample.id: sample for sample in samples}
    rules = batch_rules(items, samples)
    failures = [*_failures(items, pictures), *_broken(rules)]
    return {
        "pictures": totals.pictures,
        "items": len(items),
        "by_task": _count(item.task for item in items),
        "by_source": _count(item.source for item in items),
        "by_voxel": _count(f"{item.anatomy} / {item.modality} / {item.task}" for item in items),
        "by_options": _count(str(len(item.options)) for item in items),
        "by_state": _count(item.state for item in items),
        "by_strategy": _count(item.strategy for item in items),
        "by_visible": _count(item.visible for item in items),
        "by_grade": _count(
            option.grade for item in items for option in item.options if option.grade
        ),
        "item_rules": item_rules(items),
        "batch_rules": rules,
        "source_leakage": source_leakage(_readable(items), samples),
        "patients": totals.patients,
        "absent": dict(sorted(absent.items())),
        "quarantine": _count(f"{p.source} / {p.stage} / {p.code}" for p in problems),
        "most_frequent_answer": most_frequent_answer(items),
        "duplicate_pictures": duplicate_pictures(totals.repeated),
        "failures": failures,
    }


def _readable(items: Iterable[ChoiceItem]) -> list[ChoiceItem]:
    """Return the items whose key is one of their options; the others are reported as failures."""
    return [item for item in items if 0 <= item.key < len(item.options)]


def item_rules(items: Iterable[ChoiceItem]) -> dict[str, dict[str, Any]]:
    """Return every item-writing rule, its level, and the number of items that break it."""
    bent = Counter(rule for item in items for rule in item.warnings)
    return {
        rule.id: {"level": rule.level, "asks": rule.asks, "items": bent[rule.id]} for rule in RULES
    }


_MOST = 4
"""Most reasons listed at the end of a build for facts without an item."""


def describe_rules(audit: Mapping[str, Any]) -> list[str]:
    """Lines for display: facts not asked about, items that break a rule, batch rules that fail."""
    flagged = {name: rule["items"] for name, rule in audit["item_rules"].items() if rule["items"]}
    stopped: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for dropped, count in audit.get("dropped", {}).items():
        reason = dropped.partition(": ")[2]
        if reason.startswith("lint "):
            stopped[reason.removeprefix("lint ")] += count
        else:
            others[reason_text(reason)] += count
    lines = []
    if others:
        lines.append(
            f"not asked: {_listed(dict(others.most_common(_MOST)))}; all reasons: audit.json"
        )
    if stopped:
        lines.append(f"item rules: no item made because of {_listed(stopped)}")
    if flagged:
        lines.append(f"items flagged for review: {_listed(flagged)}")
    rules = {**audit["batch_rules"], **audit.get("open_rules", {})}
    passed = sum(rule["holds"] is not False for rule in rules.values())
    lines.append(f"batch rules: {passed} of {len(rules)} passed")
    lines += [
        f"{rule['level'].upper()} {name}: {rule['message']}"
        for name, rule in rules.items()
        if rule["holds"] is False
    ]
    return lines


def _listed(counts: Mapping[str, int]) -> str:
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return ", ".join(f"{name} ({count:,})" for name, count in ranked)


def most_frequent_answer(items: Iterable[ChoiceItem]) -> dict[str, dict[str, Any]]:
    """Score of always naming a task's most frequent answer, by source and task.

    This is the score of a model that has learnt the answers but sees no image; numbered boxes have
    no label and are left out.
    """
    cells: dict[str, list[ChoiceItem]] = {}
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
    """Return groups of clean images from different cases with equal pixels."""
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


def _failures(items: Sequence[ChoiceItem], pictures: Mapping[str, Sample]) -> list[str]:
    failures = [
        f"item {item.id}: {fault}"
        for item in sorted(items, key=lambda item: (item.source, item.task, item.id))
        for fault in _faults(item, pictures)
    ]
    repeated = [name for name, count in Counter(item.id for item in items).items() if count > 1]
    failures += [f"item {name}: the id occurs more than once" for name in sorted(repeated)]
    return failures


def _broken(rules: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the batch rules that prevent a release."""
    return [
        f"batch rule {name}: {rule['message']}"
        for name, rule in rules.items()
        if rule["level"] == ERROR and rule["holds"] is False
    ]


def _faults(item: ChoiceItem, pictures: Mapping[str, Sample]) -> Iterable[str]:
    if item.sample not in pictures:
        yield f"its image {item.sample!r} is not among the samples"
    if not 2 <= len(item.options) <= 4:
        yield f"{len(item.options)} options, expected two to four"
    if not 0 <= item.key < len(item.options):
        yield f"the key {item.key} is none of the options"
    elif item.options[item.key].strategy != "key":
        yield f"option {item.key} is named as key but was made as a distractor"
    if sum(option.strategy == "key" for option in item.options) != 1:
        yield "not exactly one option was made as key"
    yield from _option_faults(item)
    for rule in RULES:
        if rule.level == ERROR and rule.id in item.warnings:
            yield f"it breaks the rule {rule.id}: {rule.asks}"
    for axis, value in ((Task, item.task), (Anatomy, item.anatomy), (Modality, item.modality)):
        try:
            axis.parse(value)
        except UnknownNameError as error:
            yield str(error)


def _option_faults(item: ChoiceItem) -> Iterable[str]:
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
