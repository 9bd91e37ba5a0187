"""SQL statements for claims, leases and drafts."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import connection

from medrcube.review.reviewing.sql.cursor import (
    IS_BLIND,
    LIVE,
    execute,
    fetch_all,
    fetch_one,
    for_update,
    from_db_time,
    to_db_time,
    to_db_uuid,
)

if TYPE_CHECKING:
    from medrcube.review.reviewing.sql.candidate_queries import ClaimCandidate

__all__ = [
    "ClaimContext",
    "ReviewerFlags",
    "SlotHolder",
    "active_claim_row",
    "copy_blind_answer",
    "delete_draft",
    "end_overdue_claims",
    "extend_lease",
    "find_claim_context",
    "has_overdue_claim",
    "insert_claim",
    "is_blind",
    "lock_queued_item",
    "release_claim",
    "reviewer_flags",
    "save_draft",
    "taken_slots",
]


class ReviewerFlags(NamedTuple):
    """Account flags that decide which items, if any, a reviewer is given."""

    paused: bool
    active: bool
    specialties: frozenset[str]


class SlotHolder(NamedTuple):
    """Holder of a slot: whether blind to the item, and whether a specialist for it."""

    blinded: bool
    specialist: bool


class ClaimContext(NamedTuple):
    """A claim with its item, as read; ``live`` does not consider the expiry time."""

    claim: int
    version: int
    claimed_at: datetime
    expires_at: datetime
    live: bool
    sent: bool
    item: str
    number: int
    key: int
    options: int
    target: Mapping[str, Any] | None
    state: str
    current: bool
    gold_defect: str
    answered: bool
    blinded: bool
    specialist: bool


def reviewer_flags(user: int) -> ReviewerFlags:
    """Return the current flags of an account."""
    sql = "SELECT paused, is_active, specialties FROM review_user WHERE id = %s"
    row = fetch_one(sql, user)
    if row is None:
        return ReviewerFlags(paused=True, active=False, specialties=frozenset())
    return ReviewerFlags(bool(row[0]), bool(row[1]), frozenset(json.loads(row[2])))


def active_claim_row(user: int, now: datetime) -> tuple[Any, ...] | None:
    """Return the columns of a reviewer's live claim on an item that is still in the queue."""
    return fetch_one(
        """
        SELECT c.id, c.version_id, c.slot, c.token, c.claimed_at, c.expires_at, c.blinded,
            c.specialist
        FROM review_claim c
        CROSS JOIN review_itemversion v CROSS JOIN review_item i
        WHERE c.user_id = %s AND c.released_at IS NULL AND c.submitted_at IS NULL
        AND c.expires_at > %s AND v.id = c.version_id
        AND i.id = v.item_id AND i.version = v.number AND i.state = 'queued'
        """,
        user,
        to_db_time(now),
    )


def find_claim_context(token: uuid.UUID, user: int) -> ClaimContext | None:
    """Return a claim of a reviewer, live or not, with its item; ``None`` if there is none."""
    row = fetch_one(
        """
        SELECT c.id, v.id, c.claimed_at, c.expires_at,
            c.released_at IS NULL AND c.submitted_at IS NULL, c.submitted_at IS NOT NULL,
            i.id, v.number, v.key, v.options, i.state, i.version = v.number, i.gold_defect,
            b.id IS NOT NULL, c.blinded, c.specialist, v.target
        FROM review_claim c
        JOIN review_itemversion v ON v.id = c.version_id
        JOIN review_item i ON i.id = v.item_id
        LEFT JOIN review_blindanswer b ON b.claim_id = c.id
        WHERE c.token = %s AND c.user_id = %s
        """,
        to_db_uuid(token),
        user,
    )
    if row is None:
        return None
    return ClaimContext(
        claim=row[0],
        version=row[1],
        claimed_at=from_db_time(row[2]),
        expires_at=from_db_time(row[3]),
        live=bool(row[4]),
        sent=bool(row[5]),
        item=row[6],
        number=row[7],
        key=row[8],
        options=len(json.loads(row[9])),
        state=row[10],
        current=bool(row[11]),
        gold_defect=row[12],
        answered=bool(row[13]),
        blinded=bool(row[14]),
        specialist=bool(row[15]),
        target=None if row[16] is None else json.loads(row[16]),
    )


def has_overdue_claim(now: datetime) -> bool:
    """Whether any lease has expired."""
    sql = f"SELECT 1 FROM review_claim WHERE {LIVE} AND expires_at <= %s LIMIT 1"  # noqa: S608
    return fetch_one(sql, to_db_time(now)) is not None


def end_overdue_claims(now: datetime) -> list[tuple[str, int, str]]:
    """Release claims with an expired lease; return item, version number and pseudonym of each."""
    ended = fetch_all(
        f"""
        UPDATE review_claim SET released_at = %s, outcome = 'expired' WHERE id IN (
            SELECT id FROM review_claim WHERE {LIVE} AND expires_at <= %s
            ORDER BY id {for_update("SKIP LOCKED")}
        ) RETURNING version_id, user_id
        """,  # noqa: S608
        to_db_time(now),
        to_db_time(now),
    )
    return [_item_and_holder(*row) for row in ended]


