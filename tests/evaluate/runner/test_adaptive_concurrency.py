"""How many questions are under way: grows while it is used, shrinks when a server refuses."""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter

import pytest

from medrcube.evaluate.runner.scheduling.adaptive_concurrency import (
    COOLDOWN,
    START,
    ConcurrencyLimiter,
)


def answer_rounds(
    pace: ConcurrencyLimiter, rounds: int, *, used: float = 1.0, now: float = 0.0
) -> None:
    for _ in range(rounds):
        limit = pace.limit
        while pace.running < limit * used:
            pace.note_request()
        for _ in range(limit):
            pace.answered(now, clean=True)
            pace.note_request()


def refuse(
    pace: ConcurrencyLimiter, now: float = 0.0, *, wait: float = 1.0, hinted: bool = True
) -> None:
    pace.note_request()
    pace.refused(now, wait=wait, hinted=hinted)


def test_it_starts_low_and_doubles_with_each_clean_round():
    pace = ConcurrencyLimiter(highest=1000)
    limits = [pace.limit]
    for _ in range(3):
        answer_rounds(pace, 1)
        limits.append(pace.limit)
    assert limits == [START, 2 * START, 4 * START, 8 * START]


def test_it_never_exceeds_the_upper_bound():
    pace = ConcurrencyLimiter(highest=3)
    assert pace.limit == 3
    answer_rounds(pace, 5)
    assert pace.limit == 3
    assert pace.room(0.0) == 0


def test_a_limit_that_is_not_used_does_not_grow():
    pace = ConcurrencyLimiter(highest=1000)
    answer_rounds(pace, 3, used=0.7)
    assert pace.limit == START
    answer_rounds(pace, 1, used=0.8)
    assert pace.limit > START


def test_a_refusal_takes_a_fifth_and_ends_the_slow_start():
    pace = ConcurrencyLimiter(highest=1000)
    answer_rounds(pace, 2)
    refuse(pace, now=1.0)
    assert pace.limit == int(4 * START * 0.8)
    before = pace.limit
    answer_rounds(pace, 1, now=2.0 + COOLDOWN)
    assert pace.limit == int(before * 1.05)


def test_refusals_of_one_episode_count_once():
    pace = ConcurrencyLimiter(highest=1000)
    for _ in range(9):
        refuse(pace, now=0.5, wait=2.0)
    assert pace.limit == int(START * 0.8)
    refuse(pace, now=2.6, wait=2.0)
    assert pace.limit == int(int(START * 0.8) * 0.8)


def test_without_a_hint_an_episode_lasts_as_long_as_the_cooldown():
    pace = ConcurrencyLimiter(highest=1000)
    refuse(pace, now=0.0, hinted=False)
    once = pace.limit
    refuse(pace, now=COOLDOWN - 1, hinted=False)
    assert pace.limit == once
    refuse(pace, now=COOLDOWN + 1, hinted=False)
    assert pace.limit < once


def test_it_does_not_grow_while_a_refusal_is_fresh():
    pace = ConcurrencyLimiter(highest=1000)
    refuse(pace, now=0.0)
    limit = pace.limit
    answer_rounds(pace, 5, now=COOLDOWN - 1)
    assert pace.limit == limit


def test_other_errors_and_repeated_questions_change_nothing():
    pace = ConcurrencyLimiter(highest=1000)
    for _ in range(10 * START):
        while pace.running < START:
            pace.note_request()
        pace.failed()
        pace.note_request()
        pace.answered(0.0, clean=False)
    assert pace.limit == START


def test_it_never_falls_below_one():
    pace = ConcurrencyLimiter(highest=4)
    for second in range(50):
        refuse(pace, now=2.0 * second)
    assert pace.limit == 1


