"""A queue of an earlier version: what its reviewers were shown counts from then on."""

import pytest
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.utils import timezone

from medrcube.review.audit_trail import event_chain
from medrcube.review.models import Claim, Disclosure, Event, Exposure, Item
from medrcube.review.quality.gold_items import make_gold
from medrcube.review.reviewing.claims import claim_next
from medrcube.review.reviewing.edits import Edit
from medrcube.review.server.bootstrap import migrate

BEFORE = "0001_queue"


@pytest.mark.thorough
@pytest.mark.parametrize("same_case", [True, False])
def test_what_was_shown_before_counts_after_the_update(
    any_database, add_shown, person, review, same_case
):
    case = {"source": "toy", "case": "patient 7"}
    for number in range(2):
        add_shown(provenance={**case, "case": f"patient {7 + number * (not same_case)}"})
    reviewer = person()
    first, second = review(reviewer), review(reviewer)
    Session.objects.create(session_key="k", session_data="", expire_date=timezone.now())
    call_command("migrate", "review", BEFORE, verbosity=0)
    call_command("migrate", verbosity=0)
    assert not Session.objects.exists()
    assert event_chain.verify_chain().fault == ""
    assert not Item.objects.filter(case_key="").exists()
    assert Disclosure.objects.count() == 2 * same_case
    assert Claim.objects.get(pk=first.pk).blinded
    assert Claim.objects.get(pk=second.pk).blinded is not same_case
    assert Event.objects.filter(kind="blind.flagged").count() == same_case
    assert Exposure.objects.filter(user=reviewer).count() == (4 if same_case else 2)
    assert claim_next(person()) is not None


def test_copies_and_remarks_of_an_earlier_version_count_after_the_update(
    any_database, add_shown, person, review
):
    telling, original, other = (add_shown(provenance={}) for _ in range(3))
    Item.objects.update(case_key="one")
    Item.objects.filter(pk__in=[original.item_id, other.item_id]).update(state="accepted")
    reviewer, manager = person(), person("manager")
    review(reviewer)
    texts = tuple(option["text"] for option in original.options)
    change = Edit(question=original.question, options=texts, key=1, note="")
    copy = make_gold(original.item_id, 1, manager, defect="KEY_WRONG", change=change)
    Exposure.objects.all().delete()
    Disclosure.objects.all().delete()
    Exposure.objects.create(user=reviewer, item=telling.item, by=telling.item, at=timezone.now())
    call_command("migrate", "review", "0003_who_was_blind", verbosity=0)
    migrate()
    assert Disclosure.objects.filter(by=telling.item, told=copy).exists()
    assert Exposure.objects.filter(user=reviewer, item=copy).exists()
