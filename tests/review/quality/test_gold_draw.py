"""Gold items drawn from defects, and figures that tell careful reviewers; on both databases."""

import random

import pytest
from django.utils import timezone

from medrcube.review.audit_trail.event_chain import verify_chain
from medrcube.review.exchange.export_decisions import _verdicts
from medrcube.review.models import Claim, Item, ItemVersion
from medrcube.review.quality.defects import defective_copies, kind_of
from medrcube.review.quality.gold_draw import draw_gold, top_up_gold
from medrcube.review.quality.gold_items import copy_with_defect, make_gold
from medrcube.review.quality.real_items import RealItems
from medrcube.review.quality.reviewer_figures import count_figures
from medrcube.review.reviewing.claims import claim_next
from medrcube.review.reviewing.edits import Edit
from medrcube.review.reviewing.steps import answer_blind, submit_review
from medrcube.review.reviewing.submissions import BlindSubmission, ReviewSubmission
from medrcube.review.wording.proposals import Wording, flaws_of

pytestmark = pytest.mark.usefixtures("any_database")
FINDINGS = {
    "Pleural effusion": "Pleural Effusion",
    "Pneumothorax": "Pneumothorax",
    "Cardiomegaly": "Cardiomegaly",
    "Atelectasis": "Atelectasis",
}
BROADER = {
    "Pleural effusion": "Pleural Effusion",
    "Pneumothorax": "Pneumothorax",
    "Enlarged cardiomediastinum": "Enlarged Cardiomediastinum",
    "Lung opacity": "Lung Opacity",
}
ANSWER = {"confidence": 2, "needs_image": "yes", "image_adequate": True}
OF_KEY = ("strategy", "grade", "passed", "similarity", "difficulty")
OF_NAME = ("text", "concept", "ids", "versions", "named_by", "word")
OF_LABEL = ("evidence", "concept", "group", "strategy", "difficulty", "marked")


def options(texts, key, strategy):
    """Options as the build records them: how near to the key each is hangs on both."""
    rows = []
    for place, (text, concept) in enumerate(texts):
        right, near = place == key, len(concept) % 5 / 10 + len(texts[key][1]) % 7 / 100
        is_telling = strategy == "knowledge" and not right
        rows.append(
            {
                "text": text,
                "concept": concept,
                "ids": [f"radlex:{len(concept)}"] if concept else [],
                "versions": ["4.3"] if concept else [],
                "strategy": "key" if right else strategy,
                "grade": "" if right else "A",
                "passed": [12] if right else [1, 2, 5, 12],
                "word": f"Finding Labels: {concept}" if concept else "",
                "named_by": "",
                "similarity": near if is_telling else None,
                "difficulty": ("hard" if near > 0.2 else "easy") if is_telling else "",
            }
        )
    return rows


@pytest.fixture
def stock(add_items):
    """Items of chest films, every third with numbered boxes, every fifth of broader findings."""

    def make(count, **fields):
        items = add_items(count, anatomy="Chest", modality="X-ray", **fields)
        pictures = {row.item_id: row.picture for row in ItemVersion.objects.select_related()}
        for number, item in enumerate(items):
            boxes, key = number % 3 == 2, number % 4
            named = list((FINDINGS if number % 5 else BROADER).items())
            texts = [(f"Box {place + 1}", "") for place in range(4)] if boxes else named
            rows = options(texts, key, "box" if boxes else "knowledge")
            levels = sorted((row["difficulty"] for row in rows), key=("", "easy", "hard").index)
            fields = {
                "question": "Which numbered box in this chest radiograph holds the left lung?"
                if boxes
                else "Which finding does this chest radiograph show?",
                "options": rows,
                "key": key,
                "provenance": {
                    "case": f"case {number}",
                    "slice_reason": f"largest marked area, {number} pixels",
                    "concept": "Lung" if boxes else named[key][1],
                    **({"marked": f"Lung (organ), box {key + 1} of 4"} if boxes else {}),
                    "evidence": f"field f; Finding Labels: {named[key][1]}",
                    **({} if boxes else {"difficulty": levels[-1]}),
                    "strategy": "box" if boxes else "knowledge",
                },
            }
            replaced(item, pictures[item.pk], fields)
        return items

    return make


