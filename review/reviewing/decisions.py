"""Decisions after the reviews: adjudication, edits, quarantine, release, withdrawal.

Whoever wrote a version never approves it, and whoever reviewed it never adjudicates it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db import transaction
from django.utils import timezone

from medrcube.ontologies.item_rules import ERROR, ItemText, lint
from medrcube.review.audit_trail.event_chain import SYSTEM, NewEvent, chain_head, record_events
from medrcube.review.errors import ConflictError, InvalidAnswerError
from medrcube.review.models import (
    Adjudication,
    Adoption,
    Item,
    ItemVersion,
    Proposal,
    Release,
    ReleaseItem,
    Review,
    User,
)
from medrcube.review.reviewing.consensus import apply_consensus, apply_transition
from medrcube.review.reviewing.policy import current_policy
from medrcube.review.reviewing.questionnaire import Decision, Reason
from medrcube.review.reviewing.state_machine import ReviewState, Transition
from medrcube.review.visibility import disclosure

__all__ = [
    "Edit",
    "adjudicate",
    "check_edit",
    "content_sha256",
    "decide_quarantine",
    "edit",
    "new_options",
    "record_release",
    "refuse_outdated",
    "report_harm",
    "version_as_read",
    "withdraw",
    "wrote_or_proposed",
]

_TRANSITIONS = {
    Decision.ACCEPT: Transition.ADJUDICATOR_ACCEPTS,
    Decision.REJECT: Transition.ADJUDICATOR_REJECTS,
    Decision.REVISE: Transition.ADJUDICATOR_SENDS_BACK,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What a new version says; pictures and provenance stay.

    Attributes:
        options: texts, as many as before and in the same order.
        key: index of the right option.
        note: why the item was changed.
    """

    question: str
    options: tuple[str, ...]
    key: int
    note: str


def adjudicate(
    item_id: str,
    version: int,
    user: User,
    *,
    outcome: str,
    rationale: str,
    now: datetime | None = None,
) -> Adjudication:
    """Decide over an item on which the reviewers differ.

    Raises:
        InvalidAnswerError: no such outcome, no rationale, or the person took part in the version.
        IllegalStepError: the item is not in adjudication.
        ConflictError: the item has changed since it was read.
    """
    now = now or timezone.now()
    if outcome not in tuple(Decision):
        raise InvalidAnswerError("decide: accept, revise or reject")
    if not rationale.strip():
        raise InvalidAnswerError("say why: the reviewers and later adjudicators learn from it")
    with transaction.atomic():
        read = version_as_read(item_id, version)
        _refuse_involved(read, user)
        stored = Adjudication.objects.create(
            version=read,
            adjudicator=user,
            outcome=outcome,
            rationale=rationale,
            decided_at=now,
        )
        step = _TRANSITIONS[Decision(outcome)]
        record_events(
            now, apply_transition(now, read.item, step, user.pseudonym, rationale=rationale)
        )
    return stored


def edit(
    item_id: str,
    version: int,
    user: User,
    change: Edit,
    now: datetime | None = None,
    *,
    proposal: int | None = None,
) -> ItemVersion:
    """Make a new version; earlier reviews stay on record and count no more.

    Args:
        item_id: the item.
        version: the version that was read.
        user: who makes it.
        change: the new wording.
        now: when.
        proposal: the proposal that it is made of, if any; whoever proposed it does not review it.

    Raises:
        InvalidAnswerError: nothing was changed, or the new wording breaks an item rule.
        IllegalStepError: an item in this state is not edited.
        ConflictError: the item has changed since it was read.
    """
    now = now or timezone.now()
    with transaction.atomic():
        old = version_as_read(item_id, version)
        item = old.item
        options = new_options(old, change)
        if old.target is not None and (options, change.key) != (old.options, old.key):
            raise InvalidAnswerError("the item has no options: only its question can be edited")
        if (change.question, options, change.key) == (old.question, old.options, old.key):
            raise InvalidAnswerError("nothing was changed; edit the text, or leave the item")
        warnings = check_edit(change, options) if old.target is None else _check_stem(change)
        adopted = None if proposal is None else _proposal(proposal, old)
        entries = []
        if item.state != ReviewState.NEEDS_REVISION:
            entries.append(apply_transition(now, item, Transition.EDIT_WANTED, user.pseudonym))
        digest = content_sha256(
            change.question, options, change.key, old.picture.sha256, old.target
        )
        body = {"note": change.note, "content_sha256": digest}
        if adopted is not None:
            body["proposed_by"] = adopted.review.claim.user.pseudonym
        entries.append(apply_transition(now, item, Transition.NEW_VERSION, user.pseudonym, **body))
        new = ItemVersion.objects.create(
            item=item,
            number=old.number + 1,
            question=change.question,
            options=options,
            key=change.key,
            target=old.target,
            picture=old.picture,
            overlay=old.overlay,
            asks_mark=old.asks_mark,
            provenance=old.provenance,
            warnings=warnings,
            content_sha256=digest,
            parent=old,
            author=user,
            note=change.note,
            created_at=now,
        )
        if adopted is not None:
            Adoption.objects.create(version=new, proposal=adopted)
        Item.objects.filter(pk=item.pk).update(
            version=new.number, reviews=0, sole_reader=None, for_specialist=False
        )
        disclosure.refresh_disclosures([item.pk], now)
        record_events(now, *entries)
    return new


