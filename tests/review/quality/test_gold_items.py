"""Items with a known defect, and what happens to reviewers who miss it; on both databases."""

from datetime import UTC, datetime, timedelta

import pytest

from medrcube.review.audit_trail.event_chain import verify_chain
from medrcube.review.errors import ConflictError, InvalidAnswerError, StaleClaimError
from medrcube.review.models import Claim, Draft, Event, Item, ItemVersion, Review, User
from medrcube.review.quality.gold_items import make_gold, pause_reviewer, resume_reviewer
from medrcube.review.reviewing.claims import claim_next
from medrcube.review.reviewing.decisions import adjudicate
from medrcube.review.reviewing.edits import Edit
from medrcube.review.reviewing.steps import answer_blind, submit_review
from medrcube.review.reviewing.submissions import ReviewSubmission

pytestmark = pytest.mark.usefixtures("any_database")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
OPTIONS = ("Finding A", "Finding B", "Finding C", "Finding D")
WRONG_KEY = Edit(question="Which finding is shown?", options=OPTIONS, key=1, note="wrong key")


@pytest.fixture
def gold(person, add_items):
    """Make gold items of released originals, so that nothing else is in the queue."""

    def make(count=1, defect="KEY_WRONG", change=WRONG_KEY):
        manager = person("manager")
        originals = add_items(count, state="released")
        return [make_gold(item.pk, 1, manager, defect=defect, change=change) for item in originals]

    return make


def test_a_gold_item_looks_like_any_other(gold):
    (item,) = gold()
    original = item.copied_from
    version, old = ItemVersion.objects.get(item=item), ItemVersion.objects.get(item=original)
    assert item.pk != original.pk
    assert len(item.pk) == len(original.pk)
    assert set(item.pk) <= set("0123456789abcdef")
    for field in ("source", "task", "anatomy", "modality", "stratum", "priority"):
        assert getattr(item, field) == getattr(original, field)
    for field in ("picture_id", "provenance", "warnings", "created_at", "author", "note", "number"):
        assert getattr(version, field) == getattr(old, field)
    assert version.parent is None
    assert [option["concept"] for option in version.options] == ["cA", "cB", "cC", "cD"]


def test_its_place_in_the_queue_says_nothing(project, gold):
    project(gold_rate=1.0)
    assert all(item.lot > 2**40 for item in gold(3))


@pytest.mark.parametrize(
    ("defect", "change", "words"),
    [
        ("NO_SUCH", WRONG_KEY, "not a reason code"),
        (
            "KEY_WRONG",
            Edit(question="Which finding number 0 is shown?", options=OPTIONS, key=0, note=""),
            "nothing was changed",
        ),
        ("KEY_WRONG", Edit(question="?", options=OPTIONS[:2], key=0, note=""), "2 options"),
        ("KEY_WRONG", Edit(question="?", options=OPTIONS, key=4, note=""), "none of the options"),
    ],
)
def test_a_gold_item_needs_a_real_defect(gold, defect, change, words):
    with pytest.raises(InvalidAnswerError, match=words):
        gold(1, defect, change)
    assert Item.objects.count() == 1


def test_gold_is_made_of_ordinary_items_only(person, gold):
    (item,) = gold()
    with pytest.raises(InvalidAnswerError, match="already"):
        make_gold(item.pk, 1, person("manager"), defect="TRIVIAL", change=WRONG_KEY)
    with pytest.raises(ConflictError):
        make_gold(item.pk, 2, person("manager"), defect="TRIVIAL", change=WRONG_KEY)


@pytest.mark.few(1)
@pytest.mark.parametrize(("rate", "least", "most"), [(0.0, 0, 0), (0.2, 6, 20), (1.0, 60, 60)])
def test_gold_is_handed_out_at_the_rate_of_the_policy(
    project, person, add_items, gold, review, rate, least, most
):
    project(gold_rate=rate, gold_pass=0.0)
    gold(60)
    add_items(60)
    reviewer = person()
    for _ in range(60):
        review(reviewer)
    count = Claim.objects.filter(version__item__gold_defect__gt="").count()
    assert least <= count <= most


def test_without_ordinary_items_gold_is_no_filler(project, person, gold):
    project(gold_rate=0.0)
    gold()
    assert claim_next(person()) is None


