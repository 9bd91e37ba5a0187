"""Whatever reviewers, specialties and assignments there are, the rule about specialists holds."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.review.assigning.assignment import AssignmentScope, create_assignment
from medrcube.review.assigning.outstanding import queued_groups, staffing_gaps, why_queue_empty
from medrcube.review.models import Claim, Item
from medrcube.review.reviewing.claims import claim_next, give_back
from medrcube.review.reviewing.policy import Policy, current_policy
from medrcube.review.reviewing.policy_change import change_policy
from medrcube.review.reviewing.review_slots import has_free_slot, is_reserved

FIELDS = [("Brain", "MRI"), ("Breast", "Ultrasound"), ("Chest", "CT"), ("Heart", "Ultrasound")]
SPECIALTIES = ["radiology:neuro", "radiology:breast", "Chest", "Ultrasound", "cardiology:echo"]


@given(
    st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
    st.lists(st.booleans(), max_size=40),
)
def test_reviewers_in_any_order_fill_an_item_by_the_rule_and_never_block_it(rule, reviewers):
    rules = Policy(reviews=rule[0], specialists=rule[1])
    flags = []
    for specialist in reviewers:
        if has_free_slot(flags, rules, specialist=specialist):
            flags.append(specialist)
        complete = len(flags) >= rules.reviews and sum(flags) >= rules.specialists
        assert complete != has_free_slot(flags, rules, specialist=True)
        assert is_reserved(flags, rules) == (
            not complete and not has_free_slot(flags, rules, specialist=False)
        )
    assert len(flags) <= rules.reviews
    assert len(flags) - sum(flags) <= rules.reviews - rules.specialists


@given(st.integers(1, 5), st.integers(0, 5), st.lists(st.booleans(), max_size=9))
def test_whatever_was_reviewed_under_another_rule_specialists_can_finish(
    reviews, specialists, flags
):
    rules = Policy(reviews=reviews, specialists=min(specialists, reviews))
    flags = list(flags)
    while has_free_slot(flags, rules, specialist=True):
        flags.append(True)
    assert len(flags) >= rules.reviews
    assert sum(flags) >= rules.specialists


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_completed_against_the_rule_and_nothing_starves(
    any_project, person, add_items, review, seed
):
    chance = random.Random(seed)
    reviews = chance.choice((1, 2, 3))
    any_project(
        gold_rate=0.0, reviews=reviews, specialists=chance.randint(0, reviews), undo_minutes=0
    )
    for anatomy, modality in FIELDS:
        add_items(chance.randint(1, 6), anatomy=anatomy, modality=modality)
    people = [
        person(specialties=chance.sample(SPECIALTIES, chance.randint(0, 2)))
        for _ in range(chance.randint(3, 8))
    ]
    manager = person("manager")
    for anatomy, _ in chance.sample(FIELDS, chance.randint(0, 2)):
        named = chance.sample(people, chance.randint(1, len(people)))
        mode = chance.choice(("only", "first"))
        create_assignment(
            manager, AssignmentScope(anatomy=anatomy), [user.pk for user in named], mode=mode
        )
    work_until_nothing_is_left(people, chance, review)
    rules = current_policy()
    check(rules)
    hopeless = {(gap.anatomy, gap.modality) for gap in staffing_gaps(queued_groups(), rules)}
    waiting_kinds = set(Item.objects.filter(state="queued").values_list("anatomy", "modality"))
    assert waiting_kinds == hopeless, (
        "what waits is what nobody can finish, and the manager is told"
    )
    for user in people:
        result = why_queue_empty(user, rules)
        waits = sum(items for *_, items in result.specialist) + result.assigned
        reviewed = Claim.objects.filter(
            user=user, submitted_at__isnull=False, version__item__state="queued"
        )
        queued = Item.objects.filter(state="queued").count()
        assert waits + reviewed.count() >= queued, "a reviewer is told why nothing is there"
    change_policy("boss", {"specialists": 0})
    work_until_nothing_is_left(people, chance, review)
    check(current_policy())


def work_until_nothing_is_left(people, chance, review):
    idle = set()
    while len(idle) < len(people):
        user = chance.choice(people)
        if chance.random() < 0.1:
            claim = claim_next(user)
            if claim is not None:
                give_back(claim.token, user, not_my_field=False)
            continue
        if review(user) is None:
            idle.add(user.pk)
        else:
            idle.clear()


def check(rules):
    for item in Item.objects.exclude(state="queued"):
        valid = Claim.objects.filter(
            version__item=item, submitted_at__isnull=False, released_at=None
        )
        assert valid.count() >= rules.reviews
        assert valid.filter(specialist=True).count() >= rules.specialists


@pytest.fixture
def any_project(project):
    return project
