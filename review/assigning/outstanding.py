"""Backlog by specialty, staffing gaps, and reasons for a reviewer's empty queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, F, Q, QuerySet

from medrcube.console.counts import counted
from medrcube.review.assigning.assignment import active_assignments
from medrcube.review.assigning.routing import AssignmentRule, may_review
from medrcube.review.assigning.specialties import SpecialtyCoverage, coverage_of
from medrcube.review.models import Claim, Exposure, Item, Role, User
from medrcube.review.reviewing.policy import Policy
from medrcube.review.reviewing.sql import review_queries
from medrcube.review.reviewing.state_machine import ReviewState

__all__ = [
    "EmptyQueueReasons",
    "ItemGroup",
    "SpecialistBacklog",
    "StaffingGap",
    "queued_groups",
    "specialist_backlog",
    "specialist_rule_status",
    "staffing_gaps",
    "why_queue_empty",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemGroup:
    """Queued items of one source, task, anatomy and modality, without gold items.

    Attributes:
        items: number of items.
        reserved: number of items whose next review must be by a specialist.
    """

    source: str
    task: str
    anatomy: str
    modality: str
    items: int
    reserved: int

    @property
    def columns(self) -> tuple[str, str, str, str]:
        """Return source, task, anatomy and modality, as in an assignment."""
        return self.source, self.task, self.anatomy, self.modality


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialistBacklog:
    """Items of one anatomy and modality that wait only for a specialist.

    Attributes:
        reviewers: pseudonyms of the specialists who get new items.
    """

    anatomy: str
    modality: str
    items: int
    reviewers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StaffingGap:
    """Queued items that cannot get all their reviews from the present reviewers.

    Attributes:
        why: what is missing, in words.
    """

    anatomy: str
    modality: str
    items: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyQueueReasons:
    """Reasons why a reviewer gets no item.

    Attributes:
        specialist: (anatomy, modality, number of items) that wait for another specialist.
        assigned: number of items assigned exclusively to others.
        disclosed: number of items whose answer was disclosed to the reviewer by another item of
            the case. Gold items are not counted, because the figure would reveal them.
    """

    specialist: tuple[tuple[str, str, int], ...]
    assigned: int
    disclosed: int


_QUEUED = Item.objects.filter(state=ReviewState.QUEUED, gold_defect="")


@dataclass(frozen=True, slots=True)
class _Reviewer:
    pseudonym: str
    fields: Sequence[SpecialtyCoverage]
    assignments: Sequence[AssignmentRule]

    def covers(self, kind: ItemGroup) -> bool:
        return any(field.covers(kind.anatomy, kind.modality) for field in self.fields)

    def may_review(self, kind: ItemGroup) -> bool:
        return may_review(kind.columns, self.assignments)


def queued_groups() -> list[ItemGroup]:
    """Return all groups of queued items."""
    counts_by_group: dict[tuple[str, ...], Counter[bool]] = {}
    rows = _QUEUED.values_list("source", "task", "anatomy", "modality", "for_specialist")
    for *columns, for_specialist, items in rows.annotate(items=Count("pk")).order_by():
        counts_by_group.setdefault(tuple(columns), Counter())[for_specialist] += items
    return [
        ItemGroup(
            source=source,
            task=task,
            anatomy=anatomy,
            modality=modality,
            items=counts.total(),
            reserved=counts[True],
        )
        for (source, task, anatomy, modality), counts in sorted(counts_by_group.items())
    ]


def specialist_backlog(queued: Iterable[ItemGroup]) -> list[SpecialistBacklog]:
    """Return the items that wait only for a specialist, by anatomy and modality."""
    counts: Counter[tuple[str, str]] = Counter()
    reviewers: dict[tuple[str, str], set[str]] = {}
    people = _active_reviewers()
    for kind in queued:
        if kind.reserved:
            field = kind.anatomy, kind.modality
            counts[field] += kind.reserved
            reviewers.setdefault(field, set()).update(
                user.pseudonym for user in people if user.covers(kind) and user.may_review(kind)
            )
    return [
        SpecialistBacklog(
            anatomy=field[0],
            modality=field[1],
            items=items,
            reviewers=tuple(sorted(reviewers[field])),
        )
        for field, items in sorted(counts.items())
    ]


def staffing_gaps(queued: Iterable[ItemGroup], rules: Policy) -> list[StaffingGap]:
    """Return items that the enrolled reviewers cannot finish under the current assignments."""
    people = _active_reviewers()
    counts: Counter[tuple[str, str, str]] = Counter()
    for kind in queued:
        why = _missing(kind, people, rules)
        if why:
            counts[kind.anatomy, kind.modality, why] += kind.items
    return [
        StaffingGap(anatomy=anatomy, modality=modality, items=items, why=why)
        for (anatomy, modality, why), items in sorted(counts.items())
    ]


def why_queue_empty(user: User, rules: Policy) -> EmptyQueueReasons:
    """Explain why a reviewer gets no item: specialty, assignments or disclosure.

    Items that they have reviewed or given back permanently are not counted.
    """
    own = _reviewer(user, _assignments())
    done_counts, disclosed = _counts(_finished_by(user)), _counts(_disclosed_to(user))
    assigned = answered = 0
    fields: Counter[tuple[str, str]] = Counter()
    for kind in queued_groups():
        for_specialist = kind.reserved - done_counts[*kind.columns, True]
        items = kind.items - done_counts[*kind.columns, True] - done_counts[*kind.columns, False]
        if not own.may_review(kind):
            assigned += items
            continue
        if rules.specialists and not own.covers(kind):
            every = rules.specialists == rules.reviews
            fields[kind.anatomy, kind.modality] += items if every else for_specialist
            answered += 0 if every else disclosed[*kind.columns, False]
        else:
            answered += disclosed[*kind.columns, True] + disclosed[*kind.columns, False]
    counted = tuple((*field, items) for field, items in sorted(fields.items()) if items)
    return EmptyQueueReasons(specialist=counted, assigned=assigned, disclosed=answered)


def _finished_by(user: User) -> QuerySet[Item]:
    """Return real queued items that a user has reviewed or returned as not their field."""
    ended = Claim.objects.filter(user=user, version__number=F("version__item__version"))
    ended = ended.filter(
        Q(released_at=None, submitted_at__isnull=False) | Q(outcome__in=("skipped", "voided"))
    )
    return _QUEUED.filter(pk__in=ended.values("version__item"))


def _disclosed_to(user: User) -> QuerySet[Item]:
    """Return real queued items, not yet begun, whose answer was disclosed to a user."""
    telling = Exposure.objects.filter(user=user, by__gold_defect="").exclude(item=F("by"))
    begun = Claim.objects.filter(user=user, version__number=F("version__item__version"))
    disclosed = _QUEUED.filter(pk__in=telling.values("item"))
    return disclosed.exclude(pk__in=begun.values("version__item"))


def _counts(items: QuerySet[Item]) -> Counter[tuple[str, str, str, str, bool]]:
    """Count items by kind and by whether their next review must be by a specialist."""
    rows = items.values_list("source", "task", "anatomy", "modality", "for_specialist")
    counted = rows.annotate(items=Count("pk")).order_by()
    return Counter({tuple(columns): count for *columns, count in counted})


def specialist_rule_status(item: Item, version: int, rules: Policy) -> str:
    """Describe the status of the specialist rule for an item; empty if there is no rule."""
    if not rules.specialists or item.gold_defect:
        return ""
    have = review_queries.specialist_review_count(version)
    field = f"{item.anatomy} or {item.modality}"
    status = f"{have} of {rules.specialists} reviews by a specialist for {field}"
    if item.state != ReviewState.QUEUED or have >= rules.specialists:
        return status
    group = ItemGroup(
        source=item.source,
        task=item.task,
        anatomy=item.anatomy,
        modality=item.modality,
        items=1,
        reserved=1,
    )
    able = [
        user.pseudonym
        for user in _active_reviewers()
        if user.covers(group) and user.may_review(group)
    ]
    waits = "; it waits for nothing else" if item.for_specialist else ""
    return f"{status}{waits}; enrolled: {', '.join(able) or 'NOBODY'}"


def _missing(kind: ItemGroup, people: Sequence[_Reviewer], rules: Policy) -> str:
    able = [user for user in people if user.may_review(kind)]
    special = sum(user.covers(kind) for user in able)
    if special < rules.specialists:
        if not special and any(user.covers(kind) for user in people):
            return "they are assigned to reviewers other than the enrolled specialists"
        return _too_few(special, "specialist", rules.specialists)
    return _too_few(len(able), "reviewer", rules.reviews) if len(able) < rules.reviews else ""


def _too_few(there: int, who: str, needed: int) -> str:
    return f"{counted(there, who) if there else f'no {who}'} for them, {needed} needed"


def _active_reviewers() -> list[_Reviewer]:
    """Return all reviewers who get new items."""
    people = User.objects.filter(role=Role.REVIEWER, is_active=True, paused=False)
    assignments = _assignments()
    return [_reviewer(user, assignments) for user in people.order_by("pseudonym")]


_Assigned = Sequence[tuple[bool, tuple[str, str, str, str], str, frozenset[str]]]


def _assignments() -> _Assigned:
    return [
        (
            row.mode == "only",
            (row.source, row.task, row.anatomy, row.modality),
            row.specialty,
            frozenset(reviewers),
        )
        for row, reviewers in active_assignments()
    ]


def _reviewer(user: User, assignments: _Assigned) -> _Reviewer:
    return _Reviewer(
        user.pseudonym,
        coverage_of(user.specialties),
        [
            AssignmentRule(
                only, scope, user.pseudonym in reviewers or specialty in user.specialties
            )
            for only, scope, specialty, reviewers in assignments
        ],
    )
