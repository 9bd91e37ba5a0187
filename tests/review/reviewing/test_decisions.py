"""What people decide after the reviews; on both databases."""

import pytest

from medrcube.review.audit_trail.event_chain import chain_head, verify_chain
from medrcube.review.errors import (
    ConflictError,
    IllegalTransitionError,
    InvalidAnswerError,
    StaleClaimError,
)
from medrcube.review.models import Claim, Draft, Event, Item, ItemVersion, ReleaseRecord, Review
from medrcube.review.reviewing.claims import active_claim, claim_next
from medrcube.review.reviewing.decisions import (
    adjudicate,
    decide_quarantine,
    record_release,
    report_harm,
    withdraw,
)
from medrcube.review.reviewing.edits import Edit, edit
from medrcube.review.reviewing.steps import answer_blind, submit_review
from medrcube.review.reviewing.submissions import ReviewSubmission

pytestmark = pytest.mark.usefixtures("any_database")
OPTIONS = ("Cyst", "Stone", "Polyp", "Tumour")


def change(**fields):
    values = {"question": "Which finding is shown in this CT image?", "options": OPTIONS, "key": 1}
    return Edit(**{**values, "note": "clearer", **fields})


@pytest.fixture
def disputed(person, add_items, review):
    """An item on which two reviewers differ."""
    (item,) = add_items(1)
    review(person(), "accept")
    review(person(), "reject")
    return item


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [("accept", "accepted"), ("reject", "rejected"), ("revise", "needs_revision")],
)
def test_an_adjudicator_ends_a_dispute(person, disputed, state, outcome, expected):
    judge = person("adjudicator")
    adjudicate(disputed.pk, 1, judge, outcome=outcome, rationale="It is clear.")
    assert state(disputed) == expected
    event = Event.objects.order_by("number").last()
    assert (event.actor, "It is clear." in event.body) == (judge.pseudonym, True)


def test_who_reviewed_or_wrote_a_version_does_not_adjudicate_it(person, disputed):
    reviewer = Claim.objects.first().user
    with pytest.raises(InvalidAnswerError, match="you reviewed"):
        adjudicate(disputed.pk, 1, reviewer, outcome="accept", rationale="mine")
    author = person("adjudicator")
    edit(disputed.pk, 1, author, change())
    Item.objects.update(state="adjudication")
    with pytest.raises(InvalidAnswerError, match="you wrote"):
        adjudicate(disputed.pk, 2, author, outcome="accept", rationale="mine")


def test_a_dispute_is_ended_once_and_with_a_reason(person, disputed):
    judge = person("adjudicator")
    with pytest.raises(InvalidAnswerError, match="state a reason"):
        adjudicate(disputed.pk, 1, judge, outcome="accept", rationale=" ")
    with pytest.raises(InvalidAnswerError, match="decide"):
        adjudicate(disputed.pk, 1, judge, outcome="perhaps", rationale="x")
    adjudicate(disputed.pk, 1, judge, outcome="accept", rationale="x")
    with pytest.raises(IllegalTransitionError):
        adjudicate(disputed.pk, 1, judge, outcome="reject", rationale="x")
    assert Item.objects.get().state == "accepted"


def test_an_edit_makes_a_version_that_is_reviewed_anew(person, disputed, review, state):
    author = person("manager")
    new = edit(disputed.pk, 1, author, change())
    assert (new.number, new.author, new.parent.number) == (2, author, 1)
    assert [option["text"] for option in new.options] == list(OPTIONS)
    assert [option["concept"] for option in new.options] == ["cA", "cB", "cC", "cD"]
    item = Item.objects.get()
    assert (item.state, item.version, item.reviews) == ("queued", 2, 0)
    old = ItemVersion.objects.get(number=1)
    assert old.question != new.question
    assert Review.objects.filter(claim__version=old, claim__released_at=None).count() == 2, (
        "earlier reviews stay on record"
    )
    for claim in list(Claim.objects.filter(version=old)):
        assert review(claim.user) is None, "who has seen the old key is not asked again"
        assert review(person(), option=1).version == new
    assert state(disputed) == "accepted"


