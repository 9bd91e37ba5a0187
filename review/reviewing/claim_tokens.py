"""Claim tokens: lookup of the claim and item of a token, and whether the claim is live."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Model

from medrcube.review.audit_trail.event_chain import NewEvent
from medrcube.review.errors import StaleClaimError
from medrcube.review.models import User
from medrcube.review.reviewing.sql import claim_queries
from medrcube.review.reviewing.sql.claim_queries import ClaimContext
from medrcube.review.reviewing.state_machine import ReviewState

__all__ = [
    "claim_context",
    "item_event",
    "keep_typed",
    "live_claim",
    "loaded_instance",
    "stale_claim_error",
]

_Row = TypeVar("_Row", bound=Model)


def live_claim(
    token: uuid.UUID, user: User, now: datetime, typed: Mapping[str, object] | None
) -> ClaimContext:
    """Return a claim that is live as far as can be determined before the transaction.

    Raises:
        StaleClaimError: the claim is not live; what was typed is kept as a draft.
    """
    context = claim_context(token, user)
    waiting = context.state == ReviewState.QUEUED and context.current
    if not context.live or context.expires_at <= now or not waiting:
        keep_typed(context, user, typed, now)
        raise stale_claim_error()
    return context


def claim_context(token: uuid.UUID, user: User) -> ClaimContext:
    """Return a claim of a reviewer, live or not.

    Raises:
        StaleClaimError: the reviewer has no such claim.
    """
    context = claim_queries.find_claim_context(token, user.pk)
    if context is None:
        raise stale_claim_error()
    return context


def keep_typed(
    context: ClaimContext, user: User, typed: Mapping[str, object] | None, now: datetime
) -> None:
    """Store what was typed for a lost claim, unless its review was already submitted."""
    if typed is not None and not context.sent:
        claim_queries.save_draft(context.version, user.pk, typed, now)


def loaded_instance(model: type[_Row], **values: Any) -> _Row:
    """Create a model instance from known values, without a query."""
    row = model(**values)
    row._state.adding = False  # noqa: SLF001  (what ``Model.from_db`` does)
    row._state.db = "default"  # noqa: SLF001
    return row


def stale_claim_error() -> StaleClaimError:
    """Return the error for a claim that is no longer live."""
    return StaleClaimError(
        "you no longer have this item: the time ran out, it was returned or removed from the "
        "queue, or the review was already submitted; what you typed is kept and is restored if "
        "you get the item again"
    )


def item_event(actor: str, kind: str, item: str, number: int, **body: object) -> NewEvent:
    """Create an event about a version of an item."""
    return NewEvent(actor=actor, kind=kind, object=f"item:{item}", body={"version": number, **body})
