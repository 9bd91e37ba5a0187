"""Where the queue keeps its tables: a SQLite file, or a PostgreSQL server."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from medrcube.review.errors import ReviewError

_SQLITE = {
    # A transaction that writes takes the lock at once. Deferred ones fail with "database is
    # locked" under load, whatever the time-out: measured, thousands of errors in a second.
    "transaction_mode": "IMMEDIATE",
    "timeout": 15,
    # Recursive triggers: without them INSERT OR REPLACE rewrites rows past the DELETE trigger.
    "init_command": (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA recursive_triggers=ON;"
    ),
}


def database_settings(address: str) -> dict[str, Any]:
    """Django's settings for a path, ``:memory:``, or ``postgresql://user:password@host/name``.

    Raises:
        ReviewError: the address names another kind of database or no database at all.
    """
    if "://" not in address:
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": address, "OPTIONS": dict(_SQLITE)}
    parts = urlsplit(address)
    name = parts.path.lstrip("/")
    if parts.scheme not in ("postgresql", "postgres") or not name:
        # The address may hold a password, so only its scheme is named.
        raise ReviewError(
            f"database address begins with {parts.scheme}://; expected a file, or "
            "postgresql://USER:PASSWORD@HOST/NAME"
        )
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or dict(parse_qsl(parts.query)).get("host", ""),
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 60,
    }
