import re

import pytest
from django.test import Client

from medrcube.review.accounts import accounts, bulk_accounts
from medrcube.review.errors import ConflictError, InvalidAnswerError, ReviewError
from medrcube.review.models import Event, Role, User
from medrcube.review.reviewing.claims import active_claim, claim_next

GOOD = "a ward round at dawn"


@pytest.fixture
def admin(signed_in):
    return signed_in("administrator")


def new(**fields):
    return {"email": "new@example.org", "role": "reviewer", "password": GOOD, **fields}


def signs_in(email, password):
    client = Client(SERVER_NAME="localhost")
    client.post("/sign-in/", {"email": email, "password": password})
    return client.get("/me/").status_code == 200


@pytest.mark.parametrize("role", ["reviewer", "adjudicator", "manager"])
def test_only_administrators_see_people(signed_in, role):
    client, user = signed_in(role)
    for address in ("/people/", f"/people/{user.pk}/"):
        assert client.get(address).status_code == 404
        assert client.post(address, new()).status_code == 404
    assert User.objects.count() == 1


def test_a_person_is_added_with_a_typed_password(admin, words):
    client, user = admin
    form_data = new(email=" New@Example.org ", specialties=["MRI", "Brain"])
    assert client.post("/people/", form_data).status_code == 302
    new_user = User.objects.get(email="new@example.org")
    assert (new_user.role, new_user.specialties) == ("reviewer", ["Brain", "MRI"])
    assert signs_in("new@example.org", GOOD)
    event = Event.objects.get(kind="person.added")
    assert (event.actor, event.object) == (user.pseudonym, f"person:{new_user.pseudonym}")
    assert "example.org" not in event.body
    assert GOOD not in event.body


def test_a_password_that_is_made_here_is_shown_once(admin):
    client, _ = admin
    reply = client.post("/people/", new(password=""))
    assert reply.status_code == 200
    password = re.search(r"<code>([a-z2-9-]{19})</code>", reply.content.decode())[1]
    assert signs_in("new@example.org", password)
    assert password.encode() not in client.get("/people/").content
    assert "no-store" in reply.headers["Cache-Control"]


def test_random_passwords_are_long_and_differ():
    passwords = {accounts.random_password() for _ in range(100)}
    assert len(passwords) == 100
    assert all(
        re.fullmatch(r"([a-hjkmnp-z2-9]{4}-){3}[a-hjkmnp-z2-9]{4}", entry) for entry in passwords
    )


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"email": "nobody"}, "not an e-mail address"),
        ({"role": "chief"}, "expected one of"),
        ({"password": "short"}, "too short"),
        ({"password": "new@example.org"}, "too similar"),
        ({"specialties": ["Dentistry"]}, "not a specialty"),
        ({"email": "Reviewer0@example.org"}, "already has an account"),
    ],
)
def test_an_account_that_cannot_be_keeps_what_was_typed(admin, person, fields, reason, words):
    person(email="reviewer0@example.org")
    client, _ = admin
    form_data = new(**fields)
    reply = client.post("/people/", form_data)
    assert reply.status_code == 422
    assert reason in words(reply)
    page = reply.content.decode()
    assert f'value="{form_data["email"]}"' in page
    assert not re.search(r'<input[^>]*type="password"[^>]*value=', page)
    assert User.objects.count() == 2


def test_role_and_specialties_change(admin, person):
    user = person()
    client, _ = admin
    form_data = {"form": "role", "role": "adjudicator", "specialties": ["CT"]}
    assert client.post(f"/people/{user.pk}/", form_data).status_code == 302
    user.refresh_from_db()
    assert (user.role, user.specialties) == ("adjudicator", ["CT"])
    event = Event.objects.get(kind="person.changed")
    assert '"before":{"role":"reviewer"' in event.body


def test_who_is_no_reviewer_any_more_gives_back_what_they_hold(admin, person, add_items):
    add_items(1)
    user = person()
    assert claim_next(user)
    client, _ = admin
    client.post(f"/people/{user.pk}/", {"form": "role", "role": "manager"})
    assert active_claim(user) is None


