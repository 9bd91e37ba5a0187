"""Consensus of the reviews of a version, applied as fenced state transitions."""

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
"""Reasons that an accepted item cannot carry; the other three may stand as a remark."""


def apply_consensus(
    now: datetime, item: Item, version: int, rules: Policy, fresh: AbstractSet[str] = frozenset()
) -> list[NewEvent]:
    """Take the step that the valid reviews of the current version call for; in a transaction.

    A gold item is never settled: it measures its reviewers. Nor is one that still needs a review by
    a specialist, however many others it has.

    Args:
        now: when.
        item: as it is in this transaction.
        version: row of its current version.
        rules: of the project.
        fresh: reasons of the review that was just made. Only these can quarantine: an older
            vote for PHI or UNSAFE was looked at by a manager, and counts as any other reason.

    Returns:
        The events to record.

    Raises:
        ConflictError: the item has changed meanwhile.
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
    """Whether a version has fewer valid reviews by specialists than the rules want."""
    return (
        bool(rules.specialists)
        and review_queries.specialist_review_count(version) < rules.specialists
    )


def is_dangerous(item: Item, reasons: AbstractSet[str]) -> bool:
    """Whether one vote takes an item out.

    Reviewers who find the defect of a gold item may well call it unsafe; it stays in. An
    identifying mark is on the image, which others share, so that vote always counts.
    """
    votes = reasons & DANGERS
    if item.gold_defect:
        votes = votes & {Reason.PHI} - {item.gold_defect}
    return bool(votes)


def apply_transition(
    now: datetime, item: Item, step: Transition, actor: str, **body: object
) -> NewEvent:
    """Move an item, only if it still is what was read; in a transaction.

    Who holds an item that leaves the queue loses it; a submit is then refused, and the draft
    stays.

    Raises:
        IllegalStepError: the table of states does not know the step.
        ConflictError: the item has changed meanwhile.
    """
    old, new = ReviewState(item.state), next_state(ReviewState(item.state), step)
    if not review_queries.change_state(item.pk, old, new, item.version):
        raise ConflictError(
            f"item {item.pk} has changed since you opened it; load it again and look what is new"
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
    """The step that the valid reviews of a version call for, however many they are.

    Accepted is what all accept and all who were blind have answered with the key. That at least one
    was blind follows from ``Policy.unblinded_reviews``.
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
