"""Figures per reviewer: times, known defects caught, agreement, blind accuracy.

They are informative only: nobody is paused because of them. The database aggregates in groups, so
that a hundred thousand reviews take seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Q

from medrcube.review.models import Claim, Role, User
from medrcube.review.quality import gold_items
from medrcube.review.quality.agreement import (
    IntervalEstimate,
    RatingTable,
    gwet_ac1,
    raw_agreement,
    share_estimate,
)
from medrcube.review.quality.agreement_gate import LABELS
from medrcube.review.quality.defects import DEFECT_KINDS, kind_of
from medrcube.review.quality.progress import gold_versions, median_of_counts
from medrcube.review.reviewing.policy import current_policy
from medrcube.review.reviewing.sql.cursor import fetch_all

__all__ = ["FEW", "FigureTable", "ReviewerFigures", "count_figures"]

FEW = 20
"""Shares of fewer observations than this are marked as unreliable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerFigures:
    """Figures of one reviewer: valid reviews only, gold items counted separately.

    Attributes:
        key: key of the account.
        answer_seconds: median time of the blind answer as measured by the browser; ``None``
            without one.
        seconds: median time from claim to submission.
        fast: number of reviews faster than the policy's ``fast_seconds``.
        caught: kind of defect -> share caught; ``items`` is the number seen.
        all_caught: share caught over all kinds.
        false_alarms: share of sound gold items that were refused.
        agreement: raw agreement with other reviewers of the same versions.
        ac1: Gwet's AC1 of the same pairs.
        blind: share of blind answers that equal the key, over accepted items.
    """

    key: int
    pseudonym: str
    paused: bool
    active: bool
    reviews: int
    answer_seconds: int | None
    seconds: int | None
    fast: int
    caught: Mapping[str, IntervalEstimate]
    all_caught: IntervalEstimate
    false_alarms: IntervalEstimate
    agreement: IntervalEstimate
    ac1: IntervalEstimate
    blind: IntervalEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureTable:
    """Figures of all reviewers, by pseudonym."""

    fast_seconds: int
    reviewers: Sequence[ReviewerFigures]


def count_figures() -> FigureTable:
    """Compute the figures of all present and former reviewers."""
    limit = current_policy().fast_seconds
    excluded = gold_versions()
    durations, answered = _time_counts(_SECONDS, excluded), _time_counts(_ANSWERS, excluded)
    pairs, right = _decision_pairs(excluded), _right_answers(excluded)
    tests = _gold_reviews()
    people = User.objects.filter(Q(role=Role.REVIEWER) | Q(pk__in=list(durations)))
    reviewers = []
    for user in people.order_by("pseudonym"):
        times, gold = durations.get(user.pk, Counter[int]()), tests.get(user.pk, {})
        table = _rating_table(pairs.get(user.pk, {}))
        hits, answers = right.get(user.pk, (0, 0))
        reviewers.append(
            ReviewerFigures(
                key=user.pk,
                pseudonym=user.pseudonym,
                paused=user.paused,
                active=user.is_active,
                reviews=times.total(),
                answer_seconds=median_of_counts(answered.get(user.pk, Counter())),
                seconds=median_of_counts(times),
                fast=sum(count for seconds, count in times.items() if seconds < limit),
                caught={
                    kind: _share(kind, gold.get(kind, [])) for kind in (*DEFECT_KINDS, "other")
                },
                all_caught=_share(
                    "caught",
                    [hit for kind, hits in gold.items() if kind != "sound" for hit in hits],
                ),
                false_alarms=_share("alarms", [not hit for hit in gold.get("sound", [])]),
                agreement=raw_agreement(table),
                ac1=gwet_ac1(table),
                blind=share_estimate("blind_accuracy", hits, answers),
            )
        )
    return FigureTable(fast_seconds=limit, reviewers=reviewers)


