"""The two steps without a script: what is shown when, and that nothing typed is lost."""

import re
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from medrcube.ontologies.item_rules import RULES
from medrcube.review.models import BlindAnswer, Claim, Draft, Event, Item, ItemVersion, Review
from medrcube.review.reviewing.claims import claim_next
from medrcube.review.reviewing.questionnaire import CHECKLIST, Reason
from medrcube.review.reviewing.steps import submit_review
from medrcube.review.reviewing.submissions import ReviewSubmission
from medrcube.review.views.reviewing.evidence_text import warning_lines

BLIND = {"option": "0", "confidence": "2", "needs_image": "yes", "image_adequate": "yes"}
GOOD = {
    **{f"check.{line.name}": "yes" for line in CHECKLIST},
    **{f"verdict.{place}": "plausible_and_wrong" for place in (1, 2, 3)},
    "decision": "accept",
}
BAD = {
    "decision": "reject",
    "reason": ["KEY_WRONG", "DISTRACTOR_CORRECT:2"],
    "comment": "Zwei Befunde.\r\nSiehe Rand.",
}
HIDDEN = ("ZZCONCEPT", "ZZPROVENANCE", "ZZWARNING", "ZZSTRATEGY", "longest-is-key", "knowledge")
_VARIES = re.compile(
    r"""value="[A-Za-z0-9]{64}"|[0-9a-f]{8}-[0-9a-f-]{27}|"[0-9a-f]{64}"
    |[a-z0-9]+@example.org|(datetime|data-until)="[^"]*"|\d\d:\d\d""",
    re.VERBOSE,
)
"""Tokens, opaque ids, names of people and times of day."""


def url(claim, step=""):
    return f"/review/{claim.token}/{step}"


@pytest.fixture
def answered(take_claim):
    def make(**fields):
        client, user, claim = take_claim(**fields)
        assert client.post(url(claim, "blind/"), BLIND).status_code == 302
        return client, user, claim

    return make


def expire(claim):
    Claim.objects.filter(pk=claim.pk).update(expires_at=timezone.now() - timedelta(seconds=1))


def body(reply):
    return reply.content.decode()


def checked_values(reply, name):
    """Values of the radio buttons and checkboxes of a name that are checked."""
    return re.findall(rf'name="{re.escape(name)}" value="([^"]*)" checked', body(reply))


def test_the_next_item_is_taken_by_a_post_and_found_again(signed_in, add_shown):
    version = add_shown()
    client, user = signed_in()
    assert "Take the next item" in body(client.get("/review/"))
    assert not Claim.objects.exists()
    reply = client.post("/review/")
    claim = Claim.objects.get()
    assert (claim.version, claim.user) == (version, user)
    assert reply["Location"] == url(claim)
    assert url(claim) in body(client.get("/review/"))


def test_the_first_step_shows_the_question_and_nothing_of_the_answer(take_claim):
    client, _, claim = take_claim()
    Item.objects.update(gold_defect="KEY_WRONG")
    reply = client.get(url(claim))
    assert reply.status_code == 200
    text = body(reply)
    version = claim.version
    assert version.question in text
    assert f"/pictures/{version.picture_id}/" in text
    for secret in (*HIDDEN, "KEY_WRONG", str(version.overlay_id), claim.version.item_id, "toy"):
        assert secret not in text
        assert secret not in str(reply.headers)


@pytest.mark.parametrize("gold", ["", "KEY_WRONG"])
def test_the_first_step_is_the_same_whatever_the_key(take_claim, gold):
    pages = []
    for key in range(4):
        client, _, claim = take_claim(key=key)
        Item.objects.update(gold_defect=gold)
        pages.append(_VARIES.sub("", body(client.get(url(claim)))))
        Item.objects.update(state="draft")  # so that the next one is taken
    assert len(set(pages)) == 1


def test_the_key_is_not_even_read_for_the_first_step(take_claim, django_queries):
    client, _, claim = take_claim()
    with django_queries() as queries:
        client.get(url(claim))
    statements = " ".join(queries)
    assert '"question"' in statements
    assert '"review_itemversion"."key"' not in statements
    assert '"provenance"' not in statements
    assert "gold_defect" not in statements