def lock_queued_item(item: str, number: int) -> bool:
    """Lock a queued item until the commit; return false if it has changed."""
    if connection.vendor == "sqlite":  # no other writer since the transaction began
        return True
    sql = f"""
        SELECT 1 FROM review_item WHERE id = %s AND state = 'queued' AND version = %s {for_update()}
    """  # noqa: S608
    return fetch_one(sql, item, number) is not None


def taken_slots(version: int) -> dict[int, SlotHolder]:
    """Return the slots of a version that are taken by live claims and reviews."""
    sql = """
        SELECT slot, blinded, specialist FROM review_claim
        WHERE version_id = %s AND released_at IS NULL
    """
    return {
        slot: SlotHolder(bool(blind), bool(special))
        for slot, blind, special in fetch_all(sql, version)
    }


def is_blind(version: int, item: str, user: int) -> bool:
    """Whether nothing that a reviewer has been shown discloses the answer of an item."""
    sql = f"SELECT {IS_BLIND.format(version='%s', item='%s')}"
    row = fetch_one(sql, version, user, version, user, item, user)
    return bool(row and row[0])


def insert_claim(
    candidate: ClaimCandidate,
    user: int,
    slot: int,
    token: uuid.UUID,
    *,
    now: datetime,
    expires: datetime,
) -> int:
    """Take a slot; return the key of the claim.

    Raises:
        IntegrityError: the slot is taken, or the reviewer holds another item.
    """
    row = fetch_one(
        """
        INSERT INTO review_claim
        (version_id, user_id, slot, token, claimed_at, expires_at, outcome, blinded, specialist)
        VALUES (%s, %s, %s, %s, %s, %s, '', %s, %s) RETURNING id
        """,
        candidate.version,
        user,
        slot,
        to_db_uuid(token),
        to_db_time(now),
        to_db_time(expires),
        candidate.blinded,
        candidate.specialist,
    )
    return int(row[0]) if row else 0


def copy_blind_answer(claim: int, version: int, user: int) -> bool:
    """Copy the reviewer's earlier blind answer to a claim; return false if there is none.

    A reviewer who has seen the key does not answer again.
    """
    return bool(
        execute(
            """
            INSERT INTO review_blindanswer
            (claim_id, "option", value, confidence, needs_image, image_adequate, milliseconds,
                answered_at)
            SELECT %s, b."option", b.value, b.confidence, b.needs_image, b.image_adequate,
                b.milliseconds, b.answered_at
            FROM review_claim c JOIN review_blindanswer b ON b.claim_id = c.id
            WHERE c.version_id = %s AND c.user_id = %s ORDER BY b.id LIMIT 1
            """,
            claim,
            version,
            user,
        )
    )


def extend_lease(claim: int, now: datetime, expires: datetime) -> bool:
    """Extend a lease; return false if the claim has ended or its item has left the queue."""
    return bool(
        execute(
            f"""
            UPDATE review_claim SET expires_at = %s WHERE id = %s AND {LIVE} AND expires_at > %s
            AND EXISTS (
                SELECT 1 FROM review_itemversion v JOIN review_item i ON i.id = v.item_id
                WHERE v.id = review_claim.version_id AND v.number = i.version AND i.state = 'queued'
            )
            """,  # noqa: S608
            to_db_time(expires),
            claim,
            to_db_time(now),
        )
    )


def release_claim(claim: int, outcome: str, now: datetime) -> bool:
    """Release a live claim without a review; return false if it had already ended."""
    sql = f"""
        UPDATE review_claim SET released_at = %s, outcome = %s
        WHERE id = %s AND {LIVE} AND expires_at > %s
    """  # noqa: S608
    return bool(execute(sql, to_db_time(now), outcome, claim, to_db_time(now)))


def save_draft(version: int, user: int, body: Mapping[str, object], now: datetime) -> None:
    """Store a draft, replacing an earlier one."""
    execute(
        """
        INSERT INTO review_draft (version_id, user_id, body, saved_at) VALUES (%s, %s, %s, %s)
        ON CONFLICT (version_id, user_id)
        DO UPDATE SET body = excluded.body, saved_at = excluded.saved_at
        """,
        version,
        user,
        json.dumps(dict(body)),
        to_db_time(now),
    )


def delete_draft(version: int, user: int) -> None:
    """Delete a draft that has become a review."""
    execute("DELETE FROM review_draft WHERE version_id = %s AND user_id = %s", version, user)


def _item_and_holder(version: int, user: int) -> tuple[str, int, str]:
    row = fetch_one(
        """
        SELECT v.item_id, v.number, u.pseudonym
        FROM review_itemversion v CROSS JOIN review_user u WHERE v.id = %s AND u.id = %s
        """,
        version,
        user,
    )
    return row or ("", 0, "")
