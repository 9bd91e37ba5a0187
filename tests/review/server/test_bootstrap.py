"""Starting a queue, and bringing an older database up to date."""

import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from stage.later_version import TODAY

from medrcube.review.errors import ReviewError
from medrcube.review.server import bootstrap
from medrcube.review.server.bootstrap import (
    LOCK_FILE,
    _make_key,
    _refuse_network,
    migrate,
    review_paths,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_the_tables_are_what_the_models_say(database):
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


def test_a_database_that_is_up_to_date_is_left_alone(database):
    before = sorted(Path(database.database).parent.iterdir())
    assert migrate() is None
    assert set(Path(database.database).parent.iterdir()) <= {*before, *wal(database)}


def wal(place):
    return {Path(f"{place.database}{end}") for end in ("-wal", "-shm")}


@pytest.fixture
def install(monkeypatch):
    """Install a version: ``install("later")`` has one migration more than ``install("today")``."""
    today = settings.MIGRATION_MODULES
    versions = {"today": today, "later": {**today, "review": "stage.later_version"}}
    return lambda name: monkeypatch.setattr(settings, "MIGRATION_MODULES", versions[name])


@pytest.fixture
def filled(any_database):
    """A row or more in every table; gives the ``content``."""
    fill()
    return content()


def fill():
    """Put a row into every table that has none."""
    rows = {}
    waiting = list(apps.get_app_config("review").get_models())
    while waiting:
        model = waiting.pop(0)
        fields = [field for field in model._meta.concrete_fields if not field.auto_created]
        many = model._meta.many_to_many
        needed = [*fields, *many]
        if any(field.related_model not in {None, *rows} and not field.null for field in needed):
            waiting.append(model)
            continue
        values = {field.name: value(field, rows) for field in fields}
        rows[model] = model.objects.first() or model.objects.create(**values)
        for field in many:
            getattr(rows[model], field.name).add(rows[field.related_model])


def value(field, rows):
    """A value for a column: a row of another table if it is there, or one of the right type."""
    if field.is_relation:
        return rows.get(field.related_model)
    return {
        "BooleanField": True,
        "CharField": "only" if field.name == "mode" else "x",
        "DateTimeField": NOON,
        "EmailField": "ä@example.org",
        "FloatField": 0.5,
        "JSONField": {"«ä»": [None, 1]},
        "TextField": "ö",
        "UUIDField": UUID(int=7),
    }.get(field.get_internal_type(), 1)


def content():
    """Every row of every table, column by column."""
    found = {}
    with connection.cursor() as cursor:
        for table in sorted(tables() - {"django_migrations"}):
            cursor.execute(f"SELECT * FROM {table}")  # noqa: S608
            names = [column[0] for column in cursor.description]
            found[table] = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return found


def tables():
    return set(connection.introspection.table_names())


def triggers():
    """Names of the triggers of each table."""
    query = "SELECT tbl_name, name FROM sqlite_master WHERE type = 'trigger'"
    if connection.vendor == "postgresql":
        query = "SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE NOT tgisinternal"
    with connection.cursor() as cursor:
        cursor.execute(query)
        return sorted(cursor.fetchall())


def test_an_older_database_is_brought_up_to_date_and_nothing_is_lost(filled, install):
    assert [name for name, rows in filled.items() if not rows] == ["django_session"]
    guards = triggers()
    install("later")
    copy = migrate()
    after = content()
    assert after.pop("review_shelf") == [{"id": 1, "name": "first"}]
    assert {row.pop("shelf_mark") for row in after["review_item"]} == {"none"}
    assert {row.pop("language") for row in after["review_itemversion"]} == {None}
    assert after == filled
    assert triggers() == guards
    assert (copy is None) == (connection.vendor == "postgresql")
    assert migrate() is None


def test_the_copy_is_the_database_as_it_was(database, install):
    fill()
    connection.close()
    before = dump(database.database)
    install("later")
    copy = migrate()
    assert copy.parent == Path(database.database).parent
    assert "before-update" in copy.name
    assert dump(copy) == before != dump(database.database)


def dump(file):
    with closing(sqlite3.connect(file)) as opened:
        return list(opened.iterdump())


def test_an_update_that_fails_names_the_copy_and_keeps_the_rows(filled, install):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE review_shelf (id integer)")
    before, guards = content(), triggers()
    install("later")
    copy_is_named = "; a copy of the database before the upgrade is .*before-update"
    message = "cannot be upgraded: .*" + copy_is_named * (connection.vendor == "sqlite")
    with pytest.raises(ReviewError, match=message):
        migrate()
    assert (content(), triggers()) == (before, guards)
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE review_shelf")
    migrate()
    assert content()["review_event"] == filled["review_event"]


def test_a_database_of_a_newer_medrcube_is_left_alone(filled, install):
    install("later")
    migrate()
    before = content()
    install("today")
    with pytest.raises(ReviewError, match=r"newer medrcube .*later"):
        migrate()
    assert content() == before


def test_a_database_that_stands_between_two_versions_is_left_alone(any_database, install):
    install("later")
    recorder = MigrationRecorder(connection)
    recorder.record_unapplied("review", TODAY)
    recorder.record_applied("review", "later")
    before = content()
    with pytest.raises(ReviewError, match=f"between two versions .*{TODAY}"):
        migrate()
    assert content() == before


def test_an_update_waits_for_another_process(database, install, monkeypatch):
    monkeypatch.setattr(bootstrap, "_PATIENCE", 0)
    install("later")
    with closing(sqlite3.connect(database.folder / LOCK_FILE, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            migrate()
    assert migrate() is not None


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
