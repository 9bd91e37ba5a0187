"""Reviewers, each in a process of their own: ``reviewer_processes.py FOLDER DATABASE USER...``.

They review until nothing is queued. Now and then one dawdles: their clock stands an hour behind, so
that the lease is over before they begin. Each prints what happened as a line of JSON. The program
loads Django once and then forks: to start a Python for each reviewer takes longer than the reviews.
"""

import json
import os
import random
import sys
import time
from datetime import timedelta
from pathlib import Path

from medrcube.review.server.bootstrap import ReviewPaths, configure

LATE = 0.1
PATIENCE = 500


def main():
    folder, database, *users = sys.argv[1:]
    configure(ReviewPaths(folder=Path(folder), database=database))
    from medrcube.review.reviewing import claims, steps  # noqa: F401, PLC0415  (before the forks)

    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    processes = [start(int(user), seed) for seed, user in enumerate(users)]
    statuses = [os.waitpid(process, 0)[1] for process in processes]
    sys.exit(any(statuses))


def start(user, seed):
    """Let a reviewer work in a process of their own; gives its id. No connection is open yet."""
    process = os.fork()
    if process == 0:
        line = json.dumps(work(user, random.Random(seed))) + "\n"
        os.write(sys.stdout.fileno(), line.encode())
        os._exit(0)
    return process


def work(user, chance):
    from django.utils import timezone  # noqa: PLC0415  (Django knows its database by now)

    from medrcube.review.models import Item, User  # noqa: PLC0415
    from medrcube.review.reviewing.claims import claim_next  # noqa: PLC0415

    reviewer = User.objects.get(pk=user)
    counts = {"reviews": 0, "late": 0, "refused": 0, "lost texts": 0}
    started = time.monotonic()
    while time.monotonic() - started < PATIENCE:
        late = chance.random() < LATE
        now = timezone.now() - timedelta(hours=1) if late else timezone.now()
        claim = claim_next(reviewer, now)
        if claim is not None:
            review(claim, reviewer, now, chance, counts, late=late)
        elif not Item.objects.filter(state="queued").exists():
            return counts
        else:
            time.sleep(0.01)
    raise TimeoutError(f"not finished after {PATIENCE} s: {counts}")


def review(claim, reviewer, now, chance, counts, *, late):
    from django.utils import timezone  # noqa: PLC0415

    from medrcube.review.errors import StaleClaimError  # noqa: PLC0415
    from medrcube.review.models import BlindAnswer, Draft  # noqa: PLC0415
    from medrcube.review.reviewing.steps import answer_blind, submit_review  # noqa: PLC0415
    from medrcube.review.reviewing.submissions import BlindSubmission, ReviewSubmission  # noqa: PLC0415

    typed = {"comment": f"{claim.token}"}
    counts["late"] += late
    try:
        if not BlindAnswer.objects.filter(claim=claim).exists():
            answer = BlindSubmission(option=0, confidence=2, needs_image="yes", image_adequate=True)
            answer_blind(claim.token, reviewer, answer, now, typed=typed)
        if late:
            # By the right clock it is too late; by the slow one somebody else may have it.
            now = chance.choice((now, timezone.now()))
        submit_review(claim.token, reviewer, ReviewSubmission(decision="accept"), now, typed=typed)
        counts["reviews"] += 1
    except StaleClaimError:
        counts["refused"] += 1
        draft = Draft.objects.filter(version=claim.version_id, user=reviewer, body=typed)
        counts["lost texts"] += not draft.exists()


if __name__ == "__main__":
    main()
