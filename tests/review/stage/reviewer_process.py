"""One reviewer in a process of their own: ``reviewer_process.py FOLDER DATABASE USER SEED``.

Reviews until nothing is queued. Now and then they dawdle: their clock stands an hour behind, so
that the lease is over before they begin. Prints what happened as JSON.
"""

import json
import random
import sys
import time
from datetime import timedelta
from pathlib import Path

from medrcube.review.server.bootstrap import ReviewPaths, configure

LATE = 0.1
PATIENCE = 500


def main():
    folder, database, user, seed = sys.argv[1:]
    configure(ReviewPaths(folder=Path(folder), database=database))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    sys.stdout.write(json.dumps(work(int(user), random.Random(int(seed)))) + "\n")


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