def test_who_edits_does_not_review_the_version(person, disputed):
    author = person()
    edit(disputed.pk, 1, author, change())
    assert claim_next(author) is None
    other = person()
    edit(disputed.pk, 2, other, change(question="Which finding does this CT image show?"))
    assert claim_next(author) is not None, "version 3 was written by somebody else"


def test_who_holds_the_old_version_loses_it_and_keeps_the_text(person, add_items, answer):
    add_items(1)
    reviewer = person()
    claim = claim_next(reviewer)
    answer_blind(claim.token, reviewer, answer())
    edit(claim.version.item_id, 1, person("manager"), change())
    assert active_claim(reviewer) is None
    with pytest.raises(StaleClaimError):
        submit_review(
            claim.token, reviewer, ReviewSubmission(decision="accept"), typed={"comment": "mine"}
        )
    assert Draft.objects.get().body == {"comment": "mine"}
    assert claim_next(reviewer) is None, "they have seen the key of the old version"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"options": OPTIONS[:3]}, "3 options, expected 4"),
        ({"key": 4}, "none of the options"),
        ({"options": ("Cyst", "Cyst", "Polyp", "Tumour")}, "Cyst"),
    ],
)
def test_an_edit_that_breaks_the_rules_of_items_is_refused(person, disputed, fields, words):
    with pytest.raises(InvalidAnswerError, match=words):
        edit(disputed.pk, 1, person("manager"), change(**fields))
    assert ItemVersion.objects.count() == 1


@pytest.mark.parametrize("question", ["", " ", "\n\t"])
def test_an_item_without_options_needs_a_question_and_keeps_its_answer(person, add_shown, question):
    truth = {"value": 23.0, "low": 19.0, "high": 27.0}
    options = [{"text": "23 mm", "concept": "x"}, {"text": "another answer"}]
    item_shown = add_shown(
        options=options, target={"form": "number", "ask": {"unit": "mm"}, "truth": truth}
    )
    manager, texts = person("manager"), {"options": ("23 mm", "another answer"), "key": 0}
    with pytest.raises(InvalidAnswerError, match="the question is empty"):
        edit(item_shown.item_id, 1, manager, change(**texts, question=question))
    with pytest.raises(InvalidAnswerError, match="only its question can be edited"):
        edit(item_shown.item_id, 1, manager, change(**{**texts, "key": 1}))
    assert edit(item_shown.item_id, 1, manager, change(**texts)).warnings == []


def test_an_edit_changes_something_and_starts_from_the_current_version(person, disputed):
    manager = person("manager")
    edit(disputed.pk, 1, manager, change())
    with pytest.raises(InvalidAnswerError, match="nothing was changed"):
        edit(disputed.pk, 2, manager, change())
    with pytest.raises(ConflictError, match="newer version 2"):
        edit(disputed.pk, 1, manager, change(key=2))
    with pytest.raises(ConflictError, match="no version 7"):
        edit(disputed.pk, 7, manager, change())


def test_a_released_item_is_never_edited(person, add_items):
    (item,) = add_items(1, state="released")
    with pytest.raises(IllegalTransitionError):
        edit(item.pk, 1, person("manager"), change())


@pytest.fixture
def quarantined(person, add_items, review):
    """An item that one of its two reviewers has called unsafe."""
    (item,) = add_items(1)
    review(person(), "reject", reasons=[("UNSAFE", None)])
    return item


def test_a_manager_puts_an_item_back_and_the_old_vote_does_not_take_it_out_again(
    person, quarantined, review, state
):
    decide_quarantine(quarantined.pk, 1, person("manager"), clear=True, note="looked at it")
    assert state(quarantined) == "queued"
    review(person(), "accept")
    assert state(quarantined) == "adjudication"


