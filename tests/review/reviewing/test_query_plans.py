"""Which indexes the hot statements and the pages of a long list use in SQLite.

Its planner decides by the indexes alone, so a small table shows what a big one gets.
"""

import pytest
from django.db import connection
from django.utils import timezone

from medrcube.review.assigning.routing import route_of
from medrcube.review.models import Draft, Item
from medrcube.review.reviewing.policy import Policy
from medrcube.review.reviewing.sql import candidate_queries
from medrcube.review.reviewing.sql import cursor as sql


@pytest.fixture
def plans(database, monkeypatch):
    """What SQLite means to do for every statement that is run."""
    plans_seen = []

    def explained(statement, *values):
        plans_seen.append([row[3] for row in real(f"EXPLAIN QUERY PLAN {statement}", *values)])
        return real(statement, *values)

    real = sql.fetch_all
    monkeypatch.setattr(candidate_queries, "fetch_all", explained)
    return plans_seen


@pytest.mark.parametrize("gold", [False, True])
def test_the_next_item_is_found_along_the_index_of_the_queue(plans, person, add_items, gold):
    add_items(3)
    reviewer = person()
    candidate_queries.queued_candidates(
        reviewer.pk, Policy(), route_of(reviewer.pk, (), Policy()), gold=gold
    )
    steps = plans[0]
    assert any("SEARCH i USING INDEX queue_order (state=? AND gold_defect" in s for s in steps)
    assert scans(steps) == [], "only the page of some 30 rows is read from end to end"
    sorts = [step for step in steps if "TEMP B-TREE FOR ORDER BY" in step]
    assert len(sorts) == 2 + gold, "the index gives the order; a page and the few gold are sorted"


def test_drafts_are_found_by_their_reviewer(plans, person, add_items):
    reviewer = person()
    (item,) = add_items()
    Draft.objects.create(version=item.versions.get(), user=reviewer, saved_at=timezone.now())
    candidate_queries.resumable_items(reviewer.pk, Policy(), route_of(reviewer.pk, (), Policy()))
    (steps,) = plans
    assert any(step.startswith("SEARCH d USING INDEX") for step in steps)
    assert scans(steps) == []


def scans(steps):
    """Tables that are read from end to end; the page of some 30 rows and its length are none.

    Accounts (``u``) are as many as people, and counted once for a page.
    """
    short = ("SCAN i", "SCAN page", "SCAN total", "SCAN fit", "SCAN w", "SCAN u")
    return [step for step in steps if step.startswith("SCAN") and not step.startswith(short)]


@pytest.mark.parametrize(
    ("filters", "index"),
    [
        ({}, "sqlite_autoindex_review_item_1"),
        ({"state": "queued"}, "list_by_state"),
        ({"stratum": "a"}, "list_by_stratum"),
        ({"source": "a"}, "list_by_source"),
    ],
)
def test_a_page_of_a_list_is_read_from_its_place_on(database, filters, index):
    page = Item.objects.filter(**filters, id__gt="4f").order_by("id")[:50]
    plan = page.explain()
    assert f"SEARCH review_item USING INDEX {index}" in plan
    assert "id>?" in plan
    assert "TEMP B-TREE" not in plan


def test_a_reviewer_who_works_ahead_passes_their_own_items_within_the_index(
    database, person, add_items, review
):
    add_items(100)
    ahead = person()
    for _ in range(40):
        review(ahead)
    mine = Item.objects.filter(sole_reviewer=ahead)
    assert mine.count() == 40
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA index_info(queue_order)")
        columns = [row[2] for row in cursor.fetchall()]
    assert columns.index("sole_reviewer_id") == columns.index("lot") + 1
    assert review(ahead) is not None, "more than a page of own items stands before the next"


def test_a_page_full_of_items_that_are_not_for_a_reviewer_does_not_end_the_queue(
    project, person, add_items, review
):
    project(reviews=3)
    add_items(50)
    first, second = person(), person()
    for reviewer in (first, second):
        for _ in range(40):
            review(reviewer)
    version_ids = {claim.version_id for claim in first.claims.all()}
    assert review(first).version_id not in version_ids
