import re

import pytest
from django.db import connection
from django.utils import timezone

from medrcube.review.audit_trail.event_chain import NewEvent, chain_head, record_events
from medrcube.review.views.keyset_paging import SIZE


@pytest.fixture
def admin(signed_in):
    return signed_in("administrator")


@pytest.fixture
def noted(project):
    """Record events: ``noted(3, kind="a.b")``."""

    def make(count=1, **fields):
        entry = {"actor": "system", "kind": "item.made", "object": "item:1", "body": {}, **fields}
        record_events(timezone.now(), *[NewEvent(**entry) for _ in range(count)])

    return make


def numbers(reply):
    page = reply.content.decode()
    return [int(text) for text in re.findall(r'<th scope="row" class="number">(\d+)</th>', page)]


@pytest.mark.parametrize("role", ["reviewer", "adjudicator", "manager"])
def test_only_administrators_see_the_trail(signed_in, role):
    client, _ = signed_in(role)
    assert client.get("/trail/").status_code == 404
    assert client.post("/trail/").status_code == 404


def test_events_stand_the_newest_first(admin, noted):
    noted(3)
    client, _ = admin
    assert numbers(client.get("/trail/")) == [3, 2, 1]


@pytest.mark.parametrize(
    ("name", "value"),
    [("object", "item:2"), ("actor", "reviewer-1"), ("kind", "claim.issued")],
)
def test_each_filter_narrows_the_trail(admin, noted, name, value):
    noted(2)
    noted(1, **{name: value})
    client, _ = admin
    assert numbers(client.get("/trail/", {name: value})) == [3]


def test_pages_follow_each_other_there_and_back(admin, noted):
    noted(SIZE + 3)
    client, _ = admin
    first = client.get("/trail/")
    assert numbers(first) == list(range(SIZE + 3, 3, -1))
    second = client.get("/trail/", {"after": numbers(first)[-1]})
    assert numbers(second) == [3, 2, 1]
    assert numbers(client.get("/trail/", {"before": 3})) == numbers(first)


@pytest.mark.parametrize("after", ["x", "-1", "9" * 30, "1 OR 1"])
def test_a_place_that_is_no_number_is_a_bad_request(admin, after):
    client, _ = admin
    assert client.get("/trail/", {"after": after}).status_code == 400


def test_a_whole_record_is_said_to_be_whole(admin, noted, words):
    noted(1)
    client, _ = admin
    assert "✓ The record is intact: 1 event," in words(client.post("/trail/"))


def test_a_table_that_says_something_else_than_the_trail_is_found(admin, add_items, words):
    (item,) = add_items(1)
    client, _ = admin
    text = words(client.post("/trail/"))
    assert f"✗ The record is damaged: item {item.pk}: the trail does not know it" in text


def test_a_changed_event_is_found(admin, noted, words):
    noted(3)
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER IF EXISTS review_event_no_update")
        cursor.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'review_event'"
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP TRIGGER {name}")
        cursor.execute("UPDATE review_event SET actor = 'somebody' WHERE number = 2")
    client, _ = admin
    text = words(client.post("/trail/"))
    assert "✗ The record is damaged: event 2 was changed" in text


def test_a_head_that_was_noted_elsewhere_is_compared(admin, noted, words):
    noted(2)
    before = chain_head()
    noted(1)
    client, _ = admin
    form_data = {"number": before.number, "sha256": before.sha256.upper()}
    assert "✓ The record is intact" in words(client.post("/trail/", form_data))
    form_data = {"number": before.number, "sha256": "0" * 64}
    assert "event 2 is not the one that was noted" in words(client.post("/trail/", form_data))


def test_a_head_needs_its_number(admin, noted):
    noted(1)
    client, _ = admin
    assert client.post("/trail/", {"sha256": "0" * 64}).status_code == 422


def test_the_events_of_an_item_come_from_their_index(project):
    with connection.cursor() as cursor:
        cursor.execute(
            "EXPLAIN QUERY PLAN SELECT number FROM review_event "
            "WHERE object = 'item:1' ORDER BY number DESC LIMIT 51"
        )
        (step,) = cursor.fetchall()
    assert "events_of_an_object" in step[-1]
