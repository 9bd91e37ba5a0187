"""Plain SQL on Django's connection, for both SQLite and PostgreSQL.

Used for the statements of every claim, answer and review, for which Django's query building costs
more than their execution. Everything else uses models.

Rows are always locked in the same order to avoid deadlocks in PostgreSQL: items by id, claims, head
of the chain. SQLite has a single writer and no row locks.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from django.db import connection, transaction

__all__ = [
    "IS_BLIND",
    "LIVE",
    "async_commit",
    "execute",
    "fetch_all",
    "fetch_one",
    "for_update",
    "from_db_time",
    "read_snapshot",
    "to_db_time",
    "to_db_uuid",
]

LIVE = "released_at IS NULL AND submitted_at IS NULL"
"""SQL: a claim that is live, apart from its expiry time."""

IS_BLIND = """
    CASE WHEN EXISTS (
        SELECT 1 FROM review_claim c JOIN review_blindanswer b ON b.claim_id = c.id
        WHERE c.version_id = {version} AND c.user_id = %s
    ) THEN NOT EXISTS (
        SELECT 1 FROM review_claim c
        WHERE c.version_id = {version} AND c.user_id = %s AND NOT c.blinded
    ) ELSE NOT EXISTS (
        SELECT 1 FROM review_exposure e WHERE e.item_id = {item} AND e.user_id = %s
    ) END
"""
"""SQL: whether a user is blind to an item (placeholders: the user, three times).

An answer that was given before the lease ended keeps its status."""


def fetch_all(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """Return all rows of a query."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def fetch_one(sql: str, *values: Any) -> tuple[Any, ...] | None:
    """Return the first row of a query, or ``None``."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row


def execute(sql: str, *values: Any) -> int:
    """Execute a statement and return the number of affected rows."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return int(cursor.rowcount)


def for_update(how: str = "") -> str:
    """Return the ``FOR UPDATE`` clause, which locks the selected rows; empty for SQLite."""
    return f"FOR NO KEY UPDATE {how}" if connection.vendor == "postgresql" else ""


def to_db_time(moment: datetime) -> Any:
    """Convert a time to a database value."""
    return connection.ops.adapt_datetimefield_value(moment)


def from_db_time(value: Any) -> datetime:
    """Convert a database value to a time."""
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@contextmanager
def async_commit() -> Iterator[None]:
    """Open a transaction whose commit does not wait for the disk.

    A power failure may lose it, but only together with all later ones, so the next synchronous
    commit makes it durable. For repeatable actions: a claim, but not an answer or review.
    """
    lite = connection.vendor == "sqlite" and not connection.in_atomic_block
    if lite:
        execute("PRAGMA synchronous = NORMAL")
    try:
        with transaction.atomic():
            if connection.vendor == "postgresql":
                execute("SET LOCAL synchronous_commit TO off")
            yield
    finally:
        if lite:
            execute("PRAGMA synchronous = FULL")


@contextmanager
def read_snapshot() -> Iterator[None]:
    """Open a transaction with a consistent snapshot of the database that blocks nobody."""
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield
        return
    if connection.in_atomic_block:  # no other writer since it began
        yield
        return
    # Not atomic(), which takes the write lock.
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def to_db_uuid(value: uuid.UUID) -> Any:
    """Convert a UUID to a database value."""
    return value if connection.features.has_native_uuid_field else value.hex