def test_a_second_vote_takes_it_out_again(person, quarantined, review, state):
    decide_quarantine(quarantined.pk, 1, person("manager"), clear=True, note="looked at it")
    review(person(), "reject", reasons=[("PHI", None)])
    assert state(quarantined) == "quarantined"


def test_a_cleared_item_that_has_all_reviews_is_settled_at_once(person, add_items, review, state):
    (item,) = add_items(1)
    review(person(), "accept")
    review(person(), "accept")
    report_harm(item.pk, 1, person("adjudicator"), reason="UNSAFE", note="a wrong dose")
    assert state(item) == "quarantined"
    decide_quarantine(item.pk, 1, person("manager"), clear=True, note="it is the vendor's")
    assert state(item) == "accepted"


def test_a_manager_ends_an_item_in_quarantine(person, quarantined, state):
    manager = person("manager")
    with pytest.raises(InvalidAnswerError, match="state what"):
        decide_quarantine(quarantined.pk, 1, manager, clear=False, note="")
    decide_quarantine(quarantined.pk, 1, manager, clear=False, note="a name")
    assert state(quarantined) == "rejected"
    with pytest.raises(IllegalTransitionError):
        decide_quarantine(quarantined.pk, 1, manager, clear=True, note="or not")


@pytest.mark.parametrize(
    ("state", "reason", "note"),
    [
        ("queued", "TRIVIAL", "x"),
        ("queued", "UNSAFE", " "),
        ("rejected", "UNSAFE", "x"),
        ("queued", "PHI", "x"),
        ("withdrawn", "UNSAFE", "x"),
        ("draft", "UNSAFE", "x"),
    ],
)
def test_only_dangers_in_items_that_are_shown_are_reported(person, add_items, state, reason, note):
    (item,) = add_items(1, state=state)
    with pytest.raises(InvalidAnswerError):
        report_harm(item.pk, 1, person("manager"), reason=reason, note=note)
    assert Item.objects.get().state == state


def test_a_release_freezes_accepted_versions_and_the_head_before_it(person, add_items, review):
    add_items(3)
    for reviewer in (person(), person()):
        while review(reviewer):
            pass
    before = chain_head()
    version_ids = list(ItemVersion.objects.values_list("pk", flat=True))
    release = record_release("2026.1", version_ids, "f" * 64)
    assert (release.head_number, release.head_sha256) == (before.number, before.sha256)
    assert {row.version_id for row in release.items.all()} == set(version_ids)
    assert set(Item.objects.values_list("state", flat=True)) == {"released"}
    assert not verify_chain(before).fault


@pytest.mark.parametrize("what", ["not accepted", "old", "unknown", "name taken"])
def test_a_release_is_whole_or_none(person, add_items, what):
    good, other = add_items(2, state="accepted")
    version_ids = [version.pk for version in ItemVersion.objects.all()]
    if what == "not accepted":
        Item.objects.filter(pk=other.pk).update(state="queued")
    if what == "old":
        edit(other.pk, 1, person("manager"), change())
        Item.objects.filter(pk=other.pk).update(state="accepted")
    if what == "unknown":
        version_ids.append(10**6)
    if what == "name taken":
        record_release("2026.1", [], "e" * 64)
    events = chain_head().number
    wrong = IllegalTransitionError if what == "not accepted" else ConflictError
    with pytest.raises(wrong):
        record_release("2026.1", version_ids, "f" * 64)
    assert Item.objects.get(pk=good.pk).state == "accepted"
    assert not ReleaseRecord.objects.filter(manifest_sha256="f" * 64).exists()
    assert chain_head().number == events


def test_a_released_item_is_withdrawn_with_a_reason(person, add_items, state):
    (item,) = add_items(1, state="released")
    manager = person("manager")
    with pytest.raises(InvalidAnswerError):
        withdraw(item.pk, 1, manager, " ")
    withdraw(item.pk, 1, manager, "the wrong side")
    assert state(item) == "withdrawn"
    assert Review.objects.count() == 0