def replaced(item, picture, fields):
    """Give a fresh item its second version, since the first cannot be changed."""
    Item.objects.filter(pk=item.pk).update(version=2)
    values = {"picture": picture, "content_sha256": f"{item.pk:0<64}", "created_at": timezone.now()}
    ItemVersion.objects.create(item=item, number=2, **values, **fields)


def twins():
    """Versions of gold items with the version that each was copied from."""
    versions = ItemVersion.objects.filter(item__gold_defect__gt="").select_related("item")
    return [
        (twin, ItemVersion.objects.get(item=twin.item.copied_from, number=2)) for twin in versions
    ]


def test_defects_of_all_kinds_are_drawn_evenly(stock):
    stock(30, state="accepted")
    draw = draw_gold(9, "system")
    assert dict(draw.counts) == {"wrong-key": 3, "second-right": 3, "wrong-box": 3}
    assert {kind_of(twin.item.gold_defect) for twin, _ in twins()} == set(draw.counts)


def test_one_seed_draws_the_same_items(stock):
    stock(12, state="accepted")
    draw_gold(4, "system", seed=5)
    first = {twin.item.copied_from_id for twin, _ in twins()}
    assert len(first) == 4
    draw_gold(4, "system", seed=5)
    assert len({twin.item.copied_from_id for twin, _ in twins()}) == 8  # none is copied twice


def column_values(version, names):
    """What the options of a version say of some columns, by concept."""
    return {row["concept"]: {name: row[name] for name in names} for row in version.options}


def label(version):
    """What the provenance says of the label."""
    return {name: value for name, value in version.provenance.items() if name in OF_LABEL}


def test_beside_a_wrong_key_stands_what_stands_beside_that_key_elsewhere(stock):
    real = stock(30, state="accepted")
    draw_gold(20, "system")
    moved = [pair for pair in twins() if pair[0].item.gold_defect == "KEY_WRONG"]
    assert moved
    elsewhere = [
        (column_values(row, OF_KEY), label(row))
        for row in ItemVersion.objects.filter(item__in=real, number=2)
    ]
    for twin, old in moved:
        assert twin.key != old.key
        assert column_values(twin, OF_NAME) == column_values(old, OF_NAME)
        assert (column_values(twin, OF_KEY), label(twin)) in elsewhere
        other_keys = {name: value for name, value in old.provenance.items() if name not in OF_LABEL}
        assert twin.provenance.items() >= other_keys.items()


def test_a_key_that_no_real_item_has_is_not_drawn(stock):
    (item,) = stock(1)
    version = ItemVersion.objects.get(item=item, number=2)
    assert not list(defective_copies(version, "wrong-key", 0, [], RealItems("toy", item.task)))


def test_a_wrong_key_that_the_name_of_the_case_refutes_is_not_drawn(stock):
    item = stock(9)[1]
    version = ItemVersion.objects.get(item=item, number=2)
    real = RealItems("toy", item.task)
    assert list(defective_copies(version, "wrong-key", 0, [], real))
    version.provenance["case"] = "pneumothorax/00017"
    assert not list(defective_copies(version, "wrong-key", 0, [], real))


def test_a_warning_that_only_the_build_gives_stays_with_the_twin(stock):
    item = stock(9)[1]
    version = ItemVersion.objects.get(item=item, number=2)
    version.warnings = ["known-to-the-build"]
    trap = next(defective_copies(version, "wrong-key", 0, [], RealItems("toy", item.task)))
    assert trap.warnings == ["known-to-the-build"]


def test_a_key_moved_by_hand_is_told_as_a_real_one(stock, person):
    real = stock(9)
    old = ItemVersion.objects.get(item=real[1], number=2)
    texts = tuple(option["text"] for option in old.options)
    change = Edit(question=old.question, options=texts, key=3, note="")
    twin = make_gold(real[1].pk, 2, person("manager"), defect="KEY_WRONG", change=change)
    version, like = (
        ItemVersion.objects.get(item=item, number=number)
        for item, number in ((twin, 1), (real[3], 2))
    )
    assert column_values(version, OF_KEY) == column_values(like, OF_KEY)
    assert label(version) == label(like)


