import pytest

from medrcube.review.models import Event
from medrcube.review.reviewing.decisions import decide_quarantine


@pytest.fixture
def held(add_shown, person, review):
    """An item that one vote took out."""
    item = add_shown()
    review(person(), "reject", reasons=[("PHI", None)], comment="a label in the corner")
    item.refresh_from_db()
    assert item.state == "quarantined"
    return item


@pytest.mark.parametrize("role", ["reviewer", "adjudicator", "administrator"])
def test_only_managers_see_the_quarantine(signed_in, held, role):
    client, _ = signed_in(role)
    assert client.get("/quarantine/").status_code == 404
    sent = {"version": 1, "decision": "clear", "note": "fine"}
    assert client.post(f"/quarantine/{held.pk}/", sent).status_code == 404


def test_the_list_says_what_was_seen(signed_in, held, words):
    client, _ = signed_in("manager")
    text = words(client.get("/quarantine/"))
    assert held.pk[:17] in text
    assert "PHI" in text


@pytest.mark.parametrize(("decision", "state"), [("clear", "queued"), ("reject", "rejected")])
def test_a_manager_decides_with_a_note(signed_in, held, decision, state):
    client, user = signed_in("manager")
    sent = {"version": 1, "decision": decision, "note": "only a scale bar"}
    assert client.post(f"/quarantine/{held.pk}/", sent).status_code == 302
    held.refresh_from_db()
    assert held.state == state
    last = Event.objects.filter(object=f"item:{held.pk}").last()
    assert last.actor == user.pseudonym
    assert "only a scale bar" in last.body


@pytest.mark.parametrize("broken", [{"note": " "}, {"decision": ""}])
def test_a_decision_needs_a_note_and_keeps_what_was_typed(signed_in, held, broken):
    client, _ = signed_in("manager")
    sent = {"version": 1, "decision": "clear", "note": "TYPED TEXT", **broken}
    reply = client.post(f"/quarantine/{held.pk}/", sent)
    assert reply.status_code == 422
    assert (b"TYPED TEXT" in reply.content) == ("note" not in broken)
    held.refresh_from_db()
    assert held.state == "quarantined"


def test_the_second_manager_is_told_and_keeps_the_text(signed_in, held, person):
    client, _ = signed_in("manager")
    decide_quarantine(held.pk, 1, person("manager"), clear=False, note="a name")
    sent = {"version": 1, "decision": "clear", "note": "TYPED TEXT"}
    reply = client.post(f"/quarantine/{held.pk}/", sent)
    assert reply.status_code == 409
    assert b"TYPED TEXT" in reply.content
    held.refresh_from_db()
    assert held.state == "rejected"


def test_deciding_is_a_post(signed_in, held):
    client, _ = signed_in("manager")
    assert client.get(f"/quarantine/{held.pk}/").status_code == 405
