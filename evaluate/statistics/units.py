"""Sampling unit of an answer (patient, case or picture), and its picture.

The unit is the patient where the release tells one, else the case, else the picture. Answers on
one unit are not independent witnesses; two units are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from medrcube.evaluate.outcomes import Result

__all__ = ["KINDS", "picture_of", "unit_kinds", "unit_of", "units_text"]

KINDS = ("patient", "case", "picture")
"""Units, the widest first."""


def picture_of(result: Result) -> str:
    """The digest of the item's own picture, whatever is shown; else its path; else the item."""
    item = result.item
    return result.asked.subject or item.image or item.name


def unit_of(result: Result) -> str:
    """Name of the unit that an answer belongs to, unique within a benchmark."""
    return result.item.unit or picture_of(result)


def unit_kinds(results: Iterable[Result]) -> dict[str, int]:
    """How many units of each kind the answers come from; kinds without one are left out."""
    kinds = {unit_of(result): _kind(result) for result in results}
    counts = Counter(kinds.values())
    return {kind: counts[kind] for kind in KINDS if counts[kind]}


def units_text(kinds: Mapping[str, Any]) -> str:
    """Numbers of units in words, such as ``120 patients and 9 cases``."""
    parts = [f"{count:,} {kind}{'' if count == 1 else 's'}" for kind, count in kinds.items()]
    return ", ".join(parts[:-1]) + (" and " if parts[:-1] else "") + "".join(parts[-1:])


def _kind(result: Result) -> str:
    kind = result.item.unit.partition("-")[0]
    return kind if kind in KINDS else "picture"
