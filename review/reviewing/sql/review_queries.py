"""SQL statements that store answers, reviews and events, and change states."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from medrcube.review.reviewing.sql.cursor import (
    LIVE,
    execute,
    fetch_all,
    fetch_one,
    for_update,
    to_db_time,
)
from medrcube.review.reviewing.submissions import BlindSubmission, ReviewSubmission

if TYPE_CHECKING:
    from medrcube.review.reviewing.policy import Policy

__all__ = [
    "Vote",
    "append_events",
    "chain_number",
    "change_state",
    "close_claim",
    "decrement_reviews",
    "end_live_claims",
    "increment_reviews",
    "insert_blind_answer",
    "insert_review",
    "lock_chain_head",
    "reason_codes",
    "reserve_for_specialist",
    "set_chain_head",
    "specialist_review_count",
    "valid_votes",
]

_EVENTS_AT_ONCE = 100


class Vote(NamedTuple):
    """A valid review: its decision, and whether the first answer was right and was blind."""

    review: int
    decision: str
    right: bool
    blinded: bool


def insert_blind_answer(claim: int, answer: BlindSubmission, now: datetime) -> int:
    """Store a blind answer.

    Raises:
        IntegrityError: the claim already has one.
    """
    row = fetch_one(
        """
        INSERT INTO review_blindanswer
        (claim_id, "option", value, confidence, needs_image, image_adequate, milliseconds,
            answered_at)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING id
        """,
        claim,
        answer.option,
        None if answer.value is None else json.dumps(answer.value),
        answer.confidence,
        answer.needs_image,
        answer.image_adequate,
        answer.milliseconds,
        to_db_time(now),
    )
    return int(row[0]) if row else 0


def increment_reviews(item: str, number: int, user: int) -> int:
    """Increment the review count of a queued item; return it, or 0 if the item has changed."""
    row = fetch_one(
        """
        UPDATE review_item SET reviews = reviews + 1,
            sole_reviewer_id = CASE WHEN reviews = 0 THEN %s END
        WHERE id = %s AND state = 'queued' AND version = %s RETURNING reviews
        """,
        user,
        item,
        number,
    )
    return int(row[0]) if row else 0


def decrement_reviews(item: str, number: int) -> tuple[str, int] | None:
    """Decrement the review count of an item; return its state and the new count.

    ``None`` if there is a newer version or the item was released.
    """
    row = fetch_one(
        """
        UPDATE review_item SET reviews = reviews - 1, sole_reviewer_id = NULL
        WHERE id = %s AND version = %s AND state NOT IN ('released', 'withdrawn')
        RETURNING state, reviews
        """,
        item,
        number,
    )
    return None if row is None else (row[0], row[1])


def close_claim(claim: int, now: datetime) -> bool:
    """Close a live claim with a review; return false if it had already ended."""
    sql = f"UPDATE review_claim SET submitted_at = %s WHERE id = %s AND {LIVE} AND expires_at > %s"  # noqa: S608
    return bool(execute(sql, to_db_time(now), claim, to_db_time(now)))


def insert_review(claim: int, ruling: ReviewSubmission, seconds: int, now: datetime) -> int:
    """Store a review with its reasons; return its key."""
    row = fetch_one(
        """
        INSERT INTO review_review
        (claim_id, decision, checklist, verdicts, comment, seconds, submitted_at)
        VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id
        """,
        claim,
        ruling.decision,
        json.dumps(dict(ruling.checklist)),
        json.dumps(dict(ruling.verdicts)),
        ruling.comment,
        seconds,
        to_db_time(now),
    )
    review = int(row[0]) if row else 0
    if ruling.reasons:
        places = ", ".join(["(%s, %s, %s)"] * len(ruling.reasons))
        values = [value for code, option in ruling.reasons for value in (review, code, option)]
        sql = f'INSERT INTO review_reviewreason (review_id, code, "option") VALUES {places}'  # noqa: S608
        execute(sql, *values)
    return review


def reserve_for_specialist(item: str, version: int, rules: Policy) -> None:
    """Update whether the next slot of an item is reserved for a specialist."""
    if not rules.specialists:
        return
    execute(
        """
        UPDATE review_item SET for_specialist = (
            SELECT count(*) FILTER (WHERE NOT c.specialist) >= %s FROM review_claim c
            WHERE c.version_id = %s AND c.submitted_at IS NOT NULL AND c.released_at IS NULL
        ) WHERE id = %s
        """,
        rules.reviews - rules.specialists,
        version,
        item,
    )


def specialist_review_count(version: int) -> int:
    """Return the number of valid reviews of a version by specialists."""
    row = fetch_one(
        """
        SELECT count(*) FROM review_claim c
        WHERE c.version_id = %s AND c.submitted_at IS NOT NULL AND c.released_at IS NULL
        AND c.specialist
        """,
        version,
    )
    return int(row[0]) if row else 0


def valid_votes(version: int) -> list[Vote]:
    """Return the valid reviews of a version."""
    rows = fetch_all(
        """
        SELECT r.id, r.decision, b."option" = v.key, c.blinded
        FROM review_claim c
        JOIN review_itemversion v ON v.id = c.version_id
        JOIN review_review r ON r.claim_id = c.id
        JOIN review_blindanswer b ON b.claim_id = c.id
        WHERE c.version_id = %s AND c.released_at IS NULL
        """,
        version,
    )
    return [Vote(pk, decision, bool(right), bool(blinded)) for pk, decision, right, blinded in rows]


def reason_codes(reviews: Sequence[int]) -> set[str]:
    """Return the reason codes of some reviews."""
    places = ", ".join(["%s"] * len(reviews))
    sql = f"SELECT DISTINCT code FROM review_reviewreason WHERE review_id IN ({places})"  # noqa: S608
    return {row[0] for row in fetch_all(sql, *reviews)}


def change_state(item: str, old: str, new: str, number: int) -> bool:
    """Change the state of an item; return false if it has changed since it was read."""
    sql = "UPDATE review_item SET state = %s WHERE id = %s AND state = %s AND version = %s"
    return bool(execute(sql, new, item, old, number))


def end_live_claims(item: str, number: int, outcome: str, now: datetime) -> int:
    """Release the live claims on an item that has left the queue; return their number."""
    sql = f"""
        UPDATE review_claim SET released_at = %s, outcome = %s WHERE {LIVE} AND version_id = (
            SELECT id FROM review_itemversion WHERE item_id = %s AND number = %s
        )
    """  # noqa: S608
    return execute(sql, to_db_time(now), outcome, item, number)


def chain_number() -> int:
    """Return the number of events, without waiting for concurrent writers."""
    row = fetch_one("SELECT number FROM review_chain WHERE id = 1")
    return row[0] if row else 0


def lock_chain_head() -> tuple[int, str] | None:
    """Return the head of the chain, locked for this transaction."""
    row = fetch_one(f"SELECT number, sha256 FROM review_chain WHERE id = 1 {for_update()}")  # noqa: S608
    return None if row is None else (row[0], row[1])


def append_events(events: Sequence[tuple[object, ...]]) -> None:
    """Store events: number, at, actor, kind, object, body, hash before, hash."""
    for start in range(0, len(events), _EVENTS_AT_ONCE):
        part = events[start : start + _EVENTS_AT_ONCE]
        places = ", ".join(["(%s, %s, %s, %s, %s, %s, %s, %s)"] * len(part))
        sql = f"""
            INSERT INTO review_event
            (number, at, actor, kind, object, body, previous_sha256, sha256) VALUES {places}
        """  # noqa: S608
        execute(sql, *(value for event in part for value in event))


def set_chain_head(number: int, sha256: str) -> None:
    """Set the head of the chain."""
    execute("UPDATE review_chain SET number = %s, sha256 = %s WHERE id = 1", number, sha256)
