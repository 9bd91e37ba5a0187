"""What a token stands for: the claim with its item, and whether it is live still."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Model

from medrcube.review.audit_trail.event_chain import Entry
from medrcube.review.errors import StaleClaimError
from medrcube.review.models import User
from medrcube.review.reviewing.sql import claim_queries
from medrcube.review.reviewing.sql.claim_queries import Standing
from medrcube.review.reviewing.state_machine import State

__all__ = ["entry", "keep", "live", "stale", "standing", "stored"]

_Row = TypeVar("_Row", bound=Model)


def live(
    token: uuid.UUID, user: User, now: datetime, typed: Mapping[str, object] | None
) -> Standing:
    """A claim that is live as far as can be seen before the transaction.

    Raises:
        StaleClaimError: it is not; what was typed is kept.
    """
    found = standing(token, user)
    waiting = found.state == State.QUEUED and found.current
    if not found.live or found.expires_at <= now or not waiting:
        keep(found, user, typed, now)
        raise stale()
    return found


def standing(token: uuid.UUID, user: User) -> Standing:
    """A claim of a reader, live or not.

    Raises:
        StaleClaimError: the reader has no such claim.
    """
    found = claim_queries.standing(token, user.pk)
    if found is None:
        raise stale()
    return found


def keep(found: Standing, user: User, typed: Mapping[str, object] | None, now: datetime) -> None:
    """Store what was typed for a claim that was lost; what was sent already has it."""
    if typed is not None and not found.sent:
        claim_queries.keep_draft(found.version, user.pk, typed, now)


def stored(model: type[_Row], **values: Any) -> _Row:
    """A row as a model, without reading it again."""
    row = model(**values)
    row._state.adding = False  # noqa: SLF001  (what ``Model.from_db`` does)
    row._state.db = "default"  # noqa: SLF001
    return row


def stale() -> StaleClaimError:
    """The error for whoever comes too late."""
    return StaleClaimError(
        "this item is not yours any more: the time ran out, it was given back, it left the queue, "
        "or the review was sent already; what you typed is kept, and comes with the item should "
        "you get it again"
    )


def entry(actor: str, kind: str, item: str, number: int, **body: object) -> Entry:
    """An event about a version of an item."""
    return Entry(actor=actor, kind=kind, object=f"item:{item}", body={"version": number, **body})
