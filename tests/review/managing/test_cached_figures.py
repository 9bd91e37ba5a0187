import pickle
import sys
from pathlib import Path
from threading import Event as Gate

import pytest
from django.conf import settings
from django.utils import timezone

from medrcube.review.audit_trail.event_chain import NewEvent, record_events
from medrcube.review.quality import cached_figures
from medrcube.review.quality.cached_figures import FigureCache
from medrcube.review.views.managing import dashboards, reviewer_figures


@pytest.fixture
def happen(project):
    def happen():
        record_events(
            timezone.now(), NewEvent(actor="console", kind="test", object="project:x", body={})
        )

    return happen


@pytest.fixture
def counter():
    """Counts how often it was asked; of several threads each waits at the gate."""

    def count():
        assert count.gate.wait(10)
        count.calls += 1
        return count.calls

    count.calls, count.gate = 0, Gate()
    count.gate.set()
    return count


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(cached_figures, "LARGE", 0)


def settled(keeper, figures):
    """The first answer that holds these figures."""
    for _ in range(1000):
        answer = keeper.figures()
        if answer.figures == figures:
            return answer
        Gate().wait(0.01)
    raise AssertionError(f"the figures stay {answer.figures}")


def test_a_small_queue_is_counted_for_every_page(happen, counter):
    keeper = FigureCache("test", counter)
    happen()
    assert [keeper.figures().figures for _ in range(3)] == [1, 2, 3]


def test_a_large_queue_is_not_counted_again_where_nothing_happened(happen, counter, large):
    keeper = FigureCache("test", counter)
    happen()
    answers = [keeper.figures() for _ in range(3)]
    assert [answer.figures for answer in answers] == [1, 1, 1]
    assert answers[-1].events_since == 0


def test_a_page_waits_for_no_new_count_and_tells_what_it_lacks(happen, counter, large):
    keeper = FigureCache("test", counter)
    happen()
    keeper.figures()
    counter.gate.clear()
    happen()
    happen()
    answer = keeper.figures()
    assert (answer.figures, answer.events_since) == (1, 2)
    counter.gate.set()
    assert settled(keeper, 2).events_since == 0


def test_only_one_thread_counts_at_a_time(happen, counter, large):
    keeper = FigureCache("test", counter)
    happen()
    keeper.figures()
    counter.gate.clear()
    happen()
    for _ in range(5):
        keeper.figures()
    counter.gate.set()
    settled(keeper, 2)
    assert counter.calls == 2


def test_what_was_forgotten_is_counted_at_once(happen, counter, large):
    keeper = FigureCache("test", counter)
    happen()
    keeper.figures()
    keeper.forget()
    assert keeper.figures().figures == 2


def test_figures_of_another_trail_are_never_shown(happen, counter, large, monkeypatch):
    keeper = FigureCache("test", counter)
    happen()
    other = cached_figures.ChainHead(number=cached_figures.chain_head().number, sha256="f" * 64)
    with monkeypatch.context() as patch:
        patch.setattr(cached_figures, "chain_head", lambda: other)
        keeper.figures()
    assert keeper.figures().figures == 2


def test_figures_outlive_the_process_that_has_counted_them(happen, counter, large):
    happen()
    FigureCache("test", counter).figures()
    assert FigureCache("test", counter).figures().figures == 1


def test_what_one_process_forgets_no_other_shows(happen, counter, large):
    first, second = FigureCache("test", counter), FigureCache("test", counter)
    happen()
    assert first.figures().figures == second.figures().figures == 1
    first.forget()
    assert second.figures().figures == 2


def test_a_file_of_figures_that_the_server_did_not_seal_is_not_opened(happen, counter, large):
    happen()
    keeper = FigureCache("test", counter)
    keeper.figures()
    path = Path(settings.FOLDER) / "figures" / "test"
    sealed = path.read_bytes()
    path.write_bytes(sealed[:32] + pickle.dumps("forged"))
    assert FigureCache("test", counter).figures().figures == 2
    assert path.stat().st_mode & 0o077 == 0


class Figures:
    """What an older checkout of the same version stored."""


def test_figures_of_a_class_that_is_gone_are_counted_again(happen, counter, large, monkeypatch):
    happen()
    FigureCache("test", Figures).figures()
    monkeypatch.delattr(sys.modules[__name__], "Figures")
    assert FigureCache("test", counter).figures().figures == 1


def test_what_the_first_page_shows_is_counted_ahead_of_it(happen, counter, large):
    keeper = FigureCache("test", counter)
    happen()
    keeper.ahead()
    assert settled(keeper, 1)
    assert counter.calls == 1


def test_a_count_that_fails_leaves_the_next_one_free(happen, counter, large):
    keeper = FigureCache("test", counter)
    happen()
    keeper.figures()
    counter.calls = "no number"
    happen()
    assert keeper.figures().figures == 1
    counter.calls = 1
    assert settled(keeper, 2).events_since == 0


@pytest.mark.parametrize(
    ("address", "keeper"),
    [("/dashboard/", dashboards.PROGRESS), ("/dashboard/reviewers/", reviewer_figures.REVIEWERS)],
)
def test_the_page_of_a_large_queue_says_when_it_was_counted(
    signed_in, add_items, happen, large, words, address, keeper
):
    keeper.forget()
    client, _ = signed_in("manager")
    add_items(2)
    happen()
    assert "events since then" not in words(client.get(address))
    happen()
    happen()
    assert "events since then are being counted" in words(client.get(address))


def test_who_is_paused_is_shown_as_paused_at_once(signed_in, person, happen, large, words):
    reviewer_figures.REVIEWERS.forget()
    client, _ = signed_in("manager")
    other = person(pseudonym="reviewer-x")
    happen()
    assert "paused" not in words(client.get("/dashboard/reviewers/")).split("AC1")[1]
    client.post("/dashboard/", {"form": "pause", "reviewer": other.pk, "note": "asked for it"})
    assert "paused" in words(client.get("/dashboard/reviewers/")).split("reviewer-x")[1]
