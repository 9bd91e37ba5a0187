"""Correlations across models: matrices, draws and means of regions from their definitions."""

from __future__ import annotations

import hashlib
import itertools

import numpy as np
import pytest
from scipy.stats import false_discovery_control, pearsonr

from medrcube.errors import WorkspaceError
from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.statistics.bootstrap import expanded_tail
from medrcube.evaluate.statistics.correlations.across_models import (
    published_correlations,
    shortcut_reliance,
    slice_correlations,
)
from medrcube.evaluate.statistics.correlations.matrix import (
    DRAWS,
    correlate,
    correlation_matrix,
    fisher_z,
    item_draws,
    model_draws,
    quantiles,
    seed_of_values,
)
from medrcube.evaluate.statistics.paired_tests import holm
from medrcube.taxonomy import Anatomy, Modality

PAIRS = list(itertools.combinations(range(4), 2))


@pytest.fixture(scope="module")
def accuracy():
    """Of four groups and twelve models, the first three groups related."""
    rng = np.random.default_rng(3)
    skill = rng.uniform(0.2, 0.8, 12)
    return np.stack([skill + rng.uniform(0, 0.2 * (i + 1), 12) for i in range(3)] + [skill[::-1]])


def upper(matrix):
    return [matrix[i][j] for i, j in PAIRS]


def test_matrices_hold_correlations_and_the_p_values_of_all_pairs(accuracy):
    matrix = correlation_matrix(accuracy, "pearson", None)
    tests = [pearsonr(accuracy[i], accuracy[j]) for i, j in PAIRS]
    p_values = [test.pvalue for test in tests]
    assert upper(matrix["r"]) == pytest.approx([test.statistic for test in tests])
    assert upper(matrix["p"]) == pytest.approx(p_values)
    assert upper(matrix["p_holm"]) == pytest.approx(holm(p_values))
    assert upper(matrix["p_bh"]) == pytest.approx(list(false_discovery_control(p_values)))
    assert "interval_items" not in matrix
    assert "r_corrected" not in matrix


def test_intervals_over_models_are_expanded_percentiles_of_a_thousand_draws(accuracy):
    assert DRAWS == 1000
    draws = model_draws(accuracy, "pearson")
    assert draws.shape == (1000, 4, 4)
    interval_models = correlation_matrix(accuracy, "pearson", None)["interval_models"]
    tail = expanded_tail(12)
    for i, j in PAIRS:
        assert interval_models[i][j] == pytest.approx(
            list(np.quantile(draws[:, i, j], [tail, 1 - tail]))
        )


def test_models_are_drawn_for_all_groups_at_once(accuracy):
    """A group and its double keep the correlation 1 in every draw."""
    draws = model_draws(np.stack([accuracy[0], 2 * accuracy[0], accuracy[1]]), "pearson")
    assert draws[:, 0, 1] == pytest.approx(1)
    assert np.std(draws[:, 0, 2]) > 0.01


def test_intervals_over_items_are_basic_bootstrap_intervals_of_fishers_z(accuracy):
    noise = np.random.default_rng(7).normal(0, 0.05, size=(1000, 4, 12))
    draws = accuracy + noise
    matrix = correlation_matrix(accuracy, "pearson", lambda: draws)
    for i, j in PAIRS:
        z = np.arctanh(np.corrcoef(accuracy[i], accuracy[j])[0, 1])
        zs = [np.arctanh(np.corrcoef(draw[i], draw[j])[0, 1]) for draw in draws]
        low, middle, high = np.tanh(2 * z - np.quantile(zs, [0.975, 0.5, 0.025]))
        assert matrix["interval_items"][i][j] == pytest.approx([low, high])
        assert matrix["r_corrected"][i][j] == pytest.approx(middle)


def test_items_are_drawn_with_whole_pictures():
    """Right answers and items of a picture stand together, so equal shares stay equal."""
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 4, size=(40, 2)).astype(float)
    right = np.stack([sizes, sizes / 2, (rng.random((40, 2)) < 0.5) * sizes], axis=2)
    draws = item_draws(right, sizes)
    assert draws.shape == (1000, 2, 3)
    assert draws[:, :, 0] == pytest.approx(1)
    assert draws[:, :, 1] == pytest.approx(0.5)
    share = right[:, 0, 2].sum() / sizes[:, 0].sum()
    spread = np.sqrt(((right[:, 0, 2] - share * sizes[:, 0]) ** 2).sum()) / sizes[:, 0].sum()
    assert draws[:, 0, 2].mean() == pytest.approx(share, abs=0.01)
    assert draws[:, 0, 2].std() == pytest.approx(spread, rel=0.1)