def test_the_rules_tell_no_defect_when_another_wording_is_tried(stock):
    stock(12, state="accepted")
    draw_gold(12, "system")
    second = [twin for twin, _ in twins() if twin.item.gold_defect == "MULTI_CORRECT"]
    assert second
    for twin in second:
        texts = tuple(option["text"] for option in twin.options)
        wording = Wording(question=f"{twin.question[:-1]} best?", options=texts, key=twin.key)
        assert not [flaw for flaw in flaws_of(twin, wording) if flaw.level == "error"]


def test_a_wrong_box_is_told_as_the_right_one(stock):
    stock(9, state="accepted")
    draw_gold(9, "system")
    boxes = [pair for pair in twins() if pair[0].item.gold_defect == "ROI_WRONG"]
    assert boxes
    for twin, old in boxes:
        assert twin.key != old.key
        assert twin.provenance["marked"].endswith(f"box {twin.key + 1} of 4")


def test_no_box_is_called_wrong_beside_a_mark_that_would_have_to_move(stock):
    item = stock(3)[2]
    version = ItemVersion.objects.get(item=item, number=2)
    real = RealItems("toy", item.task)
    assert list(defective_copies(version, "wrong-box", 0, [], real))
    version.overlay = version.picture
    assert not list(defective_copies(version, "wrong-box", 0, [], real))
    version.asks_mark = True  # all boxes are drawn alike, and stay
    assert list(defective_copies(version, "wrong-box", 0, [], real))


def test_a_second_right_option_says_of_itself_what_it_says_elsewhere(stock):
    real = stock(12, state="accepted")
    draw_gold(12, "system")
    second = [pair for pair in twins() if pair[0].item.gold_defect == "MULTI_CORRECT"]
    assert second
    elsewhere = [
        {name: row[name] for name in OF_NAME}
        for version in ItemVersion.objects.filter(item__in=real, number=2)
        for row in version.options
    ]
    for twin, old in second:
        assert twin.key == old.key
        differing = [n for n in range(4) if twin.options[n] != old.options[n]]
        assert len(differing) == 1
        row, before = twin.options[differing[0]], old.options[differing[0]]
        assert {name: row[name] for name in OF_NAME} in elsewhere
        assert {name: row[name] for name in OF_KEY} == {name: before[name] for name in OF_KEY}


def test_nothing_that_a_reviewer_gets_tells_a_twin_from_other_items(stock):
    stock(12, state="accepted")
    draw_gold(6, "system")
    for twin, old in twins():
        assert len(twin.item.pk) == len(old.item.pk)
        assert twin.created_at == old.created_at
        assert twin.picture_id == old.picture_id
        assert set(twin.provenance) == set(old.provenance)
        assert [set(option) for option in twin.options] == [set(option) for option in old.options]
        assert twin.item.priority == old.item.priority


def test_no_reviewer_sees_an_item_and_its_twin(stock, project, person):
    project(gold_rate=0.5, reviews=2)
    stock(12)
    draw_gold(6, "system")
    for user in [person() for _ in range(5)]:
        while (claim := claim_next(user)) is not None:
            answer_blind(claim.token, user, BlindSubmission(option=0, **ANSWER))
            submit_review(claim.token, user, ReviewSubmission(decision="accept"))
    for twin, old in twins():
        of_twin = set(Claim.objects.filter(version=twin).values_list("user", flat=True))
        of_item = set(Claim.objects.filter(version__item=old.item).values_list("user", flat=True))
        assert not of_twin & of_item


def test_twins_of_items_that_wait_leave_enough_reviewers_for_these(stock, project, person):
    project(gold_rate=1.0, reviews=2)
    stock(6)
    draw_gold(6, "system")
    for user in [person() for _ in range(3)]:
        while (claim := claim_next(user)) is not None:
            answer_blind(claim.token, user, BlindSubmission(option=0, **ANSWER))
            submit_review(claim.token, user, ReviewSubmission(decision="accept"))
    for twin, old in twins():
        assert Claim.objects.filter(version=twin).values("user").distinct().count() <= 1
        assert Item.objects.get(pk=old.item_id).reviews == 2


