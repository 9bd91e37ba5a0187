"""The list of items, the page of one, edits, remarks and gold copies."""

import html
import re

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from medrcube.review.models import Claim, Comment, Event, Item
from medrcube.review.reviewing.decisions import record_release
from medrcube.review.views.keyset_paging import SIZE
from medrcube.review.views.managing.items import filter_items

NO_FILTER = dict.fromkeys(("state", "source", "task", "stratum", "id", "gold"), "")
TEXTS = ("Oedema", "Haemorrhage", "Calcification", "Cyst")
QUESTION = "Which abnormality does this axial MRI slice of the brain show?"


def listed(reply):
    page = reply.content.decode()
    return re.findall(r'<th scope="row"><a href="/items/([^/"]+)/"', page)


def follow(client, reply, way):
    """The page before (``prev``) or after (``next``) one; ``None`` where there is none."""
    link = re.search(rf'href="([^"]+)" rel="{way}"', reply.content.decode())
    return client.get("/items/" + html.unescape(link[1])) if link else None


def wording(version=1, question=QUESTION, texts=TEXTS, key=0, note="a better term", **more):
    options = {f"option-{place}": text for place, text in enumerate(texts)}
    return {"version": version, "question": question, "key": key, "note": note, **options, **more}


# The list


@pytest.mark.parametrize("role", ["adjudicator", "manager"])
def test_the_list_shows_items_by_id(signed_in, add_items, role):
    items = add_items(3)
    client, _ = signed_in(role)
    assert listed(client.get("/items/")) == sorted(item.pk for item in items)


@pytest.mark.parametrize("role", ["reviewer", "administrator"])
@pytest.mark.parametrize("page", ["/items/", "/items/{}/", "/items/{}/edit/", "/items/{}/gold/"])
def test_others_do_not_learn_that_there_is_a_list(signed_in, add_items, role, page):
    (item,) = add_items(1)
    client, _ = signed_in(role)
    assert client.get(page.format(item.pk)).status_code == 404
    assert client.post(page.format(item.pk), {}).status_code == 404


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("state", "accepted"),
        ("source", "isles"),
        ("task", "Disease Diagnosis"),
        ("stratum", "CT | Disease Diagnosis | knowledge"),
    ],
)
def test_each_filter_narrows_the_list(signed_in, add_items, name, value):
    add_items(2)
    (item,) = add_items(1, **{name: value})
    client, _ = signed_in("manager")
    assert listed(client.get("/items/", {name: value})) == [item.pk]


def test_filters_narrow_together(signed_in, add_items):
    add_items(1, state="accepted")
    add_items(1, source="isles")
    (item,) = add_items(1, state="accepted", source="isles")
    client, _ = signed_in("manager")
    reply = client.get("/items/", {"state": "accepted", "source": "isles"})
    assert listed(reply) == [item.pk]


def test_an_item_is_found_by_the_beginning_of_its_id(signed_in, add_items):
    items = add_items(20)
    client, _ = signed_in("manager")
    reply = client.get("/items/", {"id": f" {items[3].pk[:12]} "})
    assert listed(reply) == [items[3].pk]


def test_the_choices_are_the_values_that_occur(signed_in, add_items):
    add_items(2, source="beta", stratum="S2")
    add_items(2, source="alpha", stratum="S1")
    client, _ = signed_in("manager")
    page = client.get("/items/", {"source": "beta"}).content.decode()
    for name, values in (("source", ["alpha", "beta"]), ("stratum", ["S1", "S2"])):
        select = re.search(rf'<select name="{name}">(.*?)</select>', page, re.DOTALL)[1]
        assert re.findall(r'<option value="([^"]+)"', select) == values
    assert '<option value="beta" selected>' in page


def test_pages_follow_each_other_there_and_back(signed_in, add_items):
    ids = sorted(item.pk for item in add_items(2 * SIZE + 5))
    client, _ = signed_in("manager")
    first = client.get("/items/")
    second = follow(client, first, "next")
    third = follow(client, second, "next")
    assert listed(first) + listed(second) + listed(third) == ids
    assert follow(client, third, "next") is None
    assert follow(client, first, "prev") is None
    back = follow(client, third, "prev")
    assert listed(back) == listed(second)
    start = follow(client, back, "prev")
    assert listed(start) == listed(first)
    assert follow(client, start, "prev") is None


