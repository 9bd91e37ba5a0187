"""States of an item in review and every legal step between them. Nine states, one table.

``in review`` is no state: it is derived from live claims. Nothing is edited in place: an edit
sends an item back, a new version makes the earlier approvals void.
"""

from __future__ import annotations

from enum import StrEnum

from medrcube.review.errors import IllegalStepError


class State(StrEnum):
    """Where an item stands."""

    DRAFT = "draft"
    QUEUED = "queued"
    ADJUDICATION = "adjudication"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    NEEDS_REVISION = "needs_revision"
    QUARANTINED = "quarantined"
    RELEASED = "released"
    WITHDRAWN = "withdrawn"


class Step(StrEnum):
    """What happens to an item."""

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


TABLE: dict[tuple[State, Step], State] = {
    (State.DRAFT, Step.CHECKS_PASSED): State.QUEUED,
    (State.QUEUED, Step.REVIEWERS_ACCEPT): State.ACCEPTED,
    (State.QUEUED, Step.REVIEWERS_REJECT): State.REJECTED,
    (State.QUEUED, Step.REVIEWERS_DISAGREE): State.ADJUDICATION,
    (State.ADJUDICATION, Step.ADJUDICATOR_ACCEPTS): State.ACCEPTED,
    (State.ADJUDICATION, Step.ADJUDICATOR_REJECTS): State.REJECTED,
    (State.ADJUDICATION, Step.ADJUDICATOR_SENDS_BACK): State.NEEDS_REVISION,
    (State.QUEUED, Step.EDIT_WANTED): State.NEEDS_REVISION,
    (State.ADJUDICATION, Step.EDIT_WANTED): State.NEEDS_REVISION,
    (State.ACCEPTED, Step.EDIT_WANTED): State.NEEDS_REVISION,
    (State.NEEDS_REVISION, Step.NEW_VERSION): State.QUEUED,
    (State.QUARANTINED, Step.MANAGER_CLEARS): State.QUEUED,
    (State.QUARANTINED, Step.MANAGER_REJECTS): State.REJECTED,
    (State.ADJUDICATION, Step.REVIEW_VOIDED): State.QUEUED,
    (State.ACCEPTED, Step.REVIEW_VOIDED): State.QUEUED,
    (State.REJECTED, Step.REVIEW_VOIDED): State.QUEUED,
    (State.ADJUDICATION, Step.REOPENED): State.QUEUED,
    (State.ACCEPTED, Step.REOPENED): State.QUEUED,
    (State.REJECTED, Step.REOPENED): State.QUEUED,
    (State.NEEDS_REVISION, Step.REOPENED): State.QUEUED,
    (State.ADJUDICATION, Step.SPECIALIST_WANTED): State.QUEUED,
    (State.ACCEPTED, Step.SPECIALIST_WANTED): State.QUEUED,
    (State.ACCEPTED, Step.RELEASE): State.RELEASED,
    (State.RELEASED, Step.DEFECT_FOUND): State.WITHDRAWN,
    **{
        (state, Step.DANGER_SEEN): State.QUARANTINED
        for state in State
        if state is not State.QUARANTINED
    },
}


def after(state: State, step: Step) -> State:
    """The state that a step leads to.

    Raises:
        IllegalStepError: the step is not possible from that state.
    """
    try:
        return TABLE[state, step]
    except KeyError:
        possible = ", ".join(known for origin, known in TABLE if origin is state)
        raise IllegalStepError(
            f"an item that is {state.value} cannot take the step {step.value}; possible: {possible}"
        ) from None
