"""Route of a reviewer through the queue by specialty and assignments, as SQL conditions.

All conditions are on the queue index, so that items that are not for a reviewer are skipped without
reading their rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from medrcube.review.assigning.specialties import (
    NOTHING,
    SqlCondition,
    coverage_condition,
    coverage_of,
)
from medrcube.review.reviewing.policy import Policy
from medrcube.review.reviewing.sql.cursor import fetch_all

__all__ = [
    "EVERYTHING",
    "AssignmentRule",
    "QueuePart",
    "Route",
    "assignment_rules",
    "may_review",
    "route_of",
]

EVERYTHING = SqlCondition("1 = 1")
_SCOPE = ("source", "task", "anatomy", "modality")


@dataclass(frozen=True, slots=True)
class AssignmentRule:
    """An assignment from the viewpoint of one reviewer.

    Attributes:
        only: whether it is exclusive; otherwise its reviewers get the items first.
        scope: source, task, anatomy and modality; blank for any.
        mine: whether the reviewer is one of its reviewers.
    """

    only: bool
    scope: tuple[str, str, str, str]
    mine: bool

    def matches(self, kind: Sequence[str]) -> bool:
        """Whether items of this source, task, anatomy and modality are in its scope."""
        return all(
            not required or required == has for required, has in zip(self.scope, kind, strict=True)
        )


@dataclass(frozen=True, slots=True)
class QueuePart:
    """Part of the queue, searched in order; ``reserved``: items that only specialists may get."""

    reserved: bool
    where: SqlCondition


@dataclass(frozen=True, slots=True)
class Route:
    """View of the queue for one reviewer.

    Attributes:
        specialist: condition for items that their specialties cover.
        allowed: condition for items that they may be given at all.
        parts: parts of the queue, in the order in which they are searched.
    """

    specialist: SqlCondition
    allowed: SqlCondition
    parts: tuple[QueuePart, ...]


def assignment_rules(user: int, specialties: Collection[str]) -> list[AssignmentRule]:
    """Return every active assignment, oldest first."""
    assignments = fetch_all(
        """
        SELECT a.mode, a.source, a.task, a.anatomy, a.modality, a.specialty, EXISTS (
            SELECT 1 FROM review_assignment_reviewers r
            WHERE r.assignment_id = a.id AND r.user_id = %s
        ) FROM review_assignment a WHERE a.ended_at IS NULL ORDER BY a.id
        """,
        user,
    )
    return [
        AssignmentRule(row[0] == "only", row[1:5], bool(row[6]) or row[5] in specialties)
        for row in assignments
    ]


def may_review(kind: Sequence[str], assignments: Sequence[AssignmentRule]) -> bool:
    """Whether the assignments allow a reviewer to review items of a kind."""
    matching = [rule for rule in assignments if rule.only and rule.matches(kind)]
    return not matching or any(rule.mine for rule in matching)


def route_of(user: int, specialties: Collection[str], rules: Policy) -> Route:
    """Return the route of a reviewer under the current specialties and assignments.

    For a specialist, items that wait for one come first; then items assigned to the reviewer first;
    items assigned to others first come last.
    """
    specialist = coverage_condition(coverage_of(specialties))
    assignments = assignment_rules(user, specialties)
    allowed = _allowed(assignments)
    if rules.specialists == rules.reviews:
        allowed = _conjunction(allowed, specialist)
    parts = [QueuePart(reserved=False, where=where) for where in _in_order(assignments, allowed)]
    if rules.specialists:
        for_specialist = _conjunction(allowed, specialist)
        if specialist != NOTHING:
            parts.insert(0, QueuePart(reserved=True, where=for_specialist))
    else:
        # Empty, except for items reserved by a review that overlapped with a change of the policy.
        parts.append(QueuePart(reserved=True, where=allowed))
    return Route(specialist=specialist, allowed=allowed, parts=tuple(parts))


def _allowed(assignments: Sequence[AssignmentRule]) -> SqlCondition:
    every = _any_rule(rule for rule in assignments if rule.only)
    if every == NOTHING:
        return EVERYTHING
    mine = _any_rule(rule for rule in assignments if rule.only and rule.mine)
    return SqlCondition(f"(NOT {every.sql} OR {mine.sql})", (*every.values, *mine.values))


def _in_order(assignments: Sequence[AssignmentRule], allowed: SqlCondition) -> list[SqlCondition]:
    mine = _any_rule(rule for rule in assignments if not rule.only and rule.mine)
    others = _any_rule(rule for rule in assignments if not rule.only and not rule.mine)
    turns = []
    if mine != NOTHING:
        turns.append(_conjunction(mine, allowed))
    if others != NOTHING:
        turns.append(_conjunction(SqlCondition(f"NOT {others.sql}", others.values), allowed))
    return [*turns, allowed]


def _any_rule(rules: Iterable[AssignmentRule]) -> SqlCondition:
    parts, values = [], []
    for rule in rules:
        conditions = [
            (column, text) for column, text in zip(_SCOPE, rule.scope, strict=True) if text
        ]
        parts.append(" AND ".join(f"i.{column} = %s" for column, _ in conditions) or "1 = 1")
        values += [text for _, text in conditions]
    if not parts:
        return NOTHING
    return SqlCondition("(" + " OR ".join(f"({part})" for part in parts) + ")", (*values,))


def _conjunction(left: SqlCondition, right: SqlCondition) -> SqlCondition:
    if EVERYTHING in (left, right):
        return right if left == EVERYTHING else left
    return SqlCondition(f"({left.sql} AND {right.sql})", (*left.values, *right.values))