def test_a_mark_that_is_asked_about_is_shown_at_once(take_claim):
    client, _, claim = take_claim(asks_mark=True)
    text = body(client.get(url(claim)))
    assert f"/pictures/{claim.version.overlay_id}/" in text
    assert 'data-action="overlay" aria-pressed="true"' in text


def test_a_warning_says_what_is_wrong_with_the_item_and_does_not_repeat_its_rule():
    for rule, line in zip(
        RULES, warning_lines(ItemVersion(warnings=[rule.id for rule in RULES])), strict=True
    ):
        assert (line.name, line.value) == (rule.id, rule.flaw)
        assert line.value not in ("", rule.asks)
        assert not line.value.startswith("No ")


def test_the_second_step_shows_everything(answered):
    client, _, claim = answered()
    reply = client.get(url(claim))
    text = body(reply)
    for words in (
        "✓ Key",
        "Your answer",
        "which is the key",
        "ZZPROVENANCE case-0007/series-2",
        "largest area of the mask",
        "train.csv:123 Oedema=1",
        "CC-BY-4.0",
        "The key is the single longest option.",
        "ZZWARNING",
        "radlex:RID28493, hpo:HP:0002202",
        "0.43 of 1",
        "A: read as absent",
        "The source gives evidence that it is absent.",
        str(claim.version.overlay_id),
        *(line.text for line in CHECKLIST),
    ):
        assert words in text
    assert re.findall(r'name="(verdict.\d)"', text) == ["verdict.1", "verdict.2", "verdict.3"]
    assert set(re.findall(r'name="reason" value="([A-Z_]+)"', text)) == set(Reason)


def test_an_answer_that_differs_from_the_key_is_said_in_words(take_claim):
    client, _, claim = take_claim(key=2)
    client.post(url(claim, "blind/"), {**BLIND, "option": "none"})
    text = body(client.get(url(claim)))
    assert "You answered <b>cannot tell</b>; the key is another option." in text
    assert BlindAnswer.objects.get().option is None


@pytest.mark.parametrize(
    ("missing", "says"),
    [
        ("option", "Choose an answer"),
        ("confidence", "State how sure you are"),
        ("needs_image", "State whether the question needs the image"),
        ("image_adequate", "State whether the image is good enough"),
    ],
)
def test_an_open_question_of_step_one_is_named_and_the_rest_kept(take_claim, missing, says):
    client, _, claim = take_claim()
    reply = client.post(url(claim, "blind/"), {**BLIND, missing: ""})
    assert reply.status_code == 422
    assert says in body(reply)
    assert not BlindAnswer.objects.exists()
    for name, value in BLIND.items():
        assert checked_values(reply, name) == ([] if name == missing else [value])
    for secret in HIDDEN:
        assert secret not in body(reply)


@pytest.mark.parametrize("option", ["4", "-1", "²", "1.0", "00"])
def test_an_option_that_is_not_offered_is_refused(take_claim, option):
    client, _, claim = take_claim()
    assert client.post(url(claim, "blind/"), {**BLIND, "option": option}).status_code == 422
    assert not BlindAnswer.objects.exists()


@pytest.mark.parametrize(
    ("milliseconds", "expected"),
    [("1234", 1234), ("", 0), ("-3", 0), ("9" * 30, 86_400_000), ("9" * 5000, 86_400_000)],
)
def test_the_browser_s_stopwatch_never_costs_an_answer(take_claim, milliseconds, expected):
    client, _, claim = take_claim()
    client.post(url(claim, "blind/"), {**BLIND, "milliseconds": milliseconds})
    assert BlindAnswer.objects.get().milliseconds == expected


@pytest.mark.parametrize("again", [{**BLIND, "option": "3"}, {"option": "3"}, {}])
def test_the_first_answer_counts(answered, again):
    client, _, claim = answered()
    reply = client.post(url(claim, "blind/"), again)
    assert reply.status_code == 409
    assert "your first answer counts" in body(reply)
    assert BlindAnswer.objects.get().option == 0


