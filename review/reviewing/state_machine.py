"""State machine of an item: nine states and one table of legal transitions.

``in review`` is not a state but derived from live claims. Nothing is edited in place: an edit
returns an item to the queue as a new version, which voids the earlier approvals.
"""

from __future__ import annotations

from enum import StrEnum

from medrcube.review.errors import IllegalTransitionError

__all__ = ["TRANSITIONS", "ReviewState", "Transition", "next_state"]


class ReviewState(StrEnum):
    """State of an item."""

    DRAFT = "draft"
    QUEUED = "queued"
    ADJUDICATION = "adjudication"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    NEEDS_REVISION = "needs_revision"
    QUARANTINED = "quarantined"
    RELEASED = "released"
    WITHDRAWN = "withdrawn"


class Transition(StrEnum):
    """Transition between states of an item."""

    CHECKS_PASSED = "checks_passed"
    REVIEWERS_ACCEPT = "reviewers_accept"
    REVIEWERS_REJECT = "reviewers_reject"
    REVIEWERS_DISAGREE = "reviewers_disagree"
    ADJUDICATOR_ACCEPTS = "adjudicator_accepts"
    ADJUDICATOR_REJECTS = "adjudicator_rejects"
    ADJUDICATOR_SENDS_BACK = "adjudicator_sends_back"
    EDIT_WANTED = "edit_wanted"
    NEW_VERSION = "new_version"
    DANGER_SEEN = "danger_seen"
    MANAGER_CLEARS = "manager_clears"
    MANAGER_REJECTS = "manager_rejects"
    REVIEW_VOIDED = "review_voided"
    REOPENED = "reopened"
    SPECIALIST_WANTED = "specialist_wanted"
    RELEASE = "release"
    DEFECT_FOUND = "defect_found"


TRANSITIONS: dict[tuple[ReviewState, Transition], ReviewState] = {
    (ReviewState.DRAFT, Transition.CHECKS_PASSED): ReviewState.QUEUED,
    (ReviewState.QUEUED, Transition.REVIEWERS_ACCEPT): ReviewState.ACCEPTED,
    (ReviewState.QUEUED, Transition.REVIEWERS_REJECT): ReviewState.REJECTED,
    (ReviewState.QUEUED, Transition.REVIEWERS_DISAGREE): ReviewState.ADJUDICATION,
    (ReviewState.ADJUDICATION, Transition.ADJUDICATOR_ACCEPTS): ReviewState.ACCEPTED,
    (ReviewState.ADJUDICATION, Transition.ADJUDICATOR_REJECTS): ReviewState.REJECTED,
    (ReviewState.ADJUDICATION, Transition.ADJUDICATOR_SENDS_BACK): ReviewState.NEEDS_REVISION,
    (ReviewState.QUEUED, Transition.EDIT_WANTED): ReviewState.NEEDS_REVISION,
    (ReviewState.ADJUDICATION, Transition.EDIT_WANTED): ReviewState.NEEDS_REVISION,
    (ReviewState.ACCEPTED, Transition.EDIT_WANTED): ReviewState.NEEDS_REVISION,
    (ReviewState.NEEDS_REVISION, Transition.NEW_VERSION): ReviewState.QUEUED,
    (ReviewState.QUARANTINED, Transition.MANAGER_CLEARS): ReviewState.QUEUED,
    (ReviewState.QUARANTINED, Transition.MANAGER_REJECTS): ReviewState.REJECTED,
    (ReviewState.ADJUDICATION, Transition.REVIEW_VOIDED): ReviewState.QUEUED,
    (ReviewState.ACCEPTED, Transition.REVIEW_VOIDED): ReviewState.QUEUED,
    (ReviewState.REJECTED, Transition.REVIEW_VOIDED): ReviewState.QUEUED,
    (ReviewState.ADJUDICATION, Transition.REOPENED): ReviewState.QUEUED,
    (ReviewState.ACCEPTED, Transition.REOPENED): ReviewState.QUEUED,
    (ReviewState.REJECTED, Transition.REOPENED): ReviewState.QUEUED,
    (ReviewState.NEEDS_REVISION, Transition.REOPENED): ReviewState.QUEUED,
    (ReviewState.ADJUDICATION, Transition.SPECIALIST_WANTED): ReviewState.QUEUED,
    (ReviewState.ACCEPTED, Transition.SPECIALIST_WANTED): ReviewState.QUEUED,
    (ReviewState.ACCEPTED, Transition.RELEASE): ReviewState.RELEASED,
    (ReviewState.RELEASED, Transition.DEFECT_FOUND): ReviewState.WITHDRAWN,
    **{
        (state, Transition.DANGER_SEEN): ReviewState.QUARANTINED
        for state in ReviewState
        if state is not ReviewState.QUARANTINED
    },
}


def next_state(state: ReviewState, step: Transition) -> ReviewState:
    """Return the state after a transition.

    Raises:
        IllegalTransitionError: the transition is not possible from this state.
    """
    try:
        return TRANSITIONS[state, step]
    except KeyError:
        possible = ", ".join(transition for origin, transition in TRANSITIONS if origin is state)
        raise IllegalTransitionError(
            f"an item that is {state.value} cannot take the step {step.value}; possible: {possible}"
        ) from None