def test_a_link_to_the_next_page_keeps_the_filters(signed_in, add_items):
    add_items(SIZE + 1, source="isles")
    client, _ = signed_in("manager")
    reply = client.get("/items/", {"source": "isles"})
    assert re.search(rb'href="\?source=isles&amp;after=[0-9a-f]+"', reply.content)


def test_a_nul_in_the_address_is_a_bad_request(signed_in, project):
    client, _ = signed_in("manager")
    assert client.get("/items/", {"id": "a\0b"}).status_code == 400
    assert client.get("/items/a%00b/").status_code == 404


def plan_of(rows):
    """Steps of SQLite's plan for the first page of a list."""
    sql, values = rows.order_by("id")[: SIZE + 1].query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}", values)
        return [step[-1] for step in cursor.fetchall()]


@pytest.mark.parametrize("role", ["adjudicator", "manager"])
@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"state": "accepted"},
        {"source": "toy"},
        {"stratum": "S1"},
        {"task": "Disease Diagnosis"},
        {"id": "0a"},
        {"state": "accepted", "source": "toy", "task": "Disease Diagnosis"},
        {"gold": "1"},
    ],
)
def test_a_page_is_read_from_an_index_without_sorting(person, add_items, role, filters):
    """What makes a page of 100,000 items as quick as one of a hundred: no sort, no OFFSET."""
    add_items(5)
    rows = filter_items({**NO_FILTER, **filters}, person(role)).values("id", "state")
    for narrowed in (rows, rows.filter(id__gt="5")):
        plan = plan_of(narrowed)
        assert len(plan) == 1
        assert re.search(r"(SEARCH|SCAN) review_item USING (COVERING )?INDEX", plan[0])
        assert "TEMP B-TREE" not in plan[0]


@pytest.mark.parametrize(
    ("column", "index"),
    [
        ("state", "list_by_state"),
        ("source", "list_by_source"),
        ("stratum", "list_by_stratum"),
        ("task", "list_by_task"),
    ],
)
def test_a_filter_begins_at_its_place_in_its_index(person, add_items, column, index):
    add_items(5)
    plan = plan_of(filter_items({**NO_FILTER, column: "x"}, person("manager")))
    assert re.search(rf"SEARCH review_item USING (COVERING )?INDEX {index} \({column}=\?", plan[0])


def test_the_list_reads_no_wording(signed_in, add_items):
    add_items(3)
    client, _ = signed_in("manager")
    statements = []

    def note(execute, sql, params, many, context):
        statements.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        client.get("/items/")
    assert not [sql for sql in statements if "review_itemversion" in sql or "OFFSET" in sql]


# The page of an item


def test_the_page_shows_wording_reviews_and_trail(signed_in, disputed, words):
    item, reviewers = disputed()
    client, _ = signed_in("manager")
    text = words(client.get(f"/items/{item.pk}/"))
    assert QUESTION in text
    for user in reviewers:
        assert user.pseudonym in text
        assert user.email not in text
    assert "Option B fits as well." in text
    assert "Ambiguous stem" in text
    assert "item.reviewers_disagree" in text
    assert "41 of 155, axial" in text


def test_the_page_shows_the_picture_and_its_mark(signed_in, add_shown):
    item = add_shown()
    version = item.versions.get()
    client, _ = signed_in("adjudicator")
    page = client.get(f"/items/{item.pk}/").content.decode()
    for asset in (version.picture, version.overlay):
        address = reverse("picture", args=[asset.pk])
        assert address in page
        assert client.get(address).status_code == 200


def test_a_review_that_was_taken_back_says_so(signed_in, disputed, words):
    item, _ = disputed()
    claim = Claim.objects.filter(version__item=item).first()
    Claim.objects.filter(pk=claim.pk).update(released_at=timezone.now(), outcome="voided")
    client, _ = signed_in("manager")
    assert words(client.get(f"/items/{item.pk}/")).count("retracted") == 1


