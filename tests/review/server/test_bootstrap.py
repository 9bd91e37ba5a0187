"""Starting a queue, and bringing an older database up to date."""

import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from medrcube.review.audit_trail.event_chain import GENESIS_SHA256, event_sha256
from medrcube.review.errors import ReviewError
from medrcube.review.models import Item, User
from medrcube.review.reviewing.policy import Policy
from medrcube.review.server.bootstrap import _make_key, _refuse_network, migrate, review_paths

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
OLD = "0001_queue"


def test_the_tables_are_what_the_models_say(database):
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


def test_a_database_that_is_up_to_date_is_left_alone(database):
    before = sorted(Path(database.database).parent.iterdir())
    assert migrate() is None
    assert set(Path(database.database).parent.iterdir()) <= {*before, *wal(database)}


def wal(place):
    return {Path(f"{place.database}{end}") for end in ("-wal", "-shm")}


def go_back(step):
    """Make the tables of an earlier version; gives its models."""
    executor = MigrationExecutor(connection)
    executor.migrate([("review", step)])
    return MigrationExecutor(connection).loader.project_state([("review", step)]).apps


def fill(apps):
    """One row or more in every table, as the first version wrote them."""
    rows = {name: apps.get_model("review", name).objects for name in TABLES}
    rows["Project"].create(name="Old", policy=Policy().to_json(), questionnaire="1")
    reviewers = [
        rows["User"].create(email=f"r{n}@example.org", pseudonym=f"reviewer-{n}", password="x")  # noqa: S106
        for n in range(2)
    ]
    asset = rows["Asset"].create(sha256="0" * 64, width=8, height=8)
    versions = []
    for number in range(4):
        item = rows["Item"].create(
            id=f"{number:032x}",
            state="accepted" if number == 3 else "queued",
            reviews=1 if number == 2 else 0,
            stratum="a",
            lot=number,
        )
        versions.append(
            rows["ItemVersion"].create(
                item=item,
                number=1,
                question="Is it «ä»?",
                options=[{"text": "yes"}, {"text": "no"}],
                key=0,
                picture=asset,
                content_sha256="0" * 64,
                created_at=NOON,
            )
        )
    claims = [
        rows["Claim"].create(
            version=version,
            user=reviewers[minute % 2],
            slot=0,
            claimed_at=NOON + timedelta(minutes=minute),
            expires_at=NOON + timedelta(days=9999),
            submitted_at=NOON if version == versions[2] else None,
        )
        for minute, version in enumerate(versions[:3])
    ]
    rows["BlindAnswer"].create(
        claim=claims[2], option=0, confidence=3, needs_image="yes", image_adequate=True,
        answered_at=NOON,
    )  # fmt: skip
    review = rows["Review"].create(
        claim=claims[2], decision="revise", comment="ö", checklist={"key_correct": None},
        submitted_at=NOON,
    )  # fmt: skip
    rows["ReviewReason"].create(review=review, code="TRIVIAL", option=None)
    rows["Draft"].create(version=versions[1], user=reviewers[0], body={"a": "b"}, saved_at=NOON)
    rows["Comment"].create(version=versions[1], author=reviewers[1], text="?", written_at=NOON)
    rows["Adjudication"].create(
        version=versions[3], adjudicator=reviewers[1], outcome="accept", rationale="x",
        decided_at=NOON,
    )  # fmt: skip
    release = rows["Release"].create(
        name="1", made_at=NOON, manifest_sha256="0" * 64, head_number=0, head_sha256=GENESIS_SHA256
    )
    rows["ReleaseItem"].create(release=release, version=versions[3])
    rows["AgreementSnapshot"].create(release=release, stratum="a", metric="ac1", items=1)
    rows["SignInAttempt"].create(who="x", at=NOON)
    counts = (1, NOON.isoformat(), "system", "test", "item:1", "{}", GENESIS_SHA256)
    names = ("number", "at", "actor", "kind", "object", "body", "previous_sha256")
    rows["Event"].create(**dict(zip(names, counts, strict=True)), sha256=event_sha256(*counts))
    rows["Chain"].update_or_create(pk=1, defaults={"number": 1, "sha256": event_sha256(*counts)})