def test_any_number_of_reviewers_get_the_same_gold_item(project, person, gold, review):
    project(gold_rate=1.0)
    gold()
    claims = [review(person(), "reject") for _ in range(4)]
    assert [claim.slot for claim in claims] == [0, 1, 2, 3]
    assert review(User.objects.get(pk=claims[0].user_id)) is None


def test_who_has_seen_the_original_does_not_get_its_copy_and_the_other_way_round(
    project, person, add_items, review
):
    project(gold_rate=1.0)
    (original,) = add_items(1)
    saw_original = person()
    person()  # the copy leaves enough reviewers for the original, which waits
    review(saw_original)
    copy = make_gold(original.pk, 1, person("manager"), defect="KEY_WRONG", change=WRONG_KEY)
    assert claim_next(saw_original) is None
    saw_copy = person()
    assert review(saw_copy, "reject").version.item_id == copy.pk
    assert claim_next(saw_copy) is None
    project(gold_rate=0.0)
    assert claim_next(person()).version.item_id == original.pk


def test_reviews_of_gold_settle_nothing(project, person, gold, review, state):
    project(gold_rate=1.0, gold_pass=0.0)
    (item,) = gold()
    for _ in range(3):
        review(person(), "accept", option=1)
    review(person(), "reject", reasons=[("UNSAFE", None)])
    assert state(item) == "queued"


def test_a_vote_for_phi_quarantines_a_gold_item_too(project, person, gold, review, state):
    project(gold_rate=1.0)
    plain, marked = gold(1) + gold(1, "PHI")
    first, second = person(), person()
    for reviewer in (first, first, second, second):
        review(reviewer, "reject", reasons=[("PHI", None)])
    assert state(plain) == "quarantined"
    assert state(marked) == "queued"


FOUND = [
    ("KEY_WRONG", "reject", 1, ("KEY_WRONG",), True),
    ("KEY_WRONG", "reject", 0, ("TRIVIAL",), True),
    ("KEY_WRONG", "revise", 1, ("TRIVIAL",), False),
    ("KEY_WRONG", "revise", None, ("TRIVIAL",), False),
    ("KEY_WRONG", "accept", 0, ("KEY_WRONG",), False),
    ("AMBIGUOUS_STEM", "revise", 0, ("TRIVIAL", "AMBIGUOUS_STEM"), True),
    ("AMBIGUOUS_STEM", "reject", 0, ("TRIVIAL",), False),
]


@pytest.mark.parametrize(("defect", "decision", "option", "codes", "expected"), FOUND)
def test_when_a_defect_counts_as_found(
    project, person, gold, review, defect, decision, option, codes, expected
):
    project(gold_rate=1.0, gold_window=1, gold_pass=1.0)
    gold(1, defect)
    reviewer = person()
    review(reviewer, decision, option=option, reasons=[(code, None) for code in codes])
    assert User.objects.get(pk=reviewer.pk).paused is not expected


def test_a_reviewer_is_judged_by_the_last_window_only(project, person, gold, review):
    project(gold_rate=1.0, gold_window=4, gold_pass=0.75)
    gold(12)
    reviewer = person()
    paused = []
    for decision in ["accept", "reject", "reject", "reject", "reject", "accept", "accept"]:
        review(reviewer, decision, option=1, reasons=[("KEY_WRONG", None)])
        paused.append(User.objects.get(pk=reviewer.pk).paused)
    assert paused == [False, False, False, False, False, False, True]
    assert claim_next(reviewer) is None


@pytest.fixture
def careless(project, person, review, gold, add_items):
    """A reviewer about to miss the second of two known defects."""
    project(gold_rate=1.0, gold_window=2, gold_pass=1.0)
    reviewer = person()

    class Story:
        def __init__(self):
            self.reviewer = reviewer
            self.minutes = 0

        def now(self):
            self.minutes += 1
            return NOON + timedelta(minutes=self.minutes)

        def gold(self, decision="accept"):
            project(gold_rate=1.0)
            gold(1)
            review(reviewer, decision, option=1, reasons=[("KEY_WRONG", None)], now=self.now())

        def item(self, decision="accept", others=(), **fields):
            project(gold_rate=0.0)
            (item,) = add_items(1, priority=self.minutes, **fields)
            for other in others:
                review(person(), other, now=self.now())
            assert review(reviewer, decision, now=self.now()).version.item_id == item.pk
            return item

    return Story()


