"""Of the reviews of an item so many come from specialists, and what is assigned to whom."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from medrcube.review.assigning.assignment import (
    AssignmentScope,
    add_specialty,
    create_assignment,
    end_assignment,
)
from medrcube.review.audit_trail.event_chain import verify_chain
from medrcube.review.audit_trail.replay import verify_trail as crosscheck
from medrcube.review.errors import ConflictError, ReviewError
from medrcube.review.models import Claim, Event, Item, Review, User
from medrcube.review.reviewing.claims import claim_next, give_back
from medrcube.review.reviewing.edits import Edit, edit
from medrcube.review.reviewing.external_reviews import import_review
from medrcube.review.reviewing.policy import Policy
from medrcube.review.reviewing.policy_change import change_policy
from medrcube.review.reviewing.submissions import ReviewSubmission
from medrcube.review.reviewing.voiding import void_review

pytestmark = pytest.mark.usefixtures("any_database")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def rule(project):
    """A project in which one of two reviews comes from a specialist."""
    project(gold_rate=0.0, specialists=1)


@pytest.fixture
def general(person):
    return person


@pytest.fixture
def neuro(person):
    """The items of ``add_items`` are of the brain, by MRI."""
    return lambda: person(specialties=["radiology:neuro"])


def test_the_last_place_is_kept_for_a_specialist(rule, general, neuro, add_items, review, state):
    (item,) = add_items(1)
    assert review(general())
    assert claim_next(general()) is None
    assert state(item) == "queued"
    claim = review(neuro())
    assert claim.specialist
    assert state(item) == "accepted"


def test_a_place_that_somebody_holds_counts(rule, general, add_items):
    add_items(1)
    assert claim_next(general())
    assert claim_next(general()) is None


def test_a_specialist_for_something_else_is_none_here(rule, general, person, add_items, review):
    add_items(1)
    review(general())
    assert claim_next(person(specialties=["radiology:breast", "Ultrasound"])) is None
    assert claim_next(person(specialties=["MRI"])) is not None


def test_two_specialists_may_review_an_item_and_others_are_not_needed(
    rule, neuro, add_items, review, state
):
    (item,) = add_items(1)
    review(neuro())
    review(neuro())
    assert state(item) == "accepted"


def test_after_a_specialist_anybody_may_be_second(rule, general, neuro, add_items, review, state):
    (item,) = add_items(1)
    review(neuro())
    assert review(general())
    assert state(item) == "accepted"


def test_what_waits_for_a_specialist_comes_first_to_one(rule, general, neuro, add_items, review):
    first, *_ = add_items(8)
    first_review = review(general())
    Item.objects.exclude(pk=first_review.version.item_id).update(priority=9)
    assert claim_next(neuro()).version_id == first_review.version_id
    assert first


def test_where_all_reviews_are_by_specialists_others_get_nothing(
    project, general, neuro, add_items, review, state
):
    project(gold_rate=0.0, specialists=2)
    (item,) = add_items(1)
    assert claim_next(general()) is None
    review(neuro())
    review(neuro())
    assert state(item) == "accepted"


def test_a_void_review_of_a_specialist_is_made_up_by_one(
    rule, general, neuro, person, add_items, review, state
):
    (item,) = add_items(1)
    review(general())
    claim = review(neuro())
    void_review(Claim.objects.get(token=claim.token).pk, person("manager"), "wrong picture")
    assert state(item) == "queued"
    assert claim_next(general()) is None
    assert review(neuro())
    assert state(item) == "accepted"
    assert not crosscheck().fault


def test_a_void_review_of_another_reviewer_opens_the_place_to_all(
    rule, general, neuro, person, add_items, review
):
    add_items(1)
    claim = review(general())
    void_review(Claim.objects.get(token=claim.token).pk, person("manager"), "wrong picture")
    assert review(general())


def test_a_new_wording_needs_a_specialist_again(rule, general, neuro, person, add_items, review):
    (item,) = add_items(1)
    review(general())
    options = tuple(f"Finding {letter}" for letter in "ABCD")
    change = Edit(
        question="Which finding does this MRI slice of the brain show?",
        options=options,
        key=0,
        note="clearer",
    )
    edit(item.pk, 1, person("adjudicator"), change)
    assert review(general())
    assert claim_next(general()) is None
    assert review(neuro())


def test_a_stricter_rule_puts_accepted_items_back_with_their_reviews(
    project, general, neuro, add_items, review, state
):
    project(gold_rate=0.0)
    (item,) = add_items(1)
    review(general())
    review(general())
    assert state(item) == "accepted"
    change_policy("boss", {"specialists": 1})
    assert (state(item), Item.objects.get().reviews) == ("queued", 2)
    assert claim_next(general()) is None
    assert review(neuro()), "a place more, since two others have theirs"
    assert state(item) == "accepted"
    assert Event.objects.filter(kind="item.specialist_wanted").count() == 1
    assert not verify_chain().fault


def test_a_looser_rule_settles_what_waited(project, general, add_items, review, state):
    project(gold_rate=0.0)
    complete, _ = add_items(2)
    Item.objects.filter(pk=complete.pk).update(priority=1)
    review(general())
    review(general())
    review(general())
    change_policy("boss", {"specialists": 1})
    assert set(Item.objects.values_list("state", "for_specialist")) == {("queued", True)}
    change_policy("boss", {"specialists": 0})
    assert state(complete) == "accepted"
    assert not Item.objects.filter(for_specialist=True).exists()
    assert claim_next(general()) is not None


def test_a_rule_beyond_the_reviews_is_refused(rule):
    with pytest.raises(ReviewError, match="specialists = 3, expected 0 to 2"):
        change_policy("boss", {"specialists": 3})
    assert Policy.from_json({"reviews": 2}).specialists == 0


def test_a_specialty_that_was_taken_away_leaves_reviews_what_they_were(
    rule, general, neuro, add_items, review, state
):
    (item,) = add_items(1)
    reviewer = neuro()
    review(reviewer)
    User.objects.filter(pk=reviewer.pk).update(specialties=[])
    review(general())
    assert state(item) == "accepted"


def test_a_review_from_elsewhere_is_held_to_the_rule(
    rule, general, neuro, add_items, review, answer
):
    (item,) = add_items(1)
    review(general())
    version, ruling = item.versions.get(), ReviewSubmission(decision="accept")
    with pytest.raises(ConflictError, match="specialist in Brain or MRI"):
        import_review(version, general(), answer(), ruling, seconds=9)
    import_review(version, neuro(), answer(), ruling, seconds=9)
    assert Review.objects.filter(claim__specialist=True).count() == 1


def test_a_flag_that_the_trail_does_not_know_is_noticed(rule, general, neuro, add_items, review):
    add_items(1)
    review(general())
    review(neuro())
    assert not crosscheck().fault
    Claim.objects.update(specialist=True)
    assert "the trail does not know this review" in crosscheck().fault


def test_a_lease_that_a_specialist_lost_is_kept_for_specialists(
    rule, general, neuro, add_items, review
):
    add_items(1)
    review(general(), now=NOON)
    claim_next(neuro(), NOON)
    assert claim_next(general(), NOON + timedelta(hours=2)) is None
    assert claim_next(neuro(), NOON + timedelta(hours=2)) is not None


def test_items_assigned_to_some_only_reach_nobody_else(project, person, add_items, review):
    project(gold_rate=0.0)
    add_items(3)
    (breast,) = add_items(1, anatomy="Breast", source="mammo")
    own, other = person(), person()
    create_assignment(person("manager"), AssignmentScope(source="mammo"), [own.pk], mode="only")
    item_ids = set()
    while claim := review(other):
        item_ids.add(claim.version.item_id)
    assert len(item_ids) == 3
    assert breast.pk not in item_ids
    mine = {review(own).version.item_id for _ in range(4)}
    assert breast.pk in mine


def test_items_assigned_first_come_first_to_these_and_last_to_others(project, person, add_items):
    project(gold_rate=0.0)
    add_items(20)
    (breast,) = add_items(1, anatomy="Breast")
    Item.objects.filter(pk=breast.pk).update(priority=9)
    own, other = person(), person(specialties=["Ultrasound"])
    manager = person("manager")
    create_assignment(manager, AssignmentScope(anatomy="Breast"), [own.pk], mode="first")
    claim = claim_next(other)
    assert claim.version.item_id != breast.pk
    Item.objects.filter(pk=breast.pk).update(priority=0)
    assert claim_next(own).version.item_id == breast.pk
    give_back(claim.token, other, not_my_field=False)
    Item.objects.exclude(pk=breast.pk).update(state="accepted")
    assert claim_next(other).version.item_id == breast.pk


def test_an_assignment_to_a_specialty_holds_for_whoever_has_it_later(project, person, add_items):
    project(gold_rate=0.0)
    add_items(1)
    reviewer = person()
    create_assignment(
        person("manager"), AssignmentScope(), mode="only", specialty="radiology:neuro"
    )
    assert claim_next(reviewer) is None
    User.objects.filter(pk=reviewer.pk).update(specialties=["radiology:neuro"])
    assert claim_next(reviewer) is not None


def test_an_assignment_that_has_ended_holds_no_longer_and_cannot_end_twice(rule, person, add_items):
    add_items(1)
    manager = person("manager")
    assignment = create_assignment(manager, AssignmentScope(), [person().pk], mode="first")
    assert end_assignment(manager, assignment.pk, NOON).ended_at == NOON
    with pytest.raises(ConflictError, match="no assignment"):
        end_assignment(manager, assignment.pk, NOON)


def test_a_specialty_is_on_record_with_its_time(rule, person):
    add_specialty(person("manager"), "radiology:abdomen", anatomies=["Chest"], now=NOON)
    entry = Event.objects.get(kind="specialty.added")
    assert json.loads(entry.body) == {"anatomies": ["Chest"], "modalities": []}
    assert datetime.fromisoformat(entry.at) == NOON
