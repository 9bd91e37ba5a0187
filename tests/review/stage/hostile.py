"""Text that tries to be more than text, for every column that text comes into from outside."""

from datetime import timedelta

from django.utils import timezone
from stage.world import TEXTS, WHY, add_item

from medrcube.review.audit_trail.event_chain import NewEvent, record_events
from medrcube.review.models import (
    Adjudication,
    Asset,
    Assignment,
    BlindAnswer,
    Claim,
    Draft,
    Item,
    ItemVersion,
    Proposal,
    Remark,
    Review,
    ReviewReason,
    Specialty,
)

ATTACK = (
    """ "><script>alert(1)</script><img src=x onerror=alert(1)> ' onmouseover='alert(1)' x='"""
    """ {{ 7|add:7 }}{% debug %}{# no #}${7*7} <svg onload=alert(1)></textarea></title></style>"""
    """<a href="javascript:alert(1)">&lt;b&gt;&#60;i&#62;</a> javascript:alert(1) --><!-- ]]>"""
    """ //evil.example/x https://evil.example/x \u202egnp.exe\u202c\u2066\u200f end"""
)
IN_ADDRESS = """"><img src=x onerror=alert(1)> '{{7}}?a=b&c#d%e;:@\\\u202e"""
"""The same for an id that stands in an address, where a slash would end it."""
PLANTED = {
    "Asset.original": "",
    "Adjudication.outcome": "whole",
    "Adjudication.rationale": "whole",
    "Assignment.anatomy": "whole",
    "Assignment.modality": "whole",
    "Assignment.source": "whole",
    "Assignment.specialty": "whole",
    "Assignment.task": "whole",
    "BlindAnswer.value": "whole",
    "Comment.text": "whole",
    "Draft.body": "whole",
    "Event.actor": "whole",
    "Event.body": "part",
    "Event.kind": "whole",
    "Event.object": "part",
    "Item.anatomy": "whole",
    "Item.gold_defect": "whole",
    "Item.id": "part",
    "Item.modality": "whole",
    "Item.source": "whole",
    "Item.stratum": "whole",
    "Item.task": "whole",
    "ItemVersion.note": "whole",
    "ItemVersion.options": "whole",
    "ItemVersion.provenance": "whole",
    "ItemVersion.question": "whole",
    "ItemVersion.target": "part",
    "ItemVersion.warnings": "whole",
    "Proposal.flaws": "part",
    "Proposal.options": "part",
    "Proposal.question": "part",
    "ReleaseRecord.name": "part",
    "Remark.origin": "whole",
    "Remark.text": "whole",
    "Review.comment": "whole",
    "Review.verdicts": "part",
    "ReviewReason.code": "part",
    "Specialty.name": "whole",
    "User.email": "whole",
    "User.pseudonym": "whole",
    "User.specialties": "whole",
}
"""Column -> whether some page shows its text whole, or cut or told in other words."""
CLOSED = {
    "Project.name": "no page shows it",
    "Project.policy": "numbers only: anything else is refused when it is read",
    "Project.questionnaire": "no page shows it",
    "Assignment.mode": "a word of ours",
    "Asset.sha256": "a digest; what is none leads to no file (test_paths)",
    "AgreementSnapshot.metric": "written for the record, shown by no page",
    "AgreementSnapshot.stratum": "written for the record, shown by no page",
    "AgreementSnapshot.why_undefined": "written for the record, shown by no page",
    "BlindAnswer.needs_image": "one of three words, told in ours",
    "Chain.sha256": "a digest that we compute",
    "Claim.outcome": "a word of ours",
    "Event.at": "a time that we write",
    "Event.previous_sha256": "a digest that we compute",
    "Event.sha256": "a digest that we compute",
    "Item.case_key": "a keyed hash, shown by no page",
    "Item.state": "a word of the table of states",
    "ItemVersion.content_sha256": "a digest that we compute",
    "RawFile.sha256": "a digest, shown by no page",
    "ReleaseRecord.head_sha256": "a digest that we compute",
    "Remark.sha256": "a digest that we compute",
    "ReleaseRecord.manifest_sha256": "a digest, shown by no page",
    "Review.checklist": "names and answers of ours; others are passed over",
    "Review.decision": "a word of the questionnaire, without which no page is made",
    "SignInAttempt.who": "a keyed hash",
    "Specialty.anatomies": "values of the taxonomy; others are refused, and no page shows them",
    "Specialty.modalities": "values of the taxonomy; others are refused, and no page shows them",
    "User.password": "a hash, shown by no page",
    "SecondFactor.secret": "encrypted",
    "RecoveryCode.digest": "a digest, shown by no page",
    "Identity.issuer": "shown by no page",
    "Identity.subject": "shown by no page",
    "User.role": "a word of ours, without which nobody gets in",
}
"""Columns that text from outside does not come into, and why."""


def sign(column):
    """What a column's text begins with."""
    return f"zq{column.replace('.', '').replace('_', '').lower()}qz"


def hostile(column):
    """A text for a column that every kind of carelessness would fall for."""
    return sign(column) + (IN_ADDRESS if column == "Item.id" else ATTACK)


