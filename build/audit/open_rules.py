"""Batch rules on open items, each applied to the tasks whose declaration names it.

They measure how well such items can be answered without the images, as ``batch_rules`` does for
options.
"""

from __future__ import annotations

from collections.abc import Iterable

from medrcube.build.audit.batch_rules import BatchRule
from medrcube.build.audit.shortcuts.number_shortcuts import constant_numbers, numbers_by_frame
from medrcube.build.audit.shortcuts.pair_split import pair_size, pair_split
from medrcube.build.audit.shortcuts.place_prior import fixed_places
from medrcube.build.audit.shortcuts.shortcut_baselines import Row
from medrcube.build.audit.shortcuts.text_prior import text_prior
from medrcube.build.open_items.table import OpenItem
from medrcube.build.stages.samples import Sample
from medrcube.taxonomy import Task

__all__ = ["OPEN_RULES", "open_rules"]


def open_rules(items: Iterable[OpenItem], samples: Iterable[Sample]) -> dict[str, Row]:
    """Return the verdict of every rule that a task of the items requests, as in ``batch_rules``."""
    ordered = sorted(items, key=lambda item: item.id)
    audits = {name: Task(name).declaration.audits for name in {item.task for item in ordered}}
    images = list(samples)
    verdicts = {}
    for rule in OPEN_RULES:
        own = [item for item in ordered if rule.id in audits[item.task]]
        if own:
            verdicts[rule.id] = rule.verdict(own, images)
    return verdicts


OPEN_RULES: tuple[BatchRule[OpenItem], ...] = (
    BatchRule(
        id="pair-split",
        asks=(
            "Size, mean grey, file size and stated fields do not reveal which image of a pair has "
            "the finding (chance + 2 SE)."
        ),
        remedy="Match the images of a pair on the revealing property, or use other sources.",
        measure=pair_split,
    ),
    BatchRule(
        id="pair-size",
        asks=(
            "Image size does not reveal which image of a pair cannot show the fact (chance + 2 SE)."
        ),
        remedy="Use images of equal size, or read the score as that of a reader who knows sizes.",
        measure=pair_size,
    ),
    BatchRule(
        id="text-prior",
        asks="The question text alone gives the answer no more often than chance (+ 2 SE).",
        remedy="Include both answers in each set, or drop concepts with predictable answers.",
        measure=text_prior,
    ),
    BatchRule(
        id="place-prior",
        asks=(
            "No fixed point or box, chosen on other patients, passes more items of a cell than "
            "their stated chance (+ 3 SE of both)."
        ),
        remedy="Drop the cell: a fixed location passes its items without the image.",
        measure=fixed_places,
    ),
    BatchRule(
        id="constant",
        asks="No constant number passes more items of a cell than their stated chance (+ 2 SE).",
        remedy="Rebuild, so that the chance of the items is measured again.",
        measure=constant_numbers,
    ),
    BatchRule(
        id="scale-prior",
        asks=(
            "A regression on scale bar and image size passes no more items of a cell than their "
            "stated chance (+ 2 SE)."
        ),
        remedy="Rebuild, so that the chance of the items is measured again.",
        measure=numbers_by_frame,
    ),
)
