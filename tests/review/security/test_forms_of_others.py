"""A form is taken from our own pages only: every address that takes one, every way to forge one."""

import pytest
from django.conf import settings
from django.test import Client
from stage.routes import every_route
from stage.world import ANONYMOUS

from medrcube.review.audit_trail.event_chain import chain_head

SENDERS = {
    "sign-in": ANONYMOUS,
    "sign-in-code": ANONYMOUS,
    "sign-out": "reviewer",
    "queue": "reviewer",
    "review-blind": "reviewer",
    "review-submit": "reviewer",
    "review-draft": "reviewer",
    "review-give-back": "reviewer",
    "review-undo": "reviewer",
    "review-wording": "reviewer",
    "review-personal-data": "reviewer",
    "item-personal-data": "adjudicator",
    "incident": "manager",
    "me": "reviewer",
    "second-factor": "reviewer",
    "item": "adjudicator",
    "item-edit": "adjudicator",
    "item-gold": "manager",
    "adjudicate": "adjudicator",
    "quarantine-decide": "manager",
    "dashboard": "manager",
    "assigning": "manager",
    "people": "administrator",
    "person": "administrator",
    "trail": "administrator",
}
"""Every route that takes a POST, and somebody who may send one."""


def strict(world, who):
    """A client that is checked as a browser is."""
    return world.client(who, enforce_csrf_checks=True)


def token_of(client):
    """The token of a page, with its cookie in the client."""
    page = client.get("/sign-in/", follow=True) if not client.session.keys() else client.get("/me/")
    return page.content.decode().partition('csrfmiddlewaretoken" value="')[2][:64]


def no_token(world, client):
    token_of(client)
    return {}, {}


def token_of_somebody_else(world, client):
    token_of(client)
    return {"csrfmiddlewaretoken": token_of(strict(world, "other"))}, {}


def token_of_somebody_else_in_a_header(world, client):
    token_of(client)
    return {}, {"X-CSRFToken": token_of(strict(world, "other"))}


def no_cookie(world, client):
    token = token_of(client)
    del client.cookies[settings.CSRF_COOKIE_NAME]
    return {"csrfmiddlewaretoken": token}, {}


def another_origin(world, client):
    return {"csrfmiddlewaretoken": token_of(client)}, {"Origin": "https://evil.example"}


def another_port(world, client):
    return {"csrfmiddlewaretoken": token_of(client)}, {"Origin": "http://localhost:8000"}


def an_origin_that_is_hidden(world, client):
    return {"csrfmiddlewaretoken": token_of(client)}, {"Origin": "null"}


def another_site(world, client):
    return {"csrfmiddlewaretoken": token_of(client)}, {"Sec-Fetch-Site": "cross-site"}


def another_program_of_this_machine(world, client):
    return {"csrfmiddlewaretoken": token_of(client)}, {"Sec-Fetch-Site": "same-site"}


FORGERIES = [
    no_token,
    token_of_somebody_else,
    token_of_somebody_else_in_a_header,
    no_cookie,
    another_origin,
    another_port,
    an_origin_that_is_hidden,
    another_site,
    another_program_of_this_machine,
]


def test_every_route_that_takes_a_form_is_tried(world):
    takes = set()
    for route, view in every_route().items():
        who = min(getattr(view, "allowed_roles", {ANONYMOUS}))
        if world.client(who).post(world.address(route)).status_code != 405:
            takes.add(route)
    assert takes == set(SENDERS)


@pytest.mark.few(12)
@pytest.mark.parametrize("route", SENDERS)
def test_a_forged_form_is_refused_and_changes_nothing(world, route):
    for forgery in FORGERIES:
        client = strict(world, SENDERS[route])
        form_data, headers = forgery(world, client)
        before, session = chain_head(), dict(client.session)
        reply = client.post(world.address(route), form_data, headers=headers)
        assert reply.status_code == 403, forgery.__name__
        assert (chain_head(), dict(client.session)) == (before, session), forgery.__name__


OURS = (
    {},
    {"Origin": "http://localhost"},
    {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "none"},
)


@pytest.mark.few(8)
@pytest.mark.parametrize("route", SENDERS)
def test_a_form_of_ours_is_taken(world, route):
    for headers in OURS:
        client = strict(world, SENDERS[route])
        form_data = {"csrfmiddlewaretoken": token_of(client)}
        assert client.post(world.address(route), form_data, headers=headers).status_code != 403, (
            headers
        )


def test_the_token_is_another_one_after_each_sign_in(world):
    client = strict(world, ANONYMOUS)
    before = token_of(client)
    cookie = client.cookies[settings.CSRF_COOKIE_NAME].value
    form_data = {"email": "reviewer@example.org", "password": "correct horse battery staple"}
    reply = client.post("/sign-in/", {**form_data, "csrfmiddlewaretoken": before})
    assert reply.status_code == 302
    assert client.cookies[settings.CSRF_COOKIE_NAME].value != cookie
    assert client.post("/review/", {"csrfmiddlewaretoken": before}).status_code == 403


def test_a_page_of_another_site_may_lead_here(world):
    client = Client(SERVER_NAME="localhost", headers={"Sec-Fetch-Site": "cross-site"})
    assert client.get("/sign-in/").status_code == 200
