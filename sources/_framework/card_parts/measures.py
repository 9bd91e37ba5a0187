"""``[[field]]`` of kind ``measure``: a number with a unit, stated or measured for a case.

A rule-based task asks for it if the card names the task. The tolerance of an answer is a claim of
the card with evidence, like everything else there.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from medrcube.facts import Basis, Grade, Quantity, Scope, Visibility
from medrcube.files.toml_reader import TomlTable
from medrcube.sources._formats.tables.redaction import redact_cell
from medrcube.sources._framework.card_parts.fields import CitedReason, parse_reason
from medrcube.taxonomy import Task

__all__ = [
    "KIND",
    "ORIGINS",
    "RATIO",
    "STATED",
    "UNITS",
    "Measure",
    "MeasureTask",
    "Tolerance",
    "parse_measure",
]

KIND = "measure"
"""Value of ``kind`` in such a ``[[field]]``."""
UNITS = ("mm", "mm2", "ml", "%", "ratio")
RATIO = "ratio"
"""Unit of a dimensionless number, and the origin that divides two widths."""
STATED = "stated"
ORIGINS = (STATED, "longest", "circumference", RATIO)
"""Origin of a number: a table, the longest diameter of the region, the circumference of its
ellipse, or the ratio of the widths of two groups of regions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """Permitted error of an answer, from the disagreement between readers of the same object.

    Attributes:
        share: relative error, as a share of the true value; 0 if ``points`` is used.
        points: absolute error in the unit of the measure.
    """

    share: float = 0.0
    points: float = 0.0

    def bounds(self, least: float, greatest: float) -> tuple[float, float]:
        """Return the lowest and highest value that pass, given the range of reference values."""
        if self.points:
            return max(least - self.points, 0.0), greatest + self.points
        return least / (1 + self.share), greatest * (1 + self.share)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureTask:
    """Settings of a task that asks for a measure.

    Attributes:
        task: id of the task.
        tolerance: permitted error of an answer.
        grade: evidence for the tolerance: A, readers of the same objects; B, published figures;
            C, convention.
        visible: whether a reader could measure it on the image.
        panels: exact set of concepts that the images side by side must show; empty for one image.
    """

    task: Task
    tolerance: Tolerance
    grade: Grade
    visible: Visibility
    panels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Definition of one measured quantity.

    Attributes:
        name: name that quantities refer to.
        unit: unit of its values.
        of: field of the regions that it is about; empty if it is about the case.
        scope: scope of the number; an image shows numbers up to its own scope.
        low: lowest plausible value.
        high: highest plausible value.
        basis: basis of its truth.
        origin: one of ``ORIGINS``; a number stated by the source takes precedence over a measured
            one.
        part: concepts whose width is the numerator of a ratio.
        whole: concepts whose joint width is the denominator.
        about: concept of a number that belongs to no single marked region; else empty.
        task_settings: settings of the task that asks for it, or ``None``.
        reasons: reasons for ``basis``, ``plausible`` and the task settings.
    """

    name: str
    unit: str
    of: str
    scope: Scope
    low: float
    high: float
    basis: Basis
    origin: str = STATED
    part: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    about: str = ""
    task_settings: MeasureTask | None = None
    reasons: Mapping[str, CitedReason]

    def fault(self, quantity: Quantity) -> str:
        """Return why a quantity cannot be used; empty if it can."""
        if quantity.unit != self.unit:
            return f"{self.name} is in {quantity.unit!r}; expected {self.unit}, as in the card"
        for value in (quantity.value, *quantity.readings):
            if not self.is_plausible(value):
                number, least, most = redact_cell(f"{value:g}"), f"{self.low:g}", f"{self.high:g}"
                return (
                    f"{self.name} is {number} {self.unit}; expected {least} to {most} {self.unit}: "
                    "is it in another unit, or mistyped?"
                )
        return ""

    def is_plausible(self, value: float) -> bool:
        """Whether a value lies in the plausible range."""
        return math.isfinite(value) and self.low <= value <= self.high


def parse_measure(table: TomlTable, fields: Mapping[str, Collection[str]]) -> Measure:
    """Parse one ``[[field]]`` of kind ``measure``.

    Args:
        table: the entry.
        fields: name of each field of another kind -> its concepts.
    """
    table.text("kind", choices=(KIND,))
    low, high = table.numbers("plausible", count=2)
    if not low < high:
        table.fail("plausible", "the least and the greatest plausible value", [low, high])
    of = table.text("of", default="")
    if of and of not in fields:
        table.fail("of", f"the name of a [[field]] with regions ({', '.join(fields)})", of)
    origin, unit = (
        table.text("from", default=STATED, choices=ORIGINS),
        table.text("unit", choices=UNITS),
    )
    if origin != STATED and not of:
        table.fail("of", "the field of the regions that are measured", of)
    if origin != STATED and unit != (RATIO if origin == RATIO else "mm"):
        table.fail("unit", f'"{RATIO}" of a ratio, "mm" of a length', unit)
    part, whole = (
        _concepts(table, key, fields.get(of, ()), needed=origin == RATIO)
        for key in ("part", "whole")
    )
    reasons = table.table("reasons")
    task = _task_settings(table, fields) if table.has("task") else None
    claims = ("basis", "plausible", *(("tolerance", "visible") if task else ()))
    return Measure(
        name=table.text("name", pattern=r"[a-z][a-z0-9_]*"),
        unit=unit,
        of=of,
        scope=table.choice("scope", Scope, default=Scope.IMAGE),
        low=low,
        high=high,
        basis=table.choice("basis", Basis),
        origin=origin,
        part=part,
        whole=whole,
        about=table.text("about") if task and origin in (STATED, RATIO) else "",
        task_settings=task,
        reasons={key: parse_reason(reasons.table(key)) for key in claims},
    )


def _concepts(
    table: TomlTable, key: str, concept_names: Collection[str], *, needed: bool
) -> tuple[str, ...]:
    """Read a list of concepts of the measured field: required for a ratio, else not allowed."""
    names: tuple[str, ...] = table.texts(key, default=())
    if bool(names) != needed or not set(names) <= set(concept_names):
        expected = (
            f"some of {', '.join(concept_names)}" if needed else 'none, except with from = "ratio"'
        )
        table.fail(key, expected, list(names))
    return names


def _task_settings(table: TomlTable, fields: Mapping[str, Collection[str]]) -> MeasureTask:
    tolerance = table.table("tolerance")
    share, points = (tolerance.number(key, default=0.0) for key in ("share", "points"))
    if (share > 0) == (points > 0) or share >= 1:
        table.fail("tolerance", "a share below 1, or points of the unit", [share, points])
    panels: tuple[str, ...] = table.texts("panels", default=())
    concept_names = {name for concepts in fields.values() for name in concepts}
    if not set(panels) <= concept_names:
        table.fail("panels", "concepts of fields of the card", list(panels))
    return MeasureTask(
        task=table.choice("task", Task),
        tolerance=Tolerance(share=share, points=points),
        grade=tolerance.choice("grade", Grade),
        visible=table.choice("visible", Visibility),
        panels=panels,
    )
