"""Progress of the queue by cell, reviewer, reason and time, with a forecast."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, F, Q, QuerySet, Sum
from django.utils import timezone

from medrcube.console.counts import counted
from medrcube.review.assigning.outstanding import ItemGroup, queued_groups
from medrcube.review.models import Claim, Item, ItemVersion, Review, ReviewReason, Role, User
from medrcube.review.quality.agreement import IntervalEstimate, share_estimate
from medrcube.review.quality.gold_items import decides_rightly, latest_gold_claims
from medrcube.review.reviewing.policy import Policy, current_policy
from medrcube.review.reviewing.questionnaire import Decision
from medrcube.review.reviewing.state_machine import ReviewState

__all__ = [
    "PACE_DAYS",
    "QueueForecast",
    "QueueProgress",
    "ReviewerProgress",
    "SecondsTaken",
    "VoxelProgress",
    "count_progress",
    "gold_versions",
    "median_of_counts",
    "queue_forecast",
    "reason_counts",
    "reviewer_progress",
    "seconds_taken",
    "time_histogram",
    "voxel_progress",
]

PACE_DAYS = 7
"""Number of recent days on which the forecast is based."""
_YEAR = 365
SecondsTaken = Mapping[int, Counter[int]]
"""Reviewer -> duration in seconds -> number of valid reviews of that duration."""
_BINS = (15, 30, 60, 90, 120, 180, 300, 600)
"""Upper ends, in seconds, of the histogram bins; longer reviews are in the last bin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VoxelProgress:
    """Items of one anatomy, modality and task, by state, without gold items.

    Attributes:
        states: state -> number of items.
        in_review: number of queued items that are currently claimed.
    """

    anatomy: str
    modality: str
    task: str
    states: Mapping[str, int]
    in_review: int

    @property
    def items(self) -> int:
        """Total number of items."""
        return sum(self.states.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerProgress:
    """Progress of one reviewer: valid reviews only, gold items counted separately.

    Attributes:
        key: key of the account.
        seconds: median time from claim to submission; ``None`` without reviews.
        decisions: decision -> share of the reviews.
        blind: share of blind answers that equal the key.
        gold_found: known defects found among ``gold_seen``, the latest ones considered by the
            policy.
    """

    key: int
    pseudonym: str
    paused: bool
    active: bool
    done: int
    seconds: int | None
    decisions: Mapping[str, float]
    blind: IntervalEstimate
    gold_found: int
    gold_seen: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueForecast:
    """Forecast of the time to empty the queue at the recent pace.

    Attributes:
        missing: number of reviews that queued items still need.
        lately: number of reviews in the last ``PACE_DAYS``.
        days: days until the queue is empty; ``None`` without recent reviews.
        hours: hours of work, from the median time of a review; ``None`` without reviews.
    """

    missing: int
    lately: int
    days: float | None
    hours: float | None

    @property
    def time_left(self) -> str:
        """Return the days in words, in years from two on; empty if unknown."""
        if self.days is None:
            return ""
        if self.days >= 2 * _YEAR:
            return counted(round(self.days / _YEAR), "year")
        days = round(self.days, 1)
        if days < 1:
            return "less than a day"
        return f"{days} days" if days < 10 and days % 1 else counted(round(days), "day")

    @property
    def work(self) -> str:
        """Return the hours of work in words, rounded up below an hour; empty if unknown."""
        if self.hours is None:
            return ""
        if self.hours < 1:
            return counted(math.ceil(self.hours * 60), "minute")
        return f"{self.hours:,.1f} hours"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueProgress:
    """Everything that the progress page shows; see the functions of these names.

    Attributes:
        queued: see ``outstanding.queued_groups``.
    """

    voxels: Sequence[VoxelProgress]
    queued: Sequence[ItemGroup]
    reviewers: Sequence[ReviewerProgress]
    reasons: Sequence[tuple[str, int]]
    times: Sequence[tuple[str, int]]
    forecast: QueueForecast


def count_progress() -> QueueProgress:
    """Compute everything that the progress page shows."""
    rules, now, durations = current_policy(), timezone.now(), seconds_taken()
    return QueueProgress(
        voxels=voxel_progress(now),
        queued=queued_groups(),
        reviewers=reviewer_progress(rules, durations),
        reasons=reason_counts(),
        times=time_histogram(durations),
        forecast=queue_forecast(rules, now, durations),
    )


def voxel_progress(now: datetime) -> list[VoxelProgress]:
    """Return the progress of every cell, by name."""
    real = Item.objects.filter(gold_defect="")
    axes = ("anatomy", "modality", "task")
    states: dict[tuple[str, str, str], dict[str, int]] = {}
    for anatomy, modality, task, state, items in (
        real.values_list(*axes, "state").annotate(items=Count("pk")).order_by()
    ):
        states.setdefault((anatomy, modality, task), {})[state] = items
    claimed = (
        real.filter(state=ReviewState.QUEUED, pk__in=_live_claims(now).values("version__item"))
        .values_list(*axes)
        .annotate(items=Count("pk"))
        .order_by()
    )
    in_review = {(anatomy, modality, task): items for anatomy, modality, task, items in claimed}
    return [
        VoxelProgress(
            anatomy=kind[0],
            modality=kind[1],
            task=kind[2],
            states=states[kind],
            in_review=in_review.get(kind, 0),
        )
        for kind in sorted(states)
    ]


def seconds_taken() -> SecondsTaken:
    """Return the review durations of each reviewer."""
    durations: dict[int, Counter[int]] = {}
    for user, seconds, count in (
        _valid_reviews()
        .values_list("claim__user", "seconds")
        .annotate(count=Count("pk"))
        .order_by()
    ):
        durations.setdefault(user, Counter())[seconds] = count
    return durations


def reviewer_progress(
    rules: Policy, durations: SecondsTaken | None = None
) -> list[ReviewerProgress]:
    """Return the progress of all present and former reviewers, by pseudonym.

    Args:
        rules: policy of the project.
        durations: result of ``seconds_taken()``, if already known.
    """
    durations = seconds_taken() if durations is None else durations
    decisions: dict[int, dict[str, int]] = {}
    right: Counter[int] = Counter()
    answers: Counter[int] = Counter()
    blinded = Q(claim__blinded=True)
    equal = blinded & Q(claim__blind__option=F("claim__version__key"))
    for user, decision, count, blind, hits in (
        _valid_reviews()
        .values_list("claim__user", "decision")
        .annotate(
            count=Count("pk"),
            blind=Count("pk", filter=blinded),
            hits=Count("pk", filter=equal),
        )
        .order_by()
    ):
        decisions.setdefault(user, {})[decision] = count
        answers[user] += blind
        right[user] += hits
    people = User.objects.filter(Q(role=Role.REVIEWER) | Q(pk__in=list(decisions)))
    return [
        _one_reviewer(
            user,
            decisions.get(user.pk, {}),
            share_estimate("blind_accuracy", right[user.pk], answers[user.pk]),
            durations.get(user.pk),
            rules,
        )
        for user in people.order_by("pseudonym")
    ]


def reason_counts() -> list[tuple[str, int]]:
    """Return the number of times each reason was given, most frequent first."""
    counted = (
        ReviewReason.objects.filter(review__claim__released_at=None)
        .exclude(review__claim__version__in=gold_versions())
        .values_list("code")
        .annotate(count=Count("pk"))
        .order_by("-count", "code")
    )
    return list(counted)


def time_histogram(durations: SecondsTaken) -> list[tuple[str, int]]:
    """Return a histogram of review durations."""
    counts = [0] * (len(_BINS) + 1)
    for user in durations.values():
        for seconds, count in user.items():
            counts[sum(seconds > end for end in _BINS)] += count
    names = [f"up to {_duration(end)}" for end in _BINS]
    return list(zip([*names, f"over {_duration(_BINS[-1])}"], counts, strict=True))


def queue_forecast(rules: Policy, now: datetime, durations: SecondsTaken) -> QueueForecast:
    """Forecast the remaining time: missing reviews divided by the recent pace."""
    waiting = Item.objects.filter(state=ReviewState.QUEUED, gold_defect="")
    summed = waiting.aggregate(items=Count("pk"), reviews=Sum("reviews"))
    missing = max(0, summed["items"] * rules.reviews - (summed["reviews"] or 0))
    since = now - timedelta(days=PACE_DAYS)
    lately = _valid_reviews().filter(submitted_at__gt=since).count()
    every: Counter[int] = Counter()
    for user in durations.values():
        every.update(user)
    median = median_of_counts(every)
    return QueueForecast(
        missing=missing,
        lately=lately,
        days=missing / (lately / PACE_DAYS) if lately else None,
        hours=None if median is None else missing * median / 3600,
    )


def _one_reviewer(
    user: User,
    decisions: Mapping[str, int],
    blind: IntervalEstimate,
    seconds: Counter[int] | None,
    rules: Policy,
) -> ReviewerProgress:
    review_count = sum(decisions.values())
    gold = latest_gold_claims(user, rules.gold_window)
    return ReviewerProgress(
        key=user.pk,
        pseudonym=user.pseudonym,
        paused=user.paused,
        active=user.is_active,
        done=review_count,
        seconds=median_of_counts(seconds or Counter()),
        decisions={
            name.value: decisions.get(name, 0) / review_count if review_count else 0
            for name in Decision
        },
        blind=blind,
        gold_found=sum(decides_rightly(claim) for claim in gold),
        gold_seen=len(gold),
    )


def _live_claims(now: datetime) -> QuerySet[Claim]:
    return Claim.objects.filter(released_at=None, submitted_at=None, expires_at__gt=now)


def _valid_reviews() -> QuerySet[Review]:
    """Return valid reviews without those of gold items, which are few and thus excluded by key."""
    return Review.objects.filter(claim__released_at=None).exclude(
        claim__version__in=gold_versions()
    )


def gold_versions() -> Sequence[int]:
    """Return the keys of all versions of gold items."""
    versions = ItemVersion.objects.filter(item__in=Item.objects.exclude(gold_defect=""))
    return list(versions.values_list("pk", flat=True))


def median_of_counts(counts: Counter[int]) -> int | None:
    """Return the lower median of a frequency count; ``None`` if it is empty."""
    middle = (counts.total() + 1) // 2
    passed = 0
    for seconds in sorted(counts):
        passed += counts[seconds]
        if passed >= middle:
            return seconds
    return None


def _duration(seconds: int) -> str:
    return f"{seconds} s" if seconds < 60 else f"{seconds / 60:g} min"
