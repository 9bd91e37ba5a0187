"""Who may see which picture, and what comes with it."""

import uuid
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from medrcube.review.exchange import image_store
from medrcube.review.models import Asset, Claim, Item
from medrcube.review.reviewing.claims import give_back
from medrcube.review.reviewing.steps import answer_blind, submit_review
from medrcube.review.reviewing.submissions import BlindSubmission, ReviewSubmission
from medrcube.review.visibility import privacy_incidents

ANSWER = BlindSubmission(option=0, confidence=2, needs_image="yes", image_adequate=True)
RULING = ReviewSubmission(decision="reject", reasons=(("KEY_WRONG", None),))


def get(client, asset, **extra):
    return client.get(f"/pictures/{asset.pk}/", **extra)


def visible_pair(client, claim):
    """Whether the plain and the marked picture can be seen."""
    version = claim.version
    return tuple(
        get(client, asset).status_code == 200 for asset in (version.picture, version.overlay)
    )


def test_the_mark_is_shown_after_the_blind_answer_only(take_claim):
    client, user, claim = take_claim()
    assert visible_pair(client, claim) == (True, False)
    answer_blind(claim.token, user, ANSWER)
    assert visible_pair(client, claim) == (True, True)
    submit_review(claim.token, user, RULING)
    assert visible_pair(client, claim) == (True, True)


def test_a_mark_that_is_asked_about_is_shown_at_once(take_claim):
    client, _, claim = take_claim(asks_mark=True)
    assert visible_pair(client, claim) == (True, True)


def test_an_item_that_was_given_back_is_shown_no_more(take_claim):
    client, user, claim = take_claim()
    answer_blind(claim.token, user, ANSWER)
    give_back(claim.token, user, not_my_field=True)
    assert visible_pair(client, claim) == (False, False)


def test_an_item_whose_time_is_over_is_shown_no_more(take_claim):
    client, user, claim = take_claim()
    answer_blind(claim.token, user, ANSWER)
    Claim.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert visible_pair(client, claim) == (False, False)


@pytest.mark.parametrize(
    ("role", "may"),
    [("reviewer", False), ("adjudicator", True), ("manager", True), ("administrator", False)],
)
def test_others_see_it_by_their_role(take_claim, signed_in, role, may):
    _, user, claim = take_claim()
    answer_blind(claim.token, user, ANSWER)
    client, _ = signed_in(role)
    assert visible_pair(client, claim) == (may, may)


@pytest.mark.parametrize("outcome", ["open", "kept out", "cleared"])
def test_a_picture_that_shows_a_patient_is_closed_to_all_but_managers(
    take_claim, signed_in, outcome
):
    client, user, claim = take_claim()
    adjudicator, _ = signed_in("adjudicator")
    manager, boss = signed_in("manager")
    answer_blind(claim.token, user, ANSWER)
    submit_review(claim.token, user, RULING)
    assert visible_pair(client, claim) == visible_pair(adjudicator, claim) == (True, True)
    Item.objects.update(state="queued")
    incident = privacy_incidents.report_incident(claim.version.item_id, user)
    if outcome != "open":
        privacy_incidents.decide_incident(
            incident.pk, boss, clear=outcome == "cleared", note="looked at it"
        )
    may = outcome == "cleared"
    assert visible_pair(client, claim) == visible_pair(adjudicator, claim) == (may, may)
    assert visible_pair(manager, claim) == (True, True)


def test_another_picture_of_a_reported_case_is_closed_too(take_claim, add_shown):
    client, user, claim = take_claim()
    answer_blind(claim.token, user, ANSWER)
    submit_review(claim.token, user, RULING)
    lone = Asset.objects.create(sha256="e" * 64, width=8, height=8)
    other = add_shown(picture=lone, overlay=None).item
    Item.objects.filter(pk__in=[other.pk, claim.version.item_id]).update(case_key="c")
    Item.objects.filter(pk=claim.version.item_id).update(state="withdrawn")
    assert get(client, claim.version.picture).status_code == 200
    privacy_incidents.report_incident(other.pk, user)
    assert get(client, claim.version.picture).status_code == 404


