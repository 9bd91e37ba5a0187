"""Consensus of the reviews of a version, applied as guarded state transitions."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from datetime import datetime

from medrcube.review.audit_trail.event_chain import SYSTEM, NewEvent
from medrcube.review.errors import ConflictError
from medrcube.review.models import Item
from medrcube.review.reviewing.policy import Policy
from medrcube.review.reviewing.questionnaire import DANGERS, Decision, Reason
from medrcube.review.reviewing.sql import review_queries
from medrcube.review.reviewing.state_machine import ReviewState, Transition, next_state

__all__ = [
    "apply_consensus",
    "apply_transition",
    "consensus_transition",
    "is_dangerous",
    "lacks_specialist",
]

_BLOCKING = frozenset(set(Reason) - {Reason.OTHER, Reason.TRIVIAL, Reason.TERM_OUTDATED})
"""Reasons that are incompatible with acceptance; the other three may accompany it."""


def apply_consensus(
    now: datetime, item: Item, version: int, rules: Policy, fresh: AbstractSet[str] = frozenset()
) -> list[NewEvent]:
    """Apply the transition that the valid reviews of the current version require.

    Call it within a transaction. A gold item is never decided, because it measures its reviewers;
    nor is an item that still needs a specialist's review, however many other reviews it has.

    Args:
        now: time of the transition.
        item: the item as read in this transaction.
        version: row of its current version.
        rules: policy of the project.
        fresh: reasons of the review just submitted. Only these can quarantine: an older vote for
            PHI or UNSAFE has been examined by a manager and counts like any other reason.

    Returns:
        The events to record.

    Raises:
        ConflictError: the item has changed in the meantime.
    """
    if item.state != ReviewState.QUEUED:
        return []
    if is_dangerous(item, fresh):
        return [
            apply_transition(
                now, item, Transition.DANGER_SEEN, SYSTEM, reasons=sorted(fresh & DANGERS)
            )
        ]
    if item.gold_defect or item.reviews < rules.reviews:
        return []
    if lacks_specialist(version, rules):
        return []
    return [apply_transition(now, item, consensus_transition(version), SYSTEM)]


def lacks_specialist(version: int, rules: Policy) -> bool:
    """Whether a version has fewer valid specialist reviews than the policy requires."""
    return (
        bool(rules.specialists)
        and review_queries.specialist_review_count(version) < rules.specialists
    )


def is_dangerous(item: Item, reasons: AbstractSet[str]) -> bool:
    """Whether a single vote quarantines an item.

    A gold item stays in the queue if reviewers who find its defect call it unsafe. Patient data is
    on the image, which other items share, so that vote always counts.
    """
    votes = reasons & DANGERS
    if item.gold_defect:
        votes = votes & {Reason.PHI} - {item.gold_defect}
    return bool(votes)


def apply_transition(
    now: datetime, item: Item, step: Transition, actor: str, **body: object
) -> NewEvent:
    """Change the state of an item if it has not changed since it was read; in a transaction.

    Claims on an item that leaves the queue are released; their submissions are then refused and
    the drafts kept.

    Raises:
        IllegalTransitionError: the table of states does not know the step.
        ConflictError: the item has changed in the meantime.
    """
    old, new = ReviewState(item.state), next_state(ReviewState(item.state), step)
    if not review_queries.change_state(item.pk, old, new, item.version):
        raise ConflictError(
            f"item {item.pk} has changed since you opened it; reload it and check what is new"
        )
    item.state = new
    if old is ReviewState.QUEUED:
        review_queries.end_live_claims(item.pk, item.version, "superseded", now)
    return NewEvent(
        actor=actor,
        kind=f"item.{step.value}",
        object=f"item:{item.pk}",
        body={"from": old.value, "to": new.value, "version": item.version, **body},
    )


def consensus_transition(version: int) -> Transition:
    """Return the transition that the valid reviews of a version require, whatever their number.

    An item is accepted if all reviewers accept it and all blind answers equal the key. At least one
    is blind because of ``Policy.unblinded_reviews``.
    """
    votes = review_queries.valid_votes(version)
    decisions = {vote.decision for vote in votes}
    if decisions == {Decision.REJECT}:
        return Transition.REVIEWERS_REJECT
    if decisions == {Decision.ACCEPT} and all(vote.right for vote in votes if vote.blinded):
        codes = review_queries.reason_codes([vote.review for vote in votes])
        if not codes & _BLOCKING:
            return Transition.REVIEWERS_ACCEPT
    return Transition.REVIEWERS_DISAGREE
