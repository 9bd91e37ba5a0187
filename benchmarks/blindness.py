# ruff: noqa: PLC0415  (Django is set up before its models load)
"""Simulate reviewers over the items of a built workspace: what they are told, what blindness costs.

Usage: ``python blindness.py WORKSPACE REVIEWERS [NAME=VALUE ...]``. The items are imported into a
queue of their own; reviewers take turns by lot until none gets anything. What a reviewer has been
told is judged here by a rule of its own, not by that of the queue: an item of the same case was
shown whose key, or a concept of its options, is that of this one, whose exclusive group is the
same, or whose text holds the key.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from medrcube.review.server.bootstrap import ReviewPaths, configure, migrate


def main() -> None:
    root, reviewers = Path(sys.argv[1]).resolve(), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        configure(ReviewPaths(folder=Path(name) / "review", database=str(Path(name) / "q.sqlite3")))
        migrate()
        print(json.dumps(_simulated(root, reviewers, sys.argv[3:])))


def _simulated(root: Path, reviewers: int, rules: list[str]) -> dict[str, Any]:
    from medrcube.console.progress import Reporter
    from medrcube.review.exchange.import_items import import_workspace
    from medrcube.review.models import Disclosure, Item, User
    from medrcube.review.reviewing.policy_change import change_policy, parse_changes
    from medrcube.workspace import open_workspace

    report = import_workspace(open_workspace(root), Reporter(quiet=True))
    change_policy("system", {"gold_rate": 0.0, **parse_changes(rules)})
    people = [User.objects.create(email=f"r{n}@example.org") for n in range(reviewers)]
    claims, seconds = _reviewed(people)
    states = Counter(Item.objects.values_list("state", flat=True))
    return {
        "items": report.added,
        "cases": Item.objects.values("case_key").distinct().count(),
        "pairs": Disclosure.objects.count(),
        "reviewers": reviewers,
        "reviews": len(claims),
        "not_blind": sum(not claim.blinded for claim in claims),
        "exposures_among_blind": sum(
            is_exposed for claim, is_exposed in _judged(claims) if claim.blinded
        ),
        "shown_again_not_blind": sum(
            is_exposed for claim, is_exposed in _judged(claims) if not claim.blinded
        ),
        "complete": report.added - states["queued"],
        "waiting": states["queued"],
        "ms_per_claim": round(1000 * seconds / max(1, len(claims)), 2),
    }


def _reviewed(people: list[Any]) -> tuple[list[Any], float]:
    from medrcube.review.models import Claim
    from medrcube.review.reviewing.claims import claim_next
    from medrcube.review.reviewing.steps import answer_blind, submit_review
    from medrcube.review.reviewing.submissions import BlindSubmission, ReviewSubmission

    draw, remaining, spent = random.Random(0), list(people), 0.0  # noqa: S311  (a simulation)
    ruling = ReviewSubmission(decision="accept")
    while remaining:
        user = draw.choice(remaining)
        began = time.perf_counter()
        claim = claim_next(user)
        spent += time.perf_counter() - began
        if claim is None:
            remaining.remove(user)
            continue
        key = claim.version.key
        answer = BlindSubmission(option=key, confidence=3, needs_image="yes", image_adequate=True)
        answer_blind(claim.token, user, answer)
        submit_review(claim.token, user, ruling)
    rows = Claim.objects.select_related("version__item").order_by("pk")
    return list(rows), spent


def _judged(claims: list[Any]) -> list[tuple[Any, bool]]:
    views: dict[tuple[int, str], list[SimpleNamespace]] = {}
    judged = []
    for claim in claims:
        version = claim.version
        before = views.setdefault((claim.user_id, version.item.case_key), [])
        now = _told(version)
        judged.append((claim, any(_answers(earlier, now) for earlier in before)))
        before.append(now)
    return judged


def _told(version: Any) -> SimpleNamespace:
    about = version.provenance
    right = version.options[version.key]
    concepts = {str(option.get("concept") or "") for option in version.options}
    return SimpleNamespace(
        key=right["text"].casefold(),
        concepts={*concepts, str(about.get("concept", ""))} - {""},
        group=about.get("group", ""),
        text=f"{version.question} {about}".casefold(),
    )


def _answers(earlier: SimpleNamespace, now: SimpleNamespace) -> bool:
    spoken = not now.key.startswith("box ") and now.key in earlier.text
    same = earlier.key == now.key and not now.key.startswith("box ")
    return bool(
        spoken
        or same
        or earlier.concepts & now.concepts
        or (now.group and now.group == earlier.group)
    )


if __name__ == "__main__":
    main()
