"""Session store with hashed keys: a copy of the database cannot be used to open a session.

It is our own class because no maintained replacement for Django's sessions stores digests. It
differs from ``django.contrib.sessions`` only in the key of a row.
"""

from __future__ import annotations

from typing import Any

from django.contrib.sessions.backends import db
from django.utils import timezone
from django.utils.crypto import salted_hmac

from medrcube.review.reviewing.sql.cursor import fetch_one, to_db_time

__all__ = ["SessionStore", "session_digest"]

_LENGTH = 40
"""Length of the column ``session_key``: 160 bits of the digest."""


class SessionStore(db.SessionStore):
    """Django's session table, with each row stored under the keyed digest of its key."""

    def exists(self, session_key: str) -> bool:
        """Whether a session with this key exists."""
        return super().exists(session_digest(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        """Return the row of this session."""
        row = super().create_model_instance(data)
        row.session_key = session_digest(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        """Delete a session, by default this one."""
        key = session_key or self.session_key
        if key is not None:
            super().delete(session_digest(key))

    def _get_session_from_db(self) -> Any:
        name = session_digest(self.session_key or "")
        row = fetch_one(_ROW, name, to_db_time(timezone.now()))
        if row is None:
            self._session_key = None
            return None
        return self.model(session_key=name, session_data=row[0])


_ROW = "SELECT session_data FROM django_session WHERE session_key = %s AND expire_date > %s"


def session_digest(key: str) -> str:
    """Return the database key of a session, meaningless without the secret of the server."""
    keyed = salted_hmac("medrcube.review.accounts.sessions", key, algorithm="sha256")
    return keyed.hexdigest()[:_LENGTH]
