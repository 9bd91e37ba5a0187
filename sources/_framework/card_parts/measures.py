"""``[[field]]`` of kind ``measure``: a number with its unit that a source states of a case."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from medrcube.facts import Basis, Quantity, Scope
from medrcube.files.toml_reader import TomlTable
from medrcube.sources._formats.tables.redaction import redact_cell
from medrcube.sources._framework.card_parts.fields import CitedReason, parse_reason

__all__ = ["KIND", "UNITS", "Measure", "parse_measure"]

KIND = "measure"
"""What ``kind`` of such a ``[[field]]`` is."""
UNITS = ("mm", "mm2", "ml", "%")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One kind of number that a source states.

    Attributes:
        name: by which quantities refer to it.
        unit: of its values.
        of: field of the regions that it is about; empty where it is about the case.
        scope: what it is about; a picture shows numbers up to its own scope.
        low: least plausible value.
        high: greatest plausible value.
        basis: what it rests on.
        reasons: for ``basis`` and ``plausible``.
    """

    name: str
    unit: str
    of: str
    scope: Scope
    low: float
    high: float
    basis: Basis
    reasons: dict[str, CitedReason]

    def fault(self, quantity: Quantity) -> str:
        """Why a quantity cannot be used; empty where it can."""
        if quantity.unit != self.unit:
            return f"{self.name} is in {quantity.unit!r}; expected {self.unit}, as the card says"
        for value in (quantity.value, *quantity.readings):
            if not (math.isfinite(value) and self.low <= value <= self.high):
                given, least, most = redact_cell(f"{value:g}"), f"{self.low:g}", f"{self.high:g}"
                return (
                    f"{self.name} is {given} {self.unit}; expected {least} to {most} {self.unit}: "
                    "a number of another unit, or a slip"
                )
        return ""


def parse_measure(table: TomlTable, fields: Collection[str]) -> Measure:
    """Read one ``[[field]]`` of kind ``measure``.

    Args:
        table: the entry.
        fields: names of the fields of other kinds.
    """
    table.text("kind", choices=(KIND,))
    low, high = table.numbers("plausible", count=2)
    if not low < high:
        table.fail("plausible", "the least and the greatest plausible value", [low, high])
    of = table.text("of", default="")
    if of and of not in fields:
        table.fail("of", f"the name of a [[field]] with regions ({', '.join(fields)})", of)
    reasons = table.table("reasons")
    return Measure(
        name=table.text("name", pattern=r"[a-z][a-z0-9_]*"),
        unit=table.text("unit", choices=UNITS),
        of=of,
        scope=table.choice("scope", Scope, default=Scope.IMAGE),
        low=low,
        high=high,
        basis=table.choice("basis", Basis),
        reasons={key: parse_reason(reasons.table(key)) for key in ("basis", "plausible")},
    )
