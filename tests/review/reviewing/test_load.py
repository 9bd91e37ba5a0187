"""Eight processes on one queue, with both databases: what the constraints promise, they keep."""

import gc
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connection

from medrcube.review.audit_trail.event_chain import verify_chain
from medrcube.review.models import Claim, Event, Item, Review

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]
PROCESSES = 8
ITEMS = int(os.environ.get("MEDRCUBE_LOAD_ITEMS", "200"))
"""Processes compete for each claim, however long the queue; ``make bench`` empties one of 2,000."""
RULED = max(50, ITEMS // 5)
PROGRAM = Path(__file__).parents[1] / "stage/reviewer_processes.py"


@pytest.fixture
def crowd(any_database, project, person, add_items):
    """What eight reviewers in eight processes report after they have emptied the queue."""
    with uncollected():
        add_items(ITEMS)
        reviewers = [person() for _ in range(PROCESSES)]
    return emptied(any_database, reviewers)


@contextmanager
def uncollected():
    """No collection while rows are written: what one closes may roll back a transaction.

    What earlier tests left behind is collected before the first row.
    """
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def emptied(place, reviewers):
    """What each of these reviewers says after they have emptied the queue, in a process each."""
    connection.close()
    users = [str(reviewer.pk) for reviewer in reviewers]
    outcome = subprocess.run(
        [sys.executable, PROGRAM, place.folder, place.database, *users],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    replies = [json.loads(line) for line in outcome.stdout.splitlines()[1:]]
    assert len(replies) == len(reviewers)
    return replies


def test_eight_processes_review_every_item_twice_and_no_text_is_lost(crowd):
    counts = Counter()
    for reply in crowd:
        counts.update(reply)
    assert counts["reviews"] == Review.objects.count() == 2 * ITEMS
    assert counts["refused"] > 0, "no submit was late: the test shows too little"
    assert counts["lost texts"] == 0
    assert set(Item.objects.values_list("state", "reviews")) == {("accepted", 2)}
    reviewers = defaultdict(set)
    for version, user in Claim.objects.filter(released_at=None).values_list("version", "user"):
        reviewers[version].add(user)
    assert {len(users) for users in reviewers.values()} == {2}
    assert double_claims() == []
    assert verify_chain().fault == ""


def test_eight_processes_keep_the_last_place_of_every_item_for_a_specialist(
    any_database, project, person, add_items
):
    project(specialists=1)
    with uncollected():
        add_items(RULED)
    specialties = [["radiology:neuro"]] * 3 + [["radiology:breast"]] * 3 + [[], ["Ultrasound"]]
    emptied(any_database, [person(specialties=names) for names in specialties])
    assert set(Item.objects.values_list("state", "reviews")) == {("accepted", 2)}
    valid = Claim.objects.filter(released_at=None)
    specialists = Counter(valid.filter(specialist=True).values_list("version", flat=True))
    assert len(specialists) == RULED, "an item was completed against the rule"
    assert valid.filter(specialist=False).exists(), "others took no part: the test shows too little"
    assert double_claims() == []
    assert verify_chain().fault == ""


def double_claims():
    """Replay of the trail: slots that were handed out while somebody had them."""
    holders, doubles = defaultdict(dict), []
    for event in Event.objects.order_by("number"):
        body = json.loads(event.body)
        slots = holders[event.object]
        if event.kind == "claim.issued":
            if body["slot"] in slots or body["slot"] > 1:
                doubles.append((event.number, event.object, body["slot"]))
            slots[body["slot"]] = event.actor
        elif event.kind == "claim.expired":
            (freed,) = [slot for slot, holder in slots.items() if holder == body["user"]]
            del slots[freed]
    return doubles
