"""The trail: every event carries the hash of the one before it.

Triggers refuse UPDATE and DELETE, but the owner of a database file can drop triggers. The chain
makes any later change show, as long as its head is kept elsewhere: each release and each export
carries it. Wants 21 CFR 11.10(e): who, what, when, and no old value obscured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db import transaction

from medrcube.review.models import Chain, Event

START = "0" * 64
SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An event that is to be recorded."""

    actor: str
    kind: str
    object: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The last event: its number and hash; number 0 where nothing has happened."""

    number: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether the chain holds; ``fault`` says where it first breaks, empty when it holds."""

    events: int
    head: Head
    fault: str


def record(now: datetime, *entries: Entry) -> None:
    """Append events, at the end of the transaction that made them happen.

    Called last, because the lock on the head is held until the commit.
    """
    if not entries:
        return
    chain, _ = Chain.objects.select_for_update().get_or_create(pk=1, defaults={"sha256": START})
    number, previous, at = chain.number, chain.sha256, now.isoformat(timespec="microseconds")
    events = []
    for entry in entries:
        number += 1
        body = json.dumps(entry.body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        digest = link(number, at, entry.actor, entry.kind, entry.object, body, previous)
        events.append(
            Event(
                number=number,
                at=at,
                actor=entry.actor,
                kind=entry.kind,
                object=entry.object,
                body=body,
                previous_sha256=previous,
                sha256=digest,
            )
        )
        previous = digest
    Event.objects.bulk_create(events)
    Chain.objects.filter(pk=1).update(number=number, sha256=previous)


def link(*parts: object) -> str:
    """Hash of one event: its number, time, actor, kind, object, body and predecessor."""
    return sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


def head() -> Head:
    """The last event of the chain."""
    chain = Chain.objects.filter(pk=1).first()
    return Head(number=chain.number, sha256=chain.sha256) if chain else Head(number=0, sha256=START)


def verify(expected: Head | None = None) -> Verdict:
    """Walk the whole chain; with ``expected``, also look for a head that was noted earlier.

    An event that is missing, out of place or changed breaks the chain there. A chain that was
    cut and written anew is whole in itself; only a head noted elsewhere shows it.
    """
    with transaction.atomic():
        last = head()
        number, previous, fault = 0, START, ""
        seen_expected = expected is None or expected.number == 0
        for event in Event.objects.order_by("number").iterator():
            number += 1
            fault = _fault(event, number, previous)
            if fault:
                break
            previous = event.sha256
            if expected and number == expected.number:
                seen_expected = previous == expected.sha256
        if not fault and (number, previous) != (last.number, last.sha256):
            fault = f"the chain ends at event {number}, its head says {last.number}"
        if not fault and not seen_expected and expected:
            fault = f"event {expected.number} is not the one that was noted earlier"
    return Verdict(events=number, head=last, fault=fault)


def _fault(event: Event, number: int, previous: str) -> str:
    if event.number != number:
        return f"event {number} is missing"
    if event.previous_sha256 != previous:
        return f"event {number} does not follow the one before it"
    digest = link(
        number, event.at, event.actor, event.kind, event.object, event.body, event.previous_sha256
    )
    return "" if digest == event.sha256 else f"event {number} was changed"
