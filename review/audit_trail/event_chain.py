"""Hash chain of events: every event contains the hash of its predecessor.

Triggers refuse UPDATE and DELETE, but the owner of a database file can drop them. The chain makes
any later change detectable, as long as its head is also kept elsewhere: each release and export
contains it. This meets 21 CFR 11.10(e): who, what, when, and no obscured old values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db.models import QuerySet

from medrcube.review.errors import ReviewError
from medrcube.review.models import Chain, Event
from medrcube.review.reviewing.sql import review_queries

__all__ = [
    "GENESIS_SHA256",
    "SYSTEM",
    "ChainCheck",
    "ChainHead",
    "NewEvent",
    "chain_head",
    "event_sha256",
    "record_events",
    "verify_chain",
]

GENESIS_SHA256 = "0" * 64
SYSTEM = "system"
_AT_ONCE = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """An event to be recorded."""

    actor: str
    kind: str
    object: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainHead:
    """Number and hash of the last event; number 0 if there is none."""

    number: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainCheck:
    """Result of a verification; ``fault`` states where the chain first breaks, empty if intact."""

    events: int
    head: ChainHead
    fault: str


def record_events(now: datetime, *entries: NewEvent) -> None:
    """Append events at the end of the transaction that caused them.

    Call it last, because the lock on the head is held until the commit.

    Raises:
        ReviewError: the tables were not created by ``bootstrap.migrate``.
    """
    if not entries:
        return
    top = review_queries.lock_chain_head()
    if top is None:
        raise ReviewError(
            "the chain of events has no head; upgrade the tables: medrcube review migrate"
        )
    number, previous = top
    at = now.isoformat(timespec="microseconds")
    events = []
    for entry in entries:
        number += 1
        body = json.dumps(entry.body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        content = (number, at, entry.actor, entry.kind, entry.object, body, previous)
        previous = event_sha256(*content)
        events.append((*content, previous))
    review_queries.append_events(events)
    review_queries.set_chain_head(number, previous)


def event_sha256(*parts: object) -> str:
    """Hash one event: number, time, actor, kind, object, body and hash of the predecessor."""
    return sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


def chain_head() -> ChainHead:
    """Return the head of the chain."""
    chain = Chain.objects.filter(pk=1).first()
    return (
        ChainHead(number=chain.number, sha256=chain.sha256)
        if chain
        else ChainHead(number=0, sha256=GENESIS_SHA256)
    )


def verify_chain(expected: ChainHead | None = None) -> ChainCheck:
    """Verify the whole chain; with ``expected``, also that it contains an earlier head.

    A missing, misplaced or changed event breaks the chain there. A chain that was truncated and
    rewritten is consistent in itself, so only a head kept elsewhere reveals it. No lock is held:
    others may continue to write.
    """
    number, previous = 0, GENESIS_SHA256
    noted = GENESIS_SHA256 if expected is None or expected.number == 0 else ""
    while True:
        part = list(_events(number))
        for event in part:
            fault = _event_fault(event, number + 1, previous)
            if fault:
                return ChainCheck(events=number, head=chain_head(), fault=fault)
            number, previous = number + 1, event.sha256
            if expected and number == expected.number:
                noted = previous
        last = chain_head()  # read after the events, so it cannot be behind them
        if not part or number >= last.number:
            break
    fault = ""
    if (number, previous) != (last.number, last.sha256):
        fault = f"the chain ends at event {number}, its head records {last.number}"
    elif expected and noted != expected.sha256:
        fault = f"event {expected.number} is not the one that was noted earlier"
    return ChainCheck(events=number, head=last, fault=fault)


def _events(after: int) -> QuerySet[Event]:
    return Event.objects.filter(number__gt=after).order_by("number")[:_AT_ONCE]


def _event_fault(event: Event, number: int, previous: str) -> str:
    if event.number != number:
        return f"event {number} is missing"
    if event.previous_sha256 != previous:
        return f"event {number} does not follow the one before it"
    digest = event_sha256(
        number, event.at, event.actor, event.kind, event.object, event.body, event.previous_sha256
    )
    return "" if digest == event.sha256 else f"event {number} was changed"
