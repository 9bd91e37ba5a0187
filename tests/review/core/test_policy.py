"""The rules of a project as they are stored."""

import pytest

from medrcube.review.errors import ReviewError
from medrcube.review.policy import Policy, lot


def test_a_policy_survives_being_stored():
    policy = Policy(reviews=3, gold_rate=0, seed=7)
    assert Policy.from_json(policy.to_json()) == policy
    assert Policy.from_json({}) == Policy()


@pytest.mark.parametrize(
    "data",
    [
        {"reviews": 0},
        {"reviews": 10},
        {"reviews": 2.0},
        {"reviews": True},
        {"reviews": "2"},
        {"lease_minutes": 0},
        {"gold_window": 0},
        {"gold_rate": 1.1},
        {"gold_pass": -0.1},
        {"ac1_lower": None},
        {"blind": True},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_by_name(data):
    with pytest.raises(ReviewError, match=f"policy: .*{next(iter(data))}"):
        Policy.from_json(data)


def test_the_lot_depends_on_the_seed_and_fits_the_column():
    drawn = [lot(seed, item) for seed in (0, 1) for item in "abc"]
    assert len(set(drawn)) == 6
    assert all(0 <= number < 2**63 for number in drawn)
    assert lot(0, "a") == drawn[0]
