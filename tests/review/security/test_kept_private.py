"""What the queue writes is for its owner alone, and a copy of the database opens no session."""

import ast
import os
import sqlite3
import stat
import subprocess
import sys
import textwrap

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from medrcube.review.accounts.sessions import SessionStore, session_digest

QUEUE = """
import os, sys
from datetime import datetime
os.umask(0)
from pathlib import Path
from medrcube.review.server.bootstrap import configure, migrate, review_paths
root = Path(sys.argv[1])
place = review_paths(root)
configure(place)
migrate()
from django.contrib.sessions.models import Session
from medrcube.review.exchange import export_decisions, image_store
from medrcube.review.server import backup, sqlite_copy
from medrcube.review.models import Project, User
from medrcube.review.reviewing.policy import Policy
from medrcube.review.accounts.sessions import SessionStore
Project.objects.create(name="x", policy=Policy().to_json(), questionnaire="1")
User.objects.create_user("a@example.org", "correct horse battery staple")
SessionStore().create()
from PIL import Image
import io
png = io.BytesIO()
Image.new("L", (8, 8)).save(png, "PNG")
image_store.store_image(png.getvalue())
export_decisions.write_verdicts(root)
export_decisions.export_decisions(root / "review-export", "csv")
backup.create_backup(place, root / "back-up.tar")
sqlite_copy.copy_beside(Path(place.database), "before-update", datetime.now())
del os.environ["MEDRCUBE_REVIEW_DATABASE"]
fresh = review_paths(root / "restored")
backup.restore_backup(root / "back-up.tar", fresh)
found = {str(p.relative_to(root)): p.stat().st_mode & 0o777 for p in root.rglob("*")}
print(found)
"""


def run(code, folder):
    own = {name: value for name, value in os.environ.items() if "MEDRCUBE_REVIEW" not in name}
    process = subprocess.run(
        [sys.executable, "-c", code, folder], capture_output=True, text=True, check=False, env=own
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def modes(tmp_path_factory):
    """Mode of everything that a queue has written while nothing was masked."""
    root = tmp_path_factory.mktemp("open")
    root.chmod(0o755)
    return ast.literal_eval(run(textwrap.dedent(QUEUE), root))


@pytest.mark.thorough
def test_nothing_that_the_queue_writes_is_for_others(modes):
    closed = {name for name, mode in modes.items() if not mode & 0o077}
    reachable = {
        name: oct(mode)
        for name, mode in modes.items()
        if name not in closed
        and name != "restored"
        and not any(name.startswith(f"{folder}/") for folder in closed)
    }
    assert reachable == {}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    [
        "review.sqlite3",
        "review.sqlite3-wal",
        "review.sqlite3-shm",
        "back-up.tar",
        "accepted.jsonl",
        "review.json",
        "review-export/reviews.csv",
        "review/secret.key",
        "restored/review.sqlite3",
    ],
)
def test_the_test_has_seen_every_kind_of_file(modes, name):
    assert modes[name] == 0o600


def test_a_queue_that_stood_open_is_closed(tmp_path):
    database = tmp_path / "review.sqlite3"
    sqlite3.connect(database).execute("CREATE TABLE t (a)").connection.close()
    (tmp_path / "accepted.jsonl").touch()
    for path in (database, tmp_path / "accepted.jsonl"):
        path.chmod(0o644)
    (tmp_path / "review").mkdir(mode=0o755)
    code = "import sys;from pathlib import Path;from medrcube.review.server.bootstrap import *;"
    code += "configure(review_paths(Path(sys.argv[1])))"
    run(code, tmp_path)
    for name in ("review.sqlite3", "accepted.jsonl", "review"):
        assert not stat.S_IMODE(os.stat(tmp_path / name).st_mode) & 0o077  # noqa: PTH116


def test_the_key_of_a_session_stands_nowhere(database, signed_in):
    client, _ = signed_in("manager")
    key = client.cookies["sessionid"].value
    assert client.get("/dashboard/").status_code == 200
    row = Session.objects.get()
    assert row.session_key == session_digest(key) != key
    assert key not in row.session_data


def test_what_stands_in_the_database_opens_no_session(database, signed_in):
    signed_in("manager")
    thief = Client(SERVER_NAME="localhost")
    thief.cookies["sessionid"] = Session.objects.get().session_key
    assert thief.get("/dashboard/").status_code == 302


def test_sessions_end_and_change_their_keys(any_database):
    store = SessionStore()
    store["a"] = 1
    store.save()
    key = store.session_key
    assert SessionStore(key)["a"] == 1
    assert SessionStore().exists(key)
    store.cycle_key()
    assert store.session_key != key
    assert not SessionStore().exists(key)
    assert SessionStore(key).load() == {}
    store.flush()
    assert not Session.objects.exists()
