"""Fixtures of the review queue: Django once in a process, a clean database for every test.

Django's settings are global, so they are made once, when this file is loaded; a test gets a copy
of a migrated database and the connection is pointed at it. Modules of ``medrcube.review`` may be
imported at the top of a test file.

- ``database``: clean tables, no rows; the ``ReviewPaths`` of this test (folder, address).
- ``project``: the same with a project; ``project(gold_rate=0.5)`` changes its policy.
- ``person("reviewer")``, ``add_items(3)``: rows to work with. Password of everybody: ``PASSWORD``.
- ``add_shown()``, ``signed_in("manager")``, ``take_claim()``: an item with pictures and evidence, a
  client with a session, a reviewer who has taken such an item.
- ``answer()``, ``review(user)``, ``state(item)``: step one, both steps, and what became of it.
- ``postgresql``: as ``database``, on a PostgreSQL server of its own; ``any_database``: both.
"""

import atexit
import functools
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from medrcube.review.server.bootstrap import ReviewPaths, configure, migrate

sys.path.insert(0, str(Path(__file__).parent))

PASSWORD = "correct horse battery staple"  # noqa: S105
ANSWER = {"confidence": 2, "needs_image": "yes", "image_adequate": True}
TOGETHER = 30
"""Before a drop PostgreSQL writes all that is in memory: 0.3 s of processor time. Thirty drops in
a row take little more than one; until then the databases take 250 MB."""
_SERVER_PROGRAMS = Path("/usr/lib/postgresql")


def _in_memory(room, elsewhere=None):
    """A place in memory with so many bytes free, where there is one; ``elsewhere`` otherwise."""
    memory = Path("/dev/shm")  # noqa: S108
    usable = memory.is_dir() and os.access(memory, os.W_OK)
    return memory if usable and shutil.disk_usage(memory).free > room else elsewhere


# A sync takes milliseconds on a disk.
_FOLDER = Path(tempfile.mkdtemp(prefix="medrcube-review-", dir=_in_memory(room=0)))
# A process that only hands out tests to others runs no fixture.
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)
_START = ReviewPaths(folder=_FOLDER / "start", database=str(_FOLDER / "start.sqlite3"))
configure(_START)

from django.conf import settings  # noqa: E402
from django.contrib.auth.hashers import make_password  # noqa: E402
from django.db import connections  # noqa: E402
from django.template import Variable, VariableDoesNotExist  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402
from stage.drawings import deep, numbered, slice_picture  # noqa: E402

from medrcube.build.viewer.case_copies import plane_path  # noqa: E402
from medrcube.review.exchange.image_store import store_image  # noqa: E402
from medrcube.review.models import Asset, Item, ItemVersion, Project, Role, User  # noqa: E402
from medrcube.review.reviewing.claims import claim_next  # noqa: E402
from medrcube.review.reviewing.policy import Policy  # noqa: E402
from medrcube.review.reviewing.questionnaire import QUESTIONNAIRE_VERSION  # noqa: E402
from medrcube.review.reviewing.steps import answer_blind, submit_review  # noqa: E402
from medrcube.review.reviewing.submissions import BlindSubmission, ReviewSubmission  # noqa: E402
from medrcube.review.server.database_settings import database_settings  # noqa: E402

settings.PASSWORD_HASHERS = ["stage.quick_hash.QuickArgon2"]


@pytest.fixture(scope="session", autouse=True)
def _swept():
    yield
    connections.close_all()
    shutil.rmtree(_FOLDER, ignore_errors=True)


@pytest.fixture(autouse=True)
def undefined(monkeypatch):
    """No page asks for a variable that it is not given; the names of those that did.

    Django prints nothing for one, and takes it for false: a name that was changed on one side only
    would go unnoticed. What a page shows at times is given to it empty.
    """
    names, resolve = [], Variable._resolve_lookup

    def resolve_or_note(variable, context):
        try:
            return resolve(variable, context)
        except VariableDoesNotExist:
            names.append(f"{context.template_name}: {variable.var}")
            raise

    monkeypatch.setattr(Variable, "_resolve_lookup", resolve_or_note)
    yield names
    assert names == []


@pytest.fixture(scope="session")
def template():
    """A migrated SQLite file; copied for every test."""
    _use(_START)
    migrate()
    connections["default"].cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connections["default"].close()
    return Path(_START.database)


