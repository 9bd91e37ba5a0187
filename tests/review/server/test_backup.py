"""Back-up of a queue that is in use, and the way back."""

import io
import json
import os
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from django.db import connection

from medrcube.review.audit_trail.event_chain import ChainHead, verify_chain
from medrcube.review.errors import ReviewError
from medrcube.review.models import Item, Review
from medrcube.review.server.backup import create_backup, restore_backup
from medrcube.review.server.bootstrap import ReviewPaths

PROGRAM = Path(__file__).parents[1] / "stage/reviewer_processes.py"


@pytest.fixture
def elsewhere(tmp_path):
    """A place where there is no queue yet."""
    folder = tmp_path / "elsewhere"
    return ReviewPaths(folder=folder / "review", database=str(folder / "review.sqlite3"))


@pytest.fixture
def queue(database, add_items, person, review):
    """A small queue with a picture and a key."""
    add_items(3)
    review(person())
    picture = database.folder / "pictures" / "ab" / "abc.png"
    picture.parent.mkdir(parents=True)
    picture.write_bytes(b"png")
    (database.folder / "secret.key").write_text("the key")
    return database


def test_a_queue_comes_back_whole(queue, elsewhere, tmp_path, use_place):
    backup = create_backup(queue, tmp_path / "b.tar")
    result = restore_backup(tmp_path / "b.tar", elsewhere)
    assert (backup.files, backup.events, result.made_at) == (1, result.events, backup.made_at)
    assert (elsewhere.folder / "pictures" / "ab" / "abc.png").read_bytes() == b"png"
    with use_place(elsewhere):
        assert (Item.objects.count(), Review.objects.count()) == (3, 1)
        assert verify_chain(ChainHead(number=backup.events, sha256=backup.head_sha256)).fault == ""


def test_a_back_up_is_for_its_owner_and_holds_no_key(queue, tmp_path):
    create_backup(queue, tmp_path / "b.tar")
    assert stat.S_IMODE((tmp_path / "b.tar").stat().st_mode) == 0o600
    assert b"the key" not in (tmp_path / "b.tar").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar"]


@pytest.mark.thorough
def test_a_back_up_while_people_work_is_of_one_moment(
    database, project, person, add_items, tmp_path, use_place
):
    add_items(60)
    users = [str(person().pk) for _ in range(2)]
    connection.close()
    working = subprocess.Popen(
        [sys.executable, PROGRAM, database.folder, database.database, *users],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    working.stdout.readline()
    working.stdin.write("go\n")
    working.stdin.flush()
    backups = []
    while working.poll() is None:
        backups.append(create_backup(database, tmp_path / f"{len(backups)}.tar"))
    working.communicate()
    assert working.returncode == 0
    assert len({backup.events for backup in backups}) > 1, "nobody worked meanwhile"
    for backup in (backups[0], backups[len(backups) // 2], backups[-1]):
        place = ReviewPaths(
            folder=tmp_path / f"{backup.path.stem}", database=str(backup.path.with_suffix(".db"))
        )
        restore_backup(backup.path, place)
        with use_place(place):
            head = ChainHead(number=backup.events, sha256=backup.head_sha256)
            verdict = verify_chain(head)
            assert (verdict.fault, verdict.events) == ("", backup.events)
            assert Review.objects.count() == sum(Item.objects.values_list("reviews", flat=True))


def test_nothing_is_overwritten(queue, elsewhere, tmp_path):
    create_backup(queue, tmp_path / "b.tar")
    with pytest.raises(ReviewError, match="already a queue"):
        restore_backup(tmp_path / "b.tar", queue)
    elsewhere.folder.mkdir(parents=True)
    (elsewhere.folder / "something.png").write_bytes(b"")
    with pytest.raises(ReviewError, match="already a queue"):
        restore_backup(tmp_path / "b.tar", elsewhere)


def rewritten(source, target, change):
    """Copy an archive; ``change(name, data)`` gives the members that take the place of each."""
    with tarfile.open(source) as old, tarfile.open(target, "w") as new:
        for member in old.getmembers():
            for name, data in change(member.name, old.extractfile(member).read()):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                new.addfile(info, io.BytesIO(data))


def altered_list(data, **fields):
    return json.dumps({**json.loads(data), **fields}).encode()


PICTURE, LIST = "review/pictures/ab/abc.png", "back-up.json"
DAMAGE = {
    "a changed picture": lambda n, d: [(n, b"gnp" if n == PICTURE else d)],
    "a changed database": lambda n, d: [(n, d + b"x" if n.endswith("sqlite3") else d)],
    "a missing picture": lambda n, d: [] if n == PICTURE else [(n, d)],
    "a missing list": lambda n, d: [] if n == LIST else [(n, d)],
    "one file too many": lambda n, d: [(n, d), *([("review/x", d)] if n == LIST else [])],
    "a way out": lambda n, d: [("../../x" if n == PICTURE else n, d)],
    "an absolute path": lambda n, d: [("/x" if n == PICTURE else n, d)],
    "another head": lambda n, d: [(n, altered_list(d, events=1) if n == LIST else d)],
    "no files": lambda n, d: [(n, altered_list(d, files=[]) if n == LIST else d)],
}


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_back_up_is_refused_before_anything_is_written(
    queue, elsewhere, tmp_path, change
):
    create_backup(queue, tmp_path / "b.tar")
    rewritten(tmp_path / "b.tar", tmp_path / "bad.tar", change)
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(ReviewError):
        restore_backup(tmp_path / "bad.tar", elsewhere)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before
    assert not elsewhere.folder.exists()


def test_a_file_that_is_no_back_up_is_refused(elsewhere, tmp_path):
    (tmp_path / "b.tar").write_bytes(os.urandom(2000))
    with pytest.raises(ReviewError, match="not a backup"):
        restore_backup(tmp_path / "b.tar", elsewhere)


def test_a_link_in_the_folder_is_not_followed(queue, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("elsewhere")
    (queue.folder / "pictures" / "link.png").symlink_to(secret)
    assert create_backup(queue, tmp_path / "b.tar").files == 1


def test_a_missing_backup_is_called_missing(elsewhere, tmp_path):
    with pytest.raises(ReviewError, match=r"gone\.tar: no such file"):
        restore_backup(tmp_path / "gone.tar", elsewhere)


def test_without_a_database_there_is_nothing_to_back_up(elsewhere, tmp_path):
    with pytest.raises(ReviewError, match="no such database"):
        create_backup(elsewhere, tmp_path / "b.tar")


def test_postgresql_has_its_own_way(elsewhere, tmp_path):
    place = ReviewPaths(folder=elsewhere.folder, database="postgresql://a:secret@b/c")
    with pytest.raises(ReviewError, match="pg_dump") as refused:
        create_backup(place, tmp_path / "b.tar")
    assert "secret" not in str(refused.value)
