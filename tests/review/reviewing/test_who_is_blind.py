"""Nobody is asked blind what they have been shown; at any time, on both databases."""

import json
import random
from collections import Counter
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from medrcube.review.assigning.outstanding import EmptyQueueReasons, why_queue_empty
from medrcube.review.errors import ReviewError
from medrcube.review.exchange.export_decisions import export_decisions
from medrcube.review.exchange.remarks import import_remarks
from medrcube.review.models import Claim, Disclosure, Exposure, Item, ItemVersion
from medrcube.review.quality.agreement_gate import BLIND_ACCURACY, agreement_by_stratum
from medrcube.review.quality.gold_items import make_gold
from medrcube.review.reviewing import edits
from medrcube.review.reviewing.claims import claim_next, give_back, renew
from medrcube.review.reviewing.consensus import consensus_transition
from medrcube.review.reviewing.policy import Policy, current_policy
from medrcube.review.reviewing.steps import answer_blind
from medrcube.review.visibility import disclosure
from medrcube.review.visibility.disclosure import disclosure_between, disclosure_pairs, item_content

NOW = timezone.now()
EVIDENCE = {"source": "toy: Images of the chest", "slice": "7 of 9", "sample": "s"}


def content_of(name, question, options, key=0, **about):
    rows = [{"text": text, "concept": concept} for text, concept in options]
    return item_content(name, question, rows, key, {**EVIDENCE, **about})


ORGAN = content_of("organ", "What is outlined?", [("Left lung", "Left lung"), ("Heart", "Heart")])
BOX = content_of(
    "box", "Which box holds the heart?", [("Box 1", ""), ("Box 2", "")], concept="Heart"
)
MODALITY = content_of(
    "modality",
    "What produced this image?",
    [("Radiography (X-ray)", "X-ray"), ("Computed tomography (CT)", "CT")],
)
FINDING = content_of(
    "finding",
    "Which finding does this chest radiograph show?",
    [("Pneumothorax", "Pneumothorax"), ("Fracture", "Fracture")],
)
GRADE = content_of("grade", "How severe is zone A?", [("Mild", ""), ("Severe", "")], group="zone A")
OTHER_GRADE = content_of(
    "other grade", "Grade zone A.", [("None", ""), ("Moderate", "")], group="zone A"
)
FREE = content_of("free", "Where is it?", [("Upper field", "Upper"), ("Lower field", "Lower")])


@pytest.mark.parametrize(
    ("by", "expected", "at_sight"),
    [
        (ORGAN, BOX, False),
        (BOX, ORGAN, False),
        (FINDING, MODALITY, True),
        (MODALITY, FINDING, None),
        (GRADE, OTHER_GRADE, False),
        (FREE, FINDING, None),
        (FINDING, FREE, None),
    ],
    ids=lambda value: getattr(value, "item", str(value)),
)
def test_an_item_tells_another_by_concept_group_or_words(by, expected, at_sight):
    result = disclosure_between(by, expected)
    assert (result and result.at_sight) is at_sight


def test_what_the_evidence_names_is_told():
    left_or_right = content_of(
        "a", "Where?", [("Left", "L"), ("Right", "R")], case="Effusion/IM-001"
    )
    questions = content_of("b", "Which finding?", [("Effusion", "E"), ("Nodule", "N")])
    assert disclosure_between(left_or_right, questions)
    assert disclosure_between(questions, left_or_right) is None


words = st.text("abcdef ", min_size=1, max_size=12)
items = st.builds(
    content_of,
    st.integers(0, 10**6).map(str),
    words,
    st.lists(st.tuples(words, st.sampled_from("ABCDEFG")), min_size=2, max_size=4),
)


@given(items, items)
def test_a_shared_concept_is_told_both_ways(first, second):
    if first.concepts & second.concepts:
        assert disclosure_between(first, second)
        assert disclosure_between(second, first)


@pytest.fixture
def case(add_items):
    """Make the items of one case; each has the wording of an ``Asked``."""

    def make(name, *rows):
        new_items = add_items(len(rows), case_key=name)
        for item, row in zip(new_items, rows, strict=True):
            reword(item, row)
        disclosure.refresh_disclosures([item.pk for item in new_items], NOW)
        return new_items

    return make


