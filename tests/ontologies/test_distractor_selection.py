import time
from collections import Counter

import pytest

from medrcube.facts import Grade, Scope
from medrcube.ontologies.difficulty import Difficulty
from medrcube.ontologies.distractor_safety import (
    CaseFacts,
    DistractorRequest,
    Evidence,
    SafetyRules,
)
from medrcube.ontologies.distractor_selection import (
    ExclusiveGroup,
    LabelTable,
    LabelUsage,
    choose_distractors,
    judge_candidates,
    seeded_order,
)
from medrcube.ontologies.terms import TermError
from medrcube.taxonomy import Anatomy, Modality

RULES = SafetyRules()
POOL = ("Cardiomegaly", "Pneumothorax", "Hernia", "Fracture", "scoliosis", "osteopenia")


def request(key, absent=(), *, group=None, pool=()):
    def mark(scope):
        return Evidence(field="finding", scope=scope, grade=Grade.A)

    return DistractorRequest(
        key=key,
        ground=CaseFacts(
            present={key: mark(Scope.IMAGE)},
            absent={label: mark(Scope.IMAGE) for label in absent},
            unknown=frozenset(),
            anatomy=Anatomy("Chest"),
            modality=Modality("X-ray"),
        ),
        scope=Scope.IMAGE,
        group=group,
        pool=pool,
    )


def pick(key_request, *, seed="0", options=4, prior=None):
    return choose_distractors(
        key_request, RULES, options=options, seed=seed, prior=prior or LabelUsage(keyed={})
    )


def test_a_group_gives_its_other_members():
    choice = pick(request("AP", group="chest view"))
    assert {distractor.label for distractor in choice.distractors} == {"PA", "LATERAL"}
    assert {distractor.strategy for distractor in choice.distractors} == {"predefined"}


def test_a_part_of_a_member_draws_from_the_group_without_the_member():
    choice = pick(request("BI-RADS 4A", group="BI-RADS"), options=9)
    assert {distractor.label for distractor in choice.distractors} == {
        f"BI-RADS {n}" for n in (0, 1, 2, 3, 5, 6)
    }


def test_a_key_outside_its_group_is_an_error():
    with pytest.raises(TermError, match="not a member"):
        pick(request("Edema", group="chest view"))


def test_the_label_table_gives_labels_of_the_kind_of_the_key():
    key_request = request("Fracture", pool=("Emphysema", "Hernia", "No Finding", "Fracture"))
    assert LabelTable().candidates(key_request, RULES) == ("Hernia", "No Finding")
    assert ExclusiveGroup().candidates(key_request, RULES) == ()


def test_refusals_are_counted_with_their_reason():
    choice = pick(request("Consolidation", ["Hernia"], pool=("Hernia", "Infiltration", "Edema")))
    assert [distractor.label for distractor in choice.distractors] == ["Hernia"]
    assert set(choice.refused) == {"Infiltration", "Edema"}


def test_no_more_options_are_chosen_than_asked():
    choice = pick(request("Fracture", POOL, pool=POOL), options=2)
    assert len(choice.distractors) == 1


def test_the_same_seed_chooses_the_same_in_any_order_of_the_pool():
    choice = pick(request("Fracture", POOL, pool=POOL), seed="7")
    other = pick(request("Fracture", POOL, pool=POOL[::-1]), seed="7")
    assert choice.distractors == other.distractors


def test_labels_are_used_in_proportion_to_how_often_they_are_keys():
    keyed = Counter(
        {"Cardiomegaly": 60, "Pneumothorax": 60, "Hernia": 60, "Fracture": 60, "osteopenia": 6}
    )
    prior = LabelUsage(keyed=keyed)
    for key, count in keyed.items():
        for number in range(count):
            pick(request(key, POOL, pool=POOL), seed=f"{key}{number}", prior=prior)
    for label, count in keyed.items():
        assert prior.used[label] / count == pytest.approx(3, rel=0.25)
    assert prior.used["scoliosis"] < 10


def test_the_sources_are_asked_in_their_order_of_trust():
    class More:
        strategy = "llm"

        def candidates(self, request, rules):  # noqa: ARG002
            return ("Hernia", "osteopenia")

    key_request = request("Fracture", POOL, pool=("Hernia", "Pneumothorax"))
    sources = (LabelTable(), More())
    choice = choose_distractors(
        key_request,
        RULES,
        options=4,
        seed="0",
        prior=LabelUsage(keyed={"osteopenia": 99}),
        sources=sources,
    )
    strategies = {distractor.label: distractor.strategy for distractor in choice.distractors}
    assert strategies == {"Hernia": "knowledge", "Pneumothorax": "knowledge", "osteopenia": "llm"}
    fewer = choose_distractors(
        key_request,
        RULES,
        options=3,
        seed="0",
        prior=LabelUsage(keyed={"osteopenia": 99}),
        sources=sources,
    )
    assert {distractor.strategy for distractor in fewer.distractors} == {"knowledge"}


def test_the_wanted_difficulty_comes_before_use():
    key_request = request("BI-RADS 3", group="BI-RADS")
    easy_to_balance = LabelUsage(keyed={"BI-RADS 0": 99})
    choice = choose_distractors(
        key_request, RULES, options=3, seed="0", prior=easy_to_balance, difficulty=Difficulty.HARD
    )
    assert {distractor.label for distractor in choice.distractors} == {"BI-RADS 2", "BI-RADS 4"}


def test_a_pool_holds_every_safe_candidate_and_a_reason_for_the_others():
    pool = judge_candidates(request("Fracture", ["Hernia"], pool=("Hernia", "Pneumothorax")), RULES)
    assert set(pool.allowed) == {"Hernia"}
    assert pool.refused == {"Pneumothorax": "no-evidence"}
    assert {1, 10, 12} <= set(pool.allowed["Hernia"].passed)


def test_lots_put_no_label_before_another():
    labels = [f"label {number}" for number in range(5)]
    first = Counter(min(labels, key=seeded_order(f"seed {number}")) for number in range(2000))
    assert min(first.values()) > 300
    assert [seeded_order("a")(label) for label in labels] == [
        seeded_order("a")(label) for label in labels
    ]


def test_ten_thousand_sets_take_seconds():
    keys = [(key, number) for number in range(100) for key in POOL]
    prior = LabelUsage(keyed=Counter(key for key, _ in keys))
    started = time.process_time()
    for key, number in keys:
        pick(request(key, POOL, pool=POOL), seed=f"{key}{number}", prior=prior)
    assert (time.process_time() - started) / len(keys) < 20 / 10_000