def decide_quarantine(
    item_id: str, version: int, user: User, *, clear: bool, note: str, now: datetime | None = None
) -> None:
    """Put a quarantined item back into the queue, or end it.

    Raises:
        InvalidAnswerError: no note.
        IllegalStepError: the item is not in quarantine.
        ConflictError: the item has changed since it was read.
    """
    now = now or timezone.now()
    if not note.strip():
        raise InvalidAnswerError("say what you found and why the item may go on, or may not")
    with transaction.atomic():
        read = version_as_read(item_id, version)
        step = Transition.MANAGER_CLEARS if clear else Transition.MANAGER_REJECTS
        entries = [apply_transition(now, read.item, step, user.pseudonym, note=note)]
        if clear:
            entries += apply_consensus(now, read.item, read.pk, current_policy())
        record_events(now, *entries)


def report_harm(
    item_id: str, version: int, user: User, *, reason: str, note: str, now: datetime | None = None
) -> None:
    """Quarantine an item from which somebody other than a reviewer sees harm coming.

    Personal data is reported by ``incidents.report_harm``.

    Raises:
        InvalidAnswerError: the reason is another one, there is no note, or nobody is shown the item
            any more.
        ConflictError: the item has changed since it was read.
    """
    now = now or timezone.now()
    if reason != Reason.UNSAFE:
        raise InvalidAnswerError("only UNSAFE is reported with a note; PHI needs none")
    if not note.strip():
        raise InvalidAnswerError("say what you saw, without repeating what identifies somebody")
    with transaction.atomic():
        read = version_as_read(item_id, version)
        if read.item.state in (ReviewState.DRAFT, ReviewState.REJECTED, ReviewState.WITHDRAWN):
            raise InvalidAnswerError(f"the item is {read.item.state}: nobody is shown it")
        who = user.pseudonym
        record_events(
            now,
            apply_transition(
                now, read.item, Transition.DANGER_SEEN, who, reasons=[reason], note=note
            ),
        )


def record_release(
    name: str, versions: Iterable[int], manifest_sha256: str, now: datetime | None = None
) -> Release:
    """Record a release of accepted versions, with the head of the chain before it.

    Raises:
        IllegalStepError: an item is not accepted.
        ConflictError: a version is not there or not the current one of its item, or there is a
            release of that name.
    """
    now = now or timezone.now()
    wanted = set(versions)
    with transaction.atomic():
        if Release.objects.filter(name=name).exists():
            raise ConflictError(f"there is a release {name!r} already; give this one another name")
        at = chain_head()
        release = Release.objects.create(
            name=name,
            made_at=now,
            manifest_sha256=manifest_sha256,
            head_number=at.number,
            head_sha256=at.sha256,
        )
        rows = ItemVersion.objects.select_related("item").in_bulk(wanted)
        if len(rows) < len(wanted):
            missing = min(wanted - set(rows))
            raise ConflictError(f"there is no version {missing}; export the items again")
        entries: list[NewEvent] = []
        for version in sorted(rows.values(), key=lambda version: version.item_id):
            refuse_outdated(version)
            entries.append(
                apply_transition(now, version.item, Transition.RELEASE, SYSTEM, release=name)
            )
        ReleaseItem.objects.bulk_create(
            [ReleaseItem(release=release, version=version) for version in rows.values()],
            batch_size=500,
        )
        record_events(now, *entries)
    return release


