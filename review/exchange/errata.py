"""Errata of a release: items that were withdrawn, quarantined or rejected since."""

from __future__ import annotations

import json

from medrcube.evaluate.dataset import Benchmark
from medrcube.release_format.errata import LONGEST_WHY, Erratum
from medrcube.review.exchange.released_items import queue_versions
from medrcube.review.models import Event, User
from medrcube.review.reviewing.sql.cursor import read_snapshot
from medrcube.review.reviewing.state_machine import ReviewState, Transition

__all__ = ["errata_of"]

_WHY = {
    ReviewState.WITHDRAWN: "Withdrawn in review: the item has a defect.",
    ReviewState.QUARANTINED: "In quarantine since its release.",
    ReviewState.REJECTED: "Rejected in review since its release.",
}
_KINDS = tuple(
    f"item.{step.value}"
    for step in (
        Transition.DEFECT_FOUND,
        Transition.DANGER_SEEN,
        Transition.MANAGER_REJECTS,
        Transition.REVIEWERS_REJECT,
    )
)


def errata_of(benchmark: Benchmark, *, notes: bool = False) -> list[Erratum]:
    """Return released items that are now withdrawn, quarantined or rejected in the queue.

    Args:
        benchmark: the release.
        notes: use the manager's note on withdrawal as the reason; it is free text, so it must be
            read before it is published.
    """
    rows = []
    with read_snapshot():
        for name, version in queue_versions(benchmark.standing).items():
            item = version.item
            if item.state not in _WHY or item.version != version.number:
                continue
            event = (
                Event.objects.filter(object=f"item:{item.pk}", kind__in=_KINDS)
                .order_by("-number")
                .first()
            )
            dataset, _, name_there = name.partition("/")
            rows.append(
                Erratum(
                    dataset=dataset,
                    id=name_there,
                    by=_role(event),
                    on=str(event.at)[:10] if event else "",
                    why=(_note(event) if notes else "") or _WHY[ReviewState(item.state)],
                )
            )
    return sorted(rows, key=lambda row: row.name)


def _role(event: Event | None) -> str:
    """Return the role of the actor of an event; the queue itself if it was not an account."""
    user = User.objects.filter(pseudonym=event.actor).first() if event else None
    return str(user.role) if user else "review queue"


def _note(event: Event | None) -> str:
    if event is None or event.kind != f"item.{Transition.DEFECT_FOUND.value}":
        return ""
    words = "".join(c if c.isprintable() else " " for c in str(json.loads(event.body)["note"]))
    return " ".join(words.split())[:LONGEST_WHY]
