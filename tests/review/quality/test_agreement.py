import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from medrcube.review.quality.agreement import (
    agreement_panel,
    brennan_prediger,
    cohen_kappa,
    defect_bound,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    pairs_table,
    rating_table,
    raw_agreement,
    share_estimate,
    specific_agreement,
)

CHANCE_CORRECTED = (cohen_kappa, fleiss_kappa, krippendorff_alpha, brennan_prediger, gwet_ac1)


def table(cells, labels=()):
    """Ratings of two raters from how often each pair of labels occurs."""
    return rating_table([pair for pair, count in cells.items() for _ in range(count)], labels)


ACCEPT_HEAVY = table(
    {("accept", "accept"): 186, ("accept", "reject"): 7, ("reject", "accept"): 7},
    ("accept", "revise", "reject"),
)
"""Nearly everything is accepted, and the two never reject the same item."""

_GWET = "11.1 2232 3333 3333 2222 1234 4444 1121 2222 .555 ..11 ..3."
GWET = rating_table(
    [[None if label == "." else label for label in row] for row in _GWET.split(" ")]
)
"""Twelve items, four raters, five labels: Gwet's Handbook (4th ed., p. 120) and Krippendorff's
"Computing Krippendorff's Alpha-Reliability" (2011); figures in the vignette of irrCAC."""

FLEISS = rating_table(
    [
        [label for label, count in zip("abcde", counts, strict=True) for _ in range(count)]
        for counts in (
            (0, 0, 0, 0, 14),
            (0, 2, 6, 4, 2),
            (0, 0, 3, 5, 6),
            (0, 3, 9, 2, 0),
            (2, 2, 8, 1, 1),
            (7, 7, 0, 0, 0),
            (3, 2, 6, 3, 0),
            (2, 5, 3, 2, 2),
            (6, 5, 2, 1, 0),
            (0, 2, 2, 3, 7),
        )
    ]
)
"""Ten items, fourteen raters, five labels: the example of the article "Fleiss' kappa" in
Wikipedia, 0.210."""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("raw", 0.930),
        ("cohen", -0.0363),
        ("fleiss", -0.0363),
        ("alpha", -0.0337),
        ("brennan_prediger", 0.860),
        ("ac1", 0.925),
        ("specific_reject", 0.0),
    ],
)
def test_an_accept_heavy_pool_of_which_one_figure_would_tell_the_wrong_story(name, value):
    entry = agreement_panel(ACCEPT_HEAVY, "reject")[name]
    assert entry.value == pytest.approx(value, abs=5e-4 if value > 0 else 5e-5)


def test_the_interval_of_ac1_is_gwets():
    estimate = gwet_ac1(ACCEPT_HEAVY)
    assert (round(estimate.low, 3), round(estimate.high, 3)) == (0.884, 0.966)
    assert estimate.items == 200


def test_rejects_of_which_none_is_shared_are_counted_and_bounded():
    estimate = specific_agreement(ACCEPT_HEAVY, "reject")
    assert (estimate.value, estimate.items) == (0.0, 14)
    assert estimate.low == 0.0
    # Wilson's upper end of 0 of 14 is 0.2153; carried over, 2 x / (1 + x).
    assert estimate.high == pytest.approx(2 * 0.21531 / 1.21531, abs=1e-4)


@pytest.mark.parametrize(
    ("coefficient", "value"),
    [
        (raw_agreement, 0.81818),
        (fleiss_kappa, 0.76117),
        (krippendorff_alpha, 0.74342),
        (brennan_prediger, 0.77273),
        (gwet_ac1, 0.77544),
    ],
)
def test_published_figures_with_ratings_missing(coefficient, value):
    assert coefficient(GWET).value == pytest.approx(value, abs=5e-6)


def test_the_published_interval_of_ac1_with_ratings_missing():
    estimate = gwet_ac1(GWET)
    assert (round(estimate.low, 3), estimate.high) == (0.461, 1.0)


def test_fleiss_published_example():
    assert fleiss_kappa(FLEISS).value == pytest.approx(0.210, abs=5e-4)


def test_cohens_kappa_by_hand():
    """Cells 20, 5, 10, 15 of 50: agreed 0.7, by chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5."""
    grants = table({("y", "y"): 20, ("y", "n"): 5, ("n", "y"): 10, ("n", "n"): 15})
    assert cohen_kappa(grants).value == pytest.approx(0.4)


def test_cohens_kappa_looks_at_items_that_both_have_rated():
    rows = [("y", "y"), ("n", "n"), ("y", "n"), ("y", None), (None, "n")]
    assert cohen_kappa(rating_table(rows)).value == cohen_kappa(rating_table(rows[:3])).value
    assert cohen_kappa(rating_table(rows)).items == 3


