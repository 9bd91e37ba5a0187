"""Credibility: exact values of chance, weights and intervals on few pairs."""

from __future__ import annotations

import numpy as np
import pytest

from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.statistics.bootstrap import percentile_interval, resampled
from medrcube.evaluate.statistics.credibility import credibility, cross_pairs, pair_metrics
from medrcube.taxonomy import Task

RIGHT, WRONG = True, False
HIGH, LOW = Task("Disease Diagnosis"), Task("Modality Recognition")


@pytest.fixture
def rows(result):
    """An image with one high and three low questions, and two with one of each."""

    def ask(name, right, task, picture, count):
        return result(name, right, task=task, picture=picture, count=count)

    return [
        ask("h0", RIGHT, HIGH, "p0", 4),
        ask("a", WRONG, LOW, "p0", 2),
        ask("b", RIGHT, LOW, "p0", 4),
        ask("c", RIGHT, LOW, "p0", 3),
        ask("h1", WRONG, HIGH, "p1", 2),
        ask("d", WRONG, LOW, "p1", 2),
        ask("h2", WRONG, HIGH, "p2", 3),
        ask("e", RIGHT, LOW, "p2", 4),
    ]


def test_every_pair_counts_once(rows):
    row = credibility(rows)["view_counted"]["by_pair"]
    assert row["groups"] == {"A": 2, "B": 1, "C": 1, "D": 1}
    assert (row["pairs"], row["images"], row["units"], row["small"]) == (5, 3, 3, True)
    assert row["shortcut_probability"]["value"] == 1 / 2
    # Wrong low answers: the high question has 4 and 2 options.
    assert row["shortcut_probability"]["chance"] == pytest.approx((1 / 4 + 1 / 2) / 2)
    assert row["shortcut_probability"]["chance_corrected"] == pytest.approx((0.5 - 3 / 8) / (5 / 8))
    # Right high answers: the low questions have 2, 4 and 3 options.
    by_luck = (1 / 2 + 1 / 4 + 1 / 3) / 3
    assert row["rationality"]["chance"] == pytest.approx(by_luck)
    assert row["rationality"]["chance_corrected"] == pytest.approx(
        (2 / 3 - by_luck) / (1 - by_luck)
    )
    assert row["luck_rate"]["chance"] == pytest.approx(1 - by_luck)
    assert row["luck_rate"]["chance_corrected"] == pytest.approx(1 / 3 / (1 - by_luck))
    assert row["grounding"]["value"] == pytest.approx(2 / 3 - 1 / 2)
    assert row["independent_shortcut"] == pytest.approx(3 / 5)
    assert "chance" not in row["grounding"]


def test_every_image_counts_once(rows):
    row = credibility(rows)["view_counted"]["by_image"]
    assert row["groups"] == {"A": 2, "B": 1, "C": 1, "D": 1}
    assert row["luck_rate"]["value"] == pytest.approx(1 / 3)
    assert row["shortcut_probability"]["value"] == pytest.approx((1 / 3) / (4 / 3))
    assert row["shortcut_probability"]["chance"] == pytest.approx((1 / 12 + 1 / 2) / (4 / 3))
    assert row["grounding"]["value"] == pytest.approx((2 / 3) / (5 / 3) - 1 / 4)
    assert row["independent_shortcut"] == pytest.approx((2 / 3 + 1 / 3) / 3)


@pytest.mark.parametrize(("images", "small"), [(9, True), (10, False)])
def test_ten_images_are_no_small_group(result, images, small):
    rows = [
        result(f"{task}{i}", task=task, picture=f"p{i}")
        for i in range(images)
        for task in (HIGH, LOW)
    ]
    assert credibility(rows)["view_counted"]["by_pair"]["small"] is small


