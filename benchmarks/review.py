# ruff: noqa: PLC0415  (Django is set up before its models load)
"""Hand out a queue of items and review them, as fast as the queue allows.

Usage: ``python review.py FOLDER ITEMS PROCESSES [DATABASE]``. Every process is a reviewer of its
own kind: it claims an item, answers, decides, until nothing is left; every item needs two reviews.
DATABASE is an empty PostgreSQL database; without it a SQLite file is made in FOLDER. The settings
are those of a real queue: every commit waits for the disk.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from medrcube.review.server.bootstrap import ReviewPaths, configure, migrate

_REVIEWERS = 8
_CLAIMS = 500


def main() -> None:
    folder, items, processes = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    own = folder / "review.sqlite3"
    own.unlink(missing_ok=True)
    place = ReviewPaths(folder=folder / "review", database=[*sys.argv[4:], str(own)][0])
    configure(place)
    migrate()
    fill(items)
    syncs = _syncs(folder)
    claims = _claims_alone()
    print(
        json.dumps(
            {
                "items": items,
                "processes": processes,
                "reviews": 2 * items,
                "seconds": _reviews(place, processes),
                "claims": claims,
                "syncs": syncs,
                "fault": _fault(),
            }
        )
    )


def fill(items: int) -> None:
    from django.utils import timezone

    from medrcube.review.models import Asset, Item, ItemVersion, Project, User
    from medrcube.review.reviewing.policy import Policy, queue_lot

    Project.objects.create(name="bench", policy=Policy().to_json(), questionnaire="1")
    User.objects.bulk_create(User(email=f"r{n}@example.org") for n in range(_REVIEWERS))
    asset = Asset.objects.create(sha256="0" * 64, width=8, height=8)
    rows = [
        Item(
            id=f"{number:032x}",
            source="bench",
            task="Disease Diagnosis",
            anatomy="Chest",
            modality="X-ray",
            stratum=f"stratum {number % 12}",
            state="queued",
            lot=queue_lot(0, str(number)),
        )
        for number in range(items)
    ]
    Item.objects.bulk_create(rows, batch_size=1000)
    ItemVersion.objects.bulk_create(
        [
            ItemVersion(
                item=row,
                number=1,
                question="What is shown?",
                options=[{"text": letter} for letter in "ABCD"],
                key=0,
                picture=asset,
                content_sha256="0" * 64,
                created_at=timezone.now(),
            )
            for row in rows
        ],
        batch_size=1000,
    )


def _claims_alone() -> float:
    """Claims per second; each is given back at once, and that time is not counted."""
    from medrcube.review.models import User
    from medrcube.review.reviewing.claims import claim_next, give_back

    users = list(User.objects.order_by("pk"))
    spent = 0.0
    for number in range(_CLAIMS):
        user = users[number % len(users)]
        began = time.perf_counter()
        claim = claim_next(user)
        spent += time.perf_counter() - began
        if claim is not None:
            give_back(claim.token, user, not_my_field=False)
    return _CLAIMS / spent


def _reviews(place: ReviewPaths, processes: int) -> float:
    """Seconds until every item has its reviews; starting Python is not counted."""
    workers = [_start(place, number, processes) for number in range(processes)]
    for worker in workers:
        if worker.stdout:
            worker.stdout.readline()
    began = time.perf_counter()
    for worker in workers:
        worker.communicate("go\n")
    if any(worker.returncode for worker in workers):
        sys.exit("a reviewer failed")
    return time.perf_counter() - began


def _start(place: ReviewPaths, number: int, processes: int) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        __file__,
        "reviewer",
        place.folder,
        place.database,
        number,
        processes,
    ]
    return subprocess.Popen(  # noqa: S603
        [str(part) for part in command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def reviewer() -> None:
    """One process: its reviewers take turns until nothing is left for any of them."""
    folder, database, number, processes = sys.argv[2:]
    configure(ReviewPaths(folder=Path(folder), database=database))
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in _rounds(int(number), int(processes)):
        pass


def _rounds(number: int, processes: int) -> Iterator[None]:
    from medrcube.review.models import User
    from medrcube.review.reviewing.claims import claim_next
    from medrcube.review.reviewing.steps import answer_blind, submit_review
    from medrcube.review.reviewing.submissions import BlindSubmission, ReviewSubmission

    answer = BlindSubmission(option=0, confidence=3, needs_image="yes", image_adequate=True)
    ruling = ReviewSubmission(decision="accept", checklist={"key_correct": True})
    mine = list(User.objects.order_by("pk"))[number::processes]
    while mine:
        for user in list(mine):
            claim = claim_next(user)
            if claim is None:
                mine.remove(user)
                continue
            answer_blind(claim.token, user, answer)
            submit_review(claim.token, user, ruling)
            yield


def _syncs(folder: Path) -> float:
    """What the disk allows: the smallest durable transactions per second."""
    path = folder / "syncs.sqlite3"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE t (a)")
    began = time.perf_counter()
    for _ in range(_CLAIMS):
        connection.execute("INSERT INTO t VALUES (1)")
    seconds = time.perf_counter() - began
    connection.close()
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    return _CLAIMS / seconds


def _fault() -> str:
    from medrcube.review.audit_trail import event_chain
    from medrcube.review.models import Item

    remaining = Item.objects.exclude(state="accepted").count()
    return f"{remaining} items are not accepted" if remaining else event_chain.verify_chain().fault


if __name__ == "__main__":
    os.environ.pop("MEDRCUBE_REVIEW_ORIGIN", None)
    reviewer() if sys.argv[1:2] == ["reviewer"] else main()
