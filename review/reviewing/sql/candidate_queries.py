"""SQL queries for the items that a reviewer may claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection

from medrcube.review.assigning.routing import EVERYTHING, QueuePart, Route
from medrcube.review.assigning.specialties import SqlCondition
from medrcube.review.reviewing.policy import Policy
from medrcube.review.reviewing.review_slots import free_slot_condition
from medrcube.review.reviewing.sql.cursor import IS_BLIND, fetch_all, fetch_one

__all__ = ["ClaimCandidate", "queued_candidates", "resumable_items"]

_LOOK_AHEAD = 16
"""Number of items of equal rank that are shuffled per reviewer, so that reviewers spread out."""
_PAGES = (32, 256, 2**31 - 1)
"""Successive page sizes when searching a part of the queue, until an eligible item is found."""


class ClaimCandidate(NamedTuple):
    """An item that a reviewer may be given."""

    item: str
    number: int
    version: int
    reviews: int
    priority: int
    gold: bool
    returned: bool
    blinded: bool
    specialist: bool
    case_key: str


def resumable_items(user: int, rules: Policy, route: Route) -> list[ClaimCandidate]:
    """Return items whose lease the reviewer lost with a draft, and that they may still review."""
    # Hardly any reviewer has one, and PostgreSQL takes longest to plan this statement.
    if fetch_one("SELECT 1 FROM review_draft WHERE user_id = %s LIMIT 1", user) is None:
        return []
    page = f"""
        SELECT i.* FROM review_draft d CROSS JOIN review_itemversion v CROSS JOIN review_item i
        WHERE d.user_id = %s AND v.id = d.version_id
        AND i.id = v.item_id AND i.version = v.number AND i.state = 'queued' AND EXISTS (
            SELECT 1 FROM review_claim c WHERE c.version_id = v.id AND c.user_id = d.user_id
            AND c.outcome IN ('expired', 'paused', 'undone')
        ) AND {route.allowed.sql} LIMIT 1000
    """  # noqa: S608
    return _eligible(SqlCondition(page, (user, *route.allowed.values)), user, rules, route)[0]


def queued_candidates(
    user: int, rules: Policy, route: Route, *, gold: bool
) -> list[ClaimCandidate]:
    """Return the first items of the queue that a reviewer may be given, in queue order.

    Examines the first few of each part, which is nearly always enough, then more and more. If the
    policy admits reviewers who are not blind, items to which this one is not blind come last.
    """
    if gold:
        return [item for item in _first_of_part(user, rules, route, None) if item.blinded]
    spare: list[ClaimCandidate] = []
    for part in route.parts:
        candidates = _first_of_part(user, rules, route, part)
        blind = [item for item in candidates if item.blinded]
        if blind:
            return blind
        spare = spare or candidates
    return spare


def _first_of_part(
    user: int, rules: Policy, route: Route, part: QueuePart | None
) -> list[ClaimCandidate]:
    """Return the first candidates of one part of the queue, or of the gold items."""
    for size in _PAGES:
        page = _page(user, rules, route, part, size)
        candidates, looked_at = _eligible(page, user, rules, route)
        if looked_at < size or any(item.blinded for item in candidates):
            break
    return candidates


def _page(
    user: int, rules: Policy, route: Route, part: QueuePart | None, size: int
) -> SqlCondition:
    """Return SQL for the next items of a part, limited before any join.

    Both databases then scan the queue index and look up the rest row by row, whatever their
    planners estimate. If a few items are not enough, items that the reviewer has been shown are
    also skipped within the index.
    """
    # Otherwise SQLite would use an index on a column of an assignment, and sort.
    index = "INDEXED BY queue_order" if connection.vendor == "sqlite" else ""
    kind = _FREE_GOLD if part is None else "i.gold_defect = '' AND i.for_specialist = %s"
    reserved = (rules.reviews,) if part is None else (part.reserved,)
    where = route.allowed if part is None else part.where
    wide = size == _PAGES[-1] and not rules.unblinded_reviews
    unseen = SqlCondition(_UNSEEN, (user, user)) if wide else EVERYTHING
    sql = f"""
        SELECT i.* FROM review_item i {index}
        WHERE i.state = 'queued' AND {kind}
        AND (i.sole_reviewer_id IS NULL OR i.sole_reviewer_id <> %s)
        AND {where.sql} AND {unseen.sql}
        ORDER BY i.reviews DESC, i.priority DESC, i.lot LIMIT %s
    """  # noqa: S608
    return SqlCondition(sql, (*reserved, user, *where.values, *unseen.values, size))


_FREE_GOLD = """
    i.gold_defect > '' AND (
        NOT EXISTS (
            SELECT 1 FROM review_item o WHERE o.id = i.copied_from_id
            AND o.state IN ('draft', 'queued', 'needs_revision')
        ) OR (
            SELECT count(DISTINCT c.user_id) FROM review_itemversion v CROSS JOIN review_claim c
            WHERE v.item_id = i.id AND c.version_id = v.id
        ) < (
            SELECT count(*) FROM review_user u
            WHERE u.role = 'reviewer' AND u.is_active AND NOT u.paused
        ) - %s
    )
