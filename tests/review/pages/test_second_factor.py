"""A second factor by one-time codes: set up, asked for, reset; pyotp is the authenticator."""

import re
import time
from pathlib import Path

import pyotp
import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.utils import timezone

from medrcube.review.accounts import second_factor
from medrcube.review.accounts.sessions import SessionStore
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.models import Event, RecoveryCode, SecondFactor, User
from medrcube.review_settings import ReviewSettings

PASSWORD = "correct horse battery staple"  # noqa: S105
EMAIL = "reviewer@example.org"
STEP = 30


@pytest.fixture
def reviewer(person):
    return person("reviewer", email=EMAIL)


@pytest.fixture
def secured(reviewer):
    """An authenticator that was set up a while ago, and the recovery codes."""
    codes, recovery = set_up(reviewer)
    SecondFactor.objects.update(last_step=0)
    return codes, recovery


def set_up(user, session=None):
    """The authenticator and the recovery codes, from this session."""
    session = SessionStore() if session is None else session
    authenticator = pyotp.TOTP(second_factor.begin_setup(user, session).secret)
    recovery = second_factor.confirm_setup(user, session, authenticator.now())
    session.save()
    return authenticator, recovery


def set_up_by(client):
    """The authenticator and the recovery codes, by the page."""
    page = client.get("/me/second-factor/").content.decode()
    authenticator = pyotp.TOTP(re.search(r"<code>([A-Z2-7]{32})</code>", page)[1])
    reply = client.post("/me/second-factor/", {"code": authenticator.now()})
    return authenticator, re.findall(r"<code>([a-z0-9-]{19})</code>", reply.content.decode())


def sign_in(client, **extra):
    return client.post("/sign-in/", {"email": EMAIL, "password": PASSWORD}, **extra)


def fresh():
    return Client(SERVER_NAME="localhost")


def is_in(client):
    return client.get("/me/").status_code == 200


def test_it_is_set_up_with_a_picture_drawn_here_and_recovery_codes_shown_once(signed_in):
    client, user = signed_in()
    page = client.get("/me/second-factor/").content.decode()
    assert "<svg" in page
    secret = re.search(r"<code>([A-Z2-7]{32})</code>", page)[1]
    assert client.get("/me/second-factor/").content.decode().count(secret) == 1
    reply = client.post("/me/second-factor/", {"code": pyotp.TOTP(secret).now()})
    codes = re.findall(r"<code>([a-z0-9-]{19})</code>", reply.content.decode())
    assert len(codes) == len(set(codes)) == 10
    after = client.get("/me/second-factor/").content.decode()
    assert secret not in after
    assert not any(code in after for code in codes)
    assert Event.objects.get().kind == "person.second_factor_set"
    assert second_factor.has_second_factor(user)


def test_the_address_of_the_picture_is_what_authenticators_read(reviewer):
    session = SessionStore()
    setup = second_factor.begin_setup(reviewer, session)
    uri = pyotp.parse_uri(setup.address)
    assert (uri.secret, uri.issuer, uri.name) == (setup.secret, "medrcube", EMAIL)
    assert second_factor.begin_setup(reviewer, session) == setup


def test_a_wrong_code_turns_nothing_on(signed_in):
    client, user = signed_in()
    client.get("/me/second-factor/")
    assert client.post("/me/second-factor/", {"code": "000000"}).status_code == 422
    assert not second_factor.has_second_factor(user)


def test_after_the_password_a_code_is_asked(secured):
    client = fresh()
    reply = client.post("/sign-in/?next=/keys/", {"email": EMAIL, "password": PASSWORD})
    assert reply["Location"] == "/sign-in/code/"
    assert not is_in(client)
    assert client.post("/sign-in/code/", {"code": "123"}).status_code == 422
    assert not is_in(client)
    reply = client.post("/sign-in/code/", {"code": secured[0].now()})
    assert reply["Location"] == "/keys/"
    assert is_in(client)


def test_the_session_changes_its_id_at_both_steps(secured):
    client = fresh()
    session = client.session
    session["x"] = 1
    session.save()
    planted = session.session_key
    client.cookies[settings.SESSION_COOKIE_NAME] = planted
    sign_in(client)
    half = client.session.session_key
    client.post("/sign-in/code/", {"code": secured[0].now()})
    assert len({planted, half, client.session.session_key}) == 3


@pytest.mark.parametrize(
    ("steps", "is_valid"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)]
)
def test_a_clock_may_be_wrong_by_one_step(reviewer, secured, steps, is_valid):
    now = timezone.now()
    code = secured[0].at(now.timestamp() + steps * STEP)
    assert second_factor.spend_code(reviewer, code, now) is is_valid


