"""Who may open which page: every address, every role, own things and those of others."""

import pytest
from django.urls import reverse
from stage.routes import every_route
from stage.world import ANONYMOUS, PEOPLE, ROLES

from medrcube.review.models import BlindAnswer, Claim, Draft, Event, Review, User

PROVIDER = {"single-sign-on", "single-sign-on-back"}
OPEN = {"health", "sign-in", "sign-in-code", "sign-out", *PROVIDER}
"""Routes for everybody, signed in or not."""
# GET/POST (with an empty form) of each route, one column for each of PEOPLE. 405 and 422 mean that
# the person was let in: another method is wanted, or something in the form.
MATRIX = {
    "home":              "302/302 302/405 302/405 200/405 200/405 200/405",
    "health":            "200/405 200/405 200/405 200/405 200/405 200/405",
    "sign-in":           "200/422 302/422 302/422 302/422 302/422 302/422",
    "sign-in-code":      "302/302 302/302 302/302 302/302 302/302 302/302",
    "single-sign-on":    "404/405 404/405 404/405 404/405 404/405 404/405",
    "single-sign-on-back": "404/405 404/405 404/405 404/405 404/405 404/405",
    "sign-out":          "405/302 405/302 405/302 405/302 405/302 405/302",
    "queue":             "302/302 200/302 200/302 404/404 404/404 404/404",
    "review":            "302/302 200/405 404/405 404/404 404/404 404/404",
    "review-blind":      "302/302 405/422 405/404 404/404 404/404 404/404",
    "review-submit":     "302/302 405/422 405/404 404/404 404/404 404/404",
    "review-draft":      "302/302 405/200 405/404 404/404 404/404 404/404",
    "review-wording":    "302/302 405/409 405/404 404/404 404/404 404/404",
    "review-give-back":  "302/302 405/302 405/404 404/404 404/404 404/404",
    "mine":              "302/302 200/405 200/405 404/404 404/404 404/404",
    "review-undo":       "302/302 405/404 405/404 404/404 404/404 404/404",
    "review-personal-data": "302/302 200/302 404/404 404/404 404/404 404/404",
    "item-personal-data": "302/302 404/404 404/404 200/302 200/302 404/404",
    "incident":          "302/302 404/404 404/404 404/404 405/422 404/404",
    "picture":           "302/302 200/405 404/405 200/405 200/405 404/404",
    "drawn":             "302/302 200/405 404/405 200/405 200/405 404/404",
    "slice":             "302/302 404/405 404/405 404/405 404/405 404/404",
    "me":                "302/302 200/302 200/302 200/302 200/302 200/302",
    "second-factor":     "302/302 200/422 200/422 200/422 200/422 200/422",
    "keys":              "302/302 200/405 200/405 200/405 200/405 200/405",
    "items":             "302/302 404/404 404/404 200/405 200/405 404/404",
    "item":              "302/302 404/404 404/404 200/422 200/422 404/404",
    "item-edit":         "302/302 404/404 404/404 200/422 200/422 404/404",
    "item-gold":         "302/302 404/404 404/404 404/404 200/422 404/404",
    "adjudication":      "302/302 404/404 404/404 200/405 404/404 404/404",
    "adjudicate":        "302/302 404/404 404/404 200/422 404/404 404/404",
    "quarantine":        "302/302 404/404 404/404 404/404 200/405 404/404",
    "quarantine-decide": "302/302 404/404 404/404 404/404 405/422 404/404",
    "dashboard":         "302/302 404/404 404/404 404/404 200/422 404/404",
    "agreement":         "302/302 404/404 404/404 404/404 200/405 404/404",
    "assigning":         "302/302 404/404 404/404 404/404 200/422 404/404",
    "reviewers":         "302/302 404/404 404/404 404/404 200/405 404/404",
    "people":            "302/302 404/404 404/404 404/404 404/404 200/422",
    "person":            "302/302 404/404 404/404 404/404 404/404 200/422",
    "trail":             "302/302 404/404 404/404 404/404 404/404 200/200",
}  # fmt: skip


def test_every_address_has_a_row():
    assert set(every_route()) == set(MATRIX)


def test_every_view_says_whom_it_lets_in():
    for name, view in every_route().items():
        assert (name in OPEN) != hasattr(view, "allowed_roles"), name


@pytest.mark.few(24)
@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize("route", MATRIX)
def test_who_is_let_in(world, route, who):
    client, address = world.client(who), world.address(route)
    replies = client.get(address), client.post(address)
    expected = MATRIX[route].split()[PEOPLE.index(who)]
    assert "/".join(str(reply.status_code) for reply in replies) == expected
    if who == ANONYMOUS and route not in OPEN:
        assert all(reply["Location"].startswith("/sign-in/?next=") for reply in replies)


@pytest.mark.few(2)
@pytest.mark.parametrize("who", PEOPLE)
def test_no_other_method_does_anything(world, who):
    before = Event.objects.count()
    for route, view in every_route().items():
        client, address = world.client(who), world.address(route)
        let_in = route in OPEN or ROLES.get(who, who) in view.allowed_roles
        expected = 405 if let_in else 302 if who == ANONYMOUS else 404
        for method in ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"):
            assert client.generic(method, address).status_code == expected, (route, method)
        if MATRIX[route].split()[PEOPLE.index(who)].startswith("200"):
            assert client.head(address).content == b"", route
    assert Event.objects.count() == before


