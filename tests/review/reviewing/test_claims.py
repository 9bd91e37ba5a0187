"""Claims, the two steps and what follows from them; every test on both databases."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from medrcube.review.audit_trail.event_chain import verify_chain
from medrcube.review.errors import InvalidAnswerError, ReviewError, StaleClaimError
from medrcube.review.models import BlindAnswer, Claim, Draft, Event, Item, Review, User
from medrcube.review.reviewing.claims import (
    active_claim,
    claim_next,
    expire_claims,
    give_back,
    renew,
)
from medrcube.review.reviewing.sql import candidate_queries, claim_queries
from medrcube.review.reviewing.steps import answer_blind, submit_review
from medrcube.review.reviewing.submissions import BlindSubmission, ReviewSubmission

pytestmark = pytest.mark.usefixtures("any_database")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ACCEPT = ReviewSubmission(decision="accept")
ANSWER = {"confidence": 2, "needs_image": "yes", "image_adequate": True}


def later(minutes):
    return NOON + timedelta(minutes=minutes)


def item_of(claim):
    return claim.version.item_id


def test_an_account_that_does_not_exist_is_handed_nothing():
    flags = claim_queries.reviewer_flags(0)
    assert flags == (True, False, frozenset())


def test_a_reviewer_gets_the_item_they_hold_until_it_is_reviewed(person, add_items, answer):
    add_items(2)
    reviewer = person()
    claim = claim_next(reviewer, NOON)
    assert claim_next(reviewer, later(1)).token == claim.token
    assert active_claim(reviewer, later(1)).token == claim.token
    answer_blind(claim.token, reviewer, answer(), later(2))
    submit_review(claim.token, reviewer, ACCEPT, later(3))
    assert active_claim(reviewer, later(3)) is None
    assert item_of(claim_next(reviewer, later(3))) != item_of(claim)


def test_what_is_returned_is_what_is_stored(person, add_items, answer):
    add_items(1)
    reviewer = person()
    claim = claim_next(reviewer, NOON)
    claim_row = Claim.objects.get()
    for field in Claim._meta.concrete_fields:
        assert getattr(claim, field.attname) == getattr(claim_row, field.attname)
        assert getattr(active_claim(reviewer, NOON), field.attname) == getattr(
            claim_row, field.attname
        )
    result = answer_blind(claim.token, reviewer, answer(2, milliseconds=1500), later(1))
    stored_answer = BlindAnswer.objects.get()
    ruling = ReviewSubmission(
        decision="revise",
        checklist={"key_correct": None, "stem_clear": True},
        verdicts={"1": "implausible"},
        reasons=(("DISTRACTOR_IMPLAUSIBLE", 1), ("OTHER", None)),
        comment="ä 'quoted' text",
    )
    review = submit_review(claim.token, reviewer, ruling, later(2))
    value = Review.objects.get()
    for row, again in ((result, stored_answer), (review, value)):
        for field in type(row)._meta.concrete_fields:
            assert getattr(row, field.attname) == getattr(again, field.attname), field
    assert value.seconds == 120
    codes = set(value.reasons.values_list("code", "option"))
    assert codes == {("DISTRACTOR_IMPLAUSIBLE", 1), ("OTHER", None)}


def test_items_that_others_have_reviewed_come_first_then_priority_then_the_lot(
    person, add_items, review
):
    first, second, urgent = add_items(3)
    Item.objects.filter(pk=urgent.pk).update(priority=5)
    entry, two = person(), person()
    assert item_of(review(entry)) == urgent.pk
    Item.objects.filter(pk=second.pk).update(priority=9)
    assert item_of(review(two)) == urgent.pk
    assert item_of(review(two)) == second.pk
    assert item_of(review(two)) == first.pk


def test_reviewers_spread_over_items_of_one_rank(person, add_items):
    add_items(16)
    items = {item_of(claim_next(person())) for _ in range(6)}
    assert len(items) > 3


def test_an_item_of_the_reviewers_field_comes_before_others_of_its_rank(person, add_items):
    add_items(8, anatomy="Brain")
    (chest,) = add_items(1, anatomy="Chest")
    assert item_of(claim_next(person(specialties=["Chest"]))) == chest.pk


def test_a_version_never_has_more_reviewers_than_wanted(person, add_items):
    add_items(1)
    assert [claim_next(person()) is None for _ in range(3)] == [False, False, True]


def test_a_lease_that_is_over_frees_the_slot_and_says_so(person, add_items):
    add_items(1)
    lazy, other, third = person(), person(), person()
    claim_next(lazy, NOON)
    claim_next(other, later(15))
    assert claim_next(third, later(19)) is None
    assert claim_next(third, later(20)) is not None
    lost = Claim.objects.get(user=lazy)
    assert (lost.outcome, lost.released_at) == ("expired", later(20))
    event = Event.objects.get(kind="claim.expired")
    assert lazy.pseudonym in event.body
    assert expire_claims(later(20)) == 0


def test_a_late_submit_is_refused_and_the_text_kept(person, add_items, answer):
    add_items(1)
    lazy, other = person(), person()
    claim = claim_next(lazy, NOON)
    answer_blind(claim.token, lazy, answer(), later(1))
    claim_next(other, later(30))
    with pytest.raises(StaleClaimError):
        submit_review(claim.token, lazy, ACCEPT, later(31), typed={"comment": "an hour's work"})
    assert Draft.objects.get().body == {"comment": "an hour's work"}
    assert not Review.objects.exists()
    assert Item.objects.get().reviews == 0


def test_a_late_answer_is_refused_and_the_text_kept(person, add_items, answer):
    add_items(1)
    lazy = person()
    claim = claim_next(lazy, NOON)
    with pytest.raises(StaleClaimError):
        answer_blind(claim.token, lazy, answer(), later(20), typed={"option": "1"})
    assert Draft.objects.get().body == {"option": "1"}
    assert not BlindAnswer.objects.exists()


def test_what_was_lost_by_time_comes_back_first_with_the_first_answer(person, add_items, answer):
    add_items(20)
    reviewer = person()
    claim = claim_next(reviewer, NOON)
    answer_blind(claim.token, reviewer, answer(3), later(1))
    renew(claim.token, reviewer, {"comment": "half"}, later(2))
    again = claim_next(reviewer, later(60))
    assert again.token != claim.token
    assert again.version_id == claim.version_id
    assert again.blind.option == 3
    with pytest.raises(StaleClaimError):
        answer_blind(again.token, reviewer, answer(0), later(61))
    submit_review(again.token, reviewer, ACCEPT, later(61))
    assert not Draft.objects.exists()


def test_a_draft_prolongs_the_lease_and_outlives_it(person, add_items):
    add_items(1)
    reviewer = person()
    claim = claim_next(reviewer, NOON)
    renewed = renew(claim.token, reviewer, {"comment": "one"}, later(19))
    assert renewed.expires_at == later(39)
    with pytest.raises(StaleClaimError):
        renew(claim.token, reviewer, {"comment": "two"}, later(50))
    assert Draft.objects.get().body == {"comment": "two"}


def test_a_draft_that_arrives_after_the_review_is_not_kept(person, add_items, review):
    add_items(1)
    reviewer = person()
    claim = review(reviewer, now=NOON)
    with pytest.raises(StaleClaimError):
        renew(claim.token, reviewer, {"comment": "late"}, later(1))
    assert not Draft.objects.exists()


CALLS = {
    "blind": lambda token, user: answer_blind(token, user, BlindSubmission(option=0, **ANSWER)),
    "submit": lambda token, user: submit_review(token, user, ACCEPT, typed={"text": "x"}),
    "renew": lambda token, user: renew(token, user, {"text": "x"}),
    "give back": lambda token, user: give_back(token, user, not_my_field=True),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_token_works_for_its_reviewer_only(person, add_items, call):
    add_items(1)
    reviewer, stranger = person(), person()
    token = claim_next(reviewer).token
    for user, used in ((stranger, token), (reviewer, uuid.uuid4())):
        with pytest.raises(StaleClaimError):
            call(used, user)
    assert not Draft.objects.exists()
    assert active_claim(reviewer) is not None


def test_not_my_field_keeps_the_item_away_and_does_not_count(person, add_items):
    add_items(1)
    reviewer, other = person(), person()
    claim = claim_next(reviewer)
    give_back(claim.token, reviewer, not_my_field=True)
    assert claim_next(reviewer) is None
    assert claim_next(other) is not None
    assert Item.objects.get().reviews == 0


def test_an_item_that_was_given_back_comes_after_its_equals(person, add_items):
    add_items(16)
    reviewer = person()
    claim = claim_next(reviewer)
    give_back(claim.token, reviewer, not_my_field=False)
    assert item_of(claim_next(reviewer)) != item_of(claim)
    with pytest.raises(StaleClaimError):
        give_back(claim.token, reviewer, not_my_field=False)


def test_an_item_that_was_given_back_is_handed_out_again_when_nothing_else_is_left(
    person, add_items
):
    add_items(1)
    reviewer = person()
    give_back(claim_next(reviewer).token, reviewer, not_my_field=False)
    assert claim_next(reviewer) is not None


@pytest.mark.parametrize("change", [{"paused": True}, {"is_active": False}])
def test_a_reviewer_who_was_stopped_meanwhile_gets_nothing(person, add_items, change):
    add_items(1)
    reviewer = person()
    User.objects.filter(pk=reviewer.pk).update(**change)
    assert claim_next(reviewer) is None


def test_nobody_reviews_a_version_that_they_wrote(person, add_items):
    author = person()
    add_items(1, author=author)
    assert claim_next(author) is None
    assert claim_next(person()) is not None


def test_a_submit_needs_the_first_step(person, add_items):
    add_items(1)
    reviewer = person()
    claim = claim_next(reviewer)
    with pytest.raises(InvalidAnswerError, match="step 1 is missing"):
        submit_review(claim.token, reviewer, ACCEPT)


RACES = {
    "the item left the queue": lambda: Item.objects.update(state="quarantined"),
    "there is a new version": lambda: Item.objects.update(version=2),
    "the time ran out": lambda: Claim.objects.update(released_at=NOON, outcome="expired"),
    "the review was sent": lambda: Claim.objects.update(submitted_at=NOON),
}


@pytest.mark.parametrize("happens", RACES.values(), ids=RACES)
@pytest.mark.parametrize("step", ["blind", "submit"])
def test_what_happens_between_looking_and_writing_is_noticed(
    person, add_items, answer, monkeypatch, step, happens
):
    add_items(1)
    reviewer = person()
    claim = claim_next(reviewer, NOON)
    if step == "submit":
        answer_blind(claim.token, reviewer, answer(), NOON)
    look = claim_queries.find_claim_context

    def look_and_be_overtaken(*args):
        result = look(*args)
        happens()
        return result

    monkeypatch.setattr(claim_queries, "find_claim_context", look_and_be_overtaken)
    typed = {"comment": "mine"}
    call, outcome = (answer_blind, answer()) if step == "blind" else (submit_review, ACCEPT)
    with pytest.raises(StaleClaimError):
        call(claim.token, reviewer, outcome, NOON, typed=typed)
    assert not Review.objects.exists()
    assert BlindAnswer.objects.count() == (step == "submit")
    assert Item.objects.get().reviews == 0
    assert Draft.objects.get().body == typed


def test_a_review_is_sent_once(person, add_items, review):
    add_items(2)
    reviewer = person()
    claim = review(reviewer)
    with pytest.raises(StaleClaimError):
        submit_review(claim.token, reviewer, ACCEPT)
    assert Review.objects.count() == 1


OUTCOMES = [
    ([("accept", 0, ()), ("accept", 0, ())], "accepted"),
    ([("accept", 0, ()), ("accept", 0, ("TRIVIAL",))], "accepted"),
    ([("accept", 0, ()), ("accept", 1, ())], "adjudication"),
    ([("accept", 0, ()), ("accept", None, ())], "adjudication"),
    ([("accept", 0, ()), ("accept", 0, ("KEY_WRONG",))], "adjudication"),
    ([("reject", 0, ("TRIVIAL",)), ("reject", 1, ("KEY_WRONG",))], "rejected"),
    ([("accept", 0, ()), ("reject", 0, ("TRIVIAL",))], "adjudication"),
    ([("revise", 0, ("TRIVIAL",)), ("revise", 0, ("TRIVIAL",))], "adjudication"),
    ([("reject", 0, ("PHI",))], "quarantined"),
    ([("accept", 0, ("UNSAFE",))], "quarantined"),
    ([("reject", 0, ("TRIVIAL",)), ("reject", 0, ("UNSAFE",))], "quarantined"),
    ([("accept", 0, ())], "queued"),  # the last one: who comes next would get it
]


def test_what_the_reviews_lead_to(person, add_items, review):
    for reviews, expected in OUTCOMES:
        (item,) = add_items(1)
        for decision, option, codes in reviews:
            review(person(), decision, option=option, reasons=[(code, None) for code in codes])
        item.refresh_from_db()
        assert (item.state, item.reviews) == (expected, len(reviews)), reviews
    assert not verify_chain().fault


def test_as_many_reviews_as_the_policy_says(project, person, add_items, review):
    project(reviews=3)
    add_items(1)
    states = []
    for _ in range(4):
        review(person())
        states.append(Item.objects.get().state)
    assert states == ["queued", "queued", "accepted", "accepted"]


def test_who_holds_an_item_that_is_quarantined_loses_it_and_keeps_the_text(
    person, add_items, answer, review
):
    add_items(1)
    slow, alert = person(), person()
    claim = claim_next(slow)
    answer_blind(claim.token, slow, answer())
    review(alert, "reject", reasons=[("PHI", None)])
    with pytest.raises(StaleClaimError):
        submit_review(claim.token, slow, ACCEPT, typed={"comment": "mine"})
    assert Draft.objects.get().body == {"comment": "mine"}
    assert Claim.objects.get(user=slow).outcome == "superseded"
    assert claim_next(slow) is None


def test_without_a_project_the_queue_says_what_to_do(database):
    with pytest.raises(ReviewError, match="medrcube review import"):
        claim_next(User(pk=1))


def test_a_claim_need_not_wait_for_the_disk_but_what_follows_does(person, add_items, monkeypatch):
    add_items(2)
    levels = []
    insert = claim_queries.insert_claim

    def watched(*args, **fields):
        levels.append(durability())
        return insert(*args, **fields)

    monkeypatch.setattr(claim_queries, "insert_claim", watched)
    claim_next(person())
    assert (levels, durability()) == ([WAITS[connection.vendor][0]], WAITS[connection.vendor][1])
    monkeypatch.setattr(candidate_queries, "queued_candidates", lambda *_, **__: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        claim_next(person())
    assert durability() == WAITS[connection.vendor][1], "also after an error"


WAITS = {"sqlite": (1, 2), "postgresql": ("off", "on")}
"""``PRAGMA synchronous``: 1 NORMAL, 2 FULL; ``synchronous_commit``."""


def durability():
    lite = connection.vendor == "sqlite"
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA synchronous" if lite else "SHOW synchronous_commit")
        return cursor.fetchone()[0]


BAD_ANSWERS = [
    {"option": 4},
    {"option": -1},
    {"confidence": 0},
    {"needs_image": "perhaps"},
    {"milliseconds": -1},
]


def test_an_answer_outside_the_form_is_refused(person, add_items, answer):
    add_items(1)
    reviewer = person()
    claim = claim_next(reviewer)
    for fields in BAD_ANSWERS:
        assert is_refused(answer_blind, claim.token, reviewer, answer(**fields)), fields
    assert not BlindAnswer.objects.exists()


def is_refused(step, *arguments):
    try:
        step(*arguments)
    except InvalidAnswerError:
        return True
    return False


BAD_RULINGS = [
    {"decision": "maybe"},
    {"decision": "reject"},
    {"reasons": (("NO_SUCH_CODE", None),)},
    {"reasons": (("TRIVIAL", 4),)},
    {"reasons": (("TRIVIAL", None), ("TRIVIAL", None))},
    {"reasons": (("OTHER", None),), "comment": "  "},
    {"checklist": {"no_such_line": True}},
    {"checklist": {"key_correct": "yes"}},
    {"verdicts": {"4": "implausible"}},
    {"verdicts": {"²": "implausible"}},
    {"verdicts": {"1": "boring"}},
    {"comment": "x" * 10_001},
]


def test_a_ruling_outside_the_form_is_refused(person, add_items, answer):
    add_items(1)
    reviewer = person()
    claim = claim_next(reviewer)
    answer_blind(claim.token, reviewer, answer())
    for fields in BAD_RULINGS:
        ruling = ReviewSubmission(**{"decision": "accept", **fields})
        assert is_refused(submit_review, claim.token, reviewer, ruling), fields
    assert not Review.objects.exists()
    assert active_claim(reviewer) is not None
