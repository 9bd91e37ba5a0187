"""Policy of a review project: number of reviews, leases and release thresholds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from hashlib import sha256
from typing import Any

from django.db import connection

from medrcube.review.errors import ReviewError
from medrcube.review.reviewing.sql.cursor import fetch_one

__all__ = ["MEANINGS", "Policy", "current_policy", "queue_lot"]

MEANINGS = {
    "reviews": "independent reviews of each version of an item",
    "unblinded_reviews": "how many of them may come from reviewers who have seen the answer",
    "specialists": "how many of them must come from specialists",
    "undo_minutes": "minutes in which a review can be retracted",
    "lease_minutes": "minutes for which an item is reserved",
    "gold_rate": "share of gold items among the items handed out",
    "gold_share": "gold items that an import draws, as a share of the items",
    "gold_pass": "share of known defects below which a reviewer is paused; 0: never",
    "gold_window": "latest gold items that count for gold_pass",
    "fast_seconds": "seconds below which a review is reported as fast",
    "ac1_lower": "release gate: minimum lower bound of AC1",
    "reject_agreement": "release gate: minimum agreement on rejects",
    "blind_accuracy": "release gate: minimum share of blind answers that equal the key",
    "seed": "seed of the order of items of equal priority",
}
"""Rule -> its meaning in a few words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Rules of a review project.

    The default values are judgement, to be confirmed by the clinicians of a project.

    Attributes:
        reviews: number of independent reviews per version.
        unblinded_reviews: how many of them may come from reviewers to whom the answer has been
            disclosed; their decisions count, but their answers do not.
        specialists: minimum number of them by specialists for the anatomy or modality.
        undo_minutes: period in which a reviewer may undo a review, unless another has begun.
        lease_minutes: lease of a claim that is not renewed.
        gold_rate: share of gold items among the items handed out.
        gold_share: number of gold items that an import draws, as a share of the items.
        gold_pass: share of known defects caught below which a reviewer is paused automatically;
            0 disables this.
        gold_window: number of latest gold items considered.
        fast_seconds: reviews shorter than this are reported as fast, without further consequence.
        ac1_lower: minimum lower bound of Gwet's AC1 for the release of a stratum.
        reject_agreement: minimum specific agreement on rejection.
        blind_accuracy: minimum share of blind answers that equal the key.
        seed: seed of the order in which items of equal priority are handed out.
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
                expected = "a whole number" if whole else "a number"
                raise ReviewError(f"policy: {field.name} = {value!r}, expected {expected}")

    def to_json(self) -> dict[str, Any]:
        """Return the policy as stored."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Policy:
        """Parse the result of ``to_json``.

        Raises:
            ReviewError: a key is unknown or a value is out of range.
        """
        unknown = sorted(set(data) - {field.name for field in fields(cls)})
        if unknown:
            names = ", ".join(field.name for field in fields(cls))
            raise ReviewError(f"policy: no rule is called {unknown[0]!r}; expected one of {names}")
        return cls(**data)


def current_policy(*, fixed: bool = False) -> Policy:
    """Return the policy of the project in this database.

    With ``fixed``, within a transaction, it is locked until the end of the transaction.

    Raises:
        ReviewError: there is no project, because nothing has been imported yet.
    """
    text = _policy_text(fixed=fixed)
    if text is None:
        raise ReviewError("there is no review project yet; start with: medrcube review import")
    return _parsed(text)


def queue_lot(seed: int, item: str) -> int:
    """Return the random rank of an item among those of equal priority."""
    return int.from_bytes(sha256(f"{seed}|{item}".encode()).digest()[:8]) >> 1


def _policy_text(*, fixed: bool = False) -> str | None:
    """Return the policy of the project as JSON; ``None`` if there is no project.

    With ``fixed``, it is locked until the end of the transaction.
    """
    how = "FOR KEY SHARE" if fixed and connection.vendor == "postgresql" else ""
    row = fetch_one(f"SELECT policy FROM review_project ORDER BY id LIMIT 1 {how}")  # noqa: S608
    return None if row is None else str(row[0])


@lru_cache(maxsize=8)
def _parsed(text: str) -> Policy:
    return Policy.from_json(json.loads(text))
