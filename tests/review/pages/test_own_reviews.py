"""The list of one's own reviews, taking one back, and reporting personal data from any page."""

import pytest

from medrcube.review.models import Claim, Item
from medrcube.review.reviewing.steps import answer_blind, submit_review
from medrcube.review.reviewing.submissions import BlindSubmission, ReviewSubmission

SAID = BlindSubmission(option=0, confidence=2, needs_image="yes", image_adequate=True)


def submit(client, user, claim):
    answer_blind(claim.token, user, SAID)
    submit_review(
        claim.token, user, ReviewSubmission(decision="reject", reasons=(("TRIVIAL", None),))
    )


def test_own_reviews_are_listed_and_others_are_not(take_claim):
    client, user, claim = take_claim()
    assert "You have not submitted any reviews yet" in client.get("/review/mine/").content.decode()
    submit(client, user, claim)
    page = client.get("/review/mine/").content.decode()
    assert claim.version.question in page
    assert "Retract" in page
    assert "counts" in page


def test_a_review_of_an_earlier_wording_does_not_say_that_it_counts(take_claim):
    client, user, claim = take_claim()
    submit(client, user, claim)
    Item.objects.update(version=2)
    assert "of an earlier wording" in client.get("/review/mine/").content.decode()


def test_a_slip_is_mended(take_claim):
    client, user, claim = take_claim()
    submit(client, user, claim)
    assert "Retract" in client.get(f"/review/{claim.token}/").content.decode()
    reply = client.post(f"/review/{claim.token}/undo/", follow=True)
    page = reply.content.decode()
    assert "Step 2" in page, "the first answer stands"
    assert 'value="reject" checked' in page
    assert 'value="TRIVIAL" checked' in page
    assert "retracted by you" in client.get("/review/mine/").content.decode()
    assert client.post(f"/review/{claim.token}/undo/").status_code == 409


@pytest.mark.parametrize("defect", ["", "KEY_WRONG", "PHI"])
@pytest.mark.parametrize("code", ["UNSAFE", "PHI"])
def test_a_review_that_names_a_danger_is_not_taken_back_gold_or_not(
    any_database, take_claim, defect, code
):
    client, user, claim = take_claim()
    Item.objects.update(gold_defect=defect)
    answer_blind(claim.token, user, SAID)
    submit_review(claim.token, user, ReviewSubmission(decision="reject", reasons=((code, None),)))
    pages = ("/review/mine/", f"/review/{claim.token}/")
    assert not any("Retract" in client.get(page).content.decode() for page in pages)
    reply = client.post(f"/review/{claim.token}/undo/")
    page = reply.content.decode()
    assert reply.status_code == 409
    assert "it reports a risk" in page
    assert "Somebody else" not in page


def test_nobody_takes_back_what_another_has_sent(take_claim, signed_in):
    client, user, claim = take_claim()
    submit(client, user, claim)
    other, _ = signed_in()
    assert other.post(f"/review/{claim.token}/undo/").status_code == 404


def test_personal_data_is_reported_before_the_answer(take_claim, add_shown):
    client, _, claim = take_claim()
    add_shown()  # the same picture
    page = client.get(f"/review/{claim.token}/").content.decode()
    assert f"/review/{claim.token}/personal-data/" in page
    report_page = client.get(f"/review/{claim.token}/personal-data/").content.decode()
    assert "is removed from the queue at once" in report_page
    assert Item.objects.filter(state="queued").count() == 2, "asked once before it happens"
    client.post(f"/review/{claim.token}/personal-data/")
    assert Item.objects.filter(state="quarantined").count() == 2
    assert Claim.objects.get(pk=claim.pk).outcome == "superseded"


def test_a_manager_lets_them_go_with_a_reason(take_claim, signed_in):
    client, _, claim = take_claim()
    client.post(f"/review/{claim.token}/personal-data/")
    manager, _ = signed_in("manager")
    page = manager.get("/quarantine/").content.decode()
    assert "Personal data seen" in page
    number = page.partition("/incidents/")[2].partition("/")[0]
    form_data = {"decision": "clear", "note": " "}
    assert manager.post(f"/incidents/{number}/", form_data).status_code == 422
    manager.post(f"/incidents/{number}/", {**form_data, "note": "the vendor's name"})
    assert Item.objects.get().state == "queued"
    assert "Personal data seen" not in manager.get("/quarantine/").content.decode()


def test_a_manager_voids_and_reopens_from_the_page_of_an_item(take_claim, signed_in):
    client, user, claim = take_claim()
    submit(client, user, claim)
    manager, _ = signed_in("manager")
    address = f"/items/{claim.version.item_id}/"
    assert "Void this review" in manager.get(address).content.decode()
    manager.post(address, {"form": "void", "claim": claim.pk, "text": "a slip"})
    assert Claim.objects.get(pk=claim.pk).outcome == "voided"
    Item.objects.update(state="accepted")
    manager.post(address, {"form": "reopen", "version": 1, "text": "look again"})
    assert Item.objects.get().state == "queued"
    judge, _ = signed_in("adjudicator")
    assert judge.post(address, {"form": "reopen", "version": 1, "text": "x"}).status_code == 404