def test_a_code_is_taken_once_and_none_before_it_either(any_database, reviewer, secured):
    now = timezone.now()
    code, before = secured[0].at(now.timestamp()), secured[0].at(now.timestamp() - STEP)
    assert second_factor.spend_code(reviewer, code, now)
    assert not second_factor.spend_code(reviewer, code, now)
    assert not second_factor.spend_code(reviewer, before, now)
    assert second_factor.spend_code(reviewer, secured[0].at(now.timestamp() + STEP), now)


def test_the_code_of_the_set_up_is_spent(reviewer):
    session = SessionStore()
    codes = pyotp.TOTP(second_factor.begin_setup(reviewer, session).secret)
    code = codes.now()
    second_factor.confirm_setup(reviewer, session, code)
    assert not second_factor.spend_code(reviewer, code)


def test_a_recovery_code_stands_in_once_however_it_is_typed(any_database, reviewer, secured):
    code = secured[1][3]
    assert second_factor.spend_code(reviewer, f" {code.upper().replace('-', ' ')} ")
    assert not second_factor.spend_code(reviewer, code)
    assert RecoveryCode.objects.count() == 9
    event = Event.objects.last()
    assert (event.kind, event.body) == ("person.second_factor_recovery_code_used", '{"left":9}')


def test_no_secret_stands_in_clear(reviewer, secured, database):
    raw = Path(database.database).read_bytes()
    connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw += Path(database.database).read_bytes()
    secret = secured[0].secret
    for hidden in (secret, secret.lower(), *secured[1], *(c.replace("-", "") for c in secured[1])):
        assert hidden.encode() not in raw


def test_guessing_codes_is_slowed_down_from_wherever_it_is_tried(secured):
    for number in range(settings.SIGN_IN_LIMITS["pair"]):
        client = fresh()
        sign_in(client, REMOTE_ADDR=f"192.0.2.{number}")
        wrong = client.post("/sign-in/code/", {"code": "000000"}, REMOTE_ADDR=f"192.0.2.{number}")
        assert wrong.status_code == 422
    client = fresh()
    sign_in(client)
    reply = client.post("/sign-in/code/", {"code": secured[0].now()})
    assert (reply.status_code, reply["Retry-After"]) == (429, "900")


def test_the_second_step_ends_after_five_minutes_and_with_the_password(reviewer, secured):
    client = fresh()
    sign_in(client)
    session = client.session
    session["half_signed_in"] = {**session["half_signed_in"], "at": int(time.time()) - 301}
    session.save()
    assert client.post("/sign-in/code/", {"code": secured[0].now()})["Location"] == "/sign-in/"
    sign_in(client)
    reviewer.set_password("five quiet grey pigeons")
    reviewer.save()
    assert client.post("/sign-in/code/", {"code": secured[0].now()})["Location"] == "/sign-in/"
    assert not is_in(client)


def test_a_script_gives_the_code_with_the_password(secured):
    client, script = fresh(), {"HTTP_X_REQUESTED_WITH": "fetch"}
    reply = sign_in(client, **script)
    assert (reply.status_code, reply.content) == (
        422,
        b"Also enter the code from your authenticator app.",
    )
    form_data = {"email": EMAIL, "password": PASSWORD, "code": secured[0].now()}
    assert client.post("/sign-in/", form_data, **script).status_code == 204
    assert is_in(client)


def test_the_person_makes_new_codes_or_removes_it_with_a_code(signed_in):
    client, user = signed_in()
    _, old = set_up_by(client)
    assert client.post("/me/second-factor/", {"form": "codes", "code": "1"}).status_code == 422
    reply = client.post("/me/second-factor/", {"form": "codes", "code": old[0]})
    new = re.findall(r"<code>([a-z0-9-]{19})</code>", reply.content.decode())
    assert len(new) == 10
    assert not second_factor.spend_code(user, old[1])
    assert client.post("/me/second-factor/", {"form": "remove", "code": new[0]}).status_code == 302
    assert not second_factor.has_second_factor(user)


def test_a_role_that_needs_one_sees_nothing_else_until_it_is_on(signed_in, monkeypatch):
    monkeypatch.setattr(settings, "SITE", ReviewSettings(second_factor=("manager",)))
    client, _ = signed_in("manager")
    assert client.get("/dashboard/")["Location"] == "/me/second-factor/"
    assert client.get("/me/").status_code == 200
    _, codes = set_up_by(client)
    assert client.get("/dashboard/").status_code == 200
    refused = client.post("/me/second-factor/", {"form": "remove", "code": codes[0]})
    assert "your role requires a second factor" in refused.content.decode().casefold()
    other, _ = signed_in("reviewer")
    assert other.get("/review/").status_code == 200


