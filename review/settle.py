"""What follows from the reviews of a version: fenced steps through the table of states."""

from __future__ import annotations

from medrcube.review.audit import SYSTEM, Entry
from medrcube.review.errors import ConflictError
from medrcube.review.models import Item, ItemVersion, Review
from medrcube.review.policy import Policy
from medrcube.review.questionnaire import DANGERS, Decision, Reason
from medrcube.review.states import State, Step, after

_BLOCKING = frozenset(set(Reason) - {Reason.OTHER, Reason.TRIVIAL, Reason.TERM_OUTDATED})
"""Reasons that an accepted item cannot carry; the other three may stand as a remark."""


def settle(version: ItemVersion, rules: Policy, *, dangers: bool = True) -> list[Entry]:
    """Take the step that the valid reviews of a version call for, if any; in a transaction.

    A gold item is never settled: it measures its readers. With ``dangers`` off, a vote for PHI
    or UNSAFE that a manager has cleared counts as any other reason.

    Returns:
        The events to record.

    Raises:
        ConflictError: the item has changed meanwhile.
    """
    item = version.item
    if item.gold_defect or item.version != version.number:
        return []
    reviews = list(valid_reviews(version))
    step = _step(version, reviews, rules, dangers=dangers)
    if step is None or State(item.state) not in (State.QUEUED, State.ADJUDICATION):
        return []
    return [take(item, step, SYSTEM)]


def take(item: Item, step: Step, actor: str, **body: object) -> Entry:
    """Move an item, only if it still is what was read; in a transaction.

    Raises:
        IllegalStepError: the table of states does not know the step.
        ConflictError: the item has changed meanwhile.
    """
    old, new = State(item.state), after(State(item.state), step)
    unchanged = Item.objects.filter(pk=item.pk, state=old, version=item.version)
    if not unchanged.update(state=new):
        raise ConflictError(
            f"item {item.pk} has changed since you opened it; load it again and look what is new"
        )
    item.state = new
    return Entry(
        actor=actor,
        kind=f"item.{step.value}",
        object=f"item:{item.pk}",
        body={"from": old.value, "to": new.value, "version": item.version, **body},
    )


def valid_reviews(version: ItemVersion) -> list[Review]:
    """Reviews of a version whose claim still stands, oldest first."""
    found = Review.objects.filter(claim__version=version, claim__released_at=None)
    return list(
        found.select_related("claim__blind", "claim__user")
        .prefetch_related("reasons")
        .order_by("submitted_at", "pk")
    )


def _step(
    version: ItemVersion, reviews: list[Review], rules: Policy, *, dangers: bool
) -> Step | None:
    codes = {Reason(reason.code) for review in reviews for reason in review.reasons.all()}
    if dangers and codes & DANGERS:
        return Step.DANGER_SEEN
    if len(reviews) < rules.reviews:
        return None
    decisions = {Decision(review.decision) for review in reviews}
    if decisions == {Decision.REJECT}:
        return Step.REVIEWERS_REJECT
    right = all(review.claim.blind.option == version.key for review in reviews)
    if decisions == {Decision.ACCEPT} and right and not codes & _BLOCKING:
        return Step.REVIEWERS_ACCEPT
    return Step.REVIEWERS_DISAGREE
