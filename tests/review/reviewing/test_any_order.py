"""Reviewers, adjudicators and managers do anything in any order; what must hold always holds."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from medrcube.review.audit_trail.event_chain import verify_chain
from medrcube.review.errors import (
    ConflictError,
    IllegalTransitionError,
    InvalidAnswerError,
    StaleClaimError,
)
from medrcube.review.models import Adjudication, BlindAnswer, Claim, Item, ItemVersion, Review, User
from medrcube.review.quality import gold_items
from medrcube.review.reviewing import decisions, edits, voiding
from medrcube.review.reviewing.claims import active_claim, claim_next, give_back, renew
from medrcube.review.reviewing.questionnaire import DANGERS
from medrcube.review.reviewing.state_machine import TRANSITIONS, ReviewState, Transition
from medrcube.review.reviewing.steps import answer_blind, submit_review
from medrcube.review.reviewing.submissions import BlindSubmission, ReviewSubmission
from medrcube.review.visibility import privacy_incidents

REVIEWERS, ITEMS, REVIEWS = 4, 3, 2
OPTIONS = ("Cyst", "Stone", "Polyp", "Tumour")
REVIEWER = st.integers(0, REVIEWERS - 1)
ANYBODY = st.integers(0, REVIEWERS + 1)
ITEM = st.integers(0, ITEMS - 1)
CODES = st.sampled_from([(), ("TRIVIAL",), ("KEY_WRONG",), ("PHI",), ("UNSAFE", "TRIVIAL")])
DECISION = st.sampled_from(["accept", "accept", "accept", "reject", "revise"])


class Queue(RuleBasedStateMachine):
    """Two judges beside the reviewers; every call works or is refused for a known reason."""

    reset = None

    def __init__(self):
        super().__init__()
        self.people, self.items = type(self).reset()
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.tokens = []
        self.releases = 0
        self.edits = 0

    @rule(minutes=st.sampled_from([1, 12, 25]))
    def time_passes(self, minutes):
        self.now += timedelta(minutes=minutes)

    @rule(reviewer=REVIEWER)
    def somebody_takes_an_item(self, reviewer):
        user = self.people[reviewer]
        claim = claim_next(user, self.now)
        if claim is not None:
            self.tokens.append((claim.token, user))
            assert claim.version.author_id != user.pk
            assert active_claim(user, self.now).token == claim.token

    @rule(reviewer=REVIEWER, option=st.sampled_from([0, 0, 0, 1, None]))
    def somebody_answers(self, reviewer, option):
        claim = active_claim(self.people[reviewer], self.now)
        if claim is None:
            return
        answer = BlindSubmission(option=option, confidence=1, needs_image="no", image_adequate=True)
        if BlindAnswer.objects.filter(claim=claim).exists():
            with pytest.raises(StaleClaimError):
                answer_blind(claim.token, self.people[reviewer], answer, self.now)
        else:
            answer_blind(claim.token, self.people[reviewer], answer, self.now)

    @rule(reviewer=REVIEWER, decision=DECISION, codes=CODES)
    def somebody_decides(self, reviewer, decision, codes):
        user = self.people[reviewer]
        claim = active_claim(user, self.now)
        if claim is None:
            return
        reasons = tuple((code, None) for code in codes)
        complete = decision == "accept" or codes
        answered = BlindAnswer.objects.filter(claim=claim).exists()
        ruling = ReviewSubmission(decision=decision, reasons=reasons)
        if complete and answered:
            submit_review(claim.token, user, ruling, self.now)
            danger = DANGERS & set(codes)
            item = claim.version.item
            assert (item.state == ReviewState.QUARANTINED) == bool(gold_or(item, danger))
        else:
            with pytest.raises(InvalidAnswerError):
                submit_review(claim.token, user, ruling, self.now)

    @rule(data=st.data(), text=st.text(max_size=3))
    def an_old_page_is_sent(self, data, text):
        if not self.tokens:
            return
        token, user = data.draw(st.sampled_from(self.tokens))
        claim = active_claim(user, self.now)
        if claim is not None and claim.token == token:
            renew(token, user, {"comment": text}, self.now)
            return
        reviews = Review.objects.count()
        with pytest.raises(StaleClaimError):
            submit_review(
                token, user, ReviewSubmission(decision="accept"), self.now, typed={"comment": text}
            )
        with pytest.raises(StaleClaimError):
            renew(token, user, {"comment": text}, self.now)
        assert Review.objects.count() == reviews

    @rule(reviewer=REVIEWER, mine=st.booleans())
    def somebody_gives_an_item_back(self, reviewer, mine):
        claim = active_claim(self.people[reviewer], self.now)
        if claim is not None:
            give_back(claim.token, self.people[reviewer], not_my_field=not mine, now=self.now)

    @rule(item=ITEM, who=ANYBODY, outcome=st.sampled_from(["accept", "reject", "revise"]))
    def somebody_adjudicates(self, item, who, outcome):
        step = {
            "accept": Transition.ADJUDICATOR_ACCEPTS,
            "reject": Transition.ADJUDICATOR_REJECTS,
            "revise": Transition.ADJUDICATOR_SENDS_BACK,
        }[outcome]
        item, user = self.item(item), self.people[who]
        version = ItemVersion.objects.get(item=item, number=item.version)
        involved = (
            version.author_id == user.pk
            or Review.objects.filter(claim__version=version, claim__user=user).exists()
        )
        self.does(
            item,
            step,
            lambda: decisions.adjudicate(
                item.pk, item.version, user, outcome=outcome, rationale="x", now=self.now
            ),
            refused=involved,
        )

    @rule(item=ITEM, who=ANYBODY)
    def somebody_edits(self, item, who):
        self.edits += 1
        item = self.item(item)
        stem = f"Which finding number {self.edits} is shown in this CT image?"
        change = edits.Edit(question=stem, options=OPTIONS, key=0, note="")
        origin = ReviewState(item.state)
        step = (
            Transition.NEW_VERSION
            if origin is ReviewState.NEEDS_REVISION
            else Transition.EDIT_WANTED
        )
        target = ReviewState.QUEUED if (origin, step) in TRANSITIONS else origin
        if target is origin and origin is not ReviewState.QUEUED:
            with pytest.raises(IllegalTransitionError):
                edits.edit(item.pk, item.version, self.people[who], change, self.now)
        else:
            edits.edit(item.pk, item.version, self.people[who], change, self.now)
            with pytest.raises(ConflictError):
                edits.edit(item.pk, item.version, self.people[who], change, self.now)
        assert self.item_state(item) == target

    @rule(item=ITEM)
    def somebody_reports_a_danger(self, item):
        item = self.item(item)
        self.does(
            item,
            Transition.DANGER_SEEN,
            lambda: decisions.report_harm(
                item.pk, item.version, self.people[-1], reason="UNSAFE", note="x", now=self.now
            ),
            refused=item.state in (ReviewState.REJECTED, ReviewState.WITHDRAWN),
        )

    @rule(item=ITEM)
    def somebody_sees_who_the_patient_is(self, item):
        item = self.item(item)
        if item.state in privacy_incidents.UNSEEN:
            with pytest.raises(ConflictError):
                privacy_incidents.report_incident(item.pk, self.people[-1], self.now)
            return
        privacy_incidents.report_incident(item.pk, self.people[-1], self.now)
        assert self.item_state(item) == ReviewState.QUARANTINED
        assert not privacy_incidents.linked_items(item).exists()

    @rule(clear=st.booleans())
    def a_manager_decides_over_a_report(self, clear):
        incident = privacy_incidents.open_incidents().first()
        if incident is not None:
            privacy_incidents.decide_incident(
                incident.pk, self.people[-1], clear=clear, note="x", now=self.now
            )

    @rule(reviewer=REVIEWER)
    def somebody_takes_a_review_back(self, reviewer):
        user = self.people[reviewer]
        mine = Claim.objects.filter(user=user, review__isnull=False).order_by("-submitted_at")
        claim = mine.select_related("version__item").first()
        if claim is None:
            return
        before = claim.version.item.reviews
        try:
            voiding.take_back(claim.token, user, {"comment": ["x"]}, self.now)
        except ConflictError:
            assert Item.objects.get(pk=claim.version.item_id).reviews == before
            return
        item = Item.objects.get(pk=claim.version.item_id)
        assert (item.state, item.reviews) == (ReviewState.QUEUED, before - 1)

    @rule(reviewer=REVIEWER)
    def a_manager_voids_a_review(self, reviewer):
        claim = Claim.objects.filter(user=self.people[reviewer], review__isnull=False).last()
        if claim is not None:
            try:
                voiding.void_review(claim.pk, self.people[-1], "x", self.now)
            except ConflictError:
                return
            assert Claim.objects.get(pk=claim.pk).outcome == "voided"

    @rule(item=ITEM)
    def a_manager_reopens(self, item):
        item = self.item(item)
        self.does(
            item,
            Transition.REOPENED,
            lambda: voiding.reopen(item.pk, item.version, self.people[-1], "x", self.now),
        )

    @rule(item=ITEM)
    def a_manager_rejects(self, item):
        item = self.item(item)
        self.does(
            item,
            Transition.MANAGER_REJECTS,
            lambda: decisions.decide_quarantine(
                item.pk, item.version, self.people[-1], clear=False, note="x", now=self.now
            ),
        )

    @rule(item=ITEM)
    def a_manager_clears(self, item):
        item = self.item(item)

        def clear():
            decisions.decide_quarantine(
                item.pk, item.version, self.people[-1], clear=True, note="x", now=self.now
            )

        if item.state == ReviewState.QUARANTINED:
            clear()
            assert self.item_state(item) in ("queued", "accepted", "rejected", "adjudication")
        else:
            self.does(item, Transition.MANAGER_CLEARS, clear)

    @rule(item=ITEM)
    def an_item_is_released(self, item):
        item = self.item(item)
        self.releases += 1
        version = ItemVersion.objects.get(item=item, number=item.version)
        name = f"release {self.releases}"
        self.does(
            item,
            Transition.RELEASE,
            lambda: decisions.record_release(name, [version.pk], "f" * 64, self.now),
        )

    @rule(item=ITEM)
    def an_item_is_withdrawn(self, item):
        item = self.item(item)
        self.does(
            item,
            Transition.DEFECT_FOUND,
            lambda: decisions.withdraw(item.pk, item.version, self.people[-1], "x", self.now),
        )

    @rule(reviewer=REVIEWER)
    def a_manager_lets_somebody_in_again(self, reviewer):
        if User.objects.get(pk=self.people[reviewer].pk).paused:
            gold_items.resume_reviewer(self.people[reviewer].pk, self.people[-1], "x", self.now)

    def does(self, item, step, call, *, refused=False):
        """The step works if and only if the table knows it and nothing else forbids it."""
        origin = ReviewState(item.state)
        if refused:
            with pytest.raises((InvalidAnswerError, IllegalTransitionError)):
                call()
        elif (origin, step) in TRANSITIONS:
            call()
            assert self.item_state(item) == TRANSITIONS[origin, step]
            return
        else:
            with pytest.raises(IllegalTransitionError):
                call()
        assert self.item_state(item) == origin

    def item(self, index):
        return Item.objects.get(pk=self.items[index])

    def item_state(self, item):
        return Item.objects.get(pk=item.pk).state

    @invariant()
    def the_counter_equals_the_valid_reviews(self):
        for item in Item.objects.all():
            valid = Claim.objects.filter(
                version__item=item,
                version__number=item.version,
                released_at=None,
                submitted_at__isnull=False,
            )
            assert item.reviews == valid.count() == valid.filter(review__isnull=False).count()
            if item.sole_reviewer_id:
                assert valid.filter(user=item.sole_reviewer_id).exists()

    @invariant()
    def no_version_has_too_many_reviewers(self):
        for version in ItemVersion.objects.filter(item__gold_defect=""):
            claims = Claim.objects.filter(version=version, released_at=None)
            assert claims.count() <= REVIEWS
            assert {claim.slot for claim in claims} <= set(range(REVIEWS))

    @invariant()
    def what_is_accepted_was_accepted_by_all_or_by_an_adjudicator(self):
        accepted_items = Item.objects.filter(pk__in=self.items, state__in=["accepted", "released"])
        for item in accepted_items:
            version = ItemVersion.objects.get(item=item, number=item.version)
            ruled = Adjudication.objects.filter(version=version, outcome="accept").exists()
            reviews = Review.objects.filter(claim__version=version, claim__released_at=None)
            agreed = [
                review.decision == "accept" and review.claim.blind.option == version.key
                for review in reviews
            ]
            assert ruled or (len(agreed) == REVIEWS and all(agreed))

    @invariant()
    def nobody_judges_what_they_wrote_or_reviewed(self):
        for claim in Claim.objects.select_related("version"):
            assert claim.user_id != claim.version.author_id
        for ruling in Adjudication.objects.select_related("version"):
            assert ruling.adjudicator_id != ruling.version.author_id
            mine = Review.objects.filter(
                claim__version=ruling.version, claim__user=ruling.adjudicator_id
            )
            assert not mine.exists()

    @invariant()
    def nobody_reviews_a_version_twice(self):
        valid = Review.objects.exclude(claim__outcome="undone")
        pairs = list(valid.values_list("claim__version", "claim__user"))
        assert len(pairs) == len(set(pairs))

    @invariant()
    def who_holds_an_item_holds_one_that_is_queued(self):
        live = Claim.objects.filter(released_at=None, submitted_at=None)
        for claim in live.select_related("version__item"):
            assert claim.version.item.state == ReviewState.QUEUED
            assert claim.version.number == claim.version.item.version

    @invariant()
    def who_is_paused_holds_nothing(self):
        live = Claim.objects.filter(released_at=None, submitted_at=None)
        assert not live.filter(user__paused=True).exists()

    def teardown(self):
        assert verify_chain().fault == ""


def gold_or(item, danger):
    """Dangers that take an item out: any, but only PHI for a gold item."""
    return danger & {"PHI"} if item.gold_defect else danger


@pytest.mark.parametrize(
    ("runs", "steps"), [(3, 20), pytest.param(15, 40, marks=pytest.mark.thorough)]
)
def test_whatever_people_do_the_rules_hold(
    template, database, project, person, add_items, runs, steps
):
    def reset():
        connection.close()
        for remnant in Path(database.database).parent.glob("review.sqlite3*"):
            remnant.unlink()
        shutil.copyfile(template, database.database)
        project(reviews=REVIEWS, gold_rate=0.3, gold_window=2, gold_pass=1.0)
        people = [person() for _ in range(REVIEWERS)] + [person("adjudicator"), person("manager")]
        items = add_items(ITEMS)
        for original in add_items(2, state="released"):
            change = edits.Edit(question="?", options=("a", "b", "c", "d"), key=1, note="")
            gold_items.make_gold(original.pk, 1, people[-1], defect="KEY_WRONG", change=change)
        return people, [item.pk for item in items]

    class Here(Queue):
        pass

    Here.reset = staticmethod(reset)
    run_state_machine_as_test(
        Here, settings=settings(max_examples=runs, stateful_step_count=steps, deadline=None)
    )
