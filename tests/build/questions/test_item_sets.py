"""Sets hold items with one question and one list of options, and a different key each."""

import random
from collections import Counter

from medrcube.build.questions.item_sets import deal_sets, is_set
from medrcube.build.questions.item_table import ChoiceItem, Option
from medrcube.build.stages.samples import Sample

FOUR = ("edema", "hernia", "nodule", "goiter")
BLANK = dict.fromkeys(Sample.__dataclass_fields__, "")


def sample(number, **named):
    return Sample(**{**BLANK, "id": f"s{number}", "source": "toy", "case": f"c{number}", **named})


def item(number, key, **changes):
    options = [
        Option(text=text, concept=text, ids=(), strategy="s", grade="A", passed=()) for text in FOUR
    ]
    random.Random(number).shuffle(options)
    place = next(n for n, option in enumerate(options) if option.text == key)
    blank = dict.fromkeys(ChoiceItem.__dataclass_fields__, "")
    named = {"id": f"i{number:04}", "sample": f"s{number}", "source": "toy", "block": "b"}
    named |= {"question": "What is seen?", "options": tuple(options), "key": place}
    return ChoiceItem(**{**blank, **named, **changes})


def deal(items, samples=None, seed=0):
    samples = samples or [sample(number) for number in range(len(items))]
    return deal_sets(items, {entry.id: entry for entry in samples}, seed)


def keys(item_set):
    return sorted(item.options[item.key].text for item in item_set.items)


def lots(count=60):
    return [item(number, FOUR[(0, 0, 0, 1, 1, 2, 3)[number % 7]]) for number in range(count)]


def test_the_keys_of_a_set_differ_and_an_item_is_in_one_set():
    dealt = deal(lots())
    assert all(is_set(item_set.items) for item_set in dealt)
    assert {len(item_set.items) for item_set in dealt} == {2, 4}
    assert max(Counter(item.id for item_set in dealt for item in item_set.items).values()) == 1


def test_sets_are_as_large_as_their_keys_allow():
    dealt = deal([item(number, FOUR[number % 4]) for number in range(12)])
    assert [keys(item_set) for item_set in dealt] == [sorted(FOUR)] * 3


def test_the_order_of_the_items_changes_nothing():
    assert deal(lots()[::-1], [sample(number) for number in range(60)]) == deal(lots())


def test_items_that_read_otherwise_or_are_in_no_block_are_in_no_set():
    assert not deal([item(0, "edema"), item(1, "hernia", question="What can be seen?")])
    assert not deal([item(0, "edema"), item(1, "hernia", block="other")])
    assert not deal([item(0, "edema", block=""), item(1, "hernia", block="")])


def test_one_key_alone_makes_no_set():
    assert not deal([item(number, "edema") for number in range(5)])


def test_two_questions_on_one_picture_are_in_no_common_set():
    assert not deal([item(0, "edema"), item(1, "hernia", sample="s0")])


def test_items_of_one_patient_come_together_before_others():
    items = [item(number, FOUR[number % 2]) for number in range(40)]
    samples = [sample(number, patient=f"p{number // 2}") for number in range(40)]
    patients = {entry.id: entry.patient for entry in samples}
    for item_set in deal(items, samples):
        assert len({patients[item.sample] for item in item_set.items}) == 1


def test_items_of_one_source_come_together_before_those_of_others():
    items = [item(n, FOUR[n % 2], source="ab"[n // 2 % 2]) for n in range(8)]
    samples = [sample(n, source="ab"[n // 2 % 2]) for n in range(8)]
    assert {len({item.source for item in item_set.items}) for item_set in deal(items, samples)} == {
        1
    }
    apart = [item(0, "edema", source="a"), item(1, "hernia", source="b")]
    assert len(deal(apart, [sample(0, source="a"), sample(1, source="b")])) == 1
