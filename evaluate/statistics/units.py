"""Sampling unit of an answer (patient, case or image), and its image.

The unit is the patient if the release states one, else the case, else the image. Answers on one
unit are dependent; units are independent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from medrcube.evaluate.outcomes import Result

__all__ = ["KINDS", "kind_of", "picture_of", "unit_kinds", "unit_of", "units_text"]

KINDS = ("patient", "case", "picture")
"""Kinds of unit, the widest first."""


def picture_of(result: Result) -> str:
    """Return the digest of the item's own image, whatever is shown; else path; else item name."""
    item = result.item
    return result.question.subject or item.image or item.name


def unit_of(result: Result) -> str:
    """Return the unit of an answer, unique within a benchmark."""
    return result.question.presentation.item.unit or picture_of(result)


def kind_of(result: Result) -> str:
    """Return the kind of the unit of an answer."""
    kind = result.item.unit.partition("-")[0]
    return kind if kind in KINDS else "picture"


def unit_kinds(results: Iterable[Result]) -> dict[str, int]:
    """Count units by kind; absent kinds are left out."""
    last = {unit_of(result): result for result in results}
    counts = Counter(map(kind_of, last.values()))
    return {kind: counts[kind] for kind in KINDS if counts[kind]}


def units_text(kinds: Mapping[str, Any]) -> str:
    """Return numbers of units in words, such as ``120 patients and 9 cases``."""
    words = {"picture": "image"}
    parts = [
        f"{count:,} {words.get(kind, kind)}{'' if count == 1 else 's'}"
        for kind, count in kinds.items()
    ]
    return ", ".join(parts[:-1]) + (" and " if parts[:-1] else "") + "".join(parts[-1:])