def test_the_second_step_needs_the_first(take_claim):
    client, _, claim = take_claim()
    reply = client.post(url(claim, "submit/"), GOOD)
    assert reply.status_code == 422
    assert "Step 1 of 2" in body(reply)
    assert not Review.objects.exists()
    assert all(secret not in body(reply) for secret in HIDDEN)


def test_an_accepted_item_is_stored(answered):
    client, _, claim = answered()
    reply = client.post(url(claim, "submit/"), GOOD, follow=True)
    assert reply.redirect_chain == [("/review/", 302)]
    assert "Your review is stored." in body(reply)
    review = Review.objects.get()
    assert review.decision == "accept"
    assert review.checklist == {line.name: True for line in CHECKLIST}
    assert review.verdicts == dict.fromkeys("123", "plausible_and_wrong")


def test_a_rejected_item_is_stored_with_reasons_and_comment(answered):
    client, _, claim = answered()
    client.post(url(claim, "submit/"), BAD)
    review = Review.objects.get()
    reasons = set(review.reasons.values_list("code", "option"))
    assert reasons == {("KEY_WRONG", None), ("DISTRACTOR_CORRECT", 2)}
    assert review.comment == "Zwei Befunde.\nSiehe Rand."


def test_a_reason_about_an_option_stands_in_for_the_whole(answered):
    client, _, claim = answered()
    reasons = ["DISTRACTOR_CORRECT", "DISTRACTOR_CORRECT:1", "DISTRACTOR_CORRECT:3"]
    client.post(url(claim, "submit/"), {**BAD, "reason": reasons})
    reason_rows = Review.objects.get().reasons.values_list("code", "option")
    assert sorted(reason_rows) == [("DISTRACTOR_CORRECT", 1), ("DISTRACTOR_CORRECT", 3)]


def test_the_next_item_follows_at_once_when_asked_for(answered, add_shown):
    client, user, claim = answered()
    other = add_shown()
    reply = client.post(url(claim, "submit/"), {**GOOD, "then": "next"})
    own_claim = Claim.objects.get(user=user, submitted_at=None)
    assert (own_claim.version, reply["Location"]) == (other, url(own_claim))


def test_what_accepting_confirms_and_the_warnings_are_not_folded_away(answered):
    client, _, claim = answered()
    text = body(client.get(url(claim)))
    folded = re.sub(r"<details[^>]*\bopen>.*?</details>", "", text, flags=re.DOTALL)
    assert not any(line.text in folded for line in CHECKLIST)
    hidden = "".join(re.findall(r"<details.*?</details>", text, flags=re.DOTALL))
    assert "The key is the single longest option." in text
    assert "The key is the single longest option." not in hidden


def test_to_accept_is_to_say_that_nothing_is_wrong(answered):
    client, _, claim = answered()
    client.post(url(claim, "submit/"), {"decision": "accept", "verdict.3": "implausible"})
    review = Review.objects.get()
    assert review.checklist == {line.name: True for line in CHECKLIST}
    assert review.verdicts == {
        "1": "plausible_and_wrong",
        "2": "plausible_and_wrong",
        "3": "implausible",
    }


def test_what_nobody_answered_is_not_answered_by_a_rejection(answered):
    client, _, claim = answered()
    client.post(url(claim, "submit/"), BAD)
    review = Review.objects.get()
    assert (review.checklist, review.verdicts) == ({}, {})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"decision": ""}, "Decide: accept, revise or reject"),
        ({"check.no_identifier": "no"}, "you answered “no” to “No name"),
        ({"verdict.2": "also_correct"}, "option C is correct too"),
        ({"verdict.2": "nonsense"}, "is not a verdict"),
        ({"decision": "reject"}, "at least one reason"),
        ({"decision": "revise", "reason": ["NONSENSE"]}, "is not a reason code"),
        ({"decision": "revise", "reason": ["PHI:x"]}, "is not an option"),
        ({"decision": "revise", "reason": ["OTHER"], "comment": " "}, "needs a comment"),
    ],
)
def test_an_incomplete_decision_is_named_and_the_rest_kept(answered, change, says):
    client, _, claim = answered()
    form_data = {**GOOD, "comment": "Ein </textarea><b>Text", **change}
    reply = client.post(url(claim, "submit/"), form_data)
    assert reply.status_code == 422
    assert says.casefold() in body(reply).casefold()
    assert not Review.objects.exists()
    for line in CHECKLIST:
        name = f"check.{line.name}"
        assert checked_values(reply, name) == ([form_data[name]] if form_data[name] else [])
    if change.get("comment") is None:
        assert "Ein &lt;/textarea&gt;&lt;b&gt;Text</textarea>" in body(reply)
    assert Draft.objects.get().body["decision"] == [form_data["decision"]]


