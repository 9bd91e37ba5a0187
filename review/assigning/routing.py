"""Which items a reader may be handed, and in which order of parts: specialty and assignments.

All of it is conditions on the index of the queue, so that what is not for a reader is passed
without looking at it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from medrcube.review.assigning.specialties import NOTHING, Condition, condition, fields_of
from medrcube.review.reviewing.policy import Policy
from medrcube.review.reviewing.sql.cursor import rows

__all__ = ["EVERYTHING", "Part", "Route", "Rule", "may_review", "route_of", "rules_in_force"]

EVERYTHING = Condition("1 = 1")
_SCOPE = ("source", "task", "anatomy", "modality")


@dataclass(frozen=True, slots=True)
class Rule:
    """An assignment as it concerns one reader.

    Attributes:
        only: whether nobody else is handed its items; otherwise its readers get them first.
        scope: source, task, anatomy and modality; blank for any.
        mine: whether the reader is among its readers.
    """

    only: bool
    scope: tuple[str, str, str, str]
    mine: bool

    def matches(self, kind: Sequence[str]) -> bool:
        """Whether items of that source, task, anatomy and modality belong to it."""
        return all(
            not wanted or wanted == has for wanted, has in zip(self.scope, kind, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the queue that is looked through in its order; kept: where only specialists may."""

    kept: bool
    where: Condition


@dataclass(frozen=True, slots=True)
class Route:
    """How the queue looks to one reader.

    Attributes:
        specialist: holds for items of their field.
        allowed: holds for items that they may be handed at all.
        parts: of the queue, in the order in which they are looked through.
    """

    specialist: Condition
    allowed: Condition
    parts: tuple[Part, ...]


def rules_in_force(user: int, specialties: Collection[str]) -> list[Rule]:
    """Every assignment that has not ended, the oldest first."""
    found = rows(
        """
        SELECT a.mode, a.source, a.task, a.anatomy, a.modality, a.specialty, EXISTS (
            SELECT 1 FROM review_assignment_readers r
            WHERE r.assignment_id = a.id AND r.user_id = %s
        ) FROM review_assignment a WHERE a.ended_at IS NULL ORDER BY a.id
        """,
        user,
    )
    return [
        Rule(row[0] == "only", row[1:5], bool(row[6]) or row[5] in specialties) for row in found
    ]


def may_review(kind: Sequence[str], assignments: Sequence[Rule]) -> bool:
    """Whether assignments leave items of a kind to a reader."""
    matching = [rule for rule in assignments if rule.only and rule.matches(kind)]
    return not matching or any(rule.mine for rule in matching)


def route_of(user: int, specialties: Collection[str], rules: Policy) -> Route:
    """The way of a reader through the queue, as specialties and assignments are now.

    What waits for a specialist comes before all else to one; then what is assigned to the reader
    first; what is assigned to others first comes last.
    """
    specialist = condition(fields_of(specialties))
    found = rules_in_force(user, specialties)
    allowed = _allowed(found)
    if rules.specialists == rules.reviews:
        allowed = _both(allowed, specialist)
    parts = [Part(kept=False, where=where) for where in _turns(found, allowed)]
    if rules.specialists:
        kept = _both(allowed, specialist)
        if specialist != NOTHING:
            parts.insert(0, Part(kept=True, where=kept))
    else:
        # Empty, but for what was marked by a review that overlapped with a change of the rules.
        parts.append(Part(kept=True, where=allowed))
    return Route(specialist=specialist, allowed=allowed, parts=tuple(parts))


def _allowed(found: Sequence[Rule]) -> Condition:
    every = _any(rule for rule in found if rule.only)
    if every == NOTHING:
        return EVERYTHING
    mine = _any(rule for rule in found if rule.only and rule.mine)
    return Condition(f"(NOT {every.sql} OR {mine.sql})", (*every.values, *mine.values))


def _turns(found: Sequence[Rule], allowed: Condition) -> list[Condition]:
    mine = _any(rule for rule in found if not rule.only and rule.mine)
    others = _any(rule for rule in found if not rule.only and not rule.mine)
    turns = []
    if mine != NOTHING:
        turns.append(_both(mine, allowed))
    if others != NOTHING:
        turns.append(_both(Condition(f"NOT {others.sql}", others.values), allowed))
    return [*turns, allowed]


def _any(rules: Iterable[Rule]) -> Condition:
    parts, values = [], []
    for rule in rules:
        named = [(column, text) for column, text in zip(_SCOPE, rule.scope, strict=True) if text]
        parts.append(" AND ".join(f"i.{column} = %s" for column, _ in named) or "1 = 1")
        values += [text for _, text in named]
    if not parts:
        return NOTHING
    return Condition("(" + " OR ".join(f"({part})" for part in parts) + ")", (*values,))


def _both(one: Condition, other: Condition) -> Condition:
    if EVERYTHING in (one, other):
        return other if one == EVERYTHING else one
    return Condition(f"({one.sql} AND {other.sql})", (*one.values, *other.values))
