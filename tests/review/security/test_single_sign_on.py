"""Single sign-on by OpenID Connect, against a provider in a process of its own."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.conf import settings
from django.test import Client

from medrcube.errors import WorkspaceError
from medrcube.review.models import Event, Identity, SecondFactor, User
from medrcube.review_settings import ReviewSettings, SingleSignOn

SECRET = "s3cret-of-the-client"  # noqa: S105
EMAIL = "reviewer@example.org"


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


@pytest.fixture(scope="module")
def issuer():
    program = Path(__file__).parents[1] / "stage" / "provider.py"
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip()
        process.kill()


@pytest.fixture
def site(issuer, monkeypatch):
    """Turn single sign-on on; a call changes its settings."""
    monkeypatch.setenv("MEDRCUBE_REVIEW_OIDC_SECRET", SECRET)

    def use(second_factor=(), **changes):
        single = SingleSignOn(**{"issuer": issuer, "client_id": "medrcube", **changes})
        review_settings = ReviewSettings(second_factor=second_factor, single_sign_on=single)
        monkeypatch.setattr(settings, "SITE", review_settings)

    use()
    return use


@pytest.fixture
def reviewer(person):
    return person("reviewer", email=EMAIL)


@pytest.fixture
def come_back():
    """Go to the provider and come back; gives the client and the reply to its last request."""

    def go(client=None, *, start="/sign-in/provider/", signed="RS256", **claims):
        client = client or Client(SERVER_NAME="localhost")
        away = client.get(start)
        assert away.status_code == 302, away.content
        claims_json = json.dumps({"claims": {"email": EMAIL, **claims}, "signed": signed})
        back = authorised(away["Location"], claims_json)
        return client, client.get(back)

    return go


def authorised(address, test):
    opener = urllib.request.build_opener(NoRedirect)
    try:
        opener.open(f"{address}&{urlencode({'test': test})}")
    except urllib.error.HTTPError as reply:
        back = urlsplit(reply.headers["Location"])
        return f"{back.path}?{back.query}"
    raise AssertionError("the provider sent nobody back")


def is_in(client):
    return client.get("/me/").status_code == 200


def test_an_account_is_found_by_the_address_and_then_by_the_subject(site, reviewer, come_back):
    client, reply = come_back(start="/sign-in/provider/?next=/keys/")
    assert (reply.status_code, reply["Location"]) == (302, "/keys/")
    assert is_in(client)
    assert Identity.objects.get().subject == "subject-1"
    assert [event.kind for event in Event.objects.all()] == ["person.single_sign_on_linked"]
    client, _ = come_back(email="other.name@example.org")
    assert EMAIL in client.get("/me/").content.decode()


def test_what_is_asked_of_the_provider_has_state_nonce_and_pkce(site, reviewer):
    client = Client(SERVER_NAME="localhost")
    query = parse_qs(urlsplit(client.get("/sign-in/provider/")["Location"]).query)
    assert query["code_challenge_method"] == ["S256"]
    assert all(len(query[name][0]) >= 20 for name in ("state", "nonce", "code_challenge"))
    assert query["redirect_uri"] == ["http://localhost/sign-in/provider/back/"]
    assert SECRET not in str(query)


@pytest.mark.parametrize(
    "wrong",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another-client"},
        {"iss": "https://evil.example"},
        {"exp": 1_000_000_000},
        {"exp": None},
        {"sub": None},
        {"sub": 7},
        {"signed": "none"},
        {"signed": "HS256"},
        {"signed": "another key"},
        {"signed": "absent"},
    ],
    ids=str,
)
def test_a_token_that_does_not_hold_lets_nobody_in(site, reviewer, come_back, wrong, caplog):
    client, reply = come_back(**wrong)
    assert reply.status_code == 422
    assert "Single sign-on did not work" in reply.content.decode()
    assert not is_in(client)
    assert not Identity.objects.exists()
    assert "eyJ" not in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    "claims",
    [
        {"email": "stranger@example.org"},
        {"email_verified": False},
        {"email_verified": None},
        {"email": None},
        {"email": ["reviewer@example.org"]},
        {"email": f"{EMAIL}\0"},
    ],
    ids=str,
)
def test_strangers_get_no_account(site, reviewer, come_back, claims):
    client, reply = come_back(**claims)
    assert reply.status_code == 422
    assert "You have no account here" in reply.content.decode()
    assert not is_in(client)
    assert User.objects.count() == 1


def test_an_address_that_was_given_to_another_person_takes_over_no_account(
    site, reviewer, come_back
):
    come_back()
    client, reply = come_back(sub="subject-2")
    assert reply.status_code == 422
    assert not is_in(client)
    assert Identity.objects.get().subject == "subject-1"


def test_the_role_stays_whatever_the_token_says(site, reviewer, come_back):
    come_back(role="administrator", roles=["administrator"], groups=["administrator"])
    reviewer.refresh_from_db()
    assert reviewer.role == "reviewer"


def test_a_closed_account_stays_closed(site, reviewer, come_back):
    come_back()
    User.objects.update(is_active=False)
    client, reply = come_back()
    assert reply.status_code == 422
    assert not is_in(client)


def test_a_state_of_another_browser_or_one_that_was_used_is_refused(site, reviewer, come_back):
    client, _ = come_back()
    away = Client(SERVER_NAME="localhost").get("/sign-in/provider/")
    back = authorised(away["Location"], "{}")
    assert client.get(back).status_code == 422
    assert Client(SERVER_NAME="localhost").get(back).status_code == 422
    assert client.get("/sign-in/provider/back/?error=access_denied").status_code == 422


def test_a_password_that_somebody_else_chose_ends_with_the_first_sign_in(site, person, come_back):
    user = person("reviewer", email=EMAIL, temporary_password=True)
    client, _ = come_back()
    user.refresh_from_db()
    assert not user.has_usable_password()
    assert client.get("/review/").status_code == 200
    assert "You have no password" in client.get("/me/").content.decode()


def test_the_session_gets_a_new_id(site, reviewer, come_back):
    client = Client(SERVER_NAME="localhost")
    client.get("/sign-in/provider/")
    before = client.session.session_key
    come_back(client)
    assert client.session.session_key != before


def test_a_second_factor_is_asked_here_unless_the_provider_asks_for_it(site, reviewer, come_back):
    factor = {"secret": "unread", "confirmed_at": "2026-01-01T00:00Z"}
    SecondFactor.objects.create(user=reviewer, **factor)
    client, reply = come_back()
    assert reply["Location"] == "/sign-in/code/"
    assert not is_in(client)
    site(asks_second_factor=True)
    client, reply = come_back()
    assert reply["Location"] == "/"


def test_a_session_of_a_provider_counts_only_while_its_second_factor_does(
    any_database, site, reviewer, come_back
):
    site(asks_second_factor=True)
    trusted, _ = come_back()
    site()
    plain, _ = come_back()
    factor = {"secret": "unread", "confirmed_at": "2026-01-01T00:00Z"}
    SecondFactor.objects.create(user=reviewer, **factor)
    site(asks_second_factor=True)
    assert is_in(trusted)
    assert not is_in(plain)
    site()
    assert not is_in(trusted)


def test_a_role_that_needs_a_second_factor_may_have_it_at_the_provider(site, person, come_back):
    person("manager", email=EMAIL)
    site(second_factor=("manager",))
    client, _ = come_back()
    assert client.get("/dashboard/")["Location"] == "/me/second-factor/"
    site(second_factor=("manager",), asks_second_factor=True)
    client, _ = come_back()
    assert client.get("/dashboard/").status_code == 200


def test_another_claim_may_name_the_account(site, reviewer, come_back):
    site(claim="upn")
    client, reply = come_back(upn="Reviewer@Example.org", email="x@y.org", email_verified=None)
    assert reply.status_code == 302
    assert is_in(client)


def test_a_provider_that_is_away_or_named_otherwise_is_told(site, reviewer, issuer):
    for wrong in ("http://127.0.0.1:9", f"{issuer}/"):
        site(issuer=wrong)
        reply = Client(SERVER_NAME="localhost").get("/sign-in/provider/")
        assert reply.status_code == 502
        assert "Single sign-on did not work" in reply.content.decode()


def test_an_administrator_unlinks_an_account(site, reviewer, come_back, signed_in):
    come_back()
    admin, _ = signed_in("administrator")
    assert admin.post(f"/people/{reviewer.pk}/", {"form": "unlink"}).status_code == 302
    assert Event.objects.last().kind == "person.single_sign_on_unlinked"
    come_back(sub="subject-2")
    assert Identity.objects.get().subject == "subject-2"


def test_the_button_stands_only_where_it_leads_somewhere(site, reviewer, monkeypatch):
    client = Client(SERVER_NAME="localhost")
    assert "Sign in by single sign-on" in client.get("/sign-in/").content.decode()
    monkeypatch.setattr(settings, "SITE", ReviewSettings())
    assert "single sign-on" not in client.get("/sign-in/").content.decode()
    assert client.get("/sign-in/provider/").status_code == 404


def test_a_secret_that_others_can_read_or_that_is_missing_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "secret"
    file.write_text("s\n")
    file.chmod(0o600)
    single = SingleSignOn(issuer="https://a.example", client_id="b", secret_file=file)
    assert single.secret() == "s"
    file.chmod(0o640)
    with pytest.raises(WorkspaceError, match="others can read it"):
        single.secret()
    monkeypatch.delenv("MEDRCUBE_REVIEW_OIDC_SECRET", raising=False)
    with pytest.raises(WorkspaceError, match="is empty; put the client secret there"):
        SingleSignOn(issuer="https://a.example", client_id="b").secret()