def test_a_group_that_a_draw_leaves_out_is_undefined_in_it():
    sizes = np.ones((10, 2))
    sizes[1:, 1] = 0
    draws = item_draws(np.ones((10, 2, 3)) * sizes[:, :, None], sizes)
    lost = np.isnan(draws[:, 1]).all(axis=1)
    assert lost.mean() == pytest.approx(0.9**10, abs=0.05)
    assert not np.isnan(draws[:, 0]).any()


@pytest.mark.parametrize(("undefined", "message"), [(5, True), (6, False)])
def test_a_quantile_may_miss_one_draw_of_twenty(undefined, message):
    draws = np.arange(100.0)[:, None] * [1.0, 2.0]
    draws[:undefined, 1] = np.nan
    low, high = quantiles(draws, 0.25, 0.75)
    assert (low[0], high[0]) == pytest.approx((24.75, 74.25))
    expected = np.quantile(draws[undefined:, 1], [0.25, 0.75]) if message else [np.nan, np.nan]
    assert [low[1], high[1]] == pytest.approx(list(expected), nan_ok=True)


def test_a_correlation_that_no_draw_defines_has_no_quantile():
    (middle,) = quantiles(np.full((10, 1), np.nan), 0.5)
    assert np.isnan(middle).all()


def test_fishers_z_is_finite_for_a_line():
    assert fisher_z(np.array([0.5, -0.5, 0])) == pytest.approx(np.arctanh([0.5, -0.5, 0]))
    assert fisher_z(np.array([1.0])) == pytest.approx(np.arctanh(1 - 1e-9))
    assert fisher_z(np.array([-1.0])) == pytest.approx(-np.arctanh(1 - 1e-9))


def test_a_line_has_the_correlation_one_and_hardly_any_p():
    matrix = correlation_matrix(np.array([[0.1, 0.2, 0.4], [0.2, 0.4, 0.8]]), "pearson", None)
    assert matrix["r"][0][1] == pytest.approx(1)
    assert matrix["p"][0][1] == pytest.approx(0, abs=1e-6)
    assert matrix["interval_models"][0][1] is None


def test_ties_share_a_rank():
    r = correlate(np.array([[1, 1, 2, 3], [4, 5, 6, 7]]), "spearman")
    assert r[0, 1] == pytest.approx(np.corrcoef([1.5, 1.5, 3, 4], [1, 2, 3, 4])[0, 1])


def test_the_seed_is_that_of_the_values():
    values = np.array([0.25, 0.5])
    digest = hashlib.sha256(values.tobytes()).digest()
    assert seed_of_values(values) == int.from_bytes(digest[:8])


SPOTS = [("Brain", "MRI"), ("Brain", "Ultrasound"), ("Lungs", "CT"), ("Lungs", "X-ray")]


def run(result, rights, each=10):
    return [
        result(
            f"q{spot}-{i}",
            i < right,
            picture=f"p{i}",
            parts=Anatomy(region),
            modality=Modality(kind),
        )
        for spot, ((region, kind), right) in enumerate(zip(SPOTS, rights, strict=True))
        for i in range(each)
    ]


@pytest.fixture(scope="module")
def runs(result):
    rng = np.random.default_rng(6)
    return {f"m{i}": run(result, rng.integers(2, 9, size=4)) for i in range(12)}


def test_means_of_regions_are_those_of_fishers_z_over_their_voxels(runs):
    correlations = slice_correlations(runs)
    regions = [name[2] for name in correlations["names"]]
    rows = {(row["first"], row["second"]): row for row in correlations["by_region"]}
    assert list(rows) == [("Brain", "Brain"), ("Brain", "Lungs"), ("Lungs", "Lungs")]
    assert [row["pairs"] for row in rows.values()] == [1, 4, 1]
    shares = np.array(
        [
            [
                sum(
                    entry.outcome is AnswerOutcome.CORRECT
                    for entry in results
                    if [entry.item.modality, entry.item.parts] == name[1:]
                )
                / 10
                for results in runs.values()
            ]
            for name in correlations["names"]
        ]
    )
    draws = np.arctanh(np.clip(model_draws(shares, "pearson"), -1 + 1e-9, 1 - 1e-9))
    tail = expanded_tail(12)
    for (first, second), row in rows.items():
        places = [(i, j) for i, j in PAIRS if {regions[i], regions[j]} == {first, second}]
        z = [np.arctanh(correlations["r"][i][j]) for i, j in places]
        assert row["r"] == pytest.approx(np.tanh(np.mean(z)))
        means = np.mean([draws[:, i, j] for i, j in places], axis=0)
        bounds = np.tanh(np.quantile(means, [tail, 1 - tail]))
        assert row["interval"] == pytest.approx(list(bounds))


