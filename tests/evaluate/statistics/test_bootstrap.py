"""Bootstrap of pictures: right level where questions on one picture go together."""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy.stats import t as student

from medrcube.evaluate.statistics.bootstrap import (
    FEWEST_CLUSTERS,
    RESAMPLES,
    _t_quantile,
    cluster_of,
    expanded_tail,
    percentile_interval,
    ratio_interval,
    resampled,
)
from medrcube.evaluate.statistics.formulas import wilson


def clustered(rng, pictures, each):
    """Answers whose chance of being right belongs to the picture: 0.5 on average."""
    chances = rng.beta(0.5, 0.5, size=pictures)
    return [(int(k), each) for k in rng.binomial(each, chances)]


@pytest.fixture(scope="module")
def coverage():
    rng = np.random.default_rng(20)
    held = {"clustered": 0, "naive": 0}
    for _ in range(300):
        rows = clustered(rng, 40, 8)
        right, n = (sum(column) for column in zip(*rows, strict=True))
        for name, (low, high) in (
            ("clustered", ratio_interval(rows)),
            ("naive", wilson(right, n)),
        ):
            held[name] += low <= 0.5 <= high
    return {name: count / 300 for name, count in held.items()}


def test_the_interval_holds_its_level_on_clustered_answers(coverage):
    assert coverage["clustered"] >= 0.92


def test_an_interval_that_ignores_pictures_does_not(coverage):
    assert coverage["naive"] < 0.75


def test_few_pictures_keep_the_level_too():
    rng = np.random.default_rng(7)
    intervals = [ratio_interval(clustered(rng, 12, 3)) for _ in range(300)]
    held = [low <= 0.5 <= high for low, high in filter(None, intervals)]
    assert np.mean(held) >= 0.92


def test_a_draw_has_as_many_pictures_as_there_are():
    sums = resampled([(1, 1, 0), (0, 1, 3), (0, 1, 3)])
    assert sums.shape == (RESAMPLES, 3)
    assert set(sums[:, 1]) == {3}
    assert (sums[:, 0] * 3 + sums[:, 2] == 9).all()


def test_drawing_kinds_is_drawing_pictures():
    rows = [(1, 2), (2, 2), (0, 1), (1, 1), (0, 1)]
    kinds = resampled(rows, 20_000)
    single = np.array(rows)[np.random.default_rng(1).integers(0, 5, size=(20_000, 5))].sum(axis=1)
    assert kinds.mean(axis=0) == pytest.approx(single.mean(axis=0), rel=0.02)
    assert np.cov(kinds.T) == pytest.approx(np.cov(single.T), rel=0.06)


def test_equal_counts_give_equal_intervals_in_any_order():
    rows = [(random.Random(i).randint(0, 3), 3) for i in range(50)]
    turned = random.Random(1).sample(rows, len(rows))
    assert ratio_interval(rows) == ratio_interval(turned) == ratio_interval(rows)


def test_few_pictures_have_no_interval():
    rows = [(i % 2, 1) for i in range(FEWEST_CLUSTERS)]
    assert ratio_interval(rows) is not None
    assert ratio_interval(rows[1:]) is None


def test_what_never_changes_has_no_interval():
    assert ratio_interval([(1, 1)] * 30) is None


def test_what_is_often_undefined_has_no_interval():
    values = np.linspace(0, 1, 100)
    values[:10] = np.nan
    assert percentile_interval(values, 50) is None
    assert percentile_interval(values[8:], 50) is not None


@pytest.mark.parametrize("freedom", [9, 15, 40, 1000])
def test_the_widening_uses_students_t(freedom):
    assert _t_quantile(0.975, freedom) == pytest.approx(student.ppf(0.975, freedom), abs=1e-3)


def test_many_pictures_need_no_widening():
    assert expanded_tail(100_000) == pytest.approx(0.025, abs=1e-4)
    # Normal tail beyond sqrt(n / (n - 1)) times the t quantile, 2.262 and 2.093.
    assert expanded_tail(10) == pytest.approx(0.0086, abs=1e-3)
    assert expanded_tail(20) == pytest.approx(0.0159, abs=1e-3)


@pytest.mark.parametrize(
    ("picture", "expected"), [("p1", "p1"), (None, "ALPHA/q0")], ids=["digest", "none"]
)
def test_questions_belong_to_their_picture(result, picture, expected):
    assert cluster_of(result(picture=picture)) == expected