def test_who_has_seen_keys_becomes_no_reviewer(admin, person, words):
    user = person("adjudicator")
    client, _ = admin
    form_data = {"form": "role", "role": "reviewer"}
    Client().force_login(user)
    reply = client.post(f"/people/{user.pk}/", form_data)
    assert reply.status_code == 422
    assert "would not review blind" in words(reply)
    user.refresh_from_db()
    assert user.role == "adjudicator"


def test_a_role_that_was_mistyped_is_mended_before_the_first_sign_in(admin, person):
    user = person("manager")
    client, _ = admin
    assert (
        client.post(f"/people/{user.pk}/", {"form": "role", "role": "reviewer"}).status_code == 302
    )
    user.refresh_from_db()
    assert user.role == "reviewer"


def test_a_closed_account_is_signed_out_at_once_and_opened_again(admin, person, add_items):
    add_items(1)
    user = person()
    claim_next(user)
    theirs = Client(SERVER_NAME="localhost")
    theirs.force_login(user)
    client, _ = admin
    client.post(f"/people/{user.pk}/", {"form": "close"})
    assert theirs.get("/me/").status_code == 302
    assert active_claim(user) is None
    assert client.post(f"/people/{user.pk}/", {"form": "close"}).status_code == 409
    client.post(f"/people/{user.pk}/", {"form": "open"})
    user.refresh_from_db()
    assert user.is_active
    kinds = [event.kind for event in Event.objects.filter(object=f"person:{user.pseudonym}")]
    assert kinds == ["person.closed", "person.opened"]


def test_a_reset_ends_the_sessions_and_sets_another_password(admin, person):
    user = person()
    theirs = Client(SERVER_NAME="localhost")
    theirs.force_login(user)
    client, _ = admin
    reply = client.post(f"/people/{user.pk}/", {"form": "password"})
    password = re.search(r"<code>([a-z2-9-]{19})</code>", reply.content.decode())[1]
    assert theirs.get("/me/").status_code == 302
    assert signs_in(user.email, password)
    assert password not in Event.objects.get(kind="person.password_reset").body


def test_a_weak_password_is_refused(admin, person):
    user = person()
    before = user.password
    client, _ = admin
    form_data = {"form": "password", "password": "password1234"}
    assert client.post(f"/people/{user.pk}/", form_data).status_code == 422
    user.refresh_from_db()
    assert user.password == before


@pytest.mark.parametrize("form_data", [{"form": "close"}, {"form": "role", "role": "manager"}])
def test_the_last_administrator_stays(admin, person, form_data, words):
    client, user = admin
    person("administrator", is_active=False)
    reply = client.post(f"/people/{user.pk}/", form_data)
    assert reply.status_code == 422
    assert "last administrator" in words(reply)
    user.refresh_from_db()
    assert user.is_active
    assert user.role == "administrator"


def test_one_of_two_administrators_may_go(admin, person):
    client, user = admin
    person("administrator")
    assert client.post(f"/people/{user.pk}/", {"form": "close"}).status_code == 302
    user.refresh_from_db()
    assert not user.is_active


def test_specialties_of_the_last_administrator_change(admin):
    _client, user = admin
    accounts.change_account(user, user.pk, role=Role.ADMINISTRATOR, specialties=["CT"])
    user.refresh_from_db()
    assert user.specialties == ["CT"]


def test_nothing_changed_is_said(admin, person):
    _client, actor = admin
    user = person()
    with pytest.raises(InvalidAnswerError, match="nothing was changed"):
        accounts.change_account(actor, user.pk, role="reviewer", specialties=[])


def test_an_account_that_is_not_there_is_404(admin):
    client, actor = admin
    assert client.get("/people/99999/").status_code == 404
    with pytest.raises(ConflictError, match="no such account"):
        accounts.set_active(actor, 99999, active=False)


def test_a_form_that_the_page_does_not_know_is_refused(admin, person):
    client, _ = admin
    assert client.post(f"/people/{person().pk}/", {"form": "delete"}).status_code == 422


@pytest.mark.thorough
def test_accounts_on_postgresql(postgresql, person, add_items):
    """Rows are locked there, which SQLite does not know."""
    add_items(1)
    actor = person("administrator")
    user = accounts.add_account(
        actor, email="new@example.org", role="reviewer", specialties=[], password=GOOD
    )
    claim_next(user)
    accounts.change_account(actor, user.pk, role="adjudicator", specialties=["CT"])
    assert active_claim(user) is None
    with pytest.raises(InvalidAnswerError, match="has an account"):
        accounts.add_account(
            actor, email="new@example.org", role="reviewer", specialties=[], password=GOOD
        )
    with pytest.raises(InvalidAnswerError, match="last administrator"):
        accounts.set_active(actor, actor.pk, active=False)


