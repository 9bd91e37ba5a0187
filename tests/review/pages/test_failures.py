"""Pages for what went wrong."""

import re

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from medrcube.review.views import home

SCRIPTS = re.compile(r'<script (?:type="module" )?src="/static/review/[a-z]+\.js"></script>')


def test_a_wrong_address_is_answered_in_words(signed_in):
    client, _ = signed_in()
    reply = client.get("/nothing/")
    assert reply.status_code == 404
    assert "There is no such page" in reply.content.decode()


def test_a_form_without_our_token_is_refused_and_its_comment_shown(taken):
    _, user, claim = taken()
    client = Client(SERVER_NAME="localhost", enforce_csrf_checks=True)
    client.force_login(user)
    reply = client.post(f"/review/{claim.token}/submit/", {"comment": "<b>typed"})
    assert reply.status_code == 403
    assert "&lt;b&gt;typed</textarea>" in reply.content.decode()
    short = client.post("/review/", {}, HTTP_X_REQUESTED_WITH="fetch")
    assert (short.status_code, short["Content-Type"]) == (403, "text/plain")


def test_an_unknown_host_is_refused(database):
    reply = Client(SERVER_NAME="evil.example").get("/")
    assert reply.status_code == 400
    assert "makes no sense" in reply.content.decode()


def test_a_fault_of_ours_is_said_without_asking_the_database(signed_in, monkeypatch):
    client, _ = signed_in()
    client.raise_request_exception = False
    monkeypatch.setattr(home, "_waiting", None)
    monkeypatch.setattr(home, "redirect", None)
    reply = client.get("/")
    assert reply.status_code == 500
    assert "Something broke on our side" in reply.content.decode()
    assert "Traceback" not in reply.content.decode()


def test_health_asks_the_database(database):
    client = Client(SERVER_NAME="localhost")
    reply = client.get("/health/")
    assert (reply.status_code, reply.content) == (200, b"ok")
    client.raise_request_exception = False

    def broken(*_):
        raise ValueError

    with connection.execute_wrapper(broken):
        assert client.get("/health/").status_code == 500


@pytest.mark.parametrize("path", ["/", "/review/", "/me/", "/keys/", "/sign-in/", "/nothing/"])
def test_no_page_names_another_host_or_carries_script(signed_in, path):
    client, _ = signed_in()
    reply = client.get(path, follow=True)
    text = reply.content.decode()
    assert "http:" not in text
    assert "https:" not in text
    assert "style=" not in text
    assert not re.search(r"\son[a-z]+=", text)
    assert len(re.findall(r"<script", text)) == len(SCRIPTS.findall(text))
    assert reply["Content-Security-Policy"].count("'unsafe") == 0
    assert settings.DEBUG is False
