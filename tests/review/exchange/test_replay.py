"""The tables must say what the trail says: whatever is changed in them behind its back shows."""

import threading
from contextlib import contextmanager

import pytest
from django.db import connection, connections

from medrcube.console.progress import Reporter
from medrcube.review.audit_trail import event_chain, replay
from medrcube.review.audit_trail.replay import verify_trail
from medrcube.review.errors import ReviewError
from medrcube.review.exchange.export_decisions import write_verdicts
from medrcube.review.exchange.import_items import import_workspace
from medrcube.review.models import Claim, Item, ItemVersion, User
from medrcube.review.quality import gold_items
from medrcube.review.reviewing import claims, steps, submissions
from medrcube.review.reviewing.decisions import (
    adjudicate,
    decide_quarantine,
    record_release,
    report_harm,
    withdraw,
)
from medrcube.review.reviewing.edits import Edit, edit
from medrcube.review.reviewing.policy_change import change_policy

WORDS = ("glioma", "meningioma", "brain abscess", "infarct")
EDIT = Edit(question="Which diagnosis fits this MRI image best?", options=WORDS, key=0, note="n")
WRONG = Edit(question=EDIT.question, options=WORDS, key=1, note="key moved")


@pytest.fixture
def eventful(bench, any_database):
    """A queue in which everything that can happen to an item has happened; gives the bench."""
    for letter in "abcdef":
        bench.add(f"item-{letter}")
    import_workspace(bench.write(), Reporter(quiet=True))
    manager, judge = (_account(role) for role in ("manager", "adjudicator"))
    change_policy("system", {"gold_rate": 1.0, "gold_window": 1, "gold_pass": 0.8})
    edit("item-a", 1, manager, EDIT)
    report_harm("item-f", 1, manager, reason="UNSAFE", note="look")
    decide_quarantine("item-f", 1, manager, clear=True, note="fine")
    decisions = {"item-b": "reject", "item-c": "revise", "item-d": "reject"}
    for reviewer, value in (
        (_account(), decisions),
        (_account(), {**decisions, "item-c": "accept"}),
    ):
        _review_all(reviewer, value)
    adjudicate("item-c", 1, judge, outcome="accept", rationale="good enough")
    gold_items.make_gold("item-e", 1, manager, change=WRONG, defect="KEY_WRONG")
    bench.add("item-g")
    import_workspace(bench.write(), Reporter(quiet=True))
    _review_all(_account(), {})  # misses the defect: what they said is void
    accepted = ItemVersion.objects.filter(item__state="accepted", item__version=1)
    record_release("v1", [version.pk for version in accepted], "f" * 64)
    withdraw(accepted.model.objects.filter(item__state="released").first().item_id, 1, manager, "x")
    bench.change("item-g", question="Which of these diagnoses applies to this MRI image?")
    import_workspace(bench.write(), Reporter(quiet=True))
    claims.claim_next(_account())
    assert Claim.objects.filter(outcome="voided").exists()
    return bench


def _account(role="reviewer"):
    number = User.objects.count()
    return User.objects.create(email=f"p{number}@example.org", role=role)


def _review_all(reviewer, decisions):
    while (claim := claims.claim_next(reviewer)) is not None:
        version = ItemVersion.objects.get(pk=claim.version_id)
        decision = decisions.get(version.item_id, "accept")
        reasons = () if decision == "accept" else (("TRIVIAL", None), ("DISTRACTOR_CORRECT", 1))
        submission = submissions.BlindSubmission(
            option=version.key, confidence=3, needs_image="yes", image_adequate=True
        )
        steps.answer_blind(claim.token, reviewer, submission)
        ruling = submissions.ReviewSubmission(
            decision=decision, reasons=reasons, checklist={"harmless": None}
        )
        steps.submit_review(claim.token, reviewer, ruling)


def test_whatever_has_happened_is_told_alike_by_both(eventful):
    verification = verify_trail()
    assert (verification.fault, verification.head) == ("", event_chain.chain_head())
    kinds = set(event_chain.Event.objects.values_list("kind", flat=True))
    assert {"item.new_version", "gold.made", "review.voided", "item.defect_found"} <= kinds