def withdraw(
    item_id: str, version: int, user: User, note: str, now: datetime | None = None
) -> None:
    """Mark a released item as wrong; it is never edited in place.

    Raises:
        InvalidAnswerError: no note.
        IllegalStepError: the item was not released.
        ConflictError: the item has changed since it was read.
    """
    now = now or timezone.now()
    if not note.strip():
        raise InvalidAnswerError("say what is wrong with the item")
    with transaction.atomic():
        read = version_as_read(item_id, version)
        record_events(
            now,
            apply_transition(now, read.item, Transition.DEFECT_FOUND, user.pseudonym, note=note),
        )


def version_as_read(item_id: str, version: int) -> ItemVersion:
    """The current version of an item, which must be the one that the person has read.

    Raises:
        ConflictError: there is a newer one, or no such item.
    """
    versions = ItemVersion.objects.filter(item_id=item_id, number=version)
    row = versions.select_related("item", "picture", "overlay").first()
    if row is None:
        raise ConflictError(f"item {item_id} has no version {version}; load the list again")
    refuse_outdated(row)
    return row


def refuse_outdated(version: ItemVersion) -> None:
    """Refuse a version that is not the current one of its item.

    Raises:
        ConflictError: there is a newer one.
    """
    if version.item.version != version.number:
        raise ConflictError(
            f"item {version.item_id} has a newer version {version.item.version}; load it again"
        )


def wrote_or_proposed(version: ItemVersion, user: User) -> bool:
    """Whether somebody wrote a version, or proposed what it says."""
    proposed = Adoption.objects.filter(version=version, proposal__review__claim__user=user)
    return version.author_id == user.pk or proposed.exists()


def content_sha256(
    question: str,
    options: Sequence[Mapping[str, Any]],
    key: int,
    picture_sha256: str,
    target: Mapping[str, Any] | None = None,
) -> str:
    """Identity of what a version asks."""
    texts = [option["text"] for option in options]
    content: list[object] = [question, texts, key, picture_sha256]
    if target is not None:
        content.append({name: target[name] for name in sorted(target)})
    return sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


def check_edit(change: Edit, options: list[dict[str, Any]]) -> list[str]:
    """Names of the item rules that a wording bends.

    Raises:
        InvalidAnswerError: it breaks one.
    """
    draft = ItemText(
        question=change.question,
        options=change.options,
        key=change.key,
        kinds=tuple("" for _ in options),
        grouped=True,
    )
    flaws = lint(draft)
    broken = [flaw for flaw in flaws if flaw.level == ERROR]
    if broken:
        raise InvalidAnswerError(f"{broken[0].rule}: {broken[0].message}")
    return list(dict.fromkeys(flaw.rule for flaw in flaws))


def _check_stem(change: Edit) -> list[str]:
    """Rules are about a stem and its options; without these a stem only has to be there.

    Raises:
        InvalidAnswerError: it is empty.
    """
    if not change.question.strip():
        raise InvalidAnswerError("the question is empty; write one")
    return []


def new_options(old: ItemVersion, change: Edit) -> list[dict[str, Any]]:
    """Options of a version with other texts.

    Raises:
        InvalidAnswerError: another number of options, or the key is none of them.
    """
    if len(change.options) != len(old.options):
        raise InvalidAnswerError(f"{len(change.options)} options, expected {len(old.options)}")
    if not 0 <= change.key < len(change.options):
        raise InvalidAnswerError(f"the key {change.key} is none of the options")
    return [
        {**option, "text": text.strip()}
        for option, text in zip(old.options, change.options, strict=True)
    ]


def _proposal(proposal: int, version: ItemVersion) -> Proposal:
    proposals = Proposal.objects.filter(pk=proposal, review__claim__version=version)
    row = proposals.select_related("review__claim__user").first()
    if row is None:
        raise ConflictError("this proposal is about another version; load the item again")
    return row


def _refuse_involved(version: ItemVersion, user: User) -> None:
    if wrote_or_proposed(version, user):
        raise InvalidAnswerError("you wrote this version; somebody else has to decide over it")
    if Review.objects.filter(claim__version=version, claim__user=user).exists():
        raise InvalidAnswerError("you reviewed this version; somebody else has to decide over it")