def test_while_a_refusal_is_fresh_no_more_is_sent_than_the_server_was_serving():
    pace = ConcurrencyLimiter(highest=10)
    for _ in range(10):
        pace.note_request()
    for _ in range(7):
        pace.refused(0.1, wait=1.0, hinted=True)
    assert (pace.running, pace.room(0.2)) == (3, 0)
    pace.answered(0.3, clean=True)
    assert pace.room(0.3) == 1
    assert pace.held_until(0.3) == pytest.approx(1.1)
    assert pace.room(1.2) == pace.limit - 2
    assert pace.held_until(1.2) is None


def test_a_server_that_refuses_everything_is_left_alone_until_its_time_is_over():
    pace = ConcurrencyLimiter(highest=10)
    for _ in range(10):
        pace.note_request()
    for _ in range(10):
        pace.refused(0.0, wait=30.0, hinted=True)
    assert (pace.room(0.1), pace.room(29.9)) == (0, 0)
    assert pace.room(30.1) > 0


def test_a_fixed_pace_stays_where_it_is():
    pace = ConcurrencyLimiter(highest=50, fixed=True)
    assert pace.limit == 50
    refuse(pace)
    answer_rounds(pace, 3, now=100.0)
    assert pace.limit == 50
    assert len(pace.changes) == 1


def test_every_change_is_kept_with_its_time_and_reason():
    pace = ConcurrencyLimiter(highest=1000)
    answer_rounds(pace, 1, now=2.0)
    refuse(pace, now=3.0)
    statistics = pace.to_json()
    assert [(c["at"], c["limit"], c["why"]) for c in statistics["changes"]] == [
        (0.0, 16, "start"),
        (2.0, 32, "grown"),
        (3.0, 25, "refused"),
    ]
    assert (statistics["mode"], statistics["highest"], statistics["most"]) == ("adaptive", 1000, 17)


def simulate(pace: ConcurrencyLimiter, questions: int, *, cap: int, latency, hint: float = 1.0):
    """Ask a server that takes ``cap`` at a time; returns the seconds and the refusals of each."""
    new, due, events, order = iter(range(questions)), [], [], itertools.count()
    serving, refusals, answered, now = 0, Counter(), 0, 0.0
    while answered < questions:
        while pace.room(now):
            entry = heapq.heappop(due)[1] if due and due[0][0] <= now else next(new, None)
            if entry is None:
                break
            pace.note_request()
            is_served = serving < cap
            serving += is_served
            at = now + (latency() if is_served else 0.002)
            heapq.heappush(events, (at, next(order), entry, is_served))
        times = [at for at in (pace.held_until(now), due[0][0] if due else None) if at]
        wake = min((at for at in times if at > now), default=None)
        if events and (wake is None or events[0][0] <= wake):
            now, _, entry, is_served = heapq.heappop(events)
            if is_served:
                serving -= 1
                answered += 1
                pace.answered(now, clean=not refusals[entry])
            else:
                refusals[entry] += 1
                wait = hint * 1.1
                pace.refused(now, wait=wait, hinted=True)
                heapq.heappush(due, (now + wait, entry))
        else:
            now = wake
    return now, refusals


@pytest.mark.parametrize("highest", [8, 64, 1000])
def test_a_server_that_takes_four_at_a_time_is_kept_busy_and_loses_nothing(highest):
    rng = random.Random(1)
    for latency in (lambda: 0.2, lambda: rng.lognormvariate(-1.6, 1.0)):
        total = 0.0

        def timed(latency=latency):
            nonlocal total
            total += (seconds := latency())
            return seconds

        seconds, refusals = simulate(ConcurrencyLimiter(highest=highest), 400, cap=4, latency=timed)
        assert seconds < 1.15 * total / 4
        assert max(refusals.values()) < 10
        assert refusals.total() < 60


def test_a_server_without_a_limit_is_filled():
    pace = ConcurrencyLimiter(highest=64)
    seconds, refusals = simulate(pace, 4000, cap=10**6, latency=lambda: 0.2)
    assert seconds < 1.05 * 4000 * 0.2 / 64
    assert not refusals
