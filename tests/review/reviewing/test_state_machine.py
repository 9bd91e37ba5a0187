"""Every pair of a state and a step."""

import pytest

from medrcube.review.errors import IllegalTransitionError
from medrcube.review.reviewing.state_machine import TRANSITIONS, ReviewState, Transition, next_state

LEGAL = {
    "draft": "checks_passed>queued danger_seen>quarantined",
    "queued": (
        "reviewers_accept>accepted reviewers_reject>rejected reviewers_disagree>adjudication "
        "edit_wanted>needs_revision danger_seen>quarantined"
    ),
    "adjudication": (
        "adjudicator_accepts>accepted adjudicator_rejects>rejected "
        "adjudicator_sends_back>needs_revision edit_wanted>needs_revision review_voided>queued "
        "reopened>queued specialist_wanted>queued danger_seen>quarantined"
    ),
    "accepted": (
        "edit_wanted>needs_revision review_voided>queued reopened>queued release>released "
        "specialist_wanted>queued danger_seen>quarantined"
    ),
    "rejected": "review_voided>queued reopened>queued danger_seen>quarantined",
    "needs_revision": "new_version>queued reopened>queued danger_seen>quarantined",
    "quarantined": "manager_clears>queued manager_rejects>rejected",
    "released": "defect_found>withdrawn danger_seen>quarantined",
    "withdrawn": "danger_seen>quarantined",
}
"""Written out a second time, so that a slip in the table shows."""
TARGETS = {
    (origin, step): target
    for origin, steps in LEGAL.items()
    for step, target in (pair.split(">") for pair in steps.split())
}


@pytest.mark.parametrize("step", Transition)
@pytest.mark.parametrize("state", ReviewState)
def test_every_pair_leads_where_the_specification_says_or_is_refused(state, step):
    target = TARGETS.get((state.value, step.value))
    if target is None:
        with pytest.raises(IllegalTransitionError, match=f"{state.value} cannot take the step"):
            next_state(state, step)
    else:
        assert next_state(state, step) == target


def test_a_refused_step_says_what_is_possible():
    with pytest.raises(
        IllegalTransitionError, match=r"possible: .*release.*defect_found|defect_found"
    ):
        next_state(ReviewState.RELEASED, Transition.NEW_VERSION)


def test_every_step_is_used():
    assert {step for _, step in TRANSITIONS} == set(Transition)