def reword(item, row):
    """Versions are append-only, so the one that stands there gives way to a second one."""
    old = ItemVersion.objects.get(item=item)
    options = [
        {"text": text, "concept": concept}
        for text, concept in zip(row.texts, concepts_of(row), strict=True)
    ]
    ItemVersion.objects.create(
        item=item,
        number=2,
        question=row.question,
        options=options,
        key=row.key,
        picture=old.picture,
        provenance={"group": row.group, **EVIDENCE},
        content_sha256="0" * 64,
        created_at=old.created_at,
    )
    Item.objects.filter(pk=item.pk).update(version=2)


def concepts_of(row):
    return (row.true, *sorted(row.concepts - {row.true}), "", "", "")[: len(row.texts)]


def test_a_reviewer_is_not_handed_what_a_key_has_told(any_database, case, person, review):
    case("one", ORGAN, BOX)
    reviewer = person()
    assert review(reviewer) is not None
    assert claim_next(reviewer) is None
    assert review(person()) is not None


def test_who_has_nothing_left_is_told_how_many_are_held_back(any_database, case, person, review):
    case("one", ORGAN, BOX)
    case("two", ORGAN, BOX)
    reviewer, other = person(), person()
    assert why_queue_empty(reviewer, current_policy()).disclosed == 0
    review(reviewer), review(reviewer)
    assert claim_next(reviewer) is None
    assert why_queue_empty(reviewer, current_policy()) == EmptyQueueReasons(
        specialist=(), assigned=0, disclosed=2
    )
    assert why_queue_empty(other, current_policy()).disclosed == 0


def test_what_gold_items_told_is_not_counted(any_database, case, copy, person, review):
    original, _ = case("one", ORIGINAL, TOLD)
    Item.objects.filter(pk=original.pk).update(state="accepted")
    gold = copy(original)
    reviewer = person()
    assert review(reviewer).version.item_id == gold.pk
    assert claim_next(reviewer) is None
    assert why_queue_empty(reviewer, current_policy()).disclosed == 0


def test_what_tells_nothing_is_handed_on(any_database, case, person, review):
    case("one", ORGAN, FREE)
    reviewer = person()
    assert [review(reviewer).blinded for _ in range(2)] == [True, True]


def test_what_tells_least_is_asked_first(any_database, case, person, review):
    case_items = case("one", FINDING, MODALITY)
    reviewer = person()
    assert [review(reviewer).version.item_id for _ in range(2)] == [
        case_items[1].pk,
        case_items[0].pk,
    ]


def test_the_question_alone_tells_who_gave_it_back(any_database, case, person):
    finding, modality = case("one", FINDING, MODALITY)
    Item.objects.filter(pk=modality.pk).update(state="needs_revision")
    reviewer = person()
    give_back(claim_next(reviewer).token, reviewer, not_my_field=False)
    Item.objects.filter(pk=modality.pk).update(state="queued")
    Item.objects.filter(pk=finding.pk).update(state="needs_revision")
    assert claim_next(reviewer) is None


@pytest.mark.parametrize(
    ("text", "expected"), [("It lies in the upper field.", True), ("The picture is dim.", False)]
)
def test_a_remark_that_tells_another_item_counts_as_shown(
    any_database, case, person, review, tmp_path, text, expected
):
    first, other = case("one", FINDING, FREE)
    Item.objects.filter(pk=first.pk).update(priority=9)
    reviewer = person()
    assert review(reviewer).version.item_id == first.pk
    path = tmp_path / "remarks.jsonl"
    path.write_text(json.dumps({"id": first.pk, "text": text}))
    assert import_remarks(path, origin="site form").added == 1
    next_one = claim_next(reviewer)
    assert (next_one is None) is expected
    Item.objects.filter(pk=first.pk).update(state="accepted")
    assert claim_next(person()).version.item_id == other.pk, "who has not seen it is asked"


TELLING = content_of("a", "Where is it?", [("Under the effusion", "L"), ("Right", "R")])
ORIGINAL = content_of("b", "Which finding?", [("Effusion", "E"), ("Nodule", "N")])
TOLD = content_of("c", "How far?", [("Effusion to the apex", "Ea"), ("Clear", "C")])


