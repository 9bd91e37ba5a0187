import pytest

from medrcube.review.models import Event
from medrcube.review.reviewing.decisions import decide_quarantine


@pytest.fixture
def quarantine_item(add_shown, person, review):
    """An item that one vote took out."""
    item = add_shown()
    review(person(), "reject", reasons=[("PHI", None)], comment="a label in the corner")
    item.refresh_from_db()
    assert item.state == "quarantined"
    return item


@pytest.mark.parametrize("role", ["reviewer", "adjudicator", "administrator"])
def test_only_managers_see_the_quarantine(signed_in, quarantine_item, role):
    client, _ = signed_in(role)
    assert client.get("/quarantine/").status_code == 404
    form_data = {"version": 1, "decision": "clear", "note": "fine"}
    assert client.post(f"/quarantine/{quarantine_item.pk}/", form_data).status_code == 404


def test_the_list_says_what_was_seen(signed_in, quarantine_item, words):
    client, _ = signed_in("manager")
    text = words(client.get("/quarantine/"))
    assert quarantine_item.pk[:17] in text
    assert "PHI" in text


@pytest.mark.parametrize(("decision", "state"), [("clear", "queued"), ("reject", "rejected")])
def test_a_manager_decides_with_a_note(signed_in, quarantine_item, decision, state):
    client, user = signed_in("manager")
    form_data = {"version": 1, "decision": decision, "note": "only a scale bar"}
    assert client.post(f"/quarantine/{quarantine_item.pk}/", form_data).status_code == 302
    quarantine_item.refresh_from_db()
    assert quarantine_item.state == state
    last = Event.objects.filter(object=f"item:{quarantine_item.pk}").last()
    assert last.actor == user.pseudonym
    assert "only a scale bar" in last.body


@pytest.mark.parametrize("broken", [{"note": " "}, {"decision": ""}])
def test_a_decision_needs_a_note_and_keeps_what_was_typed(signed_in, quarantine_item, broken):
    client, _ = signed_in("manager")
    form_data = {"version": 1, "decision": "clear", "note": "TYPED TEXT", **broken}
    reply = client.post(f"/quarantine/{quarantine_item.pk}/", form_data)
    assert reply.status_code == 422
    assert (b"TYPED TEXT" in reply.content) == ("note" not in broken)
    quarantine_item.refresh_from_db()
    assert quarantine_item.state == "quarantined"


def test_the_second_manager_is_told_and_keeps_the_text(signed_in, quarantine_item, person):
    client, _ = signed_in("manager")
    decide_quarantine(quarantine_item.pk, 1, person("manager"), clear=False, note="a name")
    form_data = {"version": 1, "decision": "clear", "note": "TYPED TEXT"}
    reply = client.post(f"/quarantine/{quarantine_item.pk}/", form_data)
    assert reply.status_code == 409
    assert b"TYPED TEXT" in reply.content
    quarantine_item.refresh_from_db()
    assert quarantine_item.state == "rejected"


def test_deciding_is_a_post(signed_in, quarantine_item):
    client, _ = signed_in("manager")
    assert client.get(f"/quarantine/{quarantine_item.pk}/").status_code == 405
