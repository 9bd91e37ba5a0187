"""A queue of an earlier version: what its readers were shown counts from then on."""

import pytest
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.utils import timezone

from medrcube.review import audit
from medrcube.review.claiming import claim_next
from medrcube.review.models import Claim, Disclosure, Event, Exposure, Item

BEFORE = "0001_queue"


@pytest.mark.parametrize("same_case", [True, False])
def test_what_was_shown_before_counts_after_the_update(
    any_database, add_shown, person, review, same_case
):
    case = {"source": "toy", "case": "patient 7"}
    for number in range(2):
        add_shown(provenance={**case, "case": f"patient {7 + number * (not same_case)}"})
    reader = person()
    first, second = review(reader), review(reader)
    Session.objects.create(session_key="k", session_data="", expire_date=timezone.now())
    call_command("migrate", "review", BEFORE, verbosity=0)
    call_command("migrate", verbosity=0)
    assert not Session.objects.exists()
    assert audit.verify().fault == ""
    assert not Item.objects.filter(case_key="").exists()
    assert Disclosure.objects.count() == 2 * same_case
    assert Claim.objects.get(pk=first.pk).blinded
    assert Claim.objects.get(pk=second.pk).blinded is not same_case
    assert Event.objects.filter(kind="blind.flagged").count() == same_case
    assert Exposure.objects.filter(user=reader).count() == (4 if same_case else 2)
    assert claim_next(person()) is not None