@pytest.fixture
def copy(person, project):
    """Make a gold copy whose key is the second option; gold items come first."""

    def make(item):
        project(gold_rate=1.0)
        row = ItemVersion.objects.get(item=item, number=2)
        texts = tuple(option["text"] for option in row.options)
        change = edits.Edit(question=row.question, options=texts, key=1, note="")
        return make_gold(item.pk, 2, person("manager"), defect="KEY_WRONG", change=change)

    return make


@pytest.mark.parametrize("first", ["told", "copied"])
def test_who_was_told_an_item_is_not_asked_its_copy_blind(
    any_database, case, copy, person, review, first
):
    telling, original = case("one", TELLING, ORIGINAL)
    Item.objects.filter(pk=original.pk).update(state="accepted")
    reviewer = person()
    if first == "copied":
        copy(original)
        Item.objects.exclude(gold_defect="").update(state="needs_revision")
    assert review(reviewer).version.item_id == telling.pk
    if first == "told":
        copy(original)
    Item.objects.exclude(gold_defect="").update(state="queued")
    assert claim_next(reviewer) is None
    assert claim_next(person()).version.item.gold_defect


def test_who_was_told_by_a_wording_since_replaced_is_not_asked_the_copy_blind(
    any_database, case, copy, person, review
):
    telling, original = case("one", TELLING, ORIGINAL)
    Item.objects.filter(pk=original.pk).update(state="accepted")
    reviewer = person()
    assert review(reviewer).version.item_id == telling.pk
    change = edits.Edit(
        question="Which finding is in this MR image?", options=("Cyst", "Stone"), key=0, note=""
    )
    edits.edit(telling.pk, 2, person("manager"), change)
    assert not Disclosure.objects.filter(by=telling, told=original).exists()
    gold = copy(original)
    assert Exposure.objects.filter(user=reviewer, item=gold).exists()


def test_a_copy_tells_what_its_original_tells(any_database, case, copy, person, review):
    original, _ = case("one", ORIGINAL, TOLD)
    Item.objects.filter(pk=original.pk).update(state="accepted")
    gold = copy(original)
    reviewer = person()
    assert review(reviewer).version.item_id == gold.pk
    assert Exposure.objects.filter(user=reviewer, item=original, by=gold).exists()
    assert claim_next(reviewer) is None
    assert claim_next(person()) is not None


def test_items_of_other_cases_tell_nothing(any_database, case, person, review):
    case("one", ORGAN)
    case("two", BOX)
    reviewer = person()
    assert review(reviewer)
    assert review(reviewer)


def test_a_later_version_is_for_other_reviewers(any_database, add_items, person, review):
    add_items(1)
    reviewer = person()
    review(reviewer)
    item = Item.objects.get()
    change = edits.Edit(
        question="Which finding of the brain is shown in this MR image?",
        options=("Cyst", "Stone", "Polyp", "Tumour"),
        key=0,
        note="",
    )
    edits.edit(item.pk, 1, person("manager"), change)
    assert claim_next(reviewer) is None
    assert claim_next(person()).blinded


def test_an_edit_that_comes_to_tell_another_item_is_seen(any_database, case, person, review):
    organ, free = case("one", ORGAN, FREE)
    reviewer = person()
    assert review(reviewer).version.item_id == organ.pk
    change = edits.Edit(
        question="Which organ of the upper field is outlined in this MR image?",
        options=("Left lung", "Heart"),
        key=0,
        note="",
    )
    edits.edit(organ.pk, 2, person("manager"), change)
    assert claim_next(reviewer).version.item_id == free.pk, "they saw the old wording alone"
    other = person()
    assert review(other).version.item_id == free.pk
    assert review(other).version.item_id == organ.pk
    assert set(Exposure.objects.filter(item=free, user=other).values_list("by", flat=True)) == {
        free.pk,
        organ.pk,
    }