def test_a_late_review_is_refused_with_the_text_in_the_page_and_kept(answered):
    client, user, claim = answered()
    expire(claim)
    reply = client.post(url(claim, "submit/"), BAD)
    assert reply.status_code == 409
    assert "Zwei Befunde." in body(reply)
    assert not Review.objects.exists()
    again = claim_next(user)
    assert again.version == claim.version
    assert again.token != claim.token
    restored = client.get(url(again))
    assert checked_values(restored, "decision") == ["reject"]
    assert checked_values(restored, "reason") == ["KEY_WRONG", "DISTRACTOR_CORRECT:2"]
    assert "Zwei Befunde." in body(restored)


def test_fields_of_the_second_step_do_not_come_back_in_the_first(take_claim):
    client, _, claim = take_claim()
    client.post(url(claim, "draft/"), {**BAD, **BLIND, "verdict.1": "implausible"})
    assert set(Draft.objects.get().body) == set(BLIND)


def test_a_late_blind_answer_is_refused_without_the_key(take_claim):
    client, _, claim = take_claim()
    expire(claim)
    reply = client.post(url(claim, "blind/"), BLIND)
    assert reply.status_code == 409
    assert all(secret not in body(reply) for secret in HIDDEN)
    assert Draft.objects.get().body["option"] == ["0"]


def test_a_review_sent_twice_is_stored_once(answered):
    client, _, claim = answered()
    assert client.post(url(claim, "submit/"), GOOD).status_code == 302
    reply = client.post(url(claim, "submit/"), GOOD)
    assert reply.status_code == 409
    assert "had already been stored" in body(reply)
    assert Review.objects.count() == 1


def test_a_lost_item_is_said_so_on_opening(take_claim):
    client, _, claim = take_claim()
    expire(claim)
    reply = client.get(url(claim))
    assert reply.status_code == 409
    assert "no longer have this item" in body(reply)
    assert str(claim.version.picture_id) not in body(reply)


def test_a_sent_review_can_be_read_again(answered):
    client, _, claim = answered()
    client.post(url(claim, "submit/"), BAD)
    reply = client.get(url(claim))
    assert reply.status_code == 200
    assert checked_values(reply, "reason") == ["KEY_WRONG", "DISTRACTOR_CORRECT:2"]
    assert "It can be retracted until" in body(reply)
    assert "review-submit" not in body(reply)
    assert body(reply).count("disabled") > 30


def test_a_draft_is_kept_and_renews_the_lease(take_claim):
    client, _, claim = take_claim()
    nearly = timezone.now() + timedelta(minutes=1)
    Claim.objects.filter(pk=claim.pk).update(expires_at=nearly)
    reply = client.post(url(claim, "draft/"), {"option": "3", "confidence": "1", "comment": "x"})
    assert reply.status_code == 200
    claim.refresh_from_db()
    assert claim.expires_at > nearly + timedelta(minutes=10)
    assert set(reply.json()) == {"saved", "until"}
    assert Draft.objects.get().body == {"option": ["3"], "confidence": ["1"]}
    assert checked_values(client.get(url(claim)), "option") == ["3"]