_SECONDS = """
    SELECT c.user_id, r.seconds, count(*)
    FROM review_review r CROSS JOIN review_claim c
    WHERE c.id = r.claim_id AND c.released_at IS NULL {gold} GROUP BY c.user_id, r.seconds
"""
_ANSWERS = """
    SELECT c.user_id, b.milliseconds / 1000, count(*)
    FROM review_blindanswer b CROSS JOIN review_claim c
    WHERE c.id = b.claim_id AND c.released_at IS NULL AND b.milliseconds > 0 {gold}
    GROUP BY c.user_id, b.milliseconds / 1000
"""
_PAIRS = """
    SELECT c.user_id, r.decision, other.decision, count(*)
    FROM review_review r CROSS JOIN review_claim c
    CROSS JOIN review_claim o CROSS JOIN review_review other
    WHERE c.id = r.claim_id AND c.released_at IS NULL AND o.version_id = c.version_id
    AND o.user_id <> c.user_id AND o.released_at IS NULL AND other.claim_id = o.id {gold}
    GROUP BY c.user_id, r.decision, other.decision
"""
_RIGHT = """
    SELECT c.user_id, sum(CASE WHEN b."option" = v.key THEN 1 ELSE 0 END), count(*)
    FROM review_item i CROSS JOIN review_itemversion v
    CROSS JOIN review_claim c CROSS JOIN review_blindanswer b
    WHERE i.state IN ('accepted', 'released') AND v.item_id = i.id AND v.number = i.version
    AND c.version_id = v.id AND c.released_at IS NULL AND c.blinded
    AND c.submitted_at IS NOT NULL AND b.claim_id = c.id {gold} GROUP BY c.user_id
"""


def _without_gold(statement: str, excluded: Sequence[int]) -> list[tuple[Any, ...]]:
    """Return the rows of a statement without versions of gold items, which are few."""
    numbers = ", ".join(str(int(pk)) for pk in excluded)
    return fetch_all(
        statement.format(gold=f"AND c.version_id NOT IN ({numbers})" if numbers else "")
    )


def _time_counts(statement: str, excluded: Sequence[int]) -> dict[int, Counter[int]]:
    counts: dict[int, Counter[int]] = {}
    for user, seconds, count in _without_gold(statement, excluded):
        counts.setdefault(user, Counter())[int(seconds)] = count
    return counts


def _decision_pairs(excluded: Sequence[int]) -> dict[int, dict[tuple[str, str], int]]:
    pairs: dict[int, dict[tuple[str, str], int]] = {}
    for user, mine, other, count in _without_gold(_PAIRS, excluded):
        pairs.setdefault(user, {})[mine, other] = count
    return pairs


def _right_answers(excluded: Sequence[int]) -> dict[int, tuple[int, int]]:
    return {user: (int(hits), count) for user, hits, count in _without_gold(_RIGHT, excluded)}


def _gold_reviews() -> dict[int, dict[str, list[bool]]]:
    """Return reviewer -> kind of gold item -> whether each of its reviews was right."""
    gold_claims = Claim.objects.filter(
        released_at=None, submitted_at__isnull=False, version__item__gold_defect__gt=""
    )
    claims = gold_claims.select_related("version__item", "blind", "review")
    outcomes: dict[int, dict[str, list[bool]]] = {}
    for claim in claims.prefetch_related("review__reasons"):
        kind = kind_of(claim.version.item.gold_defect)
        own = outcomes.setdefault(claim.user_id, {})
        own.setdefault(kind, []).append(gold_items.decides_rightly(claim))
    return outcomes


def _rating_table(pairs: Mapping[tuple[str, str], int]) -> RatingTable:
    """Build the rating table of pairs of decisions on the same version, one row per pair."""
    kinds = [[LABELS.index(label) for label in pair] for pair in pairs]
    values = np.array(kinds, dtype=np.int8).reshape(len(kinds), 2)
    counts = np.array(list(pairs.values()), dtype=np.int64)
    return RatingTable(values=np.repeat(values, counts, axis=0), labels=LABELS)


def _share(name: str, hits: Sequence[bool]) -> IntervalEstimate:
    return share_estimate(name, sum(hits), len(hits))
