import pytest

from medrcube.review.models import Claim, Item
from medrcube.review.quality.agreement import IntervalEstimate
from medrcube.review.quality.agreement_gate import (
    BLIND_ACCURACY,
    agreement_by_stratum,
    agreement_of,
    gate_decision,
)
from medrcube.review.reviewing.edits import Edit, edit
from medrcube.review.reviewing.policy import Policy

STRATUM = "MRI | Abnormality Diagnosis | knowledge"


@pytest.fixture
def pair(person, add_shown, review):
    """Two reviewers who review items: ``pair(("accept", "reject"), ...)``; gives the items."""
    reviewers = person(), person()

    def make(*votes, options=(0, 0), **fields):
        items = []
        for decisions in votes:
            items.append(add_shown(**fields))
            for user, decision, option in zip(reviewers, decisions, options, strict=True):
                review(user, decision, option=option)
        return items

    make.reviewers = reviewers
    return make


def test_valid_reviews_of_current_versions_count(pair):
    pair(("accept", "accept"), ("accept", "accept"), ("accept", "reject"), ("reject", "reject"))
    agreement = agreement_of(STRATUM)
    assert agreement.estimates["raw"].value == 0.75
    assert agreement.estimates["raw"].items == 4
    assert agreement.raters == tuple(sorted(user.pseudonym for user in pair.reviewers))
    assert agreement.pairs.sum() == 4


def test_blind_answers_that_are_not_the_key_lower_the_accuracy(pair):
    pair(("accept", "accept"), options=(0, 1))
    pair(("accept", "accept"), options=(0, None))
    estimate = agreement_of(STRATUM).estimates[BLIND_ACCURACY]
    assert (estimate.value, estimate.items) == (0.5, 4)


def test_an_earlier_version_does_not_count(pair, person):
    first, _ = pair(("accept", "accept"), ("accept", "reject"))
    texts = ("Oedema", "Bleeding", "Calcification", "Cyst")
    question = "Which abnormality does this axial MRI slice of the brain show?"
    change = Edit(question=question, options=texts, key=0, note="term")
    edit(first.pk, 1, person("adjudicator"), change)
    assert agreement_of(STRATUM).estimates["raw"].items == 1


def test_a_review_that_was_taken_back_does_not_count(pair):
    pair(("accept", "accept"), ("accept", "reject"))
    gone = Claim.objects.order_by("pk").last()
    Claim.objects.filter(pk=gone.pk).update(released_at=gone.submitted_at, outcome="voided")
    assert agreement_of(STRATUM).estimates["raw"].items == 1


def test_gold_items_stand_apart(pair):
    _, measuring = pair(("accept", "accept"), ("reject", "reject"))
    Item.objects.filter(pk=measuring.pk).update(gold_defect="KEY_WRONG")
    assert agreement_of(STRATUM).estimates["raw"].items == 1


def test_strata_stand_apart_and_together(pair):
    pair(("accept", "accept"), stratum="B")
    pair(("reject", "reject"), ("accept", "reject"), stratum="A")
    everything, strata = agreement_by_stratum()
    assert [entry.stratum for entry in strata] == ["A", "B"]
    assert [entry.estimates["raw"].items for entry in strata] == [2, 1]
    assert everything.estimates["raw"].items == 3
    assert everything.stratum == ""


def test_without_reviews_nothing_can_be_told(project):
    everything, strata = agreement_by_stratum()
    assert strata == []
    assert everything.estimates["ac1"].reason == "no_pairs"
    assert everything.verdict.passed is None


def figures(ac1=0.7, rejects=0.6, blind=0.9):
    def estimate(name, value, low=None):
        return IntervalEstimate(
            name=name, value=value, low=low, reason="" if value else "no_variation"
        )

    return {
        "ac1": estimate("ac1", ac1 and ac1 + 0.1, ac1),
        "specific_reject": estimate("specific_reject", rejects),
        BLIND_ACCURACY: estimate(BLIND_ACCURACY, blind),
    }


def test_all_three_figures_let_a_stratum_pass():
    verdict = gate_decision(figures(), Policy())
    assert verdict.passed is True
    assert verdict.words == "may be released"


@pytest.mark.parametrize(
    ("low", "place"), [({"ac1": 0.59}, 0), ({"rejects": 0.49}, 1), ({"blind": 0.79}, 2)]
)
def test_each_figure_alone_holds_a_stratum_back(low, place):
    verdict = gate_decision(figures(**low), Policy())
    assert verdict.passed is False
    assert [condition.passed for condition in verdict.conditions].index(False) == place
    assert "at least" in verdict.conditions[place].words


def test_the_lower_bound_of_ac1_counts_and_not_its_value():
    assert gate_decision(figures(ac1=0.55), Policy()).passed is False  # its value is 0.65


def test_what_cannot_be_told_is_no_pass_and_no_failure():
    verdict = gate_decision(figures(ac1=None), Policy())
    assert verdict.passed is None
    assert "all reviews say the same" in verdict.conditions[0].words


def test_a_failure_outweighs_what_cannot_be_told():
    assert gate_decision(figures(ac1=None, blind=0.1), Policy()).passed is False


def test_the_gate_follows_the_policy():
    rules = Policy(ac1_lower=0.9, reject_agreement=0.0, blind_accuracy=0.0)
    assert gate_decision(figures(ac1=0.89), rules).passed is False
    assert gate_decision(figures(ac1=0.9), rules).passed is True