"""
"""SQL: gold copies of queued items leave enough reviewers for the originals."""
_UNSEEN = """
    (i.id NOT IN (SELECT e.item_id FROM review_exposure e WHERE e.user_id = %s) OR i.id IN (
        SELECT v.item_id FROM review_claim c JOIN review_itemversion v ON v.id = c.version_id
        WHERE c.user_id = %s AND c.submitted_at IS NULL AND c.released_at IS NOT NULL
    ))
"""
"""SQL: excludes items that the reviewer has been shown, except those they had begun."""


def _eligible(
    page: SqlCondition, user: int, rules: Policy, route: Route
) -> tuple[list[ClaimCandidate], int]:
    """Return the eligible items of a page, and the length of the page.

    Excluded are items that the reviewer wrote, proposed, holds, has reviewed or returned as not
    their field; items without a free slot for them, or, if they are not blind, without one for such
    a reviewer; and the gold copy of an item they have seen, or vice versa.
    """
    place = free_slot_condition(route.specialist, rules)
    rows = fetch_all(
        f"""
        WITH page AS MATERIALIZED ({page.sql})
        SELECT total.length, fit.* FROM (SELECT count(*) AS length FROM page) total LEFT JOIN (
        SELECT * FROM (
        SELECT i.id, i.version, v.id AS version_id, i.reviews, i.priority,
            i.gold_defect > '' AS gold, EXISTS (
                SELECT 1 FROM review_claim c
                WHERE c.version_id = v.id AND c.user_id = %s AND c.outcome = 'given-back'
            ) AS returned, {IS_BLIND.format(version="v.id", item="i.id")} AS blinded,
            {route.specialist.sql} AS specialist, i.case_key, i.lot
        FROM page i CROSS JOIN review_itemversion v
        WHERE v.item_id = i.id AND v.number = i.version
        AND (v.author_id IS NULL OR v.author_id <> %s)
        AND NOT EXISTS (
            SELECT 1 FROM review_adoption a
            CROSS JOIN review_proposal p CROSS JOIN review_review r CROSS JOIN review_claim c
            WHERE a.version_id = v.id AND p.id = a.proposal_id AND r.id = p.review_id
            AND c.id = r.claim_id AND c.user_id = %s
        )
        AND NOT EXISTS (
            SELECT 1 FROM review_claim c WHERE c.version_id = v.id AND c.user_id = %s
            AND (c.released_at IS NULL OR c.outcome IN ('skipped', 'voided'))
        )
        AND (i.gold_defect > '' OR {place.sql})
        AND NOT EXISTS (
            SELECT 1 FROM review_item t
            CROSS JOIN review_itemversion tv CROSS JOIN review_claim c
            WHERE t.copied_from_id = i.id
            AND tv.item_id = t.id AND c.version_id = tv.id AND c.user_id = %s
        )
        AND NOT EXISTS (
            SELECT 1 FROM review_itemversion tv CROSS JOIN review_claim c
            WHERE tv.item_id = i.copied_from_id AND c.version_id = tv.id AND c.user_id = %s
        )) w
        WHERE blinded OR %s > (
            SELECT count(*) FROM review_claim c
            WHERE c.version_id = w.version_id AND c.released_at IS NULL AND NOT c.blinded
        )
        ORDER BY blinded DESC, reviews DESC, priority DESC, lot LIMIT {_LOOK_AHEAD}
        ) fit ON 1 = 1
        ORDER BY fit.blinded DESC, fit.reviews DESC, fit.priority DESC, fit.lot
        """,  # noqa: S608
        *page.values,
        user,
        user,
        user,
        user,
        *route.specialist.values,
        user,
        user,
        user,
        *place.values,
        user,
        user,
        rules.unblinded_reviews,
    )
    return [_candidate(row) for row in rows if row[1] is not None], int(rows[0][0])


def _candidate(row: Sequence[object]) -> ClaimCandidate:
    return ClaimCandidate._make((*row[1:6], *map(bool, row[6:10]), row[10]))
