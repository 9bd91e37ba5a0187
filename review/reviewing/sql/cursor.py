"""Plain SQL on Django's connection, for SQLite and PostgreSQL alike.

For the statements that every claim, answer and review runs: Django's query building costs more
than they do themselves. Everything else uses models.

Rows are locked in one order, so that PostgreSQL finds no deadlock: items by id, claims, head of
the chain. SQLite has one writer at a time and knows no row locks.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from django.db import connection, transaction

__all__ = [
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
"""A claim that its reviewer may still use, as long as its time lasts."""


def fetch_all(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """All rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def fetch_one(sql: str, *values: Any) -> tuple[Any, ...] | None:
    """The first row of a statement, if there is one."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row


def execute(sql: str, *values: Any) -> int:
    """Number of rows that a statement has changed."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return int(cursor.rowcount)


def for_update(how: str = "") -> str:
    """End of a SELECT whose rows nobody else may change before the commit."""
    return f"FOR NO KEY UPDATE {how}" if connection.vendor == "postgresql" else ""


def to_db_time(moment: datetime) -> Any:
    """A time as the database takes it."""
    return connection.ops.adapt_datetimefield_value(moment)


def from_db_time(stored: Any) -> datetime:
    """A time as the database gives it."""
    moment = stored if isinstance(stored, datetime) else datetime.fromisoformat(stored)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@contextmanager
def async_commit() -> Iterator[None]:
    """A transaction whose commit does not wait for the disk.

    A power failure may lose it, but never one without all that came after it; so the next commit
    that waits makes it last. For what can be done again: a claim, but no answer and no review.
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
    """A transaction that sees one state of the database throughout and keeps nobody waiting."""
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield
        return
    if connection.in_atomic_block:  # nobody else can write since it began
        yield
        return
    # Not atomic(), which takes the lock of writers.
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def to_db_uuid(value: uuid.UUID) -> Any:
    """A UUID as the database takes it."""
    return value if connection.features.has_native_uuid_field else value.hex