TABLES = [
    "Adjudication", "AgreementSnapshot", "Asset", "BlindAnswer", "Chain", "Claim", "Comment",
    "Draft", "Event", "Item", "ItemVersion", "Project", "Release", "ReleaseItem", "Review",
    "ReviewReason", "SignInAttempt", "User",
]  # fmt: skip


GONE = {"keymap", "bits"}
"""Keys are no longer chosen, and every picture has 8 bits."""
RENAMED = {"presets": "original"}
"""What no import ever filled has a use."""


def content(apps):
    """Every row of every table, column by column."""
    models = {model._meta.db_table: model for model in apps.get_models()}
    tables = {name: models[f"review_{name.lower()}"] for name in TABLES}
    return {
        name: {row["pk"]: row for row in model.objects.values("pk", *columns)}
        for name, model in tables.items()
        for columns in [[field.attname for field in model._meta.concrete_fields]]
    }


def test_an_older_database_is_brought_up_to_date_and_nothing_is_lost(any_database):
    old = go_back(OLD)
    fill(old)
    before = content(old)
    assert all(before.values())
    copy = migrate()
    loader = MigrationExecutor(connection).loader
    after = content(loader.project_state(loader.graph.leaf_nodes()).apps)
    for name, rows in before.items():
        for key, row in rows.items():
            columns = {
                RENAMED.get(column, column): value
                for column, value in row.items()
                if column not in GONE
            }
            assert {column: after[name][key][column] for column in columns} == columns, name
    assert len(after["Event"]) == len(before["Event"])
    assert (copy is None) == (connection.vendor == "postgresql")


@pytest.mark.thorough
def test_who_had_turned_keys_off_still_has_them_off(any_database):
    old = go_back(OLD)
    users = old.get_model("review", "User").objects
    for email, settings in (
        ("on@example.org", {"accept": "y"}),
        ("off@example.org", {"off": True}),
    ):
        users.create(email=email, pseudonym=email, password="", keymap=settings)
    migrate()
    wishes = dict(User.objects.values_list("email", "single_keys"))
    assert wishes == {"on@example.org": True, "off@example.org": False}


@pytest.mark.thorough
def test_tables_that_are_append_only_still_are_after_an_update(any_database):
    fill(go_back(OLD))
    migrate()
    append_only = {"Adjudication", "BlindAnswer", "Event", "ItemVersion", "Release", "ReleaseItem"}
    query = "SELECT tbl_name, name FROM sqlite_master WHERE type = 'trigger'"
    if connection.vendor == "postgresql":
        query = "SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE NOT tgisinternal"
    with connection.cursor() as cursor:
        cursor.execute(query)
        triggers = {}
        for table, name in cursor.fetchall():
            triggers.setdefault(table, []).append(name)
    each = 1 if connection.vendor == "postgresql" else 3
    for name in append_only | {"Review", "ReviewReason"}:
        assert len(triggers[f"review_{name.lower()}"]) == each


@pytest.mark.thorough
def test_the_copy_is_the_database_as_it_was(database):
    fill(go_back(OLD))
    connection.close()
    copy = migrate()
    assert copy.parent == Path(database.database).parent
    assert "before-update" in copy.name
    with closing(sqlite3.connect(copy)) as opened:
        columns = {row[1] for row in opened.execute("PRAGMA table_info(review_item)")}
        assert "case_key" not in columns
        assert opened.execute("SELECT count(*) FROM review_item").fetchone() == (4,)


@pytest.mark.thorough
def test_an_update_that_fails_names_the_copy_and_keeps_the_rows(database):
    fill(go_back(OLD))
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE review_remark (id integer)")
    with pytest.raises(
        ReviewError, match=r"a copy of the database before the upgrade is .*before-update"
    ):
        migrate()
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE review_remark")
    migrate()
    assert Item.objects.count() == 4


