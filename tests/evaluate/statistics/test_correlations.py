"""Correlations across models: known values, and intervals that hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from medrcube.errors import WorkspaceError
from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.statistics.correlations.across_models import (
    fisher_interval,
    pearson,
    published_correlations,
    shortcut_reliance,
    slice_correlations,
)
from medrcube.evaluate.statistics.correlations.matrix import correlation_matrix, item_draws
from medrcube.evaluate.statistics.credibility import credibility
from medrcube.evaluate.statistics.metrics import metrics
from medrcube.evaluate.statistics.published_table import COUNTS, models
from medrcube.taxonomy import Anatomy, Modality, Task

RIGHT = True

SPOTS = [
    {"parts": Anatomy("Brain"), "modality": Modality("MRI")},
    {"parts": Anatomy("Brain"), "modality": Modality("Ultrasound")},
    {"parts": Anatomy("Lungs"), "modality": Modality("CT")},
    {"parts": Anatomy("Chest"), "modality": Modality("X-ray")},
]


def make_runs(result, abilities, each=40):
    """Runs whose model m is right with probability abilities[m][spot]."""
    rng = np.random.default_rng(2)
    return {
        f"m{number}": [
            result(f"q{spot}-{i}", bool(rng.random() < p), picture=f"p{spot}-{i // 2}", **axes)
            for spot, (axes, p) in enumerate(zip(SPOTS, chances, strict=True))
            for i in range(each)
        ]
        for number, chances in enumerate(abilities)
    }


@pytest.fixture(scope="module")
def runs(result):
    rng = np.random.default_rng(1)
    skill, brain = rng.uniform(0.2, 0.9, 14), rng.uniform(0.2, 0.9, 14)
    return make_runs(result, np.stack([brain, rng.permutation(brain), skill, skill], axis=1))


@pytest.fixture(scope="module")
def slices(runs):
    return slice_correlations(runs)


def accuracies(runs):
    return np.array(
        [
            [
                np.mean(
                    [r.outcome is AnswerOutcome.CORRECT for r in results if r.item.id[1] == str(s)]
                )
                for results in runs.values()
            ]
            for s in range(4)
        ]
    )


def place(slices, parts, modality):
    return next(i for i, name in enumerate(slices["names"]) if name[1:] == [modality, parts])


def test_a_correlation_is_pearsons_over_models(runs, slices):
    lungs, chest = place(slices, "Lungs", "CT"), place(slices, "Chest", "X-ray")
    expected = pearsonr(accuracies(runs)[2], accuracies(runs)[3])
    assert slices["r"][lungs][chest] == pytest.approx(expected.statistic)
    assert slices["p"][lungs][chest] == pytest.approx(expected.pvalue)


@pytest.mark.parametrize(("models", "expected"), [(9, False), (10, True), (11, True)])
def test_ten_models_are_enough_for_intervals_over_models(runs, models, expected):
    correlations = slice_correlations(dict(list(runs.items())[:models]))
    assert {row["interval"] is not None for row in correlations["by_region"]} == {expected}
    lungs, chest = place(correlations, "Lungs", "CT"), place(correlations, "Chest", "X-ray")
    assert (correlations["interval_models"][lungs][chest] is not None) is expected


def test_three_runs_are_enough_and_two_are_not(runs):
    three = dict(list(runs.items())[:3])
    assert len(slice_correlations(three)["models"]) == 3
    three.popitem()
    with pytest.raises(WorkspaceError, match="2 runs; expected at least 3"):
        slice_correlations(three)


def test_ranks_may_be_correlated_instead(runs):
    correlations = slice_correlations(runs, method="spearman")
    lungs, chest = place(correlations, "Lungs", "CT"), place(correlations, "Chest", "X-ray")
    expected = spearmanr(accuracies(runs)[2], accuracies(runs)[3])
    assert correlations["r"][lungs][chest] == pytest.approx(expected.statistic)
    assert correlations["p"][lungs][chest] == pytest.approx(expected.pvalue)


def test_the_matrix_is_square_and_mirrored(slices):
    for name in ("r", "p", "p_holm", "p_bh", "interval_models", "interval_items", "r_corrected"):
        matrix = slices[name]
        assert all(matrix[i][j] == matrix[j][i] for i in range(4) for j in range(4))
        assert all(matrix[i][i] is None for i in range(4))


def test_many_pairs_are_adjusted(slices):
    for i, j in ((0, 1), (0, 3), (2, 3)):
        assert slices["p"][i][j] <= slices["p_bh"][i][j] <= slices["p_holm"][i][j]


def test_an_island_shows_in_the_means_of_regions(slices):
    means = {(row["first"], row["second"]): row for row in slices["by_region"]}
    assert means["Chest", "Lungs"]["r"] > 0.9
    assert abs(means["Brain", "Brain"]["r"]) < 0.6
    assert means["Brain", "Lungs"]["pairs"] == 2
    low, high = means["Chest", "Lungs"]["interval"]
    assert low < means["Chest", "Lungs"]["r"] < high


def test_intervals_hold_the_value(slices):
    lungs, chest = place(slices, "Lungs", "CT"), place(slices, "Chest", "X-ray")
    for name, value in (("interval_models", "r"), ("interval_items", "r_corrected")):
        low, high = slices[name][lungs][chest]
        assert low <= slices[value][lungs][chest] <= high


def test_the_interval_over_items_covers_the_correlation_of_true_abilities():
    rng = np.random.default_rng(4)
    hits, near, corrected = [], [], []
    for _ in range(60):
        first = rng.uniform(0.3, 0.8, 15)
        second = np.clip(0.6 * first + rng.uniform(0.1, 0.4, 15), 0, 1)
        true = np.corrcoef(first, second)[0, 1]
        right, sizes = np.zeros((80, 2, 15)), np.zeros((80, 2))
        for voxel, (chances, pictures) in enumerate(
            ((first, slice(0, 40)), (second, slice(40, 80)))
        ):
            swing = rng.normal(0, 0.08, size=(40, 1))
            right[pictures, voxel] = rng.binomial(2, np.clip(chances + swing, 0, 1))
            sizes[pictures, voxel] = 2
        accuracy = right.sum(axis=0) / sizes.sum(axis=0)[:, None]
        matrix = correlation_matrix(accuracy, "pearson", lambda r=right, s=sizes: item_draws(r, s))
        low, high = matrix["interval_items"][0][1]
        hits.append(low <= true <= high)
        near.append(matrix["r"][0][1] - true)
        corrected.append(matrix["r_corrected"][0][1] - true)
    assert np.mean(hits) >= 0.8
    assert np.mean(near) < -0.05
    assert abs(np.mean(corrected)) < 0.05


def test_few_models_have_no_interval_over_models(runs):
    some = dict(list(runs.items())[:5])
    correlations = slice_correlations(some)
    assert correlations["interval_models"][0][1] is None
    assert correlations["interval_items"][0][1] is not None


def test_small_voxels_are_left_out(runs):
    with pytest.raises(WorkspaceError, match="at least 2"):
        slice_correlations(runs, n_min=41)


def test_two_runs_are_too_few(runs):
    with pytest.raises(WorkspaceError, match="2 runs; expected at least 3"):
        slice_correlations(dict(list(runs.items())[:2]))


@pytest.mark.parametrize("place", [0, 2])
def test_an_item_that_one_run_lost_counts_for_none(result, runs, place):
    some = list(runs.values())[:4]
    whole = some[place]
    lost = result(whole[0].item.id, outcome=AnswerOutcome.FAILED, picture="p0-0", **SPOTS[0])
    some[place] = [lost, *whole[1:]]
    correlations = slice_correlations(dict(zip("abcd", some, strict=True)))
    assert (correlations["items"], correlations["left_out"]) == (159, 1)
    assert sorted(correlations["n"]) == [39, 40, 40, 40]


def test_a_voxel_that_is_the_same_for_all_models_correlates_with_nothing(result, runs):
    extra = [result(f"x{i}", RIGHT, task=Task("ROI Grounding")) for i in range(10)]
    correlations = slice_correlations({name: results + extra for name, results in runs.items()})
    index = next(i for i, name in enumerate(correlations["names"]) if name[0] == "ROI Grounding")
    assert correlations["r"][index] == [None] * 5


def test_equal_runs_give_equal_numbers(runs, slices):
    assert slice_correlations(runs) == slices


def test_the_published_regions_correlate_as_is_known():
    correlations = published_correlations()
    names = [name for (name,) in correlations["names"]]
    brain = dict(zip(names, correlations["r"][names.index("Brain")], strict=True))
    assert brain["Chest"] == pytest.approx(0.69, abs=0.006)
    assert brain["Heart"] == pytest.approx(0.61, abs=0.006)
    assert brain["Lungs"] == pytest.approx(0.75, abs=0.006)
    assert brain["Breast"] == pytest.approx(0.58, abs=0.006)
    assert len(correlations["models"]) == 33


def test_published_tasks_correlate_as_is_known():
    names = ("AD", "MR", "DD", "IPR", "VR")
    r = published_correlations(names)["r"]
    assert r[0][1] == pytest.approx(0.05, abs=0.006)
    assert r[0][2] == pytest.approx(0.35, abs=0.006)
    assert r[3][4] == pytest.approx(0.69, abs=0.006)


def test_the_published_correlation_has_the_p_that_goes_with_it():
    # r = 0.693 with p < 1e-5: one point for each of the 33 models.
    x = np.linspace(-1, 1, 33)
    noise = np.cos(40 * x)
    noise -= noise @ x / (x @ x) * x + noise.mean()
    noise -= noise @ x / (x @ x) * x
    y = 0.693 * x / np.linalg.norm(x) + math.sqrt(1 - 0.693**2) * noise / np.linalg.norm(noise)
    correlation = pearson(list(x), list(y))
    assert correlation["r"] == pytest.approx(0.693)
    assert correlation["p"] == pytest.approx(7.8e-6, rel=0.02)
    assert correlation["fisher_interval"] == pytest.approx(
        pearsonr(x, y).confidence_interval(0.95), abs=1e-9
    )


def test_fishers_interval_has_the_textbook_value():
    # Zar, Biostatistical Analysis: r = 0.870, n = 12 has 0.592 to 0.963.
    assert fisher_interval(0.870, 12) == pytest.approx([0.592, 0.963], abs=2e-3)


@pytest.mark.parametrize("values", [([], []), ([1, 2], [1, 2]), ([1, 1, 1], [1, 2, 3])])
def test_an_undefined_correlation_is_none(values):
    assert pearson(*values)["r"] is None


@pytest.mark.parametrize("values", [([1, 1, 1, 1], [1, 2, 3, 4]), ([1, 2, 3, 4], [1, 1, 1, 1])])
def test_a_list_that_is_constant_has_no_correlation(values):
    assert pearson(*values) == {
        "n": 4,
        "r": None,
        "p": None,
        "fisher_interval": None,
        "bootstrap_interval": None,
    }


def test_three_models_have_a_correlation_four_a_fisher_interval_and_ten_one_over_models():
    rng = np.random.default_rng(4)
    for n in (3, 4, 9, 10):
        x = rng.random(n)
        y = x + 0.3 * rng.random(n)
        correlation = pearson(list(x), list(y))
        assert (correlation["r"], correlation["p"]) == pytest.approx(tuple(pearsonr(x, y)))
        assert (correlation["fisher_interval"] is None) is (n < 4)
        assert (correlation["bootstrap_interval"] is None) is (n < 10)
        if n == 10:
            low, high = correlation["bootstrap_interval"]
            assert -1 <= low < correlation["r"] < high <= 1


def test_lists_that_differ_by_less_than_one_are_not_constant():
    assert pearson([0.1, 0.2, 0.4], [0.3, 0.2, 0.1])["r"] < 0


def test_fishers_interval_begins_with_four_pairs_short_of_a_line():
    bounds = [math.tanh(math.atanh(0.5) + z) for z in (-1.96, 1.96)]
    assert fisher_interval(0.5, 4) == pytest.approx(bounds, abs=1e-4)
    assert fisher_interval(0.5, 3) is None
    assert fisher_interval(1.0, 12) is fisher_interval(-1.0, 12) is None


def test_fishers_interval_covers_the_truth():
    rng = np.random.default_rng(9)
    hits = 0
    for _ in range(600):
        x = rng.standard_normal(15)
        y = 0.6 * x + 0.8 * rng.standard_normal(15)
        low, high = fisher_interval(np.corrcoef(x, y)[0, 1], 15)
        hits += low <= 0.6 <= high
    assert hits / 600 == pytest.approx(0.95, abs=0.025)


@pytest.mark.thorough
def test_models_without_grounding_show_the_published_correlation_all_the_same(result):
    rng = np.random.default_rng(13)

    def run(skill):
        results = []
        for i in range(400):
            picture = f"p{i}"
            results += [
                result(f"h{i}", bool(rng.random() < skill), picture=picture),
                result(
                    f"l{i}", bool(rng.random() < 0.6), picture=picture, task=Task("ROI Grounding")
                ),
            ]
        return {**metrics(results), "credibility": credibility(results)}

    reliance = shortcut_reliance({f"m{i}": run(0.2 + 0.05 * i) for i in range(12)})
    assert reliance["published"]["r"] > 0.9
    assert reliance["published"]["fisher_interval"][0] > 0.7
    assert abs(reliance["grounding"]["r"]) < 0.6
    assert all(abs(point["grounding"]) < 0.2 for point in reliance["points"])
    assert [p["model"] for p in reliance["points"]] == [f"m{i}" for i in range(12)]


def test_a_run_without_pairs_is_no_point(result):
    results = [result("a")]
    empty = {**metrics(results), "credibility": credibility(results)}
    assert shortcut_reliance({"m": empty})["points"] == []


def test_a_run_without_diagnoses_is_no_point(result):
    rows = [
        result(f"{level}{i}", i % 2 == 0, picture=f"p{i}", **axes)
        for i in range(8)
        for level, axes in (("h", {}), ("l", {"task": Task("ROI Grounding")}))
    ]
    run = {**metrics(rows), "credibility": credibility(rows)}
    levels = {name: row for name, row in run["slices"]["level"].items() if name != "high"}
    other = {**run, "slices": {**run["slices"], "level": levels}}
    points = shortcut_reliance({"both": run, "perception": other})["points"]
    assert [point["model"] for point in points] == ["both"]


def test_the_published_columns_have_their_counts():
    assert published_correlations(("CT", "US"))["n"] == [COUNTS["CT"], COUNTS["US"]]
    assert published_correlations(("CT", "US"))["models"][0] == models()[0].model