CHANGES = [
    ("item SET state = 'accepted' WHERE id = 'item-b'", "b: it is accepted, the trail says"),
    ("item SET version = 1 WHERE id = 'item-a'", "a: its version is 1, the trail says 2"),
    ("itemversion SET key = 2 WHERE number = 2 AND item_id = 'item-a'", "a: version 2 has another"),
    ("itemversion SET question = 'x' WHERE item_id = 'item-b'", "b: version 1 has another wording"),
    ("asset SET sha256 = substr(sha256, 2)", "has another wording than the trail says"),
    ("review SET decision = 'accept' WHERE decision = 'reject'", "does not know this review"),
    ("review SET comment = 'x'", "does not know this review"),
    ("reviewreason SET code = 'OTHER'", "does not know this review"),
    ("blindanswer SET confidence = 1", "does not know this answer"),
    ("claim SET blinded = (1 = 0)", "does not know this answer that was not blind"),
    ("adjudication SET rationale = 'x'", "does not know this adjudication"),
    ("claim SET released_at = submitted_at WHERE outcome = ''", "does not know this void review"),
    (
        "claim SET released_at = NULL, slot = 90 + id WHERE outcome = 'voided'",
        "the void review of version 1",
    ),
    (
        "user SET pseudonym = 'reviewer-x' WHERE id = (SELECT min(user_id) FROM review_claim)",
        "by reviewer-x",
    ),
]


DELETIONS = [
    ("reviewreason", "does not know this review"),
    ("adjudication", "item-c: the adjudication of version 1 by"),
]


@pytest.mark.usefixtures("without_triggers")
def test_what_was_changed_in_a_table_alone_is_named_and_nothing_is_released(eventful):
    for change, words in CHANGES:
        with damaged(change.split()[0], f"UPDATE review_{change}"):
            assert event_chain.verify_chain().fault == "", "the chain alone does not show it"
            assert words in verify_trail().fault, change
            with pytest.raises(ReviewError, match="the trail is damaged"):
                write_verdicts(eventful.workspace.root)
        assert verify_trail().fault == "", change


@pytest.mark.usefixtures("without_triggers")
def test_what_was_deleted_from_a_table_alone_is_named():
    for table, words in DELETIONS:
        with damaged(table, f"DELETE FROM review_{table}"):  # noqa: S608  (names of our own tables)
            assert words in verify_trail().fault, table


@contextmanager
def damaged(table, sql):
    """A table that was changed for a while. The check has a transaction of its own."""
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE before AS SELECT * FROM review_{table}")  # noqa: S608
        cursor.execute(sql)
        assert cursor.rowcount, "no row was changed"
        yield
        cursor.execute(f"DELETE FROM review_{table}")  # noqa: S608
        cursor.execute(f"INSERT INTO review_{table} SELECT * FROM before")  # noqa: S608
        cursor.execute("DROP TABLE before")


def test_an_item_that_is_gone_is_missed(three, database):
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA foreign_keys = OFF")
        cursor.execute("DELETE FROM review_item WHERE id = 'b'")
    assert verify_trail().fault == "1 items of the trail are missing from the table"


def test_an_item_that_was_put_in_by_hand_is_named(three):
    row = Item.objects.get(pk="a")
    Item.objects.create(
        **{
            field.attname: getattr(row, field.attname)
            for field in Item._meta.fields
            if field.name != "id"
        },
        id="z",
    )
    assert verify_trail().fault == "item z: the trail does not know it"


def test_an_edit_of_an_earlier_medrcube_did_not_tell_its_wording(three, person):
    """Its event has no digest: nothing can be compared, so nothing is held against it."""
    edit("a", 1, person("manager"), EDIT)
    value = event_chain.Event.objects.get(kind="item.new_version")
    assert '"content_sha256"' in value.body
    with connection.cursor() as cursor:
        _drop_triggers(cursor)
        for event in event_chain.Event.objects.filter(number__gte=value.number):
            body = '{"from":"needs_revision","note":"n","to":"queued","version":1}'
            numbers = (event.number, event.at, event.actor, event.kind, event.object, body)
            digest = event_chain.event_sha256(*numbers, event.previous_sha256)
            cursor.execute(
                "UPDATE review_event SET body = %s, sha256 = %s WHERE number = %s",
                [body, digest, event.number],
            )
            cursor.execute("UPDATE review_chain SET sha256 = %s", [digest])
    assert verify_trail().fault == ""


def test_who_works_meanwhile_neither_waits_nor_disturbs_the_check(three, reviewers, monkeypatch):
    table_histories = replay._table_histories

    def interrupted(names):
        worker = threading.Thread(target=_claims, args=(reviewers[0].pk,))
        worker.start()
        worker.join()
        return table_histories(names)

    before = event_chain.chain_head()
    monkeypatch.setattr(replay, "_table_histories", interrupted)
    verification = verify_trail()
    assert (verification.fault, verification.head) == ("", before)
    assert event_chain.chain_head().number > before.number


def _claims(key):
    claims.claim_next(User.objects.get(pk=key))
    connections["default"].close()


@pytest.fixture
def without_triggers(eventful):
    """What the owner of a database can always do."""
    with connection.cursor() as cursor:
        _drop_triggers(cursor)


def _drop_triggers(cursor):
    if connection.vendor == "sqlite":
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP TRIGGER {name}")
        cursor.execute("PRAGMA foreign_keys = OFF")
    else:
        cursor.execute("SET session_replication_role = replica")
