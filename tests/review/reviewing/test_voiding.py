"""A slip is undone by its reviewer, a review voided and an item reopened by a manager."""

from datetime import UTC, datetime, timedelta

import pytest

from medrcube.review.audit_trail import replay
from medrcube.review.errors import ConflictError, IllegalTransitionError, InvalidAnswerError
from medrcube.review.models import BlindAnswer, Claim, Draft, Event, Item
from medrcube.review.reviewing import voiding
from medrcube.review.reviewing.claims import claim_next
from medrcube.review.reviewing.steps import submit_review
from medrcube.review.reviewing.submissions import ReviewSubmission

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SOON = NOON + timedelta(minutes=9)
LATE = NOON + timedelta(minutes=10)
TYPED = {"comment": ["a slip"]}


@pytest.fixture
def item(any_database, add_items):
    return add_items(1)[0]


def test_a_review_that_is_taken_back_comes_again_with_what_was_typed(item, person, review, state):
    reviewer = person()
    claim = review(reviewer, "reject", option=1, now=NOON)
    voiding.take_back(claim.token, reviewer, TYPED, SOON)
    item_row = Item.objects.get()
    assert (item_row.state, item_row.reviews, item_row.sole_reviewer) == ("queued", 0, None)
    again = claim_next(reviewer, SOON)
    assert again.version_id == claim.version_id
    assert Draft.objects.get().body == TYPED
    assert BlindAnswer.objects.get(claim=again).option == 1
    submit_review(again.token, reviewer, ReviewSubmission(decision="accept"), SOON)
    assert Item.objects.get().reviews == 1


def test_an_item_that_was_settled_goes_back(item, person, review, state):
    first, second = person(), person()
    review(first, now=NOON)
    last = review(second, now=NOON + timedelta(minutes=1))
    assert state(item) == "accepted"
    voiding.take_back(last.token, second, TYPED, SOON)
    assert state(item) == "queued"
    assert Item.objects.get().reviews == 1


@pytest.mark.parametrize("why", ["late", "begun", "other", "twice", "decided"])
def test_a_review_stays_once_its_time_is_over(item, person, review, state, why):
    reviewer, other = person(), person()
    claim = review(reviewer, "reject", now=NOON)
    if why == "begun":
        claim_next(other, SOON)
    if why == "twice":
        voiding.take_back(claim.token, reviewer, TYPED, SOON)
    if why == "decided":
        Item.objects.update(state="quarantined")
    who, when = (other if why == "other" else reviewer), (LATE if why == "late" else SOON)
    before = Item.objects.get().reviews
    with pytest.raises(ConflictError, match="can no longer be retracted"):
        voiding.take_back(claim.token, who, TYPED, when)
    assert Item.objects.get().reviews == before


def test_the_time_is_a_rule_of_the_project(item, person, review, project):
    project(undo_minutes=0)
    reviewer = person()
    claim = review(reviewer, now=NOON)
    assert voiding.undo_until(claim_of(claim), NOON) is None
    project(undo_minutes=60)
    assert voiding.undo_until(claim_of(claim), LATE) == NOON + timedelta(hours=1)


def test_a_manager_voids_a_review_with_a_reason(item, person, review, state):
    manager, first = person("manager"), person()
    claim = review(first)
    review(person())
    assert state(item) == "accepted"
    with pytest.raises(InvalidAnswerError, match="state a reason"):
        voiding.void_review(claim.pk, manager, " ")
    voiding.void_review(claim.pk, manager, "was made for a test")
    assert state(item) == "queued"
    assert claim_next(first) is None, "another reviewer sees it"
    assert "was made for a test" in Event.objects.filter(kind="review.voided").get().body
    with pytest.raises(ConflictError, match="no longer counts"):
        voiding.void_review(claim.pk, manager, "again")
    review(person())
    assert state(item) == "accepted"


def test_a_manager_reopens_what_was_decided(item, person, review, state):
    manager, reviewers = person("manager"), [person(), person()]
    for reviewer in reviewers:
        review(reviewer, "reject")
    assert state(item) == "rejected"
    voiding.reopen(item.pk, 1, manager, "the reason does not hold")
    item_row = Item.objects.get()
    assert (item_row.state, item_row.reviews) == ("queued", 0)
    assert [claim_next(reviewer) for reviewer in reviewers] == [None, None]
    for _ in range(2):
        review(person())
    assert state(item) == "accepted"


@pytest.mark.parametrize("state", ["queued", "released", "withdrawn", "quarantined"])
def test_what_is_not_decided_is_not_reopened(item, person, state):
    Item.objects.update(state=state)
    with pytest.raises(IllegalTransitionError):
        voiding.reopen(item.pk, 1, person("manager"), "x")


def test_a_review_of_a_released_item_stands(item, person, review):
    claim = review(person())
    Item.objects.update(state="released")
    with pytest.raises(ConflictError, match="released or reworded"):
        voiding.void_review(claim.pk, person("manager"), "x")


def test_the_trail_counts_every_time(item, person, review):
    """Twice the same review of one reviewer, both taken back: a third in the table would show."""
    reviewer = person()
    for _ in range(2):
        claim = review(reviewer, now=NOON) if not Claim.objects.exists() else again(reviewer)
        voiding.take_back(claim.token, reviewer, TYPED, SOON)
    recorded_histories, item_row = (
        replay._trail_histories([item.pk]),
        replay._table_histories([item.pk]),
    )
    assert recorded_histories[item.pk].facts == item_row[item.pk].facts
    assert max(recorded_histories[item.pk].facts.values()) == 2


def again(reviewer):
    claim = claim_next(reviewer, NOON)
    submit_review(claim.token, reviewer, ReviewSubmission(decision="accept"), NOON)
    return claim


def claim_of(claim):
    return Claim.objects.select_related("version__item").get(pk=claim.pk)