def test_specific_agreement_by_hand():
    """Twice both over twice both and the single ones: 2 * 6 / (2 * 6 + 1 + 3)."""
    pair = table({("a", "a"): 20, ("a", "r"): 1, ("r", "a"): 3, ("r", "r"): 6})
    assert specific_agreement(pair, "r").value == pytest.approx(12 / 16)
    assert specific_agreement(pair, "r").items == 10


def test_specific_agreement_counts_a_rating_once_however_many_have_seen_the_item():
    """Two of three say r: each r meets one r in two others. One of two: none."""
    mixed = rating_table([("r", "r", "a"), ("r", "a", None)])
    assert specific_agreement(mixed, "r").value == pytest.approx((0.5 + 0.5 + 0) / 3)


@pytest.mark.parametrize("coefficient", CHANCE_CORRECTED)
def test_equal_ratings_have_no_chance_corrected_value(coefficient):
    estimate = coefficient(table({("accept", "accept"): 30}))
    assert (estimate.value, estimate.low, estimate.high) == (None, None, None)
    assert estimate.reason == "no_variation"
    assert estimate.items == 30


def test_equal_ratings_agree_all_the_same():
    result = raw_agreement(table({("accept", "accept"): 30}))
    assert (result.value, result.high) == (1.0, 1.0)
    assert result.low == pytest.approx(0.8865, abs=1e-4)


@pytest.mark.parametrize("coefficient", [raw_agreement, *CHANCE_CORRECTED])
@pytest.mark.parametrize("rows", [[], [("a", None)], [("a", None), (None, "b")]])
def test_without_two_ratings_of_an_item_there_is_no_value(coefficient, rows):
    estimate = coefficient(rating_table(rows))
    assert estimate.value is None
    assert estimate.reason == "no_pairs"


def test_a_category_that_nobody_chose_has_no_agreement():
    estimate = specific_agreement(table({("accept", "accept"): 3}, ("accept", "reject")), "reject")
    assert (estimate.value, estimate.reason) == (None, "not_used")


def test_cohens_kappa_needs_two_raters():
    result = cohen_kappa(rating_table([("a", "b", None), ("a", None, "b")]))
    assert (result.value, result.reason) == (None, "not_two_raters")


def test_a_category_that_nobody_uses_does_not_raise_a_figure():
    cells = {("a", "a"): 8, ("a", "r"): 2}
    for coefficient in (brennan_prediger, gwet_ac1):
        plain, padded = table(cells), table(cells, ("a", "x", "y", "r"))
        assert coefficient(plain) == coefficient(padded)


@pytest.mark.parametrize("coefficient", [cohen_kappa, fleiss_kappa, krippendorff_alpha])
def test_no_interval_where_nobody_differs(coefficient):
    estimate = coefficient(table({("a", "a"): 40, ("r", "r"): 5}))
    assert estimate.value == pytest.approx(1.0)
    assert (estimate.low, estimate.high, estimate.reason) == (None, None, "too_few")


def test_ac1_of_a_few_equal_items_is_not_sure():
    """Gwet's variance is 0 there; three items must not pass a gate."""
    few, many = (gwet_ac1(table({("a", "a"): 2 * n, ("r", "r"): n})) for n in (1, 100))
    assert few.value == many.value == pytest.approx(1.0)
    assert few.low < 0.2
    assert many.low > 0.95


def test_one_item_has_a_value_and_no_interval():
    estimate = gwet_ac1(rating_table([("a", "r")]))
    assert estimate.value == pytest.approx(-1.0)
    assert (estimate.low, estimate.reason) == (None, "too_few")


def test_the_interval_shrinks_as_items_grow():
    spans = []
    for size in (1, 4, 16):
        cells = {("a", "a"): 16 * size, ("a", "r"): 3 * size, ("r", "r"): 4 * size}
        spans.append(
            [entry.high - entry.low for entry in agreement_panel(table(cells), "r").values()]
        )
    for wide, less, least in zip(*spans, strict=True):
        assert wide > less > least


def test_the_bootstrap_gives_the_same_interval_every_time():
    assert agreement_panel(ACCEPT_HEAVY, "reject") == agreement_panel(ACCEPT_HEAVY, "reject")


def test_the_bootstrap_covers_what_it_should():
    """Of 60 samples of 80 items from one population, 95 % of the intervals hold its kappa."""
    generator = np.random.default_rng(7)
    shares = {("a", "a"): 0.6, ("a", "r"): 0.1, ("r", "a"): 0.1, ("r", "r"): 0.2}
    agreed, use = 0.8, 0.7
    true = (agreed - (use**2 + (1 - use) ** 2)) / (1 - (use**2 + (1 - use) ** 2))
    hits = 0
    for _ in range(60):
        counts = generator.multinomial(80, list(shares.values()))
        result = fleiss_kappa(table(dict(zip(shares, counts, strict=True))))
        hits += result.low <= true <= result.high
    assert hits >= 52