def test_a_region_of_one_voxel_has_no_row_with_itself(result, runs):
    some = {
        name: [entry for entry in rows if entry.item.id[1] != "3"] for name, rows in runs.items()
    }
    rows = slice_correlations(some)["by_region"]
    assert [(row["first"], row["second"]) for row in rows] == [
        ("Brain", "Brain"),
        ("Brain", "Lungs"),
    ]


def test_a_group_of_just_enough_items_is_taken(runs):
    assert len(slice_correlations(runs, n_min=10)["names"]) == 4


def test_ten_items_are_a_group_by_default_and_two_groups_are_enough(result):
    runs = {f"m{i}": run(result, [i + 1, i + 2, i, 8 - i]) for i in range(3)}
    first = {name: [r for r in rows if r.item.id[1] in "01"] for name, rows in runs.items()}
    correlations = slice_correlations(first)
    assert (correlations["n"], correlations["items"], correlations["left_out"]) == ([10, 10], 20, 0)
    assert correlations["r"][0][1] == pytest.approx(1)
    short = {name: rows[1:] for name, rows in first.items()}
    with pytest.raises(WorkspaceError, match="1 groups with 10 items"):
        slice_correlations(short)


def test_other_axes_have_no_regions(runs):
    correlations = slice_correlations(runs, axis="modality")
    assert "by_region" not in correlations
    assert [name for (name,) in correlations["names"]] == [
        value.value for value in Modality if value.value in {kind for _, kind in SPOTS}
    ]


def test_published_intervals_over_items_hold_the_corrected_correlation():
    correlations = published_correlations(("CT", "US"))
    low, high = correlations["interval_items"][0][1]
    assert low < correlations["r_corrected"][0][1] < high
    assert high - low < 0.5
    # Noise of the items pulls a correlation to 0.
    assert abs(correlations["r_corrected"][0][1]) > abs(correlations["r"][0][1])
    assert correlations["method"] == "pearson"


def metrics_of(high, shortcut, grounding):
    row = {
        "shortcut_probability": {"value": shortcut},
        "independent_shortcut": 0.5,
        "grounding": {"value": grounding},
    }
    level = {} if high is None else {"high": {"accuracy_without_failures": high}}
    other = {**row, "shortcut_probability": {"value": 1 - shortcut if shortcut else None}}
    return {
        "slices": {"level": level},
        "credibility": {"view_counted": {"by_pair": row}, "view_ignored": {"by_pair": other}},
    }


def test_a_run_is_a_point_where_it_has_both_figures():
    runs = {
        "a": metrics_of(0.0, 0.1, 0.2),
        "b": metrics_of(0.5, 0.3, None),
        "c": metrics_of(0.7, 0.2, 0.1),
        "d": metrics_of(0.9, 0.6, 0.5),
        "no high": metrics_of(None, 0.5, 0.1),
        "no pair": metrics_of(0.5, None, None),
    }
    reliance = shortcut_reliance(runs)
    assert [point["model"] for point in reliance["points"]] == ["a", "b", "c", "d"]
    assert reliance["points"][0] == {
        "model": "a",
        "high_accuracy": 0.0,
        "shortcut_probability": 0.1,
        "independent_shortcut": 0.5,
        "grounding": 0.2,
    }
    published = pearsonr([0, 0.5, 0.7, 0.9], [0.1, 0.3, 0.2, 0.6])
    assert (reliance["published"]["n"], reliance["published"]["r"]) == (
        4,
        pytest.approx(published[0]),
    )
    grounded = pearsonr([0, 0.7, 0.9], [0.2, 0.1, 0.5])
    assert (reliance["grounding"]["n"], reliance["grounding"]["r"]) == (
        3,
        pytest.approx(grounded[0]),
    )
    ignored = shortcut_reliance(runs, reading="view_ignored")["published"]
    assert ignored["r"] == pytest.approx(-published[0])


def test_no_correlation_is_beyond_one_by_rounding():
    values = np.random.default_rng(1).normal(size=(200, 1, 7))
    r = correlate(np.concatenate([values, 3 * values, -values], axis=1), "pearson")
    assert r.max() == 1
    assert r.min() == -1