def test_an_unknown_item_is_404(signed_in, project):
    client, _ = signed_in("manager")
    assert client.get("/items/none/").status_code == 404


def test_gold_items_are_for_managers_alone(signed_in, add_shown):
    item = add_shown(gold_defect="KEY_WRONG")
    manager, _ = signed_in("manager")
    judge, _ = signed_in("adjudicator")
    assert b"gold" in manager.get("/items/").content
    assert listed(judge.get("/items/")) == []
    assert listed(judge.get("/items/", {"gold": "1"})) == []
    assert judge.get(f"/items/{item.pk}/").status_code == 404
    assert judge.get(f"/items/{item.pk}/edit/").status_code == 404
    assert b"gold item: Key wrong" in manager.get(f"/items/{item.pk}/").content


# Edits


def test_an_edit_makes_a_version_and_shows_what_changed(signed_in, disputed, words):
    item, _ = disputed()
    client, user = signed_in("adjudicator")
    form_data = wording(texts=("Vasogenic oedema", *TEXTS[1:]))
    assert client.post(f"/items/{item.pk}/edit/", form_data).status_code == 302
    item.refresh_from_db()
    new = item.versions.get(number=2)
    assert (item.state, item.version, item.reviews) == ("queued", 2, 0)
    assert (new.author, new.note) == (user, "a better term")
    page = client.get(f"/items/{item.pk}/").content.decode()
    assert re.search(r"<ins><span class=\"unseen\">new: </span>Vasogenic oedema</ins>", page)
    assert re.search(r"<del><span class=\"unseen\">gone: </span>Oedema</del>", page)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"note": " "}, "state the reason for the change"),
        ({"texts": TEXTS}, "nothing was changed"),
        ({"texts": ("Cyst", *TEXTS[1:])}, "options"),
        ({"texts": TEXTS[:3]}, "3 options, expected 4"),
        ({"key": 7}, "none of the options"),
        ({"key": "x"}, "none of the options"),
    ],
)
def test_an_edit_that_cannot_be_keeps_what_was_typed(signed_in, disputed, broken, reason, words):
    item, _ = disputed()
    client, _ = signed_in("manager")
    form_data = wording(**{"texts": ("Swelling", *TEXTS[1:]), "note": "TYPED NOTE", **broken})
    reply = client.post(f"/items/{item.pk}/edit/", form_data)
    assert reply.status_code == 422
    assert reason in words(reply)
    page = reply.content.decode()
    assert f'value="{form_data["option-0"]}"' in page
    assert form_data["note"] in page
    assert item.versions.count() == 1


def test_an_edit_of_an_older_version_keeps_the_text_beside_the_newer_wording(signed_in, disputed):
    item, _ = disputed()
    first, _ = signed_in("manager")
    second, _ = signed_in("adjudicator")
    first.post(f"/items/{item.pk}/edit/", wording(texts=("Swelling", *TEXTS[1:])))
    form_data = wording(texts=("Tumefaction", *TEXTS[1:]), note="MY NOTE")
    reply = second.post(f"/items/{item.pk}/edit/", form_data)
    assert reply.status_code == 409
    page = reply.content.decode()
    assert 'value="Tumefaction"' in page
    assert "MY NOTE" in page
    assert "Swelling" in page
    assert 'name="version" value="2"' in page
    assert item.versions.count() == 2
    assert second.post(f"/items/{item.pk}/edit/", {**form_data, "version": 2}).status_code == 302


@pytest.mark.parametrize("state", ["released", "rejected", "quarantined", "withdrawn", "draft"])
def test_what_is_out_of_the_queue_is_not_edited(signed_in, add_shown, state):
    item = add_shown(state=state)
    client, _ = signed_in("manager")
    assert client.get(f"/items/{item.pk}/edit/").status_code == 409
    assert b"/edit/" not in client.get(f"/items/{item.pk}/").content
    form_data = wording(texts=("Swelling", *TEXTS[1:]))
    reply = client.post(f"/items/{item.pk}/edit/", form_data)
    assert reply.status_code == 409
    assert b"Swelling" in reply.content
    assert item.versions.count() == 1


