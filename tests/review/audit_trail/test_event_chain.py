"""The trail: append-only on both databases, and what the chain shows."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from django.db import DatabaseError, connection, transaction

from medrcube.review.audit_trail.event_chain import (
    GENESIS_SHA256,
    ChainHead,
    NewEvent,
    chain_head,
    record_events,
    verify_chain,
)
from medrcube.review.errors import ReviewError
from medrcube.review.models import (
    Adoption,
    Chain,
    Event,
    ItemVersion,
    Proposal,
    Remark,
    Review,
)
from medrcube.review.reviewing.decisions import adjudicate, record_release

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TABLES = [
    "review_adjudication",
    "review_adoption",
    "review_blindanswer",
    "review_event",
    "review_itemversion",
    "review_proposal",
    "review_releaseitem",
    "review_releaserecord",
    "review_remark",
    "review_review",
    "review_reviewreason",
]
"""All that are append-only."""


def run(sql):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, None)


def content(table):
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table}")  # noqa: S608
        names = [column[0] for column in cursor.description]
        return names, cursor.fetchall()


@pytest.fixture
def fill(person, add_items, review):
    """Put a row into every table that is append-only."""
    return lambda: _fill(person, add_items, review)


@pytest.fixture
def filled(any_database, fill):
    """A row in every table that is append-only, in both databases."""
    fill()


def _fill(person, add_items, review):
    accepted, disputed = add_items(2)
    first, second = person(), person()
    for reviewer, decision in ((first, "accept"), (second, "reject")):
        review(reviewer, decision)
        review(reviewer, "accept")
    for item in (accepted, disputed):
        item.refresh_from_db()
        if item.state == "adjudication":
            adjudicate(item.pk, 1, person("adjudicator"), outcome="accept", rationale="x")
    record_release("1", ItemVersion.objects.values_list("pk", flat=True), "f" * 64)
    proposal = Proposal.objects.create(
        review=Review.objects.earliest("pk"), question="?", options=["a", "b"], key=0
    )
    Adoption.objects.create(version=ItemVersion.objects.earliest("pk"), proposal=proposal)
    Remark.objects.create(item=accepted, text="x", origin="form", sha256="0" * 64, imported_at=NOW)


def test_rows_that_record_something_are_never_changed_or_deleted(filled):
    for table in TABLES:
        names, before = content(table)
        assert before, table
        column = "at" if table == "review_event" else names[-1]
        for sql in (f"UPDATE {table} SET {column} = {column}", f"DELETE FROM {table}"):  # noqa: S608
            with pytest.raises(DatabaseError, match="append-only"):
                run(sql)
        assert content(table)[1] == before


def test_no_upsert_changes_them(filled):
    for table in TABLES:
        names, before = content(table)
        key = names[0]
        row = ", ".join(names)
        with pytest.raises(DatabaseError, match="append-only"):
            run(
                f"INSERT INTO {table} ({row}) SELECT {row} FROM {table} WHERE true "  # noqa: S608
                f"ON CONFLICT ({key}) DO UPDATE SET {names[-1]} = excluded.{names[-1]}"
            )
        assert content(table)[1] == before


@pytest.mark.thorough
def test_truncate_is_refused_by_postgresql(postgresql, fill):
    fill()
    for table in TABLES:
        with pytest.raises(DatabaseError, match="append-only"):
            run(f"TRUNCATE {table} CASCADE")


@pytest.mark.parametrize("pragma", ["ON", "OFF"])
def test_insert_or_replace_rewrites_nothing_in_sqlite(database, fill, pragma):
    fill()
    connection.close()
    with closing(sqlite3.connect(database.database, isolation_level=None)) as raw:
        raw.execute(f"PRAGMA recursive_triggers = {pragma}")
        for table in TABLES:
            before = raw.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                raw.execute(f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}")  # noqa: S608
            assert raw.execute(f"SELECT * FROM {table}").fetchall() == before  # noqa: S608


def test_replacing_by_another_unique_key_rewrites_nothing_either(database, fill):
    fill()
    connection.close()
    with closing(sqlite3.connect(database.database, isolation_level=None)) as raw:
        for table in TABLES:
            unique = [row[3] for row in raw.execute(f"PRAGMA index_list({table})") if row[2]]
            if "u" not in unique:
                continue
            columns = {f'"{row[1]}"': row[5] for row in raw.execute(f"PRAGMA table_info({table})")}
            new_key = [f"{name} + 1000" if is_key else name for name, is_key in columns.items()]
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                raw.execute(
                    f"INSERT OR REPLACE INTO {table} ({', '.join(columns)}) "  # noqa: S608
                    f"SELECT {', '.join(new_key)} FROM {table}"
                )


@pytest.fixture
def chain(database):
    """Five events."""
    for number in range(1, 6):
        entry = NewEvent(actor="system", kind="test", object=f"o:{number}", body={"ä": number})
        with transaction.atomic():
            record_events(NOW, entry)
    return chain_head()


def tamper(*statements):
    """As somebody does who owns the file: without triggers."""
    for verb in ("UPDATE", "DELETE", "REPLACE"):
        run(f"DROP TRIGGER review_event_no_{verb}")
    for sql in statements:
        run(sql)


def test_a_chain_that_nobody_touched_holds(chain):
    verdict = verify_chain(chain)
    assert (verdict.events, verdict.head, verdict.fault) == (5, chain, "")


def test_an_empty_chain_holds(database):
    assert verify_chain(ChainHead(number=0, sha256=GENESIS_SHA256)).fault == ""
    assert chain_head().number == 0


COLUMNS = ["at", "actor", "kind", "object", "body", "previous_sha256", "sha256"]


@pytest.mark.parametrize("column", COLUMNS)
def test_a_changed_event_is_found(chain, column):
    tamper(f"UPDATE review_event SET {column} = {column} || 'x' WHERE number = 3")  # noqa: S608
    assert "event 3" in verify_chain().fault


def test_a_missing_event_is_found(chain):
    tamper("DELETE FROM review_event WHERE number = 3")
    assert verify_chain().fault == "event 3 is missing"


def test_swapped_events_are_found(chain):
    tamper(
        "UPDATE review_event SET number = 9 WHERE number = 2",
        "UPDATE review_event SET number = 2 WHERE number = 3",
        "UPDATE review_event SET number = 3 WHERE number = 9",
    )
    assert "event 2 does not follow" in verify_chain().fault


def test_a_cut_tail_is_found_by_the_head(chain):
    tamper("DELETE FROM review_event WHERE number > 3")
    assert verify_chain().fault == "the chain ends at event 3, its head records 5"


def test_a_tail_that_was_cut_with_its_head_is_found_by_a_head_noted_elsewhere(chain):
    last = Event.objects.get(number=3)
    tamper("DELETE FROM review_event WHERE number > 3")
    Chain.objects.update(number=3, sha256=last.sha256)
    assert verify_chain().fault == ""
    assert verify_chain(chain).fault == "event 5 is not the one that was noted earlier"


def test_a_tail_written_anew_is_found_by_a_head_noted_elsewhere(chain):
    last = Event.objects.get(number=3)
    tamper("DELETE FROM review_event WHERE number > 3")
    Chain.objects.update(number=3, sha256=last.sha256)
    with transaction.atomic():
        entries = [NewEvent(actor="me", kind="test", object="o", body={})] * 3
        record_events(NOW, *entries)
    assert verify_chain().fault == ""
    assert verify_chain(chain).fault == "event 5 is not the one that was noted earlier"


def test_an_event_beyond_the_head_is_found(chain):
    Chain.objects.update(number=4, sha256=Event.objects.get(number=4).sha256)
    assert verify_chain().fault == "the chain ends at event 5, its head records 4"


def test_a_head_with_another_hash_is_found(chain):
    Chain.objects.update(sha256="0" * 64)
    assert "its head records 5" in verify_chain().fault


def test_what_happens_in_a_transaction_that_fails_is_not_recorded(chain):
    with transaction.atomic():
        record_events(NOW, NewEvent(actor="a", kind="k", object="o", body={}))
        transaction.set_rollback(True)
    assert verify_chain().events == 5


def test_many_events_at_once_make_one_chain(database):
    with transaction.atomic():
        record_events(
            NOW, *[NewEvent(actor="a", kind="k", object="o", body={"n": n}) for n in range(250)]
        )
    assert (verify_chain().events, verify_chain().fault) == (250, "")


def test_without_a_head_nothing_is_recorded(database):
    Chain.objects.all().delete()
    with pytest.raises(ReviewError, match="migrate"), transaction.atomic():
        record_events(NOW, NewEvent(actor="a", kind="k", object="o", body={}))
