"""Django database settings for a SQLite file or a PostgreSQL URI."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from medrcube.review.errors import ReviewError

__all__ = ["DATABASE_FILE", "database_settings", "unreachable"]

DATABASE_FILE = "review.sqlite3"
"""File in the workspace with the queue, unless another database is named."""

_SQLITE = {
    # Write transactions take the lock immediately. Deferred ones fail with "database is locked"
    # under load, whatever the timeout: thousands of errors per second were measured.
    "transaction_mode": "IMMEDIATE",
    "timeout": 15,
    # Without recursive triggers, INSERT OR REPLACE rewrites rows without firing the DELETE trigger.
    "init_command": (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA recursive_triggers=ON;"
    ),
}
_EXPECTED = "expected a file, or postgresql://USER:PASSWORD@HOST:PORT/NAME?sslmode=require"
_PATIENCE = 10
"""Connection timeout in seconds; the default of libpq is minutes."""
_LIFETIME = 60
"""Lifetime in seconds of a thread's connection, because opening one reads all tables."""
_OURS = ("client_encoding",)
"""libpq parameters that Django sets itself."""
_UNKNOWN = re.compile(r'URI query parameter: "([a-zA-Z_]+)"')


def database_settings(address: str) -> dict[str, Any]:
    """Return the Django settings for a path, ``:memory:``, or a PostgreSQL connection URI.

    The URI is parsed by libpq, so all of its parameters (``port``, ``sslmode``, ``service``,
    several hosts) have the same meaning as for ``psql``.

    Raises:
        ReviewError: the address names another kind of database, no database, or a parameter
            unknown to libpq; no part that could contain a password is repeated.
    """
    if "://" not in address:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": address,
            "CONN_MAX_AGE": _LIFETIME,
            "OPTIONS": dict(_SQLITE),
        }
    scheme = urlsplit(address).scheme
    if scheme not in ("postgresql", "postgres"):
        raise ReviewError(f"database address begins with {scheme}://; {_EXPECTED}")
    parameters = _parameters(address)
    for name in _OURS:
        if name in parameters:
            raise ReviewError(f"database address: {name} is always UTF8 here; leave it out")
    if not parameters.get("dbname") and not parameters.get("service"):
        raise ReviewError(f"database address has no database name; {_EXPECTED}")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parameters.pop("dbname", ""),
        "USER": parameters.pop("user", ""),
        "PASSWORD": parameters.pop("password", ""),
        "HOST": parameters.pop("host", ""),
        "PORT": parameters.pop("port", ""),
        "CONN_MAX_AGE": _LIFETIME,
        "OPTIONS": parameters,
    }


def unreachable(settings: dict[str, Any], error: Exception) -> ReviewError:
    """Return an error with the address (without password), the reason, and what to do.

    Args:
        settings: settings of the database, from ``database_settings``.
        error: error of the database; those of libpq and SQLite contain no password.
    """
    reason = " ".join(str(error).split())
    if settings["ENGINE"].endswith("sqlite3"):
        return ReviewError(
            f"{settings['NAME']}: cannot be opened ({reason}); expected the database of a queue "
            "that you may write, or no file"
        )
    where = settings["HOST"] or settings["OPTIONS"].get("service") or "the local socket"
    port = f":{settings['PORT']}" if settings["PORT"] else ""
    return ReviewError(
        f"PostgreSQL at {where}{port}, database {settings['NAME']!r}, user "
        f"{settings['USER'] or 'of this process'!r}: {reason}; start the server, or correct "
        "MEDRCUBE_REVIEW_DATABASE"
    )


def _parameters(address: str) -> dict[str, Any]:
    from psycopg import ProgrammingError  # noqa: PLC0415  (an extra of its own)
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    try:
        return {"connect_timeout": _PATIENCE, **conninfo_to_dict(address)}
    except ProgrammingError as error:
        # libpq repeats the part that it cannot parse, which may be the password.
        unknown = _UNKNOWN.search(str(error))
        what = f"has no parameter {unknown[1]!r}" if unknown else "cannot be read"
        raise ReviewError(f"database address: libpq reports that it {what}; {_EXPECTED}") from None
