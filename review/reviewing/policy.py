"""Policy of a review project, stored as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from hashlib import sha256
from typing import Any

from medrcube.review.errors import ReviewError
from medrcube.review.reviewing.sql.claim_queries import policy_text

__all__ = ["Policy", "current_policy", "queue_lot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How many look at an item, for how long, and when it is good enough.

    The figures are judgement, to be confirmed by the clinicians of a project.

    Attributes:
        reviews: independent reviews of every version.
        unblinded_reviews: how many of them may come from reviewers who have been shown what answers
            the item; their answers count nowhere, their decisions do.
        specialists: how many of them at least come from specialists for the anatomy or modality.
        undo_minutes: how long a reviewer may take a review back, unless another has begun.
        lease_minutes: how long an unsaved claim holds an item.
        gold_rate: share of items with a known defect among those handed out.
        gold_share: gold items that import draws by itself, as a share of the items.
        gold_pass: share of known defects below which a reviewer is paused without a person asking;
            0 pauses nobody.
        gold_window: number of latest gold items that are looked at.
        fast_seconds: reviews that took less are counted as fast; nothing else follows from it.
        ac1_lower: least lower bound of Gwet's AC1 for a stratum to be released.
        reject_agreement: least agreement on rejects.
        blind_accuracy: least share of blind answers that equal the key.
        seed: decides the order in which items of one priority are handed out.
    """

    reviews: int = 2
    unblinded_reviews: int = 0
    specialists: int = 0
    undo_minutes: int = 10
    lease_minutes: int = 20
    gold_rate: float = 0.05
    gold_share: float = 0.0
    gold_pass: float = 0.0
    gold_window: int = 10
    fast_seconds: int = 10
    ac1_lower: float = 0.6
    reject_agreement: float = 0.5
    blind_accuracy: float = 0.8
    seed: int = 0

    def __post_init__(self) -> None:
        self._check_types()
        if not 1 <= self.reviews <= 9:
            raise ReviewError(f"policy: reviews = {self.reviews}, expected 1 to 9")
        if not 0 <= self.unblinded_reviews < self.reviews:
            raise ReviewError(
                f"policy: unblinded_reviews = {self.unblinded_reviews}, expected less than reviews "
                f"({self.reviews}): one review at least is blind"
            )
        if self.lease_minutes < 1:
            raise ReviewError(f"policy: lease_minutes = {self.lease_minutes}, expected 1 or more")
        if self.fast_seconds < 0:
            raise ReviewError(f"policy: fast_seconds = {self.fast_seconds}, expected 0 or more")
        if self.gold_window < 1:
            raise ReviewError(f"policy: gold_window = {self.gold_window}, expected 1 or more")
        shares = ("gold_rate", "gold_share", "gold_pass", "ac1_lower", "reject_agreement")
        bounds = {"specialists": self.reviews, "undo_minutes": 24 * 60, **dict.fromkeys(shares, 1)}
        bounds["blind_accuracy"] = 1
        for name, most in bounds.items():
            if not 0 <= getattr(self, name) <= most:
                raise ReviewError(f"policy: {name} = {getattr(self, name)}, expected 0 to {most}")

    def _check_types(self) -> None:
        for field in fields(self):
            value, whole = getattr(self, field.name), isinstance(field.default, int)
            if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
                wanted = "a whole number" if whole else "a number"
                raise ReviewError(f"policy: {field.name} = {value!r}, expected {wanted}")

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


def current_policy(*, fixed: bool = False) -> Policy:
    """The rules of the project of this database.

    Where ``fixed``, in a transaction, they cannot change before it ends.

    Raises:
        ReviewError: nothing was imported yet, so there is no project.
    """
    text = policy_text(fixed=fixed)
    if text is None:
        raise ReviewError("there is no review project yet; begin with: medrcube review import")
    return _parsed(text)


def queue_lot(seed: int, item: str) -> int:
    """Place of an item among those of one priority; says nothing about the item."""
    return int.from_bytes(sha256(f"{seed}|{item}".encode()).digest()[:8]) >> 1


@lru_cache(maxsize=8)
def _parsed(text: str) -> Policy:
    return Policy.from_json(json.loads(text))