# Remarks, reports, withdrawal


def test_a_comment_is_stored_shown_and_resolved(signed_in, add_shown, words):
    item = add_shown()
    judge, author = signed_in("adjudicator")
    form_data = {"form": "comment", "version": 1, "text": "Is the term\r\nin RadLex?"}
    assert judge.post(f"/items/{item.pk}/", form_data).status_code == 302
    comment = Comment.objects.get()
    assert (comment.text, comment.author, comment.resolved) == (
        "Is the term\nin RadLex?",
        author,
        False,
    )
    manager, _ = signed_in("manager")
    assert "in RadLex?" in words(manager.get(f"/items/{item.pk}/"))
    manager.post(f"/items/{item.pk}/", {"form": "resolve", "comment": comment.pk})
    comment.refresh_from_db()
    assert comment.resolved
    kinds = Event.objects.filter(object=f"item:{item.pk}").values_list("kind", flat=True)
    assert list(kinds) == ["comment.written", "comment.resolved"]


@pytest.mark.parametrize("text", ["", " \n", "x" * 10_001])
def test_a_comment_without_text_or_without_end_is_refused(signed_in, add_shown, text):
    item = add_shown()
    client, _ = signed_in("manager")
    reply = client.post(f"/items/{item.pk}/", {"form": "comment", "version": 1, "text": text})
    assert reply.status_code == 422
    assert not Comment.objects.exists()


def test_a_comment_on_an_older_version_is_a_conflict_that_keeps_the_text(signed_in, add_shown):
    item = add_shown()
    client, _ = signed_in("manager")
    client.post(f"/items/{item.pk}/edit/", wording(texts=("Swelling", *TEXTS[1:])))
    form_data = {"form": "comment", "version": 1, "text": "TYPED TEXT"}
    reply = client.post(f"/items/{item.pk}/", form_data)
    assert reply.status_code == 409
    assert b"TYPED TEXT" in reply.content


def test_a_comment_of_another_item_is_not_resolved(signed_in, add_shown):
    first, second = add_shown(), add_shown()
    client, _ = signed_in("manager")
    client.post(f"/items/{first.pk}/", {"form": "comment", "version": 1, "text": "here"})
    comment = Comment.objects.get()
    reply = client.post(f"/items/{second.pk}/", {"form": "resolve", "comment": comment.pk})
    assert reply.status_code == 409
    comment.refresh_from_db()
    assert not comment.resolved


def test_a_danger_is_reported_at_once(signed_in, add_shown):
    item = add_shown(state="accepted")
    client, _ = signed_in("adjudicator")
    form_data = {"form": "report", "version": 1, "reason": "UNSAFE", "text": "a wrong dose"}
    client.post(f"/items/{item.pk}/", form_data)
    item.refresh_from_db()
    assert item.state == "quarantined"


def test_a_report_without_a_reason_keeps_the_text(signed_in, add_shown):
    item = add_shown()
    client, _ = signed_in("manager")
    reply = client.post(f"/items/{item.pk}/", {"form": "report", "version": 1, "text": "TYPED"})
    assert reply.status_code == 422
    assert b"TYPED" in reply.content


def test_a_released_item_is_withdrawn_by_managers_alone(signed_in, add_shown):
    item = add_shown(state="accepted")
    record_release("r1", [item.versions.get().pk], "0" * 64)
    judge, _ = signed_in("adjudicator")
    manager, _ = signed_in("manager")
    form_data = {"form": "withdraw", "version": 1, "text": "the key is wrong"}
    assert judge.post(f"/items/{item.pk}/", form_data).status_code == 404
    assert b"Withdraw" not in judge.get(f"/items/{item.pk}/").content
    assert b"Withdraw" in manager.get(f"/items/{item.pk}/").content
    assert manager.post(f"/items/{item.pk}/", form_data).status_code == 302
    item.refresh_from_db()
    assert item.state == "withdrawn"


def test_a_form_that_the_page_does_not_know_is_refused(signed_in, add_shown):
    item = add_shown()
    client, _ = signed_in("manager")
    assert client.post(f"/items/{item.pk}/", {"form": "delete"}).status_code == 422