def test_a_database_of_a_newer_medrcube_is_left_alone(any_database):
    MigrationRecorder(connection).record_applied("review", "9999_from_the_future")
    with pytest.raises(ReviewError, match=r"newer medrcube .*9999"):
        migrate()


def took_the_steps_of_before():
    recorder = MigrationRecorder(connection)
    steps = MigrationExecutor(connection).loader.disk_migrations
    for (app, name), step in steps.items():
        if app == "review" and step.replaces:
            recorder.record_unapplied(app, name)
            for _, old in step.replaces:
                recorder.record_applied(app, old)


def test_a_database_that_took_the_steps_of_before_is_up_to_date(any_database):
    took_the_steps_of_before()
    before = tables()
    assert migrate() is None
    assert tables() == before


@pytest.mark.parametrize("missing", ["0007_blindness", "0008_who_was_blind", "0015_originals"])
def test_a_database_that_stands_between_two_versions_is_left_alone(any_database, missing):
    took_the_steps_of_before()
    MigrationRecorder(connection).record_unapplied("review", missing)
    before = tables()
    with pytest.raises(ReviewError, match="between two versions"):
        migrate()
    assert tables() == before


def tables():
    return set(connection.introspection.table_names())


STARTER = """
import sys
from pathlib import Path
from medrcube.review.server.bootstrap import ReviewPaths, configure, migrate
configure(ReviewPaths(folder=Path(sys.argv[1]), database=sys.argv[2]))
migrate()
from django.conf import settings
from medrcube.review.models import Chain
print(settings.SECRET_KEY, Chain.objects.count())
"""


def start_at_once(folder, database, count=4):
    running = [
        subprocess.Popen(
            [sys.executable, "-c", STARTER, folder, database],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(count)
    ]
    replies = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [0] * count, replies
    return {output for output, _ in replies}


@pytest.mark.thorough
def test_processes_that_start_at_once_do_not_break_each_other(tmp_path):
    outputs = start_at_once(tmp_path / "review", str(tmp_path / "review.sqlite3"))
    assert len(outputs) == 1, "they do not share one key"
    mode = stat.S_IMODE((tmp_path / "review" / "secret.key").stat().st_mode)
    assert mode == 0o600


def test_a_key_that_appeared_meanwhile_is_kept(tmp_path, monkeypatch):
    key = tmp_path / "secret.key"
    key.write_text("the first one's")
    monkeypatch.setattr(Path, "exists", lambda _: False)
    _make_key(key)
    assert key.read_text() == "the first one's"
    assert [path.name for path in tmp_path.iterdir()] == ["secret.key"]


@pytest.mark.thorough
def test_neither_do_they_with_postgresql(tmp_path, postgresql_server, new_database):
    start_at_once(tmp_path / "review", postgresql_server.format(name=new_database), 3)


def test_a_workspace_has_its_own_place(tmp_path, monkeypatch):
    monkeypatch.delenv("MEDRCUBE_REVIEW_DATABASE", raising=False)
    place = review_paths(tmp_path)
    assert (place.folder, place.database) == (
        tmp_path / "review",
        str(tmp_path / "review.sqlite3"),
    )
    monkeypatch.setenv("MEDRCUBE_REVIEW_DATABASE", "postgresql://a@b/c")
    assert review_paths(tmp_path).database == "postgresql://a@b/c"


@pytest.mark.parametrize(
    ("folder", "refused"),
    [("/mnt/share/work", True), ("/mnt/share", True), ("/mnt/shared", False), ("/home/x", False),
     ("/mnt/a b/c", True)],
)  # fmt: skip
def test_a_file_on_a_network_is_refused(tmp_path, folder, refused):
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/sda / ext4 rw 0 0\nserver:/x /mnt/share nfs4 rw 0 0\nx /mnt/a\\040b cifs rw 0 0\n"
    )
    if refused:
        with pytest.raises(ReviewError, match="network file system"):
            _refuse_network(Path(folder), mounts)
    else:
        _refuse_network(Path(folder), mounts)
