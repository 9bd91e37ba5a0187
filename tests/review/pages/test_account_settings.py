"""A person's own account: password and keys."""

import pytest
from django.test import Client
from django.utils.module_loading import import_string

from medrcube.review.accounts import key_bindings
from medrcube.review.models import Event
from medrcube.review.reviewing.questionnaire import Reason
from medrcube.review.settings import PASSWORD_HASHERS

PASSWORD = "correct horse battery staple"  # noqa: S105
NEW = "five quiet grey pigeons"


def change(client, old=PASSWORD, new=NEW, again=NEW):
    return client.post("/me/", {"form": "password", "old": old, "new": new, "again": again})


def test_the_password_can_be_changed_and_other_sessions_end(signed_in):
    client, user = signed_in()
    elsewhere = Client(SERVER_NAME="localhost")
    elsewhere.force_login(user)
    assert change(client).status_code == 302
    user.refresh_from_db()
    assert user.check_password(NEW)
    assert user.password.startswith("argon2")
    assert client.get("/me/").status_code == 200
    assert elsewhere.get("/me/").status_code == 302
    assert Event.objects.get().kind == "person.password_changed"


def test_passwords_are_hashed_at_full_cost_outside_the_tests():
    hasher = import_string(PASSWORD_HASHERS[0])()
    password_hash = hasher.encode(PASSWORD, hasher.salt())
    assert hasher.decode(password_hash)["memory_cost"] == 100 * 1024
    assert hasher.verify(PASSWORD, password_hash)


@pytest.mark.parametrize(
    ("form_data", "says"),
    [
        ({"old": "wrong"}, "The current password is wrong"),
        ({"again": "other"}, "new passwords differ"),
        ({"new": "short", "again": "short"}, "at least 12 characters"),
        ({"new": "reviewer1@example.org", "again": "reviewer1@example.org"}, "too similar"),
        ({"new": "qwerty123456", "again": "qwerty123456"}, "too common"),
    ],
)
def test_a_wrong_or_weak_password_is_refused_in_words(signed_in, form_data, says):
    client, user = signed_in()
    reply = change(client, **form_data)
    assert reply.status_code == 422
    assert says in reply.content.decode()
    user.refresh_from_db()
    assert user.check_password(PASSWORD)


def test_whoever_knows_the_old_password_may_try_as_many_new_ones_as_they_like(signed_in):
    client, _ = signed_in()
    for _ in range(7):
        assert change(client, new="aaaaaaaaaaaa", again="aaaaaaaaaaaa").status_code == 422
    assert change(client).status_code == 302


def test_guessing_the_old_password_is_slowed_down(signed_in):
    client, _ = signed_in()
    for _ in range(5):
        change(client, old="wrong")
    assert "too many attempts" in change(client).content.decode().casefold()


def test_keys_of_one_character_can_be_turned_off_and_on(take_claim):
    client, user, claim = take_claim()
    client.post("/me/", {"form": "keys"})
    user.refresh_from_db()
    assert not user.single_keys
    assert 'data-single-keys="off"' in client.get(f"/review/{claim.token}/").content.decode()
    assert "Single-key shortcuts are off" in client.get("/keys/").content.decode()
    client.post("/me/", {"form": "keys", "single_keys": "on"})
    assert 'data-single-keys="on"' in client.get(f"/review/{claim.token}/").content.decode()


def test_no_key_means_two_things():
    keys = [action.key.casefold() for action in key_bindings.ACTIONS]
    assert len(set(keys)) == len(keys)
    assert len(set(key_bindings.REASON_KEYS.values())) == len(Reason)


@pytest.mark.parametrize("role", ["reviewer", "adjudicator", "manager", "administrator"])
def test_every_role_has_an_account_and_a_first_page(signed_in, role):
    client, user = signed_in(role)
    assert user.email in client.get("/me/").content.decode()
    assert client.get("/", follow=True).status_code == 200