def test_an_answer_given_before_the_lease_was_over_stays_blind(
    any_database, case, person, answer, review
):
    case("one", ORGAN)
    reviewer = person()
    claim = claim_next(reviewer)
    answer_blind(claim.token, reviewer, answer())
    renew(claim.token, reviewer, {"comment": ["x"]})
    later = NOW + timedelta(days=1)
    again = claim_next(reviewer, later)
    assert again.pk != claim.pk
    assert again.blinded


def test_rules_may_let_one_reviewer_not_be_blind(any_database, case, person, project, review):
    project(unblinded_reviews=1)
    case("one", ORGAN, BOX)
    first = person()
    assert [review(first).blinded for _ in range(2)] == [True, False]
    version_id = Claim.objects.get(blinded=False).version_id
    for _ in range(2):
        reviewer = person()
        while review(reviewer):
            pass
    assert Claim.objects.filter(version=version_id).values_list("blinded", flat=True).count() == 2
    assert Claim.objects.filter(version=version_id, blinded=False).count() == 1


def test_an_answer_that_was_not_blind_counts_nowhere(
    any_database, case, person, project, review, tmp_path
):
    project(unblinded_reviews=1)
    organ, _ = case("one", ORGAN, BOX)
    reviewers = [person() for _ in range(3)]
    review(reviewers[0])
    review(reviewers[0], option=1)  # not blind, and not the key
    review(reviewers[1])
    Item.objects.filter(pk=organ.pk).update(state="needs_revision")
    review(reviewers[2])
    everything, _ = agreement_by_stratum()
    claims = Claim.objects.filter(review__isnull=False)
    assert everything.estimates[BLIND_ACCURACY].items == sum(claim.blinded for claim in claims)
    assert everything.estimates[BLIND_ACCURACY].value == 1.0
    export_decisions(tmp_path, "jsonl")
    assert (tmp_path / "reviews.jsonl").read_text().count('"blinded": false') == 1


def test_what_was_not_blind_decides_but_does_not_answer(
    any_database, case, person, project, review
):
    project(unblinded_reviews=1)
    case("one", ORGAN, BOX)
    first, second = person(), person()
    review(first)
    claim = review(first, option=1)
    assert not claim.blinded
    Item.objects.exclude(pk=claim.version.item_id).update(state="needs_revision")
    review(second)
    assert Item.objects.get(pk=claim.version.item_id).state == "accepted"
    assert consensus_transition(claim.version_id) == "reviewers_accept"


def test_one_reviewer_at_least_is_blind():
    with pytest.raises(ReviewError, match="one review at least is blind"):
        Policy(reviews=2, unblinded_reviews=2)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_the_order_nobody_answers_blind_what_they_know(
    any_database, case, person, project, review, seed
):
    """The rule is told again here: by the pairs, over the claims in their order."""
    draw = random.Random(seed)
    project(unblinded_reviews=1, gold_rate=0.0)
    kinds = [ORGAN, BOX, MODALITY, FINDING, GRADE, OTHER_GRADE, FREE]
    for number in range(4):
        case(str(number), *draw.sample(kinds, draw.randint(2, 5)))
    reviewers = [person() for _ in range(4)]
    for _ in range(60):
        review(draw.choice(reviewers), draw.choice(["accept", "reject"]))
    exposures = Counter()
    for claim in Claim.objects.select_related("version__item").order_by("pk"):
        item = claim.version.item
        siblings = ItemVersion.objects.filter(item__case_key=item.case_key, number=2)
        pairs = disclosure_pairs(
            [
                item_content(row.item_id, row.question, row.options, row.key, row.provenance)
                for row in siblings
            ]
        )
        result = any(
            exposures[claim.user_id, pair.by] for pair in pairs if pair.disclosed == item.pk
        )
        assert claim.blinded is not result
        exposures[claim.user_id, item.pk] += 1
    assert current_policy().unblinded_reviews == 1


def test_looking_up_who_is_blind_uses_an_index(database, case, person):
    case("one", ORGAN, BOX)
    sql = (
        "EXPLAIN QUERY PLAN SELECT 1 FROM review_exposure e WHERE e.item_id = 'x' AND e.user_id = 1"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql)
        assert "USING COVERING INDEX" in str(cursor.fetchall())