def word(column, usual):
    """For ``world.stocked``: the hostile text in the shape that a column has."""
    text = hostile(column)
    shapes = {
        "User.specialties": [text],
        "ItemVersion.question": f"{text} in this MRI slice?",
        "ItemVersion.options": [
            {
                "text": f"{place}{text}",
                "concept": text,
                "ids": [text],
                **WHY,
                "strategy": text,
                "grade": text,
                "difficulty": text,
                "named_by": text,
                "word": text,
            }
            for place, _ in enumerate(TEXTS)
        ],
        "ItemVersion.provenance": {text: text, "source": text, "slice": {text: [text]}},
        "ItemVersion.warnings": [text],
        "Review.comment": text + "x" * (9_999 - len(text)),
    }
    if column not in PLANTED:
        return usual
    return shapes.get(column, text)


def plant_the_rest(world):
    """Into columns that our own services would have refused it."""
    now = timezone.now()
    version = ItemVersion.objects.get(item=world.items["edited"], number=2)
    Adjudication.objects.create(
        version=version,
        adjudicator=world.user("adjudicator"),
        outcome=hostile("Adjudication.outcome"),
        rationale="none",
        decided_at=now,
    )
    Specialty.objects.create(name=hostile("Specialty.name"))
    conditions = ("source", "task", "anatomy", "modality", "specialty")
    texts = {name: hostile(f"Assignment.{name}") for name in conditions}
    Assignment.objects.create(mode="first", made_at=now, **texts)
    Item.objects.filter(pk=world.items["gold"]).update(gold_defect=hostile("Item.gold_defect"))
    Remark.objects.create(
        item_id=world.items["edited"],
        text=hostile("Remark.text"),
        origin=hostile("Remark.origin"),
        sha256="0" * 64,
        imported_at=now,
    )
    claim = Claim.objects.get(token=world.token)
    Draft.objects.create(
        version=claim.version,
        user=claim.user,
        body={"comment": [hostile("Draft.body")], "option": [hostile("Draft.body")]},
        saved_at=now,
    )
    review = Review.objects.get(claim__version__item=world.items["disputed"], decision="reject")
    ReviewReason.objects.create(review=review, code=hostile("ReviewReason.code"))
    extra = Claim.objects.create(
        version=review.claim.version,
        user=world.user("other"),
        slot=7,
        claimed_at=now,
        expires_at=now,
        submitted_at=now,
    )
    blind = review.claim.blind
    blind.pk, blind.claim = None, extra
    blind.save(force_insert=True)
    own_review = Review.objects.create(
        claim=extra,
        decision="reject",
        verdicts={"1": hostile("Review.verdicts")},
        submitted_at=now,
    )
    flaw = {"rule": "length", "level": "warning", "message": hostile("Proposal.flaws")}
    Proposal.objects.create(
        review=own_review,
        question=hostile("Proposal.question"),
        options=[f"{place}{hostile('Proposal.options')}" for place, _ in enumerate(TEXTS)],
        key=0,
        flaws=[flaw],
    )
    _plant_order(world, now)
    Asset.objects.filter(pk=world.picture).update(
        original={
            "slices": ["0" * 64],
            "own": 0,
            "slope": 1,
            "intercept": 0,
            "exact": True,
            "unit": "",
            "inverted": False,
            "projection": False,
            "window": [0, 80],
            "place": [0, 0, 8, 8],
            "columns": 8,
            "spacing": None,
            "presets": [[hostile("Asset.original"), 40, 80]],
        }
    )
    event = {name: hostile(f"Event.{name}") for name in ("actor", "kind", "object", "body")}
    body = {event["body"]: event["body"]}
    kind, actor = event["kind"], event["actor"]
    record_events(now, NewEvent(actor=actor, kind=kind, object=event["object"], body=body))
    about = f"item:{world.items['disputed']}"
    record_events(now, NewEvent(actor=actor, kind=kind, object=about, body=body))
    danger = {"reasons": [event["body"]], "note": event["body"]}
    about = f"item:{world.items['quarantined']}"
    record_events(now, NewEvent(actor=actor, kind="item.danger_seen", object=about, body=danger))


def _plant_order(world, now):
    """An item without options: ``other`` holds it, and somebody has answered it."""
    printable = "".join(filter(str.isprintable, hostile("ItemVersion.target")))
    labels = [printable, "Panel B"]
    version = add_item(
        "order",
        options=[{"text": text, "concept": text, **WHY} for text in ("what is right", "another")],
        target={"form": "order", "ask": {"labels": labels}, "truth": {"order": labels}},
    )
    _, answered = (
        Claim.objects.create(
            version=version,
            user=world.user(name),
            slot=slot,
            claimed_at=now,
            expires_at=now + timedelta(hours=1),
            submitted_at=submitted_at,
        )
        for slot, (name, submitted_at) in enumerate({"other": None, "first": now}.items())
    )
    BlindAnswer.objects.create(
        claim=answered,
        option=1,
        value=[hostile("BlindAnswer.value"), "Panel B"],
        confidence=2,
        needs_image="yes",
        image_adequate=True,
        answered_at=now,
    )
    Review.objects.create(claim=answered, decision="reject", submitted_at=now)
