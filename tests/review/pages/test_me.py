"""A person's own account: password and keys."""

import pytest
from django.test import Client

from medrcube.review import keymap
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.models import Event

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


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({"old": "wrong"}, "The old password is not right"),
        ({"again": "other"}, "typed in two ways"),
        ({"new": "short", "again": "short"}, "at least 12 characters"),
        ({"new": "reviewer1@example.org", "again": "reviewer1@example.org"}, "too similar"),
        ({"new": "qwerty123456", "again": "qwerty123456"}, "too common"),
    ],
)
def test_a_wrong_or_weak_password_is_refused_in_words(signed_in, sent, says):
    client, user = signed_in()
    reply = change(client, **sent)
    assert reply.status_code == 422
    assert says in reply.content.decode()
    user.refresh_from_db()
    assert user.check_password(PASSWORD)


def test_guessing_the_old_password_is_slowed_down(signed_in):
    client, _ = signed_in()
    for _ in range(5):
        change(client, old="wrong")
    assert "too many attempts" in change(client).content.decode().casefold()


def test_chosen_keys_reach_the_review_page(taken):
    client, user, claim = taken()
    keys = {**keymap.keys_of({}), "accept": "y"}
    assert client.post("/me/", {"form": "keys", **keys}).status_code == 302
    user.refresh_from_db()
    assert user.keymap == {"accept": "y"}
    text = client.get(f"/review/{claim.token}/").content.decode()
    assert "\naccept y\n" in text.replace("&#10;", "\n")
    assert "<kbd>y</kbd>" in client.get("/keys/").content.decode()


def test_keys_can_be_turned_off_and_set_back(taken):
    client, user, claim = taken()
    client.post("/me/", {"form": "keys", "off": "on", "accept": "y"})
    user.refresh_from_db()
    assert user.keymap == {"accept": "y", "off": True}
    assert 'data-single-keys="off"' in client.get(f"/review/{claim.token}/").content.decode()
    client.post("/me/", {"form": "default-keys"})
    user.refresh_from_db()
    assert user.keymap == {}


def test_keys_that_collide_are_refused_and_shown_again(signed_in):
    client, user = signed_in()
    reply = client.post("/me/", {"form": "keys", "accept": "R"})
    assert reply.status_code == 422
    assert "stands for two things: “Accept” and “Reject”" in reply.content.decode()
    assert 'name="accept" value="R"' in reply.content.decode()
    user.refresh_from_db()
    assert user.keymap == {}


def test_capital_and_small_letters_are_one_key():
    with pytest.raises(InvalidAnswerError, match="two things"):
        keymap.chosen({"reject": "A"}, off=False)


@pytest.mark.parametrize("key", ["", " ", "ab", "Escape", "\t", "\x07", "arrowleft"])
def test_what_is_no_key_is_refused(key):
    with pytest.raises(InvalidAnswerError, match="is no key"):
        keymap.chosen({"accept": key}, off=False)


def test_the_default_keys_do_not_collide():
    assert keymap.chosen({}, off=False) == {}


def test_two_keys_may_be_exchanged():
    assert keymap.chosen({"accept": "r", "reject": "a"}, off=False) == {
        "accept": "r",
        "reject": "a",
    }


@pytest.mark.parametrize("role", ["reviewer", "adjudicator", "manager", "administrator"])
def test_every_role_has_an_account_and_a_first_page(signed_in, role):
    client, user = signed_in(role)
    assert user.email in client.get("/me/").content.decode()
    assert client.get("/", follow=True).status_code == 200