def test_a_draft_keeps_only_fields_of_the_form_and_refuses_what_does_not_fit(answered):
    client, _, claim = answered()
    form_data = {
        "comment": "x" * 20_000,
        "verdict.x": "1",
        "check.nonsense": "yes",
        "next": "/",
        **BLIND,
    }
    client.post(url(claim, "draft/"), {**form_data, "verdict.1": "implausible"})
    draft_body = Draft.objects.get().body
    assert set(draft_body) == {"comment", "verdict.1"}
    assert len(draft_body["comment"][0]) == 20_000
    reply = client.post(url(claim, "draft/"), {**form_data, "comment": "y" * 20_001})
    assert reply.status_code == 422
    assert Draft.objects.get().body == draft_body, "nothing is cut off"


def test_a_late_draft_is_kept_and_answered_409(take_claim):
    client, _, claim = take_claim()
    expire(claim)
    reply = client.post(url(claim, "draft/"), {"option": "3"})
    assert reply.status_code == 409
    assert "no longer have this item" in reply.json()["error"]
    assert Draft.objects.get().body == {"option": ["3"]}


@pytest.mark.parametrize(
    ("form_data", "outcome", "says"),
    [
        ({}, "given-back", "Others can now get it"),
        ({"not_my_field": "1"}, "skipped", "will not get it again"),
    ],
)
def test_an_item_can_be_given_back(take_claim, form_data, outcome, says):
    client, _, claim = take_claim()
    reply = client.post(url(claim, "give-back/"), form_data, follow=True)
    claim.refresh_from_db()
    assert claim.outcome == outcome
    assert says in body(reply)


@pytest.mark.parametrize("step", ["", "blind/", "submit/", "draft/", "give-back/"])
def test_the_claim_of_another_reviewer_does_not_exist(take_claim, signed_in, step):
    _, _, claim = take_claim()
    stranger, _ = signed_in()
    call = stranger.post if step else stranger.get
    assert call(url(claim, step), {**BLIND, **BAD}).status_code == 404
    assert not Draft.objects.exists()
    claim.refresh_from_db()
    assert claim.released_at is None


def test_who_has_lost_the_session_is_told_so_by_401(take_claim):
    _, _, claim = take_claim()
    script = {"HTTP_X_REQUESTED_WITH": "fetch"}
    stranger = Client(SERVER_NAME="localhost")
    assert stranger.post(url(claim, "draft/"), {}, **script).status_code == 401


def test_nothing_left_says_who_holds_the_rest_and_until_when(take_claim, signed_in):
    client, _ = signed_in()
    assert "nothing left for you" in body(client.post("/review/", follow=True))
    _, _, claim = take_claim()
    assert claim_next(signed_in()[1]) is not None
    text = body(client.get("/review/?empty"))
    assert "reserved by other reviewers" in text
    assert claim.expires_at.strftime("%H:%M") in text


def test_a_paused_reviewer_is_told_so(signed_in, add_shown):
    add_shown()
    client, _ = signed_in(paused=True)
    assert "manager has paused your account" in body(client.get("/review/"))
    assert client.post("/review/")["Location"] == "/review/?empty"


def test_every_step_is_on_record(answered):
    client, _, claim = answered()
    client.post(url(claim, "submit/"), GOOD)
    kinds = list(Event.objects.order_by("number").values_list("kind", flat=True))
    assert kinds[:3] == ["claim.issued", "blind.answered", "review.submitted"]


def test_a_reviewer_sees_how_much_is_done_and_how_long_the_rest_takes(answered, add_shown):
    client, user, claim = answered()
    for _ in range(20):
        add_shown()
    cache.clear()
    reasons = (("KEY_WRONG", None),)
    half_a_minute = claim.claimed_at + timedelta(seconds=30)
    submit_review(
        claim.token, user, ReviewSubmission(decision="reject", reasons=reasons), now=half_a_minute
    )
    text = body(client.get("/review/"))
    assert "1; an equal share is 42" in text  # 21 items, two reviews each, one reviewer
    assert "about 21 min at your pace" in text
    follow = claim_next(user)
    assert "Review 2 of 42, about 21 min left" in body(client.get(url(follow)))
