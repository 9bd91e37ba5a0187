"""Signing in and out, sessions that end, and guessing that is slowed down."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from medrcube.review.accounts import login_throttle
from medrcube.review.accounts.sessions import session_digest
from medrcube.review.models import SignInAttempt

PASSWORD = "correct horse battery staple"  # noqa: S105


@pytest.fixture
def reviewer(person):
    return person("reviewer", email="reviewer@example.org")


@pytest.fixture
def client(database):
    return Client(SERVER_NAME="localhost")


def sign_in(client, email="reviewer@example.org", typed=PASSWORD, **extra):
    return client.post("/sign-in/", {"email": email, "password": typed}, **extra)


def test_the_right_password_leads_to_the_page_that_was_wanted(client, reviewer):
    reply = client.get("/me/")
    assert reply.status_code == 302
    reply = client.post(
        reply["Location"], {"email": " Reviewer@Example.org ", "password": PASSWORD}, follow=True
    )
    assert reply.redirect_chain == [("/me/", 302)]
    assert reply.status_code == 200


@pytest.mark.parametrize(
    "address",
    ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"],
)
def test_nobody_is_sent_to_another_site(client, reviewer, address):
    form_data = {"email": reviewer.email, "password": PASSWORD, "next": address}
    assert client.post("/sign-in/", form_data)["Location"] == "/"


def test_unknown_wrong_and_closed_look_the_same(client, reviewer, person):
    person("reviewer", email="gone@example.org", is_active=False)
    replies = [
        sign_in(client, typed="wrong"),
        sign_in(client, email="nobody@example.org"),
        sign_in(client, email="gone@example.org"),
        sign_in(client, typed="x" * 2000),
        sign_in(client, email="a\0b"),
    ]
    texts = {reply.content.split(b"notice error")[1].split(b"</p>")[0] for reply in replies}
    assert [reply.status_code for reply in replies] == [422] * 5
    assert len(texts) == 1


def test_a_script_is_answered_in_short(client, reviewer):
    script = {"HTTP_X_REQUESTED_WITH": "fetch"}
    wrong = sign_in(client, typed="wrong", **script)
    assert (wrong.status_code, wrong["Content-Type"]) == (422, "text/plain")
    assert sign_in(client, **script).status_code == 204
    assert client.get("/me/").status_code == 200


def test_the_session_gets_a_new_id_at_sign_in(client, reviewer):
    session = client.session
    session["x"] = 1
    session.save()
    planted = session.session_key
    client.cookies[settings.SESSION_COOKIE_NAME] = planted
    sign_in(client)
    assert client.session.session_key != planted
    assert not Session.objects.filter(pk=session_digest(planted)).exists()


def test_signing_out_makes_a_copied_cookie_worthless(client, reviewer):
    sign_in(client)
    thief = Client(SERVER_NAME="localhost")
    thief.cookies[settings.SESSION_COOKIE_NAME] = client.session.session_key
    assert thief.get("/me/").status_code == 200
    client.post("/sign-out/")
    assert Session.objects.count() == 0
    assert thief.get("/me/").status_code == 302


def test_signing_out_takes_a_post(client, reviewer):
    sign_in(client)
    assert client.get("/sign-out/").status_code == 405
    assert client.get("/me/").status_code == 200


@pytest.mark.parametrize(
    ("began", "last_seen", "stays"),
    [(0, 1799, True), (0, 1801, False), (43_199, 10, True), (43_201, 10, False)],
)
def test_a_session_ends_when_idle_and_after_half_a_day(client, reviewer, began, last_seen, stays):
    sign_in(client)
    now = int(timezone.now().timestamp())
    session = client.session
    session.update({"began": now - max(began, last_seen), "seen": now - last_seen})
    session.save()
    assert (client.get("/me/").status_code == 200) is stays
    assert Session.objects.filter(pk=session_digest(session.session_key)).exists() is stays


def test_a_new_sign_in_starts_the_half_day_anew(client, reviewer):
    sign_in(client)
    session = client.session
    session["began"] -= 43_000
    session.save()
    sign_in(client)
    assert client.session["began"] > int(timezone.now().timestamp()) - 60


def test_a_closed_account_is_out_at_once(client, reviewer):
    sign_in(client)
    reviewer.is_active = False
    reviewer.save()
    assert client.get("/me/").status_code == 302
    lost = client.get("/me/", HTTP_X_REQUESTED_WITH="fetch")
    assert (lost.status_code, lost.content) == (401, b"sign in again")


def test_guessing_an_account_from_one_address_stops_after_the_limit(client, reviewer):
    limit = settings.SIGN_IN_LIMITS["pair"]
    for _ in range(limit):
        assert sign_in(client, typed="wrong").status_code == 422
    refused = sign_in(client)  # not even the right one is looked at
    assert refused.status_code == 429
    assert refused["Retry-After"] == str(settings.SIGN_IN_WINDOW_SECONDS)
    assert b"Too many attempts" in refused.content
    assert sign_in(client, REMOTE_ADDR="192.0.2.9").status_code == 302


def test_after_the_window_one_may_try_again(client, reviewer):
    for _ in range(settings.SIGN_IN_LIMITS["pair"]):
        sign_in(client, typed="wrong")
    assert sign_in(client).status_code == 429
    past = timezone.now() - timedelta(seconds=settings.SIGN_IN_WINDOW_SECONDS + 1)
    SignInAttempt.objects.update(at=past)
    assert sign_in(client).status_code == 302
    assert not SignInAttempt.objects.filter(at=past).exists()


def test_the_right_password_clears_the_count_of_that_pair_only(client, reviewer, person):
    person("reviewer", email="other@example.org")
    for _ in range(3):
        sign_in(client, typed="wrong")
        sign_in(client, email="other@example.org", typed="wrong")
    before = SignInAttempt.objects.count()
    sign_in(client)
    # Three wrong ones of the pair go; those of account and address stay.
    assert before - SignInAttempt.objects.count() == 3


def test_many_addresses_do_not_help_against_one_account(database, monkeypatch):
    limits = {"pair": 5, "account": 3, "address": 100}
    monkeypatch.setattr(settings, "SIGN_IN_LIMITS", limits)
    attempts = [login_throttle.count_attempt("a@example.org", f"192.0.2.{n}") for n in range(5)]
    assert attempts == [True, True, True, False, False]
    assert login_throttle.count_attempt("b@example.org", "192.0.2.1")


def test_many_accounts_do_not_help_one_address(database, monkeypatch):
    limits = {"pair": 5, "account": 100, "address": 3}
    monkeypatch.setattr(settings, "SIGN_IN_LIMITS", limits)
    attempts = [login_throttle.count_attempt(f"{n}@example.org", "192.0.2.1") for n in range(5)]
    assert attempts == [True, True, True, False, False]


def test_what_is_stored_names_nobody(client, reviewer):
    sign_in(client, typed="wrong")
    attempts = list(SignInAttempt.objects.values_list("who", flat=True))
    assert len(attempts) == 3
    assert all(len(who) == 64 and "reviewer" not in who for who in attempts)


def test_a_forged_forwarding_header_gives_no_fresh_attempts(client, reviewer):
    for number in range(settings.SIGN_IN_LIMITS["pair"]):
        sign_in(client, typed="wrong", HTTP_X_FORWARDED_FOR=f"192.0.2.{number}")
    assert sign_in(client, HTTP_X_FORWARDED_FOR="192.0.2.99").status_code == 429
