"""Batch rules: bounds on how well questions can be answered without the images.

Each rule compares the score of a shortcut with chance (mean of 1 / options), with a standard error,
so that a small batch does not fail by chance. A broken rule of level error prevents a release; a
warning is shown and recorded in ``audit.json``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Generic, TypeVar

from medrcube.build.audit.leakage.box_geometry import box_geometry
from medrcube.build.audit.leakage.key_words import WORD_P, key_words
from medrcube.build.audit.leakage.leakage_tests import options_only, text_only
from medrcube.build.audit.shortcuts.image_size import image_size
from medrcube.build.audit.shortcuts.shortcut_baselines import (
    POSITION_P,
    Row,
    first_option,
    key_positions,
    label_prior,
    longest_option,
    most_frequent_label,
    other_keys,
)
from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.questions.sampling.key_balance import LEARNABLE, unbalanced_options
from medrcube.build.stages.samples import Sample
from medrcube.ontologies.item_rules import ERROR, WARNING, RuleLevel

__all__ = ["BATCH_RULES", "BatchRule", "batch_rules"]

AnyItem = TypeVar("AnyItem")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRule(Generic[AnyItem]):
    """One rule on a batch.

    Attributes:
        id: its name in ``audit.json`` and, for a rule on open items, in declarations (``audits``).
        asks: what it requires, in one line.
        remedy: what to change if it fails.
        measure: function that returns rows of figures, each with ``within``: true, false, or
            ``None`` if there are too few data to tell.
        level: effect of a failure; see the module.
    """

    id: str
    asks: str
    remedy: str
    measure: Callable[[Sequence[AnyItem], Sequence[Sample]], list[Row]]
    level: RuleLevel = WARNING

    def verdict(self, items: Sequence[AnyItem], samples: Sequence[Sample]) -> Row:
        """Return the verdict on a batch; see ``batch_rules``."""
        rows = self.measure(items, samples)
        judged = [row for row in rows if row["within"] is not None]
        if not judged:
            message = "nothing to measure: too few items or patients"
            empty = dict.fromkeys(("holds", "figure", "threshold"))
            return {"level": self.level, **empty, "message": message, "rows": rows}
        failed = [row for row in judged if not row["within"]]
        worst = max(failed or judged, key=_badness)
        message = self.asks
        if failed:
            more = f" and {len(failed) - 1} more (see the audit)" if len(failed) > 1 else ""
            message = f"{_describe(worst)}{more}. {self.remedy}"
        return {
            "level": self.level,
            "holds": not failed,
            "figure": _figure(worst),
            "threshold": worst["threshold"],
            "message": message,
            "rows": rows,
        }


def batch_rules(items: Iterable[ChoiceItem], samples: Iterable[Sample]) -> dict[str, Row]:
    """Return the verdict of every rule in ``BATCH_RULES``; independent of the order of the input.

    Returns:
        By rule: ``level``, ``holds`` (``None`` if nothing could be measured), ``figure`` and
            ``threshold`` of its worst row, ``message``, and the ``rows`` of figures behind it.
    """
    ordered = sorted(items, key=lambda item: item.id)
    askable = [
        entry for entry in ordered if len(entry.options) > 1 and 0 <= entry.key < len(entry.options)
    ]
    pictures = list(samples)
    return {rule.id: rule.verdict(askable, pictures) for rule in BATCH_RULES}


def _option_order(items: Sequence[ChoiceItem], _samples: Sequence[Sample]) -> list[Row]:
    bent = sum("order" in item.warnings for item in items)
    return (
        [{"n": len(items), "out_of_order": bent, "threshold": 0, "within": bent == 0}]
        if items
        else []
    )


def _even_keys(items: Sequence[ChoiceItem], _samples: Sequence[Sample]) -> list[Row]:
    """Return a row for every option that is always or never the key, or one row if none is."""
    unbalanced = unbalanced_options(items)
    if not unbalanced:
        return [{"n": len(items), "uneven": 0, "threshold": 0, "within": True}] if items else []
    return [
        {
            **asdict(option),
            "n": option.shown,
            "uneven": option.shown,
            "threshold": 0,
            "within": False,
        }
        for option in unbalanced
    ]


def _figure(row: Row) -> float:
    """Return the figure of a row that is compared with its threshold."""
    return float(
        next(row[name] for name in ("accuracy", "p", "out_of_order", "uneven") if name in row)
    )


def _badness(row: Row) -> float:
    """Return how far a row is from its bounds; a low score counts only if the rule forbids it."""
    if "p" in row:
        return -_figure(row)
    if "accuracy" in row:
        beyond = float(row["accuracy"] - row["chance"])
        # If all or none are right, the share has no standard error: any difference is significant.
        far = beyond / row["se"] if row["se"] else beyond * math.inf if beyond else 0.0
        return far if row["within"] else abs(far)
    return _figure(row)


def _describe(row: Row) -> str:
    if "accuracy" in row:
        trick = f", choosing the option {row['trick']} often the key" if "trick" in row else ""
        trick += f", answering by {row['cue']}" if "cue" in row else ""
        return (
            f"{row['task']}{trick}: {100 * row['accuracy']:.1f} % against a chance of "
            f"{100 * row['chance']:.1f} % (standard error {100 * row['se']:.1f} %, {row['n']:,} "
            "items)"
        )
    if "place" in row:
        often = "never the key" if not row["key"] else "always the key"
        beside = f" among {', '.join(row['options'])}" if row["options"] else ""
        return (
            f"{row['place']}, {row['task']}: {row['concept']!r} is {often} of {row['shown']:,} "
            f"items that show it{beside}"
        )
    if "word" in row:
        return (
            f"{row['task']}: {row['word']!r} is in {row['key']:,} keys, due in {row['due']:.1f} "
            f"(p {row['p']:.1g})"
        )
    if "label" in row:
        return (
            f"{row['task']}: {row['label']!r} is the key {row['key']:,} and a distractor "
            f"{row['distractor']:,} times, due as key {row['key_due']:.1f} times (p {row['p']:.1g})"
        )
    if "counts" in row:
        return f"{row['options']} options: keys at {row['counts']} (p {row['p']:.1g})"
    return f"{row['out_of_order']:,} of {row['n']:,} items"


BATCH_RULES: tuple[BatchRule[ChoiceItem], ...] = (
    BatchRule(
        id="even-keys",
        asks=(
            f"No option is always or never the key of {LEARNABLE} items or more of a source and "
            "task, within one option set or overall; no task of a source has a single key. "
            "Modality, and an organ or structure that is the only one of its source, are compared "
            "over all sources."
        ),
        remedy="Build with `even_keys = true`, and add a source or cases with other answers.",
        measure=_even_keys,
        level=ERROR,
    ),
    BatchRule(
        id="key-position",
        asks=f"Keys are spread evenly over the positions (chi-square p > {POSITION_P}).",
        remedy="Redistribute the keys; scales and boxes are not counted.",
        measure=lambda items, _samples: key_positions(items),
    ),
    BatchRule(
        id="longest-option",
        asks="The longest option is the key as often as by chance (2 SE overall, 3 per task).",
        remedy="Choose distractors of the keys' length, or shorten names in the term table.",
        measure=longest_option,
    ),
    BatchRule(
        id="first-option",
        asks="The first option is the key no more often than by chance (2 SE overall, 3 per task).",
        remedy="Redistribute the keys; on a scale, use fewer items of the lowest grades.",
        measure=first_option,
    ),
    BatchRule(
        id="most-frequent-label",
        asks="Choosing the most frequent key scores no more than chance (2 SE, 3 per task).",
        remedy="Use fewer items with that key, or use the label more often as a distractor.",
        measure=most_frequent_label,
    ),
    BatchRule(
        id="label-prior",
        asks="Each label is a distractor about (options - 1) times as often as it is the key.",
        remedy="Draw items so that each label is the key in its expected share of the items that "
        "show it.",
        measure=lambda items, _samples: label_prior(items),
    ),
    BatchRule(
        id="key-words",
        asks=f"No option word indicates the key or a distractor (p > {WORD_P} per task).",
        remedy="Name the options of these items in one style; see label-prior for whole labels.",
        measure=lambda items, _samples: key_words(items),
    ),
    BatchRule(
        id="other-keys",
        asks="Knowing the other keys of an option set scores no more than chance (2 SE).",
        remedy="Keep a block in one fold: train on all of it or none; more cases reduce the leak.",
        measure=other_keys,
    ),
    BatchRule(
        id="option-order",
        asks="Numbers are ascending and grades in the order of their scale, in every item.",
        remedy="Sort the options of these items; their rows in items.parquet carry `order`.",
        measure=_option_order,
    ),
    BatchRule(
        id="options-only",
        asks="A model that sees only the options scores at chance (- 4 SE, + 2 SE), in every task.",
        remedy="See label-prior, key-words and longest-option for the likely cause.",
        measure=options_only,
    ),
    BatchRule(
        id="text-only",
        asks="A model that sees the question but not the image scores at chance (- 4 SE, + 2 SE).",
        remedy="Draw items so that every wording occurs with every label, or remove the words.",
        measure=text_only,
    ),
    BatchRule(
        id="image-size",
        asks="Within a source, the image size reveals no answer (3 SE, in every task).",
        remedy="Crop or pad the images of the source to one size; view-specific grids reveal the "
        "view.",
        measure=image_size,
    ),
    BatchRule(
        id="box-geometry",
        asks="Box positions do not reveal the right box: no shortcut scores more than chance + 3 "
        "SE, no model of the corners alone more than chance + 3.6 SE.",
        remedy=(
            "Boxes follow `questions.box_exchangeability`; look for a regularity that only the "
            "right box has."
        ),
        measure=box_geometry,
        level=ERROR,
    ),
)