def test_wilsons_interval():
    """Figures of Newcombe (Stat Med 1998, 17:857), method 3: 81 of 263, 15 of 148, 0 of 20."""
    for count, total, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605)):
        share = share_estimate("share", count, total)
        assert (share.low, share.high) == pytest.approx((low, high), abs=5e-5)
    none = share_estimate("share", 0, 20)
    assert (none.low, none.high) == (0.0, pytest.approx(0.1611, abs=5e-5))


def test_a_share_of_nothing_has_no_value():
    assert share_estimate("blind_accuracy", 0, 0).value is None
    assert share_estimate("blind_accuracy", 3, 4).value == 0.75


def test_an_audit_without_a_defect_bounds_the_rate():
    assert defect_bound(300) == pytest.approx(0.01)
    assert defect_bound(1) == 1.0
    with pytest.raises(ValueError, match="0 audited"):
        defect_bound(0)


def test_two_raters_have_a_table_of_their_own():
    cells = {("a", "a"): 5, ("a", "r"): 2, ("r", "a"): 1, ("r", "r"): 3}
    assert pairs_table(table(cells)).tolist() == [[5, 2], [1, 3]]


def test_pairs_of_more_raters_stand_above_the_diagonal():
    rows = [("a", "a", "r"), ("r", "r", None), ("a", None, None)]
    assert pairs_table(rating_table(rows)).tolist() == [[1, 2], [0, 1]]


LABELS = ("a", "e", "r")
CELLS = st.sampled_from((*LABELS, None))
TABLES = st.integers(2, 4).flatmap(
    lambda raters: st.lists(st.tuples(*[CELLS] * raters).filter(any), min_size=1, max_size=12)
)


def values(rows, critical="r"):
    result = agreement_panel(rating_table(rows, LABELS), critical)
    return {name.removesuffix(f"_{critical}"): value.value for name, value in result.items()}


def close(first, second):
    return first.keys() == second.keys() and all(
        first[name] == second[name] or math.isclose(first[name], second[name], abs_tol=1e-9)
        for name in first
    )


@given(TABLES, st.randoms(use_true_random=False))
def test_the_order_of_items_and_raters_says_nothing(rows, random):
    columns = list(range(len(rows[0])))
    random.shuffle(columns)
    moved = [tuple(row[column] for column in columns) for row in rows]
    random.shuffle(moved)
    assert close(values(rows), values(moved))


@given(TABLES, st.permutations(LABELS))
def test_the_names_of_labels_say_nothing(rows, names):
    other = dict(zip(LABELS, names, strict=True))
    renamed = [tuple(label and other[label] for label in row) for row in rows]
    assert close(values(rows), values(renamed, other["r"]))


@given(TABLES)
def test_every_value_lies_in_its_bounds_and_in_its_interval(rows):
    for name, value in agreement_panel(rating_table(rows, LABELS), "r").items():
        if value.value is None:
            assert value.reason
            continue
        assert value.value <= 1 + 1e-9
        assert value.value >= 0 or name not in ("raw", "specific_r")
        if value.low is not None:
            assert value.low <= value.high
        if name in ("raw", "brennan_prediger", "ac1", "specific_r") and value.low is not None:
            assert value.low - 1e-9 <= value.value <= value.high + 1e-9


@given(st.lists(st.sampled_from(LABELS), min_size=2, max_size=12), st.integers(2, 4))
def test_perfect_agreement_is_one(labels, raters):
    assume(len(set(labels)) > 1)
    result = values([(label,) * raters for label in labels])
    assert all(value == pytest.approx(1.0) for name, value in result.items() if value is not None)
    assert all(result[name] is not None for name in ("raw", "fleiss", "alpha", "ac1"))


@given(st.lists(st.tuples(*[st.sampled_from(LABELS)] * 3), min_size=2, max_size=12))
def test_alpha_is_fleiss_kappa_corrected_for_few_ratings(rows):
    """For complete tables 1 - alpha = (1 - kappa) (N - 1) / N, with N ratings in all."""
    result, ratings_in_all = values(rows), 3 * len(rows)
    assume(result["alpha"] is not None)
    expected = (1 - result["fleiss"]) * (ratings_in_all - 1) / ratings_in_all
    assert 1 - result["alpha"] == pytest.approx(expected)


def test_agreement_of_all_pairs_of_three_raters_by_enumeration():
    rows = [("a", "a", "r"), ("e", "e", "e"), ("a", "e", "r"), ("r", "r", None)]
    shares = []
    for row in rows:
        pairs = list(itertools.combinations([label for label in row if label], 2))
        shares.append(sum(first == second for first, second in pairs) / len(pairs))
    assert raw_agreement(rating_table(rows)).value == pytest.approx(sum(shares) / len(shares))