def test_a_page_says_why_its_picture_is_closed_and_what_to_do(take_claim, signed_in):
    client, user, claim = take_claim()
    people = {"adjudicator": signed_in("adjudicator"), "manager": signed_in("manager")}
    answer_blind(claim.token, user, ANSWER)
    submit_review(claim.token, user, RULING)
    pages = {
        "reviewer": (client, f"/review/{claim.token}/"),
        **{
            role: (viewer, f"/items/{claim.version.item_id}/")
            for role, (viewer, _) in people.items()
        },
    }

    def closed():
        texts = {role: viewer.get(at).content.decode() for role, (viewer, at) in pages.items()}
        is_visible = {
            role: "data-viewer" in text and "viewer.js" in text for role, text in texts.items()
        }
        is_closed = {role: "This image is locked." in text for role, text in texts.items()}
        assert all(is_visible[role] is not is_closed[role] for role in pages)
        return {role for role in pages if is_closed[role]}

    assert closed() == set()
    Item.objects.update(state="queued")
    incident = privacy_incidents.report_incident(claim.version.item_id, user)
    assert closed() == {"reviewer", "adjudicator"}
    privacy_incidents.decide_incident(
        incident.pk, people["manager"][1], clear=True, note="a marker of the ward"
    )
    assert closed() == set()


def test_who_is_not_signed_in_is_sent_to_sign_in(take_claim):
    _, _, claim = take_claim()
    reply = get(Client(SERVER_NAME="localhost"), claim.version.picture)
    assert reply.status_code == 302
    assert reply["Location"].startswith("/sign-in/")


def test_the_bytes_are_the_stored_ones_and_the_headers_keep_them_in(take_claim):
    client, _, claim = take_claim()
    reply = get(client, claim.version.picture)
    assert reply.content == image_store.load_image(claim.version.picture)
    assert reply["Content-Type"] == "image/png"
    assert reply["X-Content-Type-Options"] == "nosniff"
    assert reply["Content-Disposition"] == 'inline; filename="picture.png"'
    assert reply["Cross-Origin-Resource-Policy"] == "same-origin"
    assert reply["Cache-Control"] == "private, no-store"
    assert "default-src 'self'" in reply["Content-Security-Policy"]


def test_a_picture_that_is_broken_on_disk_is_not_shown(take_claim, caplog):
    client, _, claim = take_claim()
    image_store.image_path(claim.version.picture.sha256).write_bytes(b"<script>")
    assert get(client, claim.version.picture).status_code == 404
    assert "was changed; import it again" in caplog.text


@pytest.mark.parametrize(
    "path",
    [
        "..", "../", "%2e%2e%2f", "..%2fsecret.key", "..%5c..%5csecret.key", "%00", "/etc/passwd",
        "%2fetc%2fpasswd", "con", "nul.png", "assets2/x", "c:%5cwindows", "secret.key",
    ],
)  # fmt: skip
def test_no_path_names_a_picture(take_claim, path):
    client, _, _ = take_claim()
    for form in (path, f"{path}/"):
        assert client.get(f"/pictures/{form}").status_code in (301, 400, 404)
        assert client.get(f"/pictures/{form}", follow=True).status_code in (400, 404)


def test_neither_digest_nor_unknown_id_names_a_picture(take_claim):
    client, _, claim = take_claim()
    assert client.get(f"/pictures/{claim.version.picture.sha256}/").status_code == 404
    assert client.get(f"/pictures/{uuid.uuid4()}/").status_code == 404


def test_a_picture_of_no_item_of_the_reviewer_is_not_shown(take_claim):
    client, _, _ = take_claim()
    other = Asset.objects.create(sha256="1" * 64, width=1, height=1)
    assert get(client, other).status_code == 404


def test_pictures_are_only_read(take_claim):
    client, _, claim = take_claim()
    assert client.post(f"/pictures/{claim.version.picture_id}/").status_code == 405
