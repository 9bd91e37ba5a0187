"""Edits: a new version of an item with another wording, whose reviews start afresh."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from medrcube.ontologies.item_rules import ERROR
from medrcube.review.audit_trail.event_chain import record_events
from medrcube.review.errors import ConflictError, InvalidAnswerError
from medrcube.review.models import (
    Adoption,
    Item,
    ItemVersion,
    Proposal,
    User,
)
from medrcube.review.reviewing.consensus import apply_transition
from medrcube.review.reviewing.item_versions import (
    content_sha256,
    version_as_read,
)
from medrcube.review.reviewing.state_machine import ReviewState, Transition
from medrcube.review.visibility import disclosure
from medrcube.review.wording.lint_facts import LintFacts, facts_of_version

__all__ = ["Edit", "check_edit", "edit", "new_options"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Wording of a new version; images and provenance are unchanged.

    Attributes:
        options: option texts, as many as before and in the same order.
        key: index of the right option.
        note: why the item was changed.
    """

    question: str
    options: tuple[str, ...]
    key: int
    note: str


def edit(
    item_id: str,
    version: int,
    user: User,
    change: Edit,
    now: datetime | None = None,
    *,
    proposal: int | None = None,
) -> ItemVersion:
    """Create a new version; earlier reviews stay on record but no longer count.

    Args:
        item_id: the item.
        version: number of the version that was displayed.
        user: author of the new version.
        change: the new wording.
        now: time of the edit.
        proposal: proposal that is adopted, if any; its author does not review the new version.

    Raises:
        InvalidAnswerError: nothing was changed, or the new wording violates an item rule.
        IllegalTransitionError: an item in this state cannot be edited.
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
            raise InvalidAnswerError("nothing was changed; edit the text, or cancel")
        warnings = (
            check_edit(change, facts_of_version(old)) if old.target is None else _check_stem(change)
        )
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
            version=new.number, reviews=0, sole_reviewer=None, for_specialist=False
        )
        disclosure.refresh_disclosures([item.pk], now)
        record_events(now, *entries)
    return new


def check_edit(change: Edit, facts: LintFacts) -> list[str]:
    """Return the names of the item rules for which a wording gets a warning.

    Args:
        change: the wording.
        facts: of the item that gets it.

    Raises:
        InvalidAnswerError: the wording violates a rule.
    """
    flaws = facts.flaws(change.question, change.options, change.key)
    broken = [flaw for flaw in flaws if flaw.level == ERROR]
    if broken:
        raise InvalidAnswerError(f"{broken[0].rule}: {broken[0].message}")
    return list(dict.fromkeys(flaw.rule for flaw in flaws))


def _check_stem(change: Edit) -> list[str]:
    """Check a question without options, to which the item rules do not apply.

    Raises:
        InvalidAnswerError: the question is empty.
    """
    if not change.question.strip():
        raise InvalidAnswerError("the question is empty; write one")
    return []


def new_options(old: ItemVersion, change: Edit) -> list[dict[str, Any]]:
    """Return the options of a version with new texts.

    Raises:
        InvalidAnswerError: wrong number of options, or the key is not one of them.
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
        raise ConflictError("this proposal is about another version; reload the item")
    return row
