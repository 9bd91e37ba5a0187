"""Personal data on a picture: everything that may show it is out at once, and comes back as one."""

import pytest

from medrcube.review.audit_trail.event_chain import verify_chain
from medrcube.review.errors import ConflictError, InvalidAnswerError
from medrcube.review.models import Event, Incident, Item, ItemVersion, RawFile
from medrcube.review.reviewing.claims import active_claim, claim_next
from medrcube.review.visibility import privacy_incidents


@pytest.fixture
def family(any_database, add_items):
    """Items by what they share with the first; and one that shares nothing."""
    result, picture, overlay, file, case, alone = add_items(6)
    shared = ItemVersion.objects.get(item=result).picture
    for item, column in ((picture, "picture"), (overlay, "overlay")):
        old = ItemVersion.objects.get(item=item)
        fields = {"picture": old.picture, column: shared}
        ItemVersion.objects.create(
            item=item,
            number=2,
            question="x",
            options=old.options,
            key=0,
            content_sha256="0" * 64,
            created_at=old.created_at,
            **fields,
        )
        Item.objects.filter(pk=item.pk).update(version=2)
    for item in (result, file):
        RawFile.objects.create(item=item, sha256="f" * 64)
    RawFile.objects.create(item=alone, sha256="e" * 64)
    Item.objects.filter(pk__in=[result.pk, case.pk]).update(case_key="c")
    return result, [result, picture, overlay, file, case], alone


def test_all_that_may_show_the_patient_goes_at_once(family, person):
    result, related, alone = family
    reviewer = person()
    claim = claim_next(reviewer)
    incident = privacy_incidents.report_incident(result.pk, reviewer)
    assert set(incident.items.values_list("pk", flat=True)) == {item.pk for item in related}
    assert set(Item.objects.filter(state="queued").values_list("pk", flat=True)) == {alone.pk}
    if claim.version.item_id != alone.pk:
        assert active_claim(reviewer) is None
    assert Event.objects.filter(kind="item.danger_seen").count() == len(related)
    assert verify_chain().fault == ""


def test_who_sees_a_name_in_step_two_takes_all_out(family, person, review):
    result, related, _ = family
    Item.objects.exclude(pk=result.pk).update(lot=10**6, priority=-1)
    review(person(), "reject", reasons=[("PHI", None)])
    assert Item.objects.filter(state="quarantined").count() == len(related)
    assert Item.objects.get(pk=result.pk).reviews == 1


def test_what_nobody_is_shown_stays_as_it_is(family, person):
    result, related, _ = family
    Item.objects.filter(pk=related[1].pk).update(state="rejected")
    privacy_incidents.report_incident(result.pk, person())
    assert Item.objects.get(pk=related[1].pk).state == "rejected"
    with pytest.raises(ConflictError, match="already been removed from the queue"):
        privacy_incidents.report_incident(related[1].pk, person())


def test_a_manager_puts_them_back_as_one_with_a_reason(family, person):
    result, related, _ = family
    manager = person("manager")
    incident = privacy_incidents.report_incident(result.pk, person())
    with pytest.raises(InvalidAnswerError, match="state what you found"):
        privacy_incidents.decide_incident(incident.pk, manager, clear=True, note=" ")
    assert privacy_incidents.decide_incident(
        incident.pk, manager, clear=True, note="a ruler"
    ) == len(related)
    assert not Item.objects.filter(state="quarantined").exists()
    assert not privacy_incidents.open_incidents().exists()
    with pytest.raises(ConflictError, match="already"):
        privacy_incidents.decide_incident(incident.pk, manager, clear=False, note="x")
    assert Incident.objects.get().closed_at


def test_or_ends_them(family, person):
    result, related, _ = family
    incident = privacy_incidents.report_incident(result.pk, person())
    privacy_incidents.decide_incident(incident.pk, person("manager"), clear=False, note="a name")
    assert Item.objects.filter(state="rejected").count() == len(related)
