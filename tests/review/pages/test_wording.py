"""The field for another wording: its rules while it is typed, and where it goes."""

import pytest
from django.urls import reverse

from medrcube.review.models import Draft, Item, Proposal
from medrcube.review.reviewing.claims import claim_next

BLIND = {"option": "0", "confidence": "3", "needs_image": "yes", "image_adequate": "yes"}
REVISE = {"decision": "revise", "reason": "AMBIGUOUS_STEM"}
TEXT = "Which abnormality does this T1-weighted MR image of the brain show?"


@pytest.fixture
def second(take_claim):
    """A reviewer before step two: the client, the address of a view, the claim."""
    client, _, claim = take_claim()
    client.post(reverse("review-blind", args=[claim.token]), BLIND)
    return client, lambda name: reverse(name, args=[claim.token]), claim


def test_the_rules_are_told_while_a_wording_is_typed(second):
    client, at, _ = second
    reply = client.post(at("review-wording"), {"wording.question": "Which is not oedema?"}).json()
    assert reply["changed"]
    assert "negative-stem" in {flaw["rule"] for flaw in reply["flaws"]}
    assert all(flaw["message"] for flaw in reply["flaws"])


def test_the_rules_say_nothing_before_the_blind_answer(take_claim):
    client, _, claim = take_claim()
    reply = client.post(reverse("review-wording", args=[claim.token]), {"wording.question": TEXT})
    assert reply.status_code == 409
    assert "flaws" not in reply.json()


def test_nobody_asks_the_rules_for_the_claim_of_another(second, signed_in):
    _, at, _ = second
    other, _ = signed_in()
    assert other.post(at("review-wording"), {}).status_code == 404


@pytest.mark.parametrize("text", ["with a \0 in it", "x" * 20_001])
def test_text_that_no_database_takes_is_refused_alike(second, text):
    client, at, _ = second
    reply = client.post(at("review-wording"), {"wording.question": text})
    assert reply.status_code in (400, 422)


def test_a_wording_goes_with_the_review(second):
    client, at, claim = second
    client.post(at("review-submit"), {**REVISE, "wording.question": TEXT})
    assert Proposal.objects.get(review__claim=claim).question == TEXT


def test_a_form_that_says_what_the_item_says_proposes_nothing(second):
    client, at, claim = second
    same = {
        "wording.question": f" {claim.version.question}\r\n",
        "wording.option.1": "Haemorrhage ",
    }
    client.post(at("review-submit"), {**REVISE, **same, "wording.key": "0"})
    assert not Proposal.objects.exists()


def test_a_wording_that_is_typed_is_kept_like_all_else(second):
    client, at, _ = second
    client.post(at("review-draft"), {**REVISE, "wording.question": TEXT, "wording.option.2": "X"})
    assert Draft.objects.get().body["wording.question"] == [TEXT]
    assert TEXT in client.get(at("review")).content.decode()


def test_a_review_that_is_taken_back_brings_its_wording_along(second):
    client, at, _ = second
    client.post(at("review-submit"), {**REVISE, "wording.question": TEXT})
    page = client.post(at("review-undo"), follow=True).content.decode()
    assert f">{TEXT}</textarea>" in page


def test_a_wording_stays_in_the_form_when_another_decision_is_sent(second):
    client, at, _ = second
    reply = client.post(at("review-submit"), {"decision": "accept", "wording.question": TEXT})
    assert reply.status_code == 422
    assert f">{TEXT}</textarea>" in reply.content.decode()


def test_a_reviewer_sees_what_others_proposed_only_after_the_own_decision_stands(
    second, signed_in, project
):
    project(undo_minutes=0)
    client, at, _ = second
    client.post(at("review-submit"), {**REVISE, "wording.question": TEXT})
    other, user = signed_in()
    theirs = claim_next(user)
    page = reverse("review", args=[theirs.token])
    other.post(reverse("review-blind", args=[theirs.token]), BLIND)
    assert "T1-weighted" not in other.get(page).content.decode()
    other.post(reverse("review-submit", args=[theirs.token]), REVISE)
    assert "T1-weighted" in other.get(page).content.decode()


def test_a_manager_takes_a_proposal_over_and_the_next_reviewer_sees_what_is_new(second, signed_in):
    client, at, claim = second
    client.post(at("review-submit"), {**REVISE, "wording.question": TEXT})
    manager, _ = signed_in("manager")
    proposal = Proposal.objects.get()
    item = claim.version.item_id
    address = f"{reverse('item-edit', args=[item])}?proposal={proposal.pk}"
    assert (
        address.replace("&", "&amp;") in manager.get(reverse("item", args=[item])).content.decode()
    )
    page = manager.get(address).content.decode()
    assert TEXT in page
    texts = {f"option-{place}": text for place, text in enumerate(proposal.options)}
    form_data = {"question": TEXT, **texts, "key": "0", "version": "1", "note": "clearer"}
    manager.post(reverse("item-edit", args=[item]), {**form_data, "proposal": str(proposal.pk)})
    assert Item.objects.get(pk=item).version == 2
    other, user = signed_in()
    theirs = claim_next(user)
    other.post(reverse("review-blind", args=[theirs.token]), BLIND)
    next_page = other.get(reverse("review", args=[theirs.token])).content.decode()
    assert "Changes in this wording" in next_page
    assert "T1-weighted" in next_page
