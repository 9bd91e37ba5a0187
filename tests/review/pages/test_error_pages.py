"""Pages for what went wrong."""

import logging
import re
from dataclasses import replace

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.test import Client

from medrcube.review.views import landing

SAFE = "The database cannot be reached; answers already stored are safe."
SCRIPTS = re.compile(r'<script (?:type="module" )?src="/static/review/[a-z]+\.js"></script>')


def test_a_wrong_address_is_answered_in_words(signed_in):
    client, _ = signed_in()
    reply = client.get("/nothing/")
    assert reply.status_code == 404
    assert "Page not found" in reply.content.decode()


def test_a_form_without_our_token_is_refused_and_its_comment_shown(take_claim):
    _, user, claim = take_claim()
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
    assert "Invalid request" in reply.content.decode()


def test_a_fault_of_ours_is_said_without_asking_the_database(signed_in, monkeypatch):
    client, _ = signed_in()
    client.raise_request_exception = False
    monkeypatch.setattr(landing, "_count_in", None)
    monkeypatch.setattr(landing, "redirect", None)
    reply = client.get("/")
    assert reply.status_code == 500
    assert "Server error" in reply.content.decode()
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


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_while_the_database_is_away_every_page_says_so(database, kind, use_place, tmp_path):
    away = {
        "sqlite": str(tmp_path / "none" / "review.sqlite3"),
        "postgresql": f"postgresql://reviewer@/review?host={tmp_path}",
    }
    client = Client(SERVER_NAME="localhost", raise_request_exception=False)
    client.cookies[settings.SESSION_COOKIE_NAME] = "a" * 32
    with use_place(replace(database, database=away[kind])):
        for page in ("/", "/sign-in/", "/review/", "/health/"):
            reply = client.get(page)
            assert (page, reply.status_code, reply["Retry-After"]) == (page, 503, "60")
            assert SAFE in reply.content.decode()
        script = client.get("/review/", HTTP_X_REQUESTED_WITH="fetch")
        assert (script.status_code, script.content.decode()) == (503, SAFE)


@pytest.mark.parametrize("host", ["localhost", "other.example"])
def test_a_database_away_or_another_host_is_one_line_of_the_log(
    database, use_place, tmp_path, caplog, host
):
    away = replace(database, database=str(tmp_path / "none" / "review.sqlite3"))
    client = Client(SERVER_NAME=host, raise_request_exception=False)
    client.cookies[settings.SESSION_COOKIE_NAME] = "a" * 32
    with use_place(away):
        reply = client.get("/")
    assert reply.status_code == (503 if host == "localhost" else 400)
    lines = [logging.Formatter().format(record) for record in caplog.records]
    assert len(lines) == 1
    assert "\n" not in lines[0]
    assert str(tmp_path) not in lines[0]


def test_a_page_that_is_not_there_is_no_line_of_the_log(database, caplog):
    assert Client(SERVER_NAME="localhost").get("/nothing/").status_code == 404
    assert caplog.records == []


def test_a_fault_of_ours_keeps_its_traceback(database, caplog):
    client = Client(SERVER_NAME="localhost", raise_request_exception=False)

    def broken(*_):
        raise OperationalError

    with connection.execute_wrapper(broken):
        client.get("/health/")
    (record,) = caplog.records
    assert record.exc_info


def test_a_fault_in_a_query_is_no_database_that_is_away(any_database):
    client = Client(SERVER_NAME="localhost", raise_request_exception=False)

    def broken(*_):
        raise OperationalError

    with connection.execute_wrapper(broken):
        assert client.get("/health/").status_code == 500
