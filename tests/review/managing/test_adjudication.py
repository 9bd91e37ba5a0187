import re

import pytest

from medrcube.review.models import Adjudication, Event, Role, User
from medrcube.review.reviewing.decisions import adjudicate
from medrcube.review.reviewing.edits import Edit, edit
from medrcube.review.views.managing.adjudication import VoteSummary, reasons_undecided

TEXTS = ("Oedema", "Haemorrhage", "Calcification", "Cyst")
QUESTION = "Which abnormality does this axial MRI slice of the brain show?"


def offered(reply):
    return re.findall(r'<a href="/adjudication/([^/"]+)/"', reply.content.decode())


def decision(version=1, outcome="accept", rationale="B is not visible here."):
    return {"version": version, "outcome": outcome, "rationale": rationale}


@pytest.fixture
def judge(signed_in):
    return signed_in("adjudicator")


@pytest.mark.parametrize("role", ["reviewer", "manager", "administrator"])
def test_only_adjudicators_adjudicate(signed_in, disputed, role):
    item, _ = disputed()
    client, _ = signed_in(role)
    assert client.get("/adjudication/").status_code == 404
    assert client.get(f"/adjudication/{item.pk}/").status_code == 404
    assert client.post(f"/adjudication/{item.pk}/", decision()).status_code == 404


def test_the_list_says_why_each_item_needs_a_third_person(judge, disputed, add_shown, words):
    item, _ = disputed()
    add_shown()
    client, _ = judge
    reply = client.get("/adjudication/")
    assert offered(reply) == [item.pk]
    assert "The reviewers disagree: 1 accept, 1 reject." in words(reply)
    assert "1 of 2 blind answers is not the key." in words(reply)


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        (
            [("accept", True, 0), ("reject", True, 1)],
            ["The reviewers disagree: 1 accept, 1 reject."],
        ),
        ([("revise", True, 1), ("revise", True, 1)], ["All ask for another wording."]),
        ([("accept", True, 0), ("accept", True, 1)], ["Accepted, but with a reason against it."]),
        (
            [("accept", False, 0), ("accept", False, 0)],
            ["2 of 2 blind answers are not the key."],
        ),
        ([], []),
    ],
)
def test_why_in_words(votes, expected):
    assert list(reasons_undecided(VoteSummary(*vote) for vote in votes)) == expected


def test_both_reviews_stand_side_by_side_with_the_key(judge, disputed, words):
    item, reviewers = disputed()
    client, _ = judge
    text = words(client.get(f"/adjudication/{item.pk}/"))
    assert "✓ Key" in text
    assert "A Oedema ✓ is the key" in text
    assert "B Haemorrhage ✗ not the key" in text
    assert "Option B fits as well." in text
    for user in reviewers:
        assert user.pseudonym in text


@pytest.mark.parametrize(
    ("outcome", "state"),
    [("accept", "accepted"), ("reject", "rejected"), ("revise", "needs_revision")],
)
def test_a_decision_is_stored_with_its_reason(judge, disputed, outcome, state):
    item, _ = disputed()
    client, user = judge
    reply = client.post(f"/adjudication/{item.pk}/", decision(outcome=outcome))
    assert reply.headers["Location"] == "/adjudication/"
    item.refresh_from_db()
    adjudication = Adjudication.objects.get()
    assert item.state == state
    assert (adjudication.adjudicator, adjudication.rationale) == (user, "B is not visible here.")
    assert Event.objects.last().actor == user.pseudonym


@pytest.mark.parametrize(
    ("broken", "reason"), [({"rationale": " \n"}, "state a reason"), ({"outcome": ""}, "decide")]
)
def test_a_decision_without_reason_or_outcome_is_refused(judge, disputed, broken, reason, words):
    item, _ = disputed()
    client, _ = judge
    form_data = {**decision(outcome="reject", rationale="TYPED TEXT"), **broken}
    reply = client.post(f"/adjudication/{item.pk}/", form_data)
    assert reply.status_code == 422
    assert reason in words(reply)
    page = reply.content.decode()
    if not broken.get("rationale"):
        assert "TYPED TEXT" in page
    else:
        assert 'value="reject" checked' in page
    assert not Adjudication.objects.exists()


