"""The rules of a project as they are stored."""

import pytest

from medrcube.review.audit_trail.event_chain import verify_chain
from medrcube.review.errors import ReviewError
from medrcube.review.models import Event
from medrcube.review.reviewing.policy import MEANINGS, Policy, current_policy, queue_lot
from medrcube.review.reviewing.policy_change import change_policy, parse_changes


def test_a_policy_survives_being_stored():
    policy = Policy(reviews=3, gold_rate=0, seed=7)
    assert Policy.from_json(policy.to_json()) == policy
    assert Policy.from_json({}) == Policy()


def test_a_project_that_states_no_rules_has_two_blind_reviews_and_pauses_nobody():
    assert Policy().to_json() == {
        "reviews": 2,
        "unblinded_reviews": 0,
        "specialists": 0,
        "undo_minutes": 10,
        "lease_minutes": 20,
        "gold_rate": 0.05,
        "gold_share": 0.0,
        "gold_pass": 0.0,
        "gold_window": 10,
        "fast_seconds": 10,
        "ac1_lower": 0.6,
        "reject_agreement": 0.5,
        "blind_accuracy": 0.8,
        "seed": 0,
    }


def test_every_rule_has_a_meaning():
    assert list(MEANINGS) == list(Policy().to_json())
    assert all(MEANINGS.values())


SHARES = ("gold_rate", "gold_share", "gold_pass", "ac1_lower", "reject_agreement")


@pytest.mark.parametrize(
    ("name", "least", "most", "step"),
    [
        ("reviews", 1, 9, 1),
        ("unblinded_reviews", 0, 1, 1),
        ("specialists", 0, 2, 1),
        ("undo_minutes", 0, 1440, 1),
        ("lease_minutes", 1, None, 1),
        ("gold_window", 1, None, 1),
        ("fast_seconds", 0, None, 1),
        *((name, 0, 1, 0.01) for name in (*SHARES, "blind_accuracy")),
    ],
)
def test_the_ends_of_what_a_rule_may_be_are_allowed_and_no_more(name, least, most, step):
    for value in (least, most):
        if value is not None:
            assert getattr(Policy(**{name: value}), name) == value
    with pytest.raises(ReviewError, match=f"policy: {name}"):
        Policy(**{name: least - step})
    if most is not None:
        with pytest.raises(ReviewError, match=f"policy: {name}"):
            Policy(**{name: most + step})


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


def test_a_rule_that_does_not_exist_is_answered_with_those_that_do():
    with pytest.raises(ReviewError, match="no rule is called 'blind'; expected one of reviews, "):
        Policy.from_json({"blind": True})


def test_the_lot_depends_on_the_seed_and_fits_the_column():
    lots = [queue_lot(seed, item) for seed in (0, 1) for item in "abc"]
    assert len(set(lots)) == 6
    assert all(0 <= number < 2**63 for number in lots)
    assert queue_lot(0, "a") == lots[0]


def test_a_changed_rule_holds_at_once_and_stands_in_the_trail(project):
    project()
    change_policy("console", {"gold_rate": 0.1})
    assert current_policy().gold_rate == 0.1
    last = Event.objects.order_by("-number")[0]
    assert (last.kind, last.actor) == ("policy.changed", "console")
    assert '"gold_rate":0.1' in last.body
    assert not verify_chain().fault


def test_a_change_to_the_same_rules_leaves_no_trace(project):
    project()
    before = Event.objects.count()
    change_policy("console", {"reviews": current_policy().reviews})
    assert Event.objects.count() == before


@pytest.mark.parametrize("change", [{"reviews": 3}, {"seed": 9}])
def test_what_a_finished_item_depends_on_is_fixed_once_items_are_handed_out(take_claim, change):
    take_claim()
    before = current_policy()
    with pytest.raises(ReviewError, match="handed out"):
        change_policy("console", change)
    assert current_policy() == before


def test_other_rules_may_change_while_people_read(take_claim):
    take_claim()
    assert change_policy("console", {"lease_minutes": 5}).lease_minutes == 5


@pytest.mark.parametrize("word", ["reviews", "reviews=", "reviews=three", "=3x"])
def test_a_change_that_is_no_number_is_refused_with_an_example(word):
    with pytest.raises(ReviewError, match="reviews=3"):
        parse_changes([word])