def test_a_password_that_somebody_else_chose_is_changed_before_anything_else(admin):
    client, _ = admin
    client.post("/people/", new())
    theirs = Client(SERVER_NAME="localhost")
    theirs.post("/sign-in/", {"email": "new@example.org", "password": GOOD})
    assert theirs.get("/review/")["Location"] == "/me/"
    assert "Your password was set by someone else" in theirs.get("/me/").content.decode()
    own = "four sheds behind a mill"
    theirs.post("/me/", {"form": "password", "old": GOOD, "new": own, "again": own})
    assert theirs.get("/review/").status_code == 200


def test_a_reset_password_is_temporary_again(admin, person):
    client, _ = admin
    user = person("reviewer")
    client.post(f"/people/{user.pk}/", {"form": "password", "password": GOOD})
    user.refresh_from_db()
    assert user.temporary_password


@pytest.mark.parametrize(
    "password", ["aaaaaaaaaaaa", "reviewer2026", "qwertyuiop12", "medrcube2026!"]
)
def test_a_password_that_few_guesses_find_is_refused(admin, password):
    client, _ = admin
    reply = client.post("/people/", new(password=password))
    assert reply.status_code == 422
    assert not User.objects.filter(email="new@example.org").exists()


def test_no_password_is_taken_that_the_sign_in_would_refuse(admin):
    client, _ = admin
    longest = ("quiet grey pigeons " * 60)[:1024]
    refused = client.post("/people/", new(password=f"{longest}x"))
    assert (refused.status_code, b"at most 1024" in refused.content) == (422, True)
    new_account = new(password=longest)
    assert client.post("/people/", new_account).status_code == 302
    form_data = {"email": new_account["email"], "password": longest}
    assert Client(SERVER_NAME="localhost").post("/sign-in/", form_data).status_code == 302


def test_a_team_is_enrolled_from_a_table(admin, tmp_path):
    _, user = admin
    table, passwords = tmp_path / "team.csv", tmp_path / "first.csv"
    table.write_text(
        "\ufeffemail,role,specialties\r\na@example.org,,Breast; MRI\r\nb@example.org,manager,\r\n",
        encoding="utf-8",
    )
    bulk_accounts.enrol(user, bulk_accounts.read_applicants(table), passwords)
    first = User.objects.get(email="a@example.org")
    assert (first.role, first.specialties) == ("reviewer", ["Breast", "MRI"])
    assert passwords.stat().st_mode & 0o777 == 0o600
    rows = dict(line.split(",") for line in passwords.read_text().splitlines()[1:])
    assert signs_in("b@example.org", rows["b@example.org"])
    assert first.temporary_password


def test_every_row_that_cannot_be_an_account_is_told_and_nobody_is_added(admin, tmp_path):
    _, user = admin
    table, passwords = tmp_path / "team.csv", tmp_path / "first.csv"
    table.write_text("email,role\na@example.org,reviewer\nnobody,\na@example.org,chief\n")
    with pytest.raises(InvalidAnswerError, match=r"row 3: 'nobody'.*row 4: role 'chief'"):
        bulk_accounts.enrol(user, bulk_accounts.read_applicants(table), passwords)
    assert User.objects.count() == 1
    assert not passwords.exists()


def test_a_file_of_passwords_is_never_overwritten(admin, tmp_path):
    _, user = admin
    passwords = tmp_path / "first.csv"
    passwords.write_text("mine")
    with pytest.raises(ReviewError, match="already exists"):
        bulk_accounts.enrol(user, [], passwords)
    assert passwords.read_text() == "mine"


@pytest.mark.parametrize("text", ["name\nx\n", "email,password\na@example.org,x\n", ""])
def test_a_table_with_other_columns_is_refused(tmp_path, text):
    table = tmp_path / "team.csv"
    table.write_text(text)
    with pytest.raises(ReviewError, match="expected email"):
        bulk_accounts.read_applicants(table)