def test_intervals_draw_whole_units(result):
    """Six patients with both groups of pairs, six with one: units, not pairs, are drawn."""
    kinds = [(RIGHT, RIGHT), (WRONG, WRONG), (RIGHT, WRONG), (WRONG, RIGHT)]
    rows, groups = [], []
    for number in range(12):
        unit = f"patient-{number:016x}"
        own = [kinds[number % 4], kinds[(number // 4 + number) % 4]]
        for picture, (high, low) in enumerate(own):
            for task, right in ((HIGH, high), (LOW, low)):
                name = f"{number}-{picture}"
                rows.append(result(f"{task}{name}", right, task=task, picture=name, unit=unit))
        groups.append([own.count(kind) for kind in (kinds[0], kinds[3], kinds[1], kinds[2])])
    row = pair_metrics(cross_pairs(rows)[0])
    assert (row["pairs"], row["images"], row["units"]) == (24, 24, 12)
    totals = np.sum(groups, axis=0)
    assert list(row["groups"].values()) == totals.tolist()
    # The rows that are drawn have the chances as well: 1/4 for each wrong low, each right high.
    draws = resampled([(a, b, c, d, (c + d) / 4, (a + d) / 4) for a, b, c, d in groups])
    a, b, c, d = draws.T[:4]
    with np.errstate(invalid="ignore"):
        expected = {
            "luck_rate": d / (a + d),
            "shortcut_probability": d / (c + d),
            "rationality": a / (a + d),
            "grounding": a / (a + b) - d / (c + d),
        }
    for name, values in expected.items():
        assert row[name]["interval"] == pytest.approx(list(percentile_interval(values, 12)))


def test_the_interval_of_images_draws_the_shares_of_each_image(result):
    """A pair of an image with three is a third, in the draws as well."""
    rows, groups = [], []
    for number in range(12):
        high, each = number % 4 != 1, 1 + number % 3
        rows.append(result(f"h{number}", high, task=HIGH, picture=f"p{number}"))
        lows = [(number + place) % 2 == 0 for place in range(each)]
        rows += [
            result(f"l{number}-{place}", low, task=LOW, picture=f"p{number}")
            for place, low in enumerate(lows)
        ]
        own = [0.0] * 6
        for low in lows:
            own[(0 if low else 3) if high else (1 if low else 2)] += 1 / each
            own[4] += 0.0 if low else 1 / each * 0.25
            own[5] += 1 / each * 0.25 if high else 0.0
        groups.append(own)
    row = pair_metrics(cross_pairs(rows)[0], "image")
    a, _, _, d = resampled(groups).T[:4]
    expected = percentile_interval(d / (a + d), 12)
    assert row["luck_rate"]["interval"] == pytest.approx(list(expected))


def test_items_left_out_are_counted_on_images_with_both_kinds_alone(result):
    unparsed, failed = AnswerOutcome.UNPARSED, AnswerOutcome.FAILED
    rows = [
        result("h0", outcome=unparsed, task=HIGH, picture="p0"),
        result("l0", outcome=failed, task=LOW, picture="p0"),
        result("l1", outcome=failed, task=LOW, picture="p0"),
        result("alone", outcome=failed, task=HIGH, picture="p1"),
        result("also alone", outcome=failed, task=LOW, picture="p2"),
    ]
    assert cross_pairs(rows) == ([], {"failed": 2, "unparsed": 1})
    assert list(cross_pairs(rows)[1]) == ["failed", "unparsed"]


def test_a_pair_knows_the_questions_that_it_is_made_of(result):
    rows = [
        result("h", RIGHT, task=HIGH, picture="p", count=3, unit="case-1"),
        result("l", WRONG, task=LOW, picture="p", count=2, unit="case-1"),
    ]
    ((picture, unit, high_task, low_task, high, low, high_chance, low_chance),), _ = cross_pairs(
        rows
    )
    assert (picture, unit, high_task, low_task) == ("p", "case-1", HIGH, LOW)
    assert (high, low) == (True, False)
    assert (high_chance, low_chance) == pytest.approx((1 / 3, 1 / 2))
