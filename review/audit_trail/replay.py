"""Replay of the event chain, and comparison with the tables.

The chain proves that no event was changed. A release, however, reads other tables: a person with
write access to the database could set a state or decision there without touching the trail. The
trail is therefore replayed item by item and compared with the tables.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from medrcube.review.audit_trail import event_chain
from medrcube.review.audit_trail.event_chain import ChainCheck, ChainHead
from medrcube.review.models import (
    Adjudication,
    BlindAnswer,
    Event,
    Item,
    ItemVersion,
    Proposal,
    Review,
)
from medrcube.review.reviewing.item_versions import content_sha256
from medrcube.review.reviewing.questionnaire import Decision
from medrcube.review.reviewing.sql.batches import batches
from medrcube.review.reviewing.sql.cursor import read_snapshot
from medrcube.review.reviewing.state_machine import ReviewState, Transition

__all__ = ["verify_in_snapshot", "verify_trail"]

_IMPORTED, _GOLD = "item.imported", "gold.made"
_NEW_VERSION = f"item.{Transition.NEW_VERSION.value}"
_RULINGS = {
    f"item.{Transition.ADJUDICATOR_ACCEPTS.value}": Decision.ACCEPT,
    f"item.{Transition.ADJUDICATOR_REJECTS.value}": Decision.REJECT,
    f"item.{Transition.ADJUDICATOR_SENDS_BACK.value}": Decision.REVISE,
}
_QUESTION_COLUMNS = ("question", "options", "key", "picture__sha256", "target")
_ANSWERED = ("option", "value", "confidence", "needs_image", "image_adequate", "milliseconds")
_NOT_BLIND = "answer that was not blind"
_GIVEN_ONCE = frozenset({"answer", _NOT_BLIND})
_PROPOSED = ("question", "options", "key", "flaws")
_REVIEWED = ("decision", "checklist", "verdicts", "comment", "seconds")


def verify_trail(expected: ChainHead | None = None) -> ChainCheck:
    """Verify the chain (see ``event_chain.verify_chain``) and compare every item with it.

    Reads a consistent snapshot without blocking anybody.
    """
    with read_snapshot():
        return verify_in_snapshot(expected)


def verify_in_snapshot(expected: ChainHead | None = None) -> ChainCheck:
    """Same as ``verify_trail``, within a snapshot opened by the caller."""
    check = event_chain.verify_chain(expected)
    return check if check.fault else replace(check, fault=next(_differences(), ""))


class _Act(NamedTuple):
    """An action of a person on a version; ``content`` is JSON."""

    what: str
    version: int
    who: str
    content: str


@dataclass(slots=True, kw_only=True)
class _ItemHistory:
    """History of an item, according to the trail or the tables."""

    state: str = ""
    version: int = 0
    wordings: dict[int, str] = field(default_factory=dict)
    facts: Counter[_Act] = field(default_factory=Counter)

    def add(self, fact: _Act) -> None:
        """Add an action; a review may be made and undone more than once.

        An answer is given only once: a reviewer who gets an item again keeps it.
        """
        self.facts[fact] = 1 if fact.what in _GIVEN_ONCE else self.facts[fact] + 1


def _differences() -> Iterator[str]:
    names = list(Item.objects.order_by("pk").values_list("pk", flat=True))
    for part in batches(names):
        from_trail, from_tables = _trail_histories(part), _table_histories(part)
        for name in part:
            for difference in _compare(from_trail[name], from_tables[name]):
                yield f"item {name}: {difference}"
    begun = Event.objects.filter(kind__in=(_IMPORTED, _GOLD)).values("object").distinct().count()
    if begun > len(names):
        yield f"{begun - len(names)} items of the trail are missing from the table"


def _compare(from_trail: _ItemHistory, from_tables: _ItemHistory) -> Iterator[str]:
    if not from_trail.version:
        yield "the trail does not know it"
        return
    if from_trail.state != from_tables.state:
        yield f"it is {from_tables.state}, the trail says {from_trail.state}"
    if from_trail.version != from_tables.version:
        yield f"its version is {from_tables.version}, the trail says {from_trail.version}"
    for number, digest in sorted(from_tables.wordings.items()):
        if from_trail.wordings.get(number, digest) != digest:
            yield f"version {number} has another wording than the trail says"
    for fact in sorted(from_tables.facts - from_trail.facts):
        yield f"the trail does not know this {fact.what} of version {fact.version} by {fact.who}"
    for fact in sorted(from_trail.facts - from_tables.facts):
        yield f"the {fact.what} of version {fact.version} by {fact.who} is in the table no more"


def _trail_histories(names: Sequence[str]) -> dict[str, _ItemHistory]:
    stories = {name: _ItemHistory() for name in names}
    events = Event.objects.filter(object__in=[f"item:{name}" for name in names]).order_by("number")
    for about, kind, who, body in events.values_list("object", "kind", "actor", "body"):
        _replay_event(stories[about.partition(":")[2]], kind, who, json.loads(body))
    return stories


def _replay_event(story: _ItemHistory, kind: str, who: str, body: dict[str, Any]) -> None:
    if kind == _GOLD:  # its body contains the copied version
        story.state, story.version = ReviewState.QUEUED.value, 1
    elif "to" in body:
        story.state = body["to"]
        story.version = body["version"] + (kind == _NEW_VERSION)
    if "content_sha256" in body:
        story.wordings[story.version] = body["content_sha256"]
    if kind == "blind.answered":
        fact = _act("answer", body["version"], who, {name: body[name] for name in _ANSWERED})
        if not body["blinded"]:
            story.add(_act(_NOT_BLIND, body["version"], who, {}))
    elif kind == "review.submitted":
        fact = _review(body, who)
        story.facts.update(_proposals(body, who))
    elif kind == "review.voided":
        fact = _act("void review", body["version"], body["reviewer"], {})
    elif kind in _RULINGS:
        content = {"outcome": _RULINGS[kind].value, "rationale": body["rationale"]}
        fact = _act("adjudication", body["version"], who, content)
    else:
        return
    story.add(fact)


def _review(body: dict[str, Any], who: str) -> _Act:
    content = {name: body[name] for name in (*_REVIEWED, "specialist")}
    reasons = [(code, option) for code, option in body["reasons"]]
    return _act("review", body["version"], who, {**content, "reasons": _sorted(reasons)})


def _proposals(body: dict[str, Any], who: str) -> list[_Act]:
    """Return the wording proposed with a review, if any."""
    columns = body.get("proposal")
    return [] if columns is None else [_act("proposal", body["version"], who, columns)]


def _table_histories(names: Sequence[str]) -> dict[str, _ItemHistory]:
    rows = Item.objects.filter(pk__in=names).values_list("pk", "state", "version")
    stories = {name: _ItemHistory(state=state, version=version) for name, state, version in rows}
    versions = ItemVersion.objects.filter(item__in=names)
    for name, number, *content in versions.values_list("item_id", "number", *_QUESTION_COLUMNS):
        stories[name].wordings[number] = content_sha256(*content)
    for name, fact in _table_acts(names):
        stories[name].add(fact)
    return stories


def _table_acts(names: Sequence[str]) -> Iterator[tuple[str, _Act]]:
    of = ("claim__version__item", "claim__version__number", "claim__user__pseudonym")
    answers = BlindAnswer.objects.filter(claim__version__item__in=names)
    for name, number, who, blinded, *content in answers.values_list(
        *of, "claim__blinded", *_ANSWERED
    ):
        yield name, _act("answer", number, who, dict(zip(_ANSWERED, content, strict=True)))
        if not blinded:
            yield name, _act(_NOT_BLIND, number, who, {})
    for review in (
        Review.objects.filter(claim__version__item__in=names)
        .select_related("claim__version", "claim__user")
        .prefetch_related("reasons")
    ):
        claim = review.claim
        number, who = claim.version.number, claim.user.pseudonym
        content = {column: getattr(review, column) for column in _REVIEWED}
        content["specialist"] = claim.specialist
        reasons = _sorted([(reason.code, reason.option) for reason in review.reasons.all()])
        yield claim.version.item_id, _act("review", number, who, {**content, "reasons": reasons})
        if claim.released_at is not None:
            yield claim.version.item_id, _act("void review", number, who, {})
    proposals = Proposal.objects.filter(review__claim__version__item__in=names)
    whose = (f"review__{path}" for path in of)
    for name, number, who, *content in proposals.values_list(*whose, *_PROPOSED):
        yield name, _act("proposal", number, who, dict(zip(_PROPOSED, content, strict=True)))
    for row in Adjudication.objects.filter(version__item__in=names).values_list(
        "version__item", "version__number", "adjudicator__pseudonym", "outcome", "rationale"
    ):
        name, number, who, outcome, rationale = row
        content = {"outcome": outcome, "rationale": rationale}
        yield name, _act("adjudication", number, who, content)


def _act(what: str, version: int, who: str, content: dict[str, Any]) -> _Act:
    return _Act(what, version, who, json.dumps(content, sort_keys=True, ensure_ascii=False))


def _sorted(reasons: list[tuple[str, int | None]]) -> list[tuple[str, int | None]]:
    return sorted(reasons, key=lambda reason: (reason[0], -1 if reason[1] is None else reason[1]))
