"""Readers of numbers who do not look: the best constant, and a regression on the frame."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.audit.shortcuts.number_priors import constant_prior, scale_prior

BANDS = st.lists(
    st.tuples(st.floats(1, 50), st.floats(0, 20)).map(lambda band: (band[0], sum(band))),
    min_size=1,
    max_size=30,
)


def bands(values, share=0.2):
    return values / (1 + share), values * (1 + share)


def names(count):
    return [f"p{number}" for number in range(count)]


@given(BANDS, st.floats(0, 80))
def test_no_constant_passes_more_than_its_prior_and_one_passes_as_many(spans, constant):
    low, high = np.array(spans).T
    prior = constant_prior(low, high)
    assert ((low <= constant) & (constant <= high)).mean() <= prior
    assert max(((low <= each) & (each <= high)).mean() for each in low) == pytest.approx(prior)


def test_a_constant_passes_little_of_sizes_that_are_spread_evenly():
    values = np.exp(np.linspace(np.log(3), np.log(60), 200))
    width = 2 * np.log(1.2) / np.log(20)
    assert constant_prior(*bands(values)) == pytest.approx(width, abs=0.01)


def test_sizes_that_follow_the_extent_of_the_image_are_noticed():
    luck = np.random.default_rng(0)
    extent = np.exp(luck.uniform(np.log(50), np.log(400), 300))
    values = 0.4 * extent * np.exp(luck.normal(0, 0.05, 300))
    visible = np.log(extent)[:, None]
    assert scale_prior(values, *bands(values), visible, names(300)) > 0.95
    assert constant_prior(*bands(values)) < 0.35


def test_images_of_one_size_tell_a_regression_no_more_than_a_constant():
    values = np.random.default_rng(1).lognormal(3, 0.6, 200)
    constant = constant_prior(*bands(values))
    alike = scale_prior(values, *bands(values), np.zeros((200, 2)), names(200))
    assert alike == pytest.approx(constant, abs=0.03)


def test_a_patient_is_no_help_for_own_items():
    values = np.array([5.0, 5.0, 50.0, 50.0, 9.0, 20.0])
    visible = np.array([1.0, 1, 2, 2, 1.4, 1.6])[:, None]
    pairs = ["a", "a", "b", "b", "c", "d"]
    alone = scale_prior(values, *bands(values, 0.02), visible, names(6))
    assert scale_prior(values, *bands(values, 0.02), visible, pairs) <= alone


def test_of_too_few_patients_nothing_is_learnt():
    values = np.array([5.0, 50.0])
    visible = np.log(values)[:, None]
    assert scale_prior(values, *bands(values), visible, names(2)) == 0.5