def test_a_pause_takes_back_the_reviews_of_the_window_only(careless, state):
    before = careless.item(others=["accept"])
    careless.gold()
    accepted = careless.item(others=["accept"])
    rejected = careless.item("reject", others=["reject"])
    disputed = careless.item(others=["reject"])
    waiting = careless.item()
    careless.gold()
    assert state(before) == "accepted"
    assert [state(item) for item in (accepted, rejected, disputed, waiting)] == ["queued"] * 4
    counts = [Item.objects.get(pk=item.pk).reviews for item in (before, accepted, waiting)]
    assert counts == [2, 1, 0]
    assert Claim.objects.filter(user=careless.reviewer, outcome="voided").count() == 6
    assert Review.objects.filter(claim__user=careless.reviewer).count() == 7
    event = Event.objects.get(kind="reviewer.paused")
    assert '"found":0,"of":2,"voided":6' in event.body
    assert Event.objects.filter(kind="review.voided").count() == 6
    assert not verify_chain().fault


def test_what_was_taken_back_is_reviewed_by_others(careless, project, person, review, state):
    careless.gold()
    item = careless.item(others=["accept"])
    careless.gold()
    project(gold_rate=0.0)
    User.objects.filter(pk=careless.reviewer.pk).update(paused=False)
    assert claim_next(careless.reviewer) is None, "who has seen the key is no blind reviewer"
    assert review(person()).version.item_id == item.pk
    assert state(item) == "accepted"


def test_released_items_and_older_versions_are_left_alone(careless, state):
    careless.gold()
    released = careless.item(others=["accept"])
    Item.objects.filter(pk=released.pk).update(state="released")
    edited = careless.item(others=["accept"])
    Item.objects.filter(pk=edited.pk).update(version=2, reviews=1)
    careless.gold()
    assert state(released) == "released"
    assert state(edited) == "accepted"
    assert Item.objects.get(pk=edited.pk).reviews == 1
    assert Claim.objects.filter(outcome="voided").count() == 2


def test_what_a_person_has_decided_stands(careless, person, state):
    careless.gold()
    disputed = careless.item(others=["reject"])
    adjudicate(disputed.pk, 1, person("adjudicator"), outcome="accept", rationale="Clear.")
    dangerous = careless.item("reject", others=["reject"])
    Item.objects.filter(pk=dangerous.pk).update(state="quarantined")
    careless.gold()
    assert state(disputed) == "accepted"
    assert state(dangerous) == "quarantined"


def test_a_paused_reviewer_who_held_an_item_loses_it_and_keeps_the_text(
    person, add_items, answer, review
):
    add_items(1)
    reviewer, manager = person(), person("manager")
    claim = claim_next(reviewer)
    answer_blind(claim.token, reviewer, answer())
    pause_reviewer(reviewer.pk, manager, "holiday")
    with pytest.raises(StaleClaimError):
        submit_review(
            claim.token, reviewer, ReviewSubmission(decision="accept"), typed={"comment": "x"}
        )
    assert Draft.objects.get().body == {"comment": "x"}
    assert claim_next(reviewer) is None
    resume_reviewer(reviewer.pk, manager, "back")
    assert claim_next(reviewer).version_id == claim.version_id
    kinds = Event.objects.filter(kind__startswith="reviewer.").order_by("number")
    assert list(kinds.values_list("kind", "actor")) == [
        ("reviewer.paused", manager.pseudonym),
        ("reviewer.resumed", manager.pseudonym),
    ]


def test_a_reviewer_who_is_let_in_again_starts_afresh(careless, person):
    careless.gold()
    careless.gold()
    assert User.objects.get(pk=careless.reviewer.pk).paused
    resume_reviewer(careless.reviewer.pk, person("manager"), "we have talked")
    careless.gold()
    assert not User.objects.get(pk=careless.reviewer.pk).paused
    careless.gold()
    assert User.objects.get(pk=careless.reviewer.pk).paused


def test_pausing_needs_a_reason_and_happens_once(person):
    reviewer, manager = person(), person("manager")
    with pytest.raises(InvalidAnswerError, match="state a reason"):
        pause_reviewer(reviewer.pk, manager, " ")
    with pytest.raises(ConflictError):
        resume_reviewer(reviewer.pk, manager, "why not")
    pause_reviewer(reviewer.pk, manager, "talk first")
    with pytest.raises(ConflictError):
        pause_reviewer(reviewer.pk, manager, "again")
    with pytest.raises(ConflictError):
        pause_reviewer(10**6, manager, "nobody")