@pytest.mark.parametrize("route", [name for name in MATRIX if name not in OPEN])
def test_a_script_without_a_session_is_told_so_and_gets_nothing_else(world, route):
    client = world.client(ANONYMOUS, headers={"X-Requested-With": "fetch"})
    for reply in (client.get(world.address(route)), client.post(world.address(route))):
        assert (reply.status_code, reply.content) == (401, b"sign in again")


@pytest.mark.parametrize("which", ["token", "sent_review"])
@pytest.mark.parametrize("who", ["other", "first", "adjudicator", "manager", "administrator"])
def test_nobody_reads_the_review_of_another(world, who, which):
    address = reverse("review", kwargs={"token": getattr(world, which)})
    assert world.client(who).get(address).status_code == 404
    assert world.client("reviewer").get(address).status_code == 200


@pytest.mark.parametrize("step", ["review-blind", "review-submit", "review-draft"])
def test_nobody_writes_in_the_name_of_another(world, step):
    values = {"option": "0", "confidence": "3", "needs_image": "yes", "image_adequate": "yes"}
    values |= {"decision": "reject", "reason": "KEY_WRONG", "comment": "not mine"}
    events, reviews = Event.objects.count(), Review.objects.count()
    assert world.client("other").post(world.address(step), values).status_code == 404
    assert not BlindAnswer.objects.filter(claim__token=world.token).exists()
    assert not Draft.objects.exists()
    assert (Event.objects.count(), Review.objects.count()) == (events, reviews)


def test_nobody_gives_back_what_another_holds(world):
    assert world.client("other").post(world.address("review-give-back")).status_code == 404
    assert Claim.objects.get(token=world.token).released_at is None


def test_what_a_reviewer_had_typed_is_not_shown_to_the_next_one(world):
    draft = {"option": "2", "confidence": "1"}
    world.client("reviewer").post(world.address("review-draft"), draft)
    world.client("reviewer").post(world.address("review-give-back"))
    client = world.client("other")
    reply = client.post("/review/", follow=True)
    version = Claim.objects.get(user=world.user("other")).version
    assert version.item_id == world.items["open"]
    assert b" checked" not in reply.content
    assert Draft.objects.get(version=version).body["option"] == ["2"]


@pytest.mark.parametrize("route", ["item", "item-edit", "item-gold", "adjudicate"])
@pytest.mark.parametrize("who", ["reviewer", "adjudicator", "administrator"])
def test_gold_items_exist_for_managers_only(world, who, route):
    address = reverse(route, kwargs={"item": world.items["gold"]})
    assert world.client(who).get(address).status_code == 404
    assert world.client(who).post(address, {"form": "comment"}).status_code == 404
    statuses = {"item": 200, "item-edit": 404, "item-gold": 404, "adjudicate": 404}
    assert world.client("manager").get(address).status_code == statuses[route]


def test_gold_items_are_in_no_list_but_that_of_managers(world):
    gold = world.items["gold"].encode()
    for address in ("/items/", "/items/?gold=1", f"/items/?id={world.items['gold'][:6]}"):
        assert gold not in world.client("adjudicator").get(address).content
        assert gold in world.client("manager").get(address).content


MANAGING = ["adjudicator", "manager", "administrator"]


@pytest.mark.parametrize("who", [*PEOPLE[1:]])
def test_a_closed_account_can_do_nothing_from_then_on(world, who):
    client = world.client(who)
    assert client.get("/me/").status_code == 200
    User.objects.filter(pk=world.people[who]).update(is_active=False)
    before = Event.objects.count()
    for route in MATRIX:
        if route not in OPEN:
            replies = client.get(world.address(route)), client.post(world.address(route))
            assert [reply.status_code for reply in replies] == [302, 302], route
    assert Event.objects.count() == before


@pytest.mark.parametrize("after", MANAGING)
def test_who_reviews_no_more_holds_and_sees_nothing_of_it(world, after):
    client = world.client("reviewer")
    assert client.get(world.address("review")).status_code == 200
    User.objects.filter(pk=world.people["reviewer"]).update(role=after)
    for route in ("queue", "review", "review-blind", "review-submit", "review-draft"):
        assert client.post(world.address(route)).status_code == 404, route
    address = reverse("review", kwargs={"token": world.sent_review})
    assert client.get(address).status_code == 404
    assert not BlindAnswer.objects.filter(claim__token=world.token).exists()


@pytest.mark.parametrize("who", MANAGING)
def test_who_becomes_a_reviewer_sees_nothing_more_of_what_they_managed(world, who):
    client = world.client(who)
    User.objects.filter(pk=world.people[who]).update(role="reviewer")
    column = PEOPLE.index("other")
    for route, cells in MATRIX.items():
        reply = client.get(world.address(route))
        assert str(reply.status_code) == cells.split()[column].partition("/")[0], route