def test_an_administrator_resets_it_and_a_manager_that_of_a_reviewer(
    reviewer, secured, signed_in, person
):
    manager, _ = signed_in("manager")
    form_data = {"form": "second-factor", "reviewer": reviewer.pk, "note": ""}
    assert manager.post("/dashboard/", form_data).status_code == 422
    assert manager.post("/dashboard/", {**form_data, "note": "seen her"}).status_code == 302
    assert not second_factor.has_second_factor(reviewer)
    event = Event.objects.last()
    assert (event.kind, event.body) == ("person.second_factor_reset", '{"note":"seen her"}')
    boss = person("administrator")
    set_up(boss)
    form_data = {"form": "second-factor", "reviewer": boss.pk, "note": "x"}
    assert manager.post("/dashboard/", form_data).status_code == 422
    admin, _ = signed_in("administrator")
    assert admin.post(f"/people/{boss.pk}/", {"form": "second-factor"}).status_code == 302
    assert not second_factor.has_second_factor(boss)


def test_another_key_of_the_server_lets_nobody_in_by_a_code(reviewer, secured, monkeypatch):
    monkeypatch.setattr(settings, "SECRET_KEY", "another")
    with pytest.raises(InvalidAnswerError, match="ask an administrator to reset it"):
        second_factor.spend_code(reviewer, secured[0].now())
    client = fresh()
    sign_in(client)
    reply = client.post("/sign-in/code/", {"code": secured[0].now()})
    assert reply.status_code == 422
    assert not is_in(client)
    assert User.objects.get().last_login is None


def test_a_session_opened_with_the_password_alone_ends_when_a_second_factor_is_set_up(
    any_database, reviewer
):
    earlier, own = fresh(), fresh()
    sign_in(earlier)
    sign_in(own)
    script = {"HTTP_X_REQUESTED_WITH": "fetch"}
    set_up_by(own)
    assert earlier.get("/review/", **script).status_code == 401
    assert earlier.get("/me/")["Location"] == "/sign-in/?next=/me/"
    assert "_auth_user_id" not in earlier.session
    assert is_in(own)


def test_a_session_that_gave_a_code_of_another_second_factor_ends(any_database, reviewer):
    earlier, own = fresh(), fresh()
    for client in (earlier, own):
        sign_in(client)
    set_up_by(earlier)
    assert is_in(earlier)
    second_factor.remove_second_factor(reviewer, reviewer)
    sign_in(own)
    set_up_by(own)
    assert not is_in(earlier)
    assert is_in(own)


def test_no_session_sees_or_confirms_the_secret_that_another_began(any_database, reviewer):
    first, second = fresh(), fresh()
    secrets = []
    for client in (first, second):
        sign_in(client)
        page = client.get("/me/second-factor/").content.decode()
        secrets.append(re.search(r"<code>([A-Z2-7]{32})</code>", page)[1])
    assert secrets[0] != secrets[1]
    crossed = second.post("/me/second-factor/", {"code": pyotp.TOTP(secrets[0]).now()})
    assert crossed.status_code == 422
    first.post("/me/second-factor/", {"code": pyotp.TOTP(secrets[0]).now()})
    assert is_in(first)
    second.post("/me/second-factor/", {"code": pyotp.TOTP(secrets[1]).now()})
    assert not is_in(second)


def test_of_two_sessions_that_set_one_up_at_once_the_first_wins(any_database, reviewer):
    sessions = SessionStore(), SessionStore()
    authenticators = [
        pyotp.TOTP(second_factor.begin_setup(reviewer, session).secret) for session in sessions
    ]
    second_factor.confirm_setup(reviewer, sessions[0], authenticators[0].now())
    with pytest.raises(InvalidAnswerError, match="already has a second factor"):
        second_factor.confirm_setup(reviewer, sessions[1], authenticators[1].now())
    assert second_factor.is_proven(sessions[0], reviewer)
    assert not second_factor.is_proven(sessions[1], reviewer)


def test_the_session_changes_its_id_when_a_second_factor_is_set_up(signed_in):
    client, _ = signed_in()
    client.get("/me/second-factor/")
    before = client.session.session_key
    set_up_by(client)
    assert client.session.session_key != before
    assert is_in(client)