@pytest.fixture
def database(template):
    """A clean migrated SQLite database, in use; gives its ``ReviewPaths``."""
    folder = Path(tempfile.mkdtemp(dir=_FOLDER))
    place = ReviewPaths(folder=folder / "review", database=str(folder / "review.sqlite3"))
    shutil.copyfile(template, place.database)
    yield from _in_use(place)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgresql_server():
    """Address of a running PostgreSQL server of this process; skips where none is installed."""
    programs = max(_SERVER_PROGRAMS.glob("*/bin/initdb"), default=None)
    if programs is None:
        pytest.skip("PostgreSQL's server programs are not installed (apt-get install postgresql)")
    # Not where temporary files are: the name of a socket has 107 bytes at most.
    folder = Path(tempfile.mkdtemp(prefix="pg", dir=_in_memory(room=2e9, elsewhere="/tmp")))  # noqa: S108
    # The server refuses to run as root.
    become = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if become:
        shutil.chown(folder, "postgres", "postgres")

    def run(program, *arguments):
        command = [*become, programs.with_name(program), "-D", folder / "data", *arguments]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)

    run("initdb", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync")
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    run("pg_ctl", "--wait", "-l", folder / "log", "-o", options, "start")
    yield f"postgresql://postgres@/{{name}}?host={folder}"
    run("pg_ctl", "--wait", "-m", "immediate", "stop")
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgresql_template(postgresql_server):
    """Name of a migrated database on the server; copied for every test."""
    _sql(postgresql_server, "CREATE DATABASE template_review")
    address = postgresql_server.format(name="template_review")
    _use(ReviewPaths(folder=_START.folder, database=address))
    migrate()
    connections["default"].close()
    return "template_review"


@pytest.fixture(scope="session")
def used_databases():
    """Databases of tests that are over. They are dropped together, see ``TOGETHER``."""
    return []


@pytest.fixture
def postgresql(postgresql_server, postgresql_template, used_databases):
    """A clean migrated PostgreSQL database, in use; gives its ``ReviewPaths``."""
    name = f"test_{uuid.uuid4().hex}"
    _sql(postgresql_server, f"CREATE DATABASE {name} TEMPLATE {postgresql_template}")
    folder = Path(tempfile.mkdtemp(dir=_FOLDER))
    address = postgresql_server.format(name=name)
    yield from _in_use(ReviewPaths(folder=folder / "review", database=address))
    used_databases.append(name)
    if len(used_databases) == TOGETHER:
        for used in used_databases:
            _sql(postgresql_server, f"DROP DATABASE {used} WITH (FORCE)")
        used_databases.clear()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def new_database(postgresql_server):
    """Name of an empty database on the server."""
    name = f"new_{uuid.uuid4().hex}"
    _sql(postgresql_server, f"CREATE DATABASE {name}")
    yield name
    _sql(postgresql_server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def use_place(database):
    """Point Django at another SQLite file for a while: ``with use_place(place):``."""

    @contextmanager
    def use(place):
        _use(place)
        yield
        _use(database)

    return use


@pytest.fixture(
    params=[
        pytest.param("database", id="sqlite"),
        pytest.param("postgresql", id="postgresql", marks=pytest.mark.thorough),
    ]
)
def any_database(request):
    """Both databases, one after the other."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def project(request):
    """A project in the database of this test; a call changes its policy."""
    if not {"postgresql", "any_database"} & set(request.fixturenames):
        request.getfixturevalue("database")
    elif "any_database" in request.fixturenames:
        request.getfixturevalue("any_database")
    row = Project.objects.create(
        name="Test", policy=Policy().to_json(), questionnaire=QUESTIONNAIRE_VERSION
    )

    def change(**rules):
        row.policy = replace(Policy.from_json(row.policy), **rules).to_json()
        Project.objects.update_or_create(pk=row.pk, defaults={"policy": row.policy})
        return row

    return change


@pytest.fixture
def person(project):
    """Make an account: ``person("manager", paused=True)``."""
    numbers = iter(range(1, 10_000))

    def make(role=Role.REVIEWER, **fields):
        fields.setdefault("email", f"{role}{next(numbers)}@example.org")
        return User.objects.create(role=role, password=_hashed(), **fields)

    return make


@pytest.fixture
def add_items(project):
    """Make queued items with one version each; gives them in order of their lot."""

    def make(count=1, *, options=4, key=0, author=None, **fields):
        start = Item.objects.count()
        pictures = [
            Asset.objects.create(sha256=f"{number:064x}", width=32, height=32)
            for number in range(start, start + count)
        ]
        items = [
            Item(
                **{
                    "id": sha256(f"item {number}".encode()).hexdigest()[:32],
                    "source": "toy",
                    "task": "Modality Recognition",
                    "anatomy": "Brain",
                    "modality": "MRI",
                    "stratum": "MRI | Modality Recognition | sibling",
                    "state": "queued",
                    "lot": number,
                    **fields,
                }
            )
            for number in range(start, start + count)
        ]
        Item.objects.bulk_create(items)
        ItemVersion.objects.bulk_create(
            ItemVersion(
                item=item,
                number=1,
                question=f"Which finding number {start + index} is shown?",
                options=[
                    {"text": f"Finding {letter}", "concept": f"c{letter}"}
                    for letter in "ABCDEFGH"[:options]
                ],
                key=key,
                picture=pictures[index],
                content_sha256=sha256(item.pk.encode()).hexdigest(),
                author=author,
                created_at=timezone.now(),
            )
            for index, item in enumerate(items)
        )
        return items

    return make


@pytest.fixture
def add_shown(project):
    """Make a queued item with real pictures and with everything that a reviewer may learn later."""
    numbers = itertools.count(1)

    def make(*, original=None, task="Abnormality Diagnosis", key=0, **fields):
        number = next(numbers)
        item = Item.objects.create(
            id=sha256(f"shown {number}".encode()).hexdigest()[:32],
            source="toy",
            task=task,
            anatomy="Brain",
            modality="MRI",
            stratum="MRI | Abnormality Diagnosis | knowledge",
            state="queued",
            lot=number,
        )
        size = (512, 512) if original is None else (320, 256)
        picture, overlay = (
            store_image(slice_picture(size)),
            store_image(slice_picture(size, mark=True)),
        )
        if original is not None:
            picture.original, files = deep(numbered(), **{"own": 2, **original})
            picture.save()
            for digest, data in files.items():
                path = plane_path(Path(settings.FOLDER).parent / "viewer", digest)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        texts = ["Oedema", "Haemorrhage", "Calcification", "Cyst"]
        row = {
            "question": "Which abnormality does this axial MRI slice of the brain show?",
            "options": [_option(text, place, key) for place, text in enumerate(texts)],
            "picture": picture,
            "overlay": overlay,
            "provenance": _PROVENANCE,
            "warnings": ["longest-is-key", "ZZWARNING"],
            "content_sha256": sha256(item.pk.encode()).hexdigest(),
            "created_at": timezone.now(),
        }
        return ItemVersion.objects.create(item=item, number=1, key=key, **{**row, **fields})

    return make


@pytest.fixture
def signed_in(person):
    """A client with a session: ``client, user = signed_in("reviewer")``."""

    def make(role="reviewer", **fields):
        user = person(role, **fields)
        client = Client(SERVER_NAME="localhost")
        client.force_login(user)
        return client, user

    return make


@pytest.fixture
def take_claim(signed_in, add_shown):
    """A reviewer's client, their user and their claim of an item with pictures."""

    def make(**fields):
        version = add_shown(**fields)
        client, user = signed_in()
        claim = claim_next(user)
        assert claim is not None
        assert claim.version_id == version.pk
        return client, user, claim

    return make


@pytest.fixture
def answer():
    """Make step one: the key, unless told otherwise."""
    return lambda option=0, **fields: BlindSubmission(**{**ANSWER, "option": option, **fields})


@pytest.fixture
def review(answer):
    """Take the next item of a reviewer and review it: gives the claim, or ``None``."""

    def make(user, decision="accept", *, option=0, reasons=None, comment="", now=None):
        claim = claim_next(user, now)
        if claim is None:
            return None
        if reasons is None:
            reasons = () if decision == "accept" else (("AMBIGUOUS_STEM", None),)
        answer_blind(claim.token, user, answer(option), now)
        ruling = ReviewSubmission(decision=decision, reasons=tuple(reasons), comment=comment)
        submit_review(claim.token, user, ruling, now)
        return claim

    return make


@pytest.fixture
def state():
    """Where an item stands now."""
    return lambda item: Item.objects.get(pk=item.pk).state


def _in_use(place):
    place.folder.mkdir(parents=True, exist_ok=True)
    before = settings.FOLDER
    settings.FOLDER = place.folder
    _use(place)
    yield place
    connections["default"].close()
    settings.FOLDER = before
    _use(_START)


def _use(place):
    """Point Django at another database; connections of other threads are theirs to close."""
    place_settings = database_settings(place.database)
    if "default" in connections:
        connections["default"].close()
        del connections["default"]
    default = connections.settings["default"]
    blank = dict.fromkeys(("USER", "PASSWORD", "HOST", "PORT"), "")
    default.update({**blank, "OPTIONS": {}, "CONN_MAX_AGE": 0, **place_settings})


def _sql(server, statement):
    import psycopg  # noqa: PLC0415  (only where there is a server)

    with psycopg.connect(server.format(name="postgres"), autocommit=True) as connection:
        connection.execute(statement)


@functools.cache
def _hashed():
    return make_password(PASSWORD)


_PROVENANCE = {
    "source": "toy",
    "case": "ZZPROVENANCE case-0007/series-2",
    "slice": "41 of 155, axial",
    "slice_reason": "largest area of the mask",
    "evidence": "train.csv:123 Oedema=1",
    "licence": "CC-BY-4.0",
}


def _option(text, place, key):
    if place == key:
        return {"text": text, "concept": "ZZCONCEPT", "strategy": "ZZSTRATEGY"}
    return {
        "text": text,
        "concept": text.casefold(),
        "ids": ["radlex:RID28493", "hpo:HP:0002202"],
        "strategy": "knowledge",
        "grade": "AB"[place % 2],
        "passed": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12],
        "similarity": 0.43,
        "difficulty": "medium",
    }