# Gold items


def test_a_manager_makes_a_gold_item_of_an_accepted_one(signed_in, add_shown):
    item = add_shown(state="accepted")
    client, _ = signed_in("manager")
    assert f"/items/{item.pk}/gold/".encode() in client.get(f"/items/{item.pk}/").content
    form_data = wording(key=2, defect="KEY_WRONG")
    reply = client.post(f"/items/{item.pk}/gold/", form_data)
    gold = Item.objects.exclude(gold_defect="").get()
    assert b"gold item: Key wrong" in client.get(f"/items/{gold.pk}/").content
    assert reply.headers["Location"] == f"/items/{gold.pk}/"
    assert (gold.gold_defect, gold.copied_from_id, gold.versions.get().key) == (
        "KEY_WRONG",
        item.pk,
        2,
    )


def test_a_gold_item_without_a_defect_keeps_what_was_typed(signed_in, add_shown, words):
    item = add_shown(state="accepted")
    client, _ = signed_in("manager")
    form_data = wording(question=QUESTION + " TYPED", defect="")
    reply = client.post(f"/items/{item.pk}/gold/", form_data)
    assert reply.status_code == 422
    assert "TYPED" in words(reply)
    assert not Item.objects.exclude(gold_defect="").exists()


def test_gold_is_made_of_accepted_items_by_managers(signed_in, add_shown):
    queued, accepted = add_shown(), add_shown(state="accepted")
    manager, _ = signed_in("manager")
    judge, _ = signed_in("adjudicator")
    assert manager.get(f"/items/{queued.pk}/gold/").status_code == 404
    assert judge.get(f"/items/{accepted.pk}/gold/").status_code == 404
    assert judge.post(f"/items/{accepted.pk}/gold/", wording(key=1)).status_code == 404


# Whatever the columns hold

HOSTILE = "<img src=x onerror=alert(1)>\"'{{ 7|add:7 }}"


def test_hostile_text_stays_text_on_every_page(signed_in, person, disputed, add_shown):
    item, _ = disputed(
        question=HOSTILE,
        texts=(HOSTILE, *TEXTS[1:]),
        source=HOSTILE,
        task=HOSTILE[:64],
        anatomy=HOSTILE[:32],
        modality=HOSTILE[:32],
        stratum=HOSTILE,
    )
    person(pseudonym=HOSTILE[:32], email="hostile@example.org", specialties=[HOSTILE])
    manager, _ = signed_in("manager")
    judge, _ = signed_in("adjudicator")
    admin, _ = signed_in("administrator")
    manager.post(f"/items/{item.pk}/", {"form": "comment", "version": 1, "text": HOSTILE})
    pages = {
        manager: ["/items/", f"/items/{item.pk}/", f"/items/{item.pk}/edit/", "/dashboard/"],
        judge: ["/adjudication/", f"/adjudication/{item.pk}/"],
        admin: ["/people/", "/trail/"],
    }
    pages[manager] += ["/dashboard/agreement/", f"/dashboard/agreement/?stratum={HOSTILE}"]
    for client, addresses in pages.items():
        for address in addresses:
            reply = client.get(address)
            assert reply.status_code == 200, address
            assert b"<img src=x" not in reply.content, address
            assert not re.search(rb"onerror[^<]*14", reply.content), address
            assert not re.search(rb"\sstyle=|\son\w+=\"|https?://", reply.content), address


def test_an_edit_keeps_the_wording_of_the_earlier_version(signed_in, disputed):
    item, _ = disputed()
    client, _ = signed_in("manager")
    client.post(f"/items/{item.pk}/edit/", wording(texts=("Swelling", *TEXTS[1:])))
    versions = item.versions.order_by("number")
    assert [version.options[0]["text"] for version in versions] == ["Oedema", "Swelling"]


def test_no_answer_is_ascribed_to_who_only_looks_at_an_item(signed_in, add_shown, words):
    client, _ = signed_in("manager")
    assert "You answered" not in words(client.get(f"/items/{add_shown().pk}/"))
