"""The rules of one review project, stored as JSON with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from medrcube.review.errors import ReviewError


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How many look at an item, for how long, and when it is good enough.

    The figures are judgement, to be confirmed by the clinicians of a project.

    Attributes:
        reviews: independent reviews of every version.
        lease_minutes: how long an unsaved claim holds an item.
        gold_rate: share of items with a known defect among those handed out.
        gold_pass: share of known defects that a reviewer must find.
        gold_window: number of latest gold items that are looked at.
        ac1_lower: least lower bound of Gwet's AC1 for a stratum to be released.
        reject_agreement: least agreement on rejects.
        blind_accuracy: least share of blind answers that equal the key.
        seed: decides the order in which items of one priority are handed out.
    """

    reviews: int = 2
    lease_minutes: int = 20
    gold_rate: float = 0.05
    gold_pass: float = 0.8
    gold_window: int = 10
    ac1_lower: float = 0.6
    reject_agreement: float = 0.5
    blind_accuracy: float = 0.8
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.reviews <= 9:
            raise ReviewError(f"policy: reviews = {self.reviews}, expected 1 to 9")
        if self.lease_minutes < 1:
            raise ReviewError(f"policy: lease_minutes = {self.lease_minutes}, expected 1 or more")
        for name in ("gold_rate", "gold_pass", "ac1_lower", "reject_agreement", "blind_accuracy"):
            if not 0 <= getattr(self, name) <= 1:
                raise ReviewError(f"policy: {name} = {getattr(self, name)}, expected 0 to 1")

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Policy:
        """Read back what ``to_json`` gave.

        Raises:
            ReviewError: a key is unknown or a value out of range.
        """
        unknown = sorted(set(data) - {field.name for field in fields(cls)})
        if unknown:
            raise ReviewError(f"policy: unknown key {unknown[0]!r}")
        return cls(**data)
