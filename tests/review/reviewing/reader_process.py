"""One reader in a process of their own: ``reader_process.py FOLDER DATABASE USER SEED``.

Reviews until nothing is queued. Now and then they dawdle: their clock stands an hour behind, so
that the lease is over before they begin. Prints what happened as JSON.
"""

import json
import random
import sys
import time
from datetime import timedelta
from pathlib import Path

from medrcube.review.server.bootstrap import Place, configure

LATE = 0.1
PATIENCE = 500


def main():
    folder, database, user, seed = sys.argv[1:]
    configure(Place(folder=Path(folder), database=database))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    sys.stdout.write(json.dumps(work(int(user), random.Random(int(seed)))) + "\n")


def work(user, chance):
    from django.utils import timezone  # noqa: PLC0415  (Django knows its database by now)

    from medrcube.review.models import Item, User  # noqa: PLC0415
    from medrcube.review.reviewing.claims import claim_next  # noqa: PLC0415

    reader = User.objects.get(pk=user)
    done = {"reviews": 0, "late": 0, "refused": 0, "lost texts": 0}
    started = time.monotonic()
    while time.monotonic() - started < PATIENCE:
        late = chance.random() < LATE
        now = timezone.now() - timedelta(hours=1) if late else timezone.now()
        claim = claim_next(reader, now)
        if claim is not None:
            review(claim, reader, now, chance, done, late=late)
        elif not Item.objects.filter(state="queued").exists():
            return done
        else:
            time.sleep(0.01)
    raise TimeoutError(f"not finished after {PATIENCE} s: {done}")


def review(claim, reader, now, chance, done, *, late):
    from django.utils import timezone  # noqa: PLC0415

    from medrcube.review.errors import StaleClaimError  # noqa: PLC0415
    from medrcube.review.models import BlindAnswer, Draft  # noqa: PLC0415
    from medrcube.review.reviewing.steps import answer_blind, submit  # noqa: PLC0415
    from medrcube.review.reviewing.submissions import Answer, Ruling  # noqa: PLC0415

    typed = {"comment": f"{claim.token}"}
    done["late"] += late
    try:
        if not BlindAnswer.objects.filter(claim=claim).exists():
            answer = Answer(option=0, confidence=2, needs_image="yes", image_adequate=True)
            answer_blind(claim.token, reader, answer, now, typed=typed)
        if late:
            # By the right clock it is too late; by the slow one somebody else may have it.
            now = chance.choice((now, timezone.now()))
        submit(claim.token, reader, Ruling(decision="accept"), now, typed=typed)
        done["reviews"] += 1
    except StaleClaimError:
        done["refused"] += 1
        kept = Draft.objects.filter(version=claim.version_id, user=reader, body=typed)
        done["lost texts"] += not kept.exists()


if __name__ == "__main__":
    main()