def test_no_gold_item_reaches_a_release(stock):
    stock(6, state="accepted")
    draw_gold(6, "system", clean=2)
    assert Item.objects.exclude(gold_defect="").exists()
    gold = set(Item.objects.exclude(gold_defect="").values_list("pk", flat=True))
    assert not gold & {row["id"] for row in _verdicts()}
    assert not verify_chain().fault


def test_the_share_of_the_policy_is_drawn_once(stock, project):
    project(gold_share=0.25)
    stock(12)
    assert top_up_gold("import").defective == 3
    assert top_up_gold("import").defective == 0


def test_sound_copies_are_made_of_accepted_items_only(stock):
    stock(6)
    assert draw_gold(0, "system", clean=3).counts == {}
    Item.objects.update(state="accepted")
    assert draw_gold(0, "system", clean=3).counts == {"sound": 3}


@pytest.mark.parametrize(
    ("decision", "code", "option", "hit"),
    [
        ("reject", "KEY_WRONG", "key", True),
        ("reject", "AMBIGUOUS_STEM", "right", True),
        ("reject", "AMBIGUOUS_STEM", "key", False),
        ("accept", None, "right", False),
    ],
)
def test_a_wrong_key_is_caught_by_who_names_it_or_answers_what_is_right(
    stock, project, person, decision, code, option, hit
):
    project(gold_rate=1.0)
    item = stock(9, state="accepted")[1]
    old = ItemVersion.objects.select_related("item", "picture").get(item=item, number=2)
    trap = next(defective_copies(old, "wrong-key", 0, [], RealItems("toy", item.task)))
    copy_with_defect(old, trap, "system", timezone.now())
    ((twin, _),) = twins()
    user = person()
    claim = claim_next(user)
    answered = twin.key if option == "key" else old.key
    answer_blind(claim.token, user, BlindSubmission(option=answered, **ANSWER))
    reasons = ((code, None),) if code else ()
    submit_review(claim.token, user, ReviewSubmission(decision=decision, reasons=reasons))
    assert count_figures().reviewers[0].caught["wrong-key"].value == float(hit)


@pytest.mark.thorough
def test_reviewers_of_known_carefulness_are_told_apart(stock, project, person):
    project(gold_rate=1.0, lease_minutes=600)
    stock(60, state="accepted")
    draw_gold(40, "system", clean=20)
    reviewers = {share: person(pseudonym=f"r{share}") for share in (0.95, 0.7, 0.5)}
    lot = random.Random(1)
    for share, user in reviewers.items():
        while (claim := claim_next(user)) is not None:
            version = ItemVersion.objects.select_related("item").get(pk=claim.version_id)
            defect = version.item.gold_defect
            sees = defect != "SOUND" and lot.random() < share
            answer_blind(claim.token, user, BlindSubmission(option=version.key, **ANSWER))
            reasons = ((defect, None),) if sees else ()
            decision = "reject" if sees else "accept"
            submit_review(claim.token, user, ReviewSubmission(decision=decision, reasons=reasons))
    rows = {row.pseudonym: row for row in count_figures().reviewers}
    careful, middling, careless = (rows[f"r{share}"].all_caught for share in (0.95, 0.7, 0.5))
    assert careful.items == 40
    assert careful.value > middling.value > careless.value
    assert careful.low > careless.high
    assert all(
        row.false_alarms.value == 0 and row.false_alarms.items == 20 for row in rows.values()
    )
    assert not any(row.paused for row in rows.values())


def test_agreement_of_a_reviewer_is_that_of_the_pairs_with_others(
    add_items, project, person, review
):
    project(gold_rate=0.0)
    add_items(30)
    first, second = person(pseudonym="a"), person(pseudonym="b")
    for number in range(30):
        review(first, "reject" if number < 10 else "accept")
        review(second, "reject" if number < 5 else "accept")
    for row in count_figures().reviewers:
        assert row.agreement.items == 30
        assert row.agreement.value == pytest.approx(25 / 30)
        assert 0 < row.ac1.value < row.agreement.value
        assert row.reviews == 30
        assert row.fast == 30