def test_the_page_of_an_item_leads_to_the_decision(judge, disputed):
    item, _ = disputed()
    client, _ = judge
    assert f"/adjudication/{item.pk}/".encode() in client.get(f"/items/{item.pk}/").content


def test_who_reviewed_the_version_is_not_offered_it(disputed, signed_in, words):
    item, reviewers = disputed()
    client, _user = signed_in("adjudicator")
    User.objects.filter(pk=reviewers[0].pk).update(role=Role.ADJUDICATOR)
    client.force_login(User.objects.get(pk=reviewers[0].pk))
    reply = client.get("/adjudication/")
    assert offered(reply) == []
    assert "1 more waits for somebody else" in words(reply)
    assert client.get(f"/adjudication/{item.pk}/").status_code == 404
    assert client.post(f"/adjudication/{item.pk}/", decision()).status_code == 404
    assert f"/adjudication/{item.pk}/".encode() not in client.get(f"/items/{item.pk}/").content
    assert not Adjudication.objects.exists()


def test_who_wrote_the_version_is_not_offered_it(judge, disputed, review, person):
    item, _ = disputed()
    client, user = judge
    change = Edit(question=QUESTION, options=("Swelling", *TEXTS[1:]), key=0, note="term")
    edit(item.pk, 1, user, change)
    review(person())
    review(person(), "reject")
    item.refresh_from_db()
    assert (item.state, item.version) == ("adjudication", 2)
    assert offered(client.get("/adjudication/")) == []
    assert client.post(f"/adjudication/{item.pk}/", decision(version=2)).status_code == 404


def test_who_reviewed_an_earlier_version_may_decide_over_this_one(
    signed_in, disputed, review, person
):
    item, reviewers = disputed()
    change = Edit(question=QUESTION, options=("Swelling", *TEXTS[1:]), key=0, note="term")
    edit(item.pk, 1, person("manager"), change)
    review(person())
    review(person(), "reject")
    client, _ = signed_in("adjudicator")
    User.objects.filter(pk=reviewers[0].pk).update(role=Role.ADJUDICATOR)
    client.force_login(User.objects.get(pk=reviewers[0].pk))
    assert offered(client.get("/adjudication/")) == [item.pk]
    assert client.post(f"/adjudication/{item.pk}/", decision(version=2)).status_code == 302


def test_the_second_of_two_adjudicators_is_told_and_keeps_the_text(judge, disputed, person):
    item, _ = disputed()
    client, _ = judge
    adjudicate(item.pk, 1, person("adjudicator"), outcome="reject", rationale="first")
    reply = client.post(f"/adjudication/{item.pk}/", decision(rationale="TYPED TEXT"))
    assert reply.status_code == 409
    assert b"TYPED TEXT" in reply.content
    item.refresh_from_db()
    assert item.state == "rejected"
    assert Adjudication.objects.count() == 1


def test_a_decision_over_an_older_version_is_a_conflict(judge, disputed, review, person):
    item, _ = disputed()
    change = Edit(question=QUESTION, options=("Swelling", *TEXTS[1:]), key=0, note="term")
    edit(item.pk, 1, person("manager"), change)
    review(person())
    review(person(), "reject")
    client, _ = judge
    reply = client.post(f"/adjudication/{item.pk}/", decision(version=1, rationale="TYPED TEXT"))
    assert reply.status_code == 409
    assert b"TYPED TEXT" in reply.content
    assert not Adjudication.objects.exists()


def test_what_needs_no_decision_any_more_leads_to_the_item(judge, add_shown):
    item = add_shown(state="accepted")
    client, _ = judge
    reply = client.get(f"/adjudication/{item.pk}/")
    assert (reply.status_code, reply.headers["Location"]) == (302, f"/items/{item.pk}/")
