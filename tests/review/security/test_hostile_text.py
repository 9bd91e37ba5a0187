"""Hostile text in every column, through every page and every form: it comes back as text."""

from collections import deque
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.apps import apps
from django.db import transaction
from django.db.models import CharField, JSONField, TextField
from django.urls import resolve, reverse
from stage.hostile import ATTACK, CLOSED, PLANTED, hostile, plant_the_rest, sign, word
from stage.markup import Markup, is_ours
from stage.open_targets import FORMS, target_of
from stage.routes import every_route
from stage.world import ANONYMOUS, PASSWORD, PEOPLE, World, stocked

from medrcube.review.models import Claim

MANY = 400


@pytest.fixture(scope="session")
def kept_hostile(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture
def ill(database, kept_hostile):
    """A world in which every text is hostile."""
    planted_project = stocked(database, kept_hostile, word)
    plant_the_rest(planted_project)
    return planted_project


FILES = ("picture", "drawn", "slice")


def pages_of(world, client):
    """Every page that a person comes to by links, and those that an address names."""
    waiting, replies = deque(starts(world)), {}
    while waiting:
        address = waiting.popleft()
        path = address.partition("#")[0]
        if path in replies or path.startswith("/pictures/") or len(replies) > MANY:
            continue
        reply = client.get(path)
        if reply.status_code == 302 and is_ours(reply["Location"]):
            waiting.append(reply["Location"])
        replies[path] = reply
        if not reply["Content-Type"].startswith("text/html"):
            continue
        for link in Markup(reply.content.decode()).links:
            here = urlsplit(path).path
            waiting.append(here + link if link[:1] in ("?", "#") else link)
    return replies


def starts(world: World):
    yield from ("/", "/review/?empty", "/nothing/", "/items/?gold=1", "/items/?state=accepted")
    yield from (world.address(route) for route in every_route() if route not in FILES)
    yield reverse("review", kwargs={"token": world.sent_review})
    for item in world.items.values():
        for route in ("item", "item-edit", "item-gold", "adjudicate"):
            yield reverse(route, kwargs={"item": item})


def clean(reply):
    """The text of a page, which holds nothing that is not ours."""
    if not reply["Content-Type"].startswith("text/html"):
        assert reply["X-Content-Type-Options"] == "nosniff"
        assert reply["Content-Type"] in ("text/plain", "application/json", "image/png")
        return ""
    page = Markup(reply.content.decode())
    assert page.faults == []
    return page.said


def test_every_text_column_is_accounted_for():
    columns = {
        f"{model.__name__}.{field.name}"
        for model in apps.get_app_config("review").get_models()
        for field in model._meta.get_fields()
        if isinstance(field, CharField | TextField | JSONField)
    }
    assert columns == set(PLANTED) | set(CLOSED)
    assert not set(PLANTED) & set(CLOSED)


def everything_said(world):
    texts = []
    for who in PEOPLE:
        client = world.client(who)
        for address, reply in pages_of(world, client).items():
            assert reply.status_code in (200, 302, 404, 405, 409), (who, address)
            texts.append(clean(reply))
    return "\n".join(texts)


@pytest.mark.thorough
def test_what_is_stored_comes_back_as_text_on_every_page(ill):
    result = everything_said(ill)
    blind = ill.client("reviewer")
    blind.post(ill.address("review-blind"), SAID)
    result += clean(blind.get(ill.address("review")))
    assert [name for name in PLANTED if sign(name) not in result and PLANTED[name]] == []
    assert [
        name for name, how in PLANTED.items() if how == "whole" and hostile(name) not in result
    ] == []


SAID = {"option": "1", "confidence": "2", "needs_image": "yes", "image_adequate": "yes"}


def test_the_steps_of_a_reviewer_show_text_as_text(ill):
    client = ill.client("reviewer")
    client.post(ill.address("review-blind"), SAID)
    assert hostile("ItemVersion.provenance") in clean(client.get(ill.address("review")))
    form_data = {"decision": "reject", "reason": "KEY_WRONG", "comment": ATTACK}
    Claim.objects.filter(token=ill.token).update(expires_at="2020-01-01T00:00:00Z")
    late = client.post(ill.address("review-submit"), form_data)
    assert late.status_code == 409
    assert ATTACK in clean(late)


@pytest.mark.thorough
@pytest.mark.parametrize("who", PEOPLE)
def test_what_is_sent_comes_back_as_text(world, who):
    """Every field of every form of every page."""
    client, tried = world.client(who), set()
    for reply in pages_of(world, client).values():
        if not reply["Content-Type"].startswith("text/html"):
            continue
        for method, action, fields in Markup(reply.content.decode()).forms:
            if method == "dialog" or action == "/sign-out/":
                continue
            which = next((value for name, value, _ in fields if name == "form"), "")
            kind = (resolve(action).url_name, which, frozenset(name for name, *_ in fields))
            if kind in tried:
                continue
            tried.add(kind)
            for values in fillings(fields):
                with transaction.atomic():
                    send = client.post if method == "post" else client.get
                    back = send(action, values)
                    assert back.status_code < 500, (action, values)
                    clean(back)
                    if back.status_code == 302:
                        clean(client.get(back["Location"]))
                    transaction.set_rollback(True)
    assert len(tried) >= (1 if who == ANONYMOUS else 2)


@pytest.mark.few(2)
@pytest.mark.parametrize("form", FORMS)
def test_what_is_sent_as_an_answer_comes_back_as_text(form, take_claim):
    """Every field of step one of an item without options, also those that a click fills."""
    options = [{"text": text, "concept": text} for text in ("what is right", "another answer")]
    client, _, claim = take_claim(options=options, target=target_of(form))
    page = f"/review/{claim.token}/"
    forms = Markup(client.get(page).content.decode()).forms
    (fields,) = [fields for _, action, fields in forms if action == f"{page}blind/"]
    clicks = [(name, "", "image") for name in ("place", "at300.x", "at300.y")]
    for values in fillings([*fields, *clicks]):
        with transaction.atomic():
            reply = client.post(f"{page}blind/", values)
            assert reply.status_code in (302, 422), values
            clean(reply)
            clean(client.get(page))
            transaction.set_rollback(True)


def fillings(fields):
    """As it is but for one field that is typed in or hidden, and everything hostile at once."""
    usual = {name: value for name, value, kind in fields if kind not in ("checkbox", "button")}
    usual |= {name: "x" for name, _, kind in fields if kind == "textarea"}
    yield dict.fromkeys(usual, ATTACK)
    yield dict.fromkeys(usual, "\0\x01\x7f")
    for name, _, kind in fields:
        if kind not in ("radio", "checkbox", "submit") and name != "csrfmiddlewaretoken":
            yield {**usual, name: ATTACK}


REFLECTED = {
    "adjudicator": (
        "/items/?id={}", "/items/?source={}&after=0", "/items/?after={}", "/items/?before={}",
        "/items/{}/", "/items/{}/edit/", "/adjudication/?after={}", "/adjudication/{}/",
    ),
    "manager": (
        "/items/?state={}", "/items/?task={}", "/items/?stratum={}", "/items/?gold={}",
        "/items/{}/gold/", "/quarantine/?before={}", "/dashboard/?x={}",
        "/dashboard/agreement/?stratum={}",
    ),
    "administrator": (
        "/trail/?object={}", "/trail/?actor={}", "/trail/?kind={}", "/trail/?after={}",
        "/people/?x={}", "/people/{}/",
    ),
    "reviewer": ("/review/?empty={}", "/review/{}/", "/pictures/{}/", "/keys/?{}", "/me/?{}"),
    ANONYMOUS: ("/sign-in/?next={}", "/static/{}", "/{}/"),
}  # fmt: skip
ATTACKS = (ATTACK, "javascript:alert(1)", "//evil.example", '"onload="x', "\0", "a" * 5_000)


@pytest.mark.few(2)
@pytest.mark.parametrize("who", REFLECTED)
def test_what_stands_in_an_address_comes_back_as_text(world, who):
    clients = world.client(who), world.client(ANONYMOUS)
    for address in (form.format(quoted(attack)) for form in REFLECTED[who] for attack in ATTACKS):
        for client in clients:
            reply = client.get(address)
            assert reply.status_code in (200, 301, 302, 400, 404), address
            clean(reply)
            if reply.status_code in (301, 302):
                assert is_ours(reply["Location"])


def quoted(text):
    return "".join(f"%{byte:02x}" for byte in text.encode())


@pytest.mark.parametrize(
    "address",
    ["//evil.example", "https://evil.example", "javascript:alert(1)", "/\\evil.example", ATTACK],
)
def test_nobody_is_led_away_by_the_address_of_the_sign_in(world, address):
    client = world.client(ANONYMOUS)
    page = clean(client.get("/sign-in/", {"next": address}))
    assert address in page
    form_data = {"email": "reviewer@example.org", "password": PASSWORD, "next": address}
    assert client.post("/sign-in/", form_data)["Location"] == "/"


def test_the_search_finds_what_must_not_be():
    bad = (
        "<script>x</script>", "<script src='/static/review/x.js'>x</script>", "<p onclick=x>",
        "<p style=x>", "<a href='javascript:x'>", "<a href='//x.org'>", "<a href='https://x'>",
        "<img src=x>", "<style>", "<iframe>", "<base href='/'>", "<!-- x -->", "<p id=a id=b>",
        "<meta http-equiv=refresh>", "<form action='/\\x.org'>", "<a href='/' target=_blank>",
        "<svg onload=x>", "<object>", "<a href='data:text/html,x'>",
    )  # fmt: skip
    assert [page for page in bad if not Markup(page).faults] == []
    assert Markup("<p title='&lt;script&gt;'>&lt;img onerror=x&gt;</p>").faults == []
    assert dict(parse_qsl("a=%3Cb%3E")) == {"a": "<b>"}
