"""Rules over a whole batch: each trick is found where it works and not where it does not."""

import json
import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.audit.batch_rules import BATCH_RULES, batch_rules
from medrcube.build.audit.leakage.key_words import hoeffding_bound, key_words
from medrcube.build.audit.leakage.leakage_tests import ALL
from medrcube.build.audit.shortcuts.shortcut_baselines import (
    chi_square_p,
    first_option,
    key_positions,
    label_prior,
    longest_option,
    most_frequent_label,
    other_keys,
)
from medrcube.build.questions.item_table import ChoiceItem, Option
from medrcube.build.questions.sampling.key_balance import drop_unbalanced, unbalanced_options
from medrcube.build.reference.audit_rules import rules_page
from medrcube.build.stages.samples import Sample

PAGE = Path(__file__).parents[3] / "docs/reference/item-rules.md"
BLANK = dict.fromkeys(Sample.__dataclass_fields__, "")
NUMBERS = {"choices": 0, "area": 0.0, "regions": 0, "width": 1, "height": 1}
FOUR = ("edema", "hernia", "nodule", "goiter")


def samples(count):
    return [
        Sample(**{**BLANK, **NUMBERS, "id": f"s{n}", "source": "toy", "case": f"c{n}"})
        for n in range(count)
    ]


def item(number, texts=FOUR, key=0, **changes):
    options = tuple(
        Option(text=text, concept=text, ids=(), strategy="s", grade="A", passed=())
        for text in texts
    )
    blank = dict.fromkeys(ChoiceItem.__dataclass_fields__, "")
    named = {
        "id": f"i{number:04}",
        "sample": f"s{number}",
        "source": "toy",
        "task": "Abnormality Diagnosis",
        "question": "Which finding is seen in this CT image?",
        "options": options,
        "key": key,
        "ordered": False,
        "warnings": (),
        "seed": 0,
    }
    return ChoiceItem(**{**blank, **named, **changes})


def fair(count=400, seed=0):
    """Options, places and keys drawn by lot."""
    lots = random.Random(seed)
    return [item(n, lots.sample(FOUR, 4), n % 4) for n in range(count)]


def by_task(rows):
    return {row["task"]: row for row in rows}


def test_a_fair_batch_keeps_every_rule():
    rules = batch_rules(fair(), samples(400))
    assert list(rules) == [rule.id for rule in BATCH_RULES]
    measured = {name: rule for name, rule in rules.items() if name != "box-geometry"}
    assert {name for name, rule in measured.items() if rule["holds"] is not True} == set()
    assert {name for name, rule in rules.items() if rule["level"] == "error"} >= {"even-keys"}
    assert rules["box-geometry"]["holds"] is None  # none of the items is about boxes


def test_rules_are_ready_for_json_and_do_not_depend_on_the_order_of_the_input():
    items, pictures = fair(60), samples(60)
    first = json.dumps(batch_rules(items, pictures), sort_keys=True)
    assert first == json.dumps(batch_rules(items[::-1], pictures[::-1]), sort_keys=True)


def test_a_rule_that_does_not_hold_names_the_worst_figure_its_chance_and_what_to_change():
    items = [item(n, FOUR if n % 2 else FOUR[::-1], 0) for n in range(80)]
    rule = batch_rules(items, samples(80))["first-option"]
    assert rule["holds"] is False
    assert (rule["figure"], rule["threshold"]) == (1.0, pytest.approx(0.25 + 3 * 0.0484, abs=1e-3))
    assert "100.0 % against a chance of 25.0 % (standard error 4.8 %, 80 items)" in rule["message"]
    assert rule["message"].endswith(
        "Redistribute the keys; on a scale, use fewer items of the lowest grades."
    )


def test_the_worst_of_several_rows_is_named():
    uneven = [item(n, FOUR[:2], int(n % 4 == 0)) for n in range(40)]
    worse = [item(100 + n, FOUR[:3], 0) for n in range(40)]
    rule = batch_rules([*uneven, *worse], samples(140))["key-position"]
    assert rule["message"].startswith("3 options: keys at [40, 0, 0] (p ")
    assert " and 1 more (see the audit). " in rule["message"]
    assert rule["figure"] < 1e-9


def test_a_score_far_too_low_is_worse_than_one_that_is_a_little_too_high():
    high = [replace(entry, task="B", id=f"b{entry.id}") for entry in long_key(40, 31)]
    rule = batch_rules([*long_key(200, 40), *high], samples(200))["longest-option"]
    assert [row["within"] for row in rule["rows"]] == [False, False, False]
    assert (rule["holds"], rule["figure"]) == (False, 0.2)


def test_an_empty_batch_can_not_be_measured_and_breaks_nothing():
    rules = batch_rules([], [])
    assert {rule["holds"] for rule in rules.values()} == {None}
    assert rules["options-only"]["message"].startswith("nothing to measure")


def test_a_broken_item_is_left_to_the_failures_of_the_audit():
    assert batch_rules([item(0, key=9), item(1, ("one",))], samples(2)) == batch_rules([], [])


def test_a_handful_of_items_does_not_fail_by_bad_luck():
    items = [item(n, ("edema", "hernia"), int(n == 1)) for n in range(3)]
    rules = batch_rules(items, samples(3))
    assert not [name for name, rule in rules.items() if rule["holds"] is False]


@pytest.mark.parametrize(
    ("statistic", "freedom", "p"),
    # Critical values of the printed chi-square tables.
    [
        (3.841459, 1, 0.05),
        (5.991465, 2, 0.05),
        (7.814728, 3, 0.05),
        (11.344867, 3, 0.01),
        (13.276704, 4, 0.01),
        (0, 3, 1),
    ],
)
def test_chi_square_agrees_with_the_tables(statistic, freedom, p):
    assert chi_square_p(statistic, freedom) == pytest.approx(p, abs=1e-6)


def test_chi_square_without_freedom_is_refused():
    with pytest.raises(ValueError, match="degrees of freedom"):
        chi_square_p(1, 0)


def test_uneven_key_positions_are_seen():
    even = [item(n, FOUR[:2], n % 2) for n in range(40)]
    (row,) = key_positions(even)
    assert (row["options"], row["n"], row["counts"]) == (2, 40, [20, 20])
    assert (row["p"], row["within"]) == (1.0, True)
    assert not key_positions([item(n, FOUR[:2], 0) for n in range(40)])[0]["within"]


def test_options_that_keep_their_order_do_not_count_as_positions():
    assert key_positions([item(n, ordered=True) for n in range(40)]) == []


def long_key(count, hits):
    return [item(n, ("pulmonary edema", "nodule"), int(n >= hits)) for n in range(count)]


@pytest.mark.parametrize(
    ("hits", "within"), [(62, False), (58, True), (50, True), (38, True), (30, False)]
)
def test_a_key_that_is_often_or_hardly_ever_the_longest_is_seen(hits, within):
    row = by_task(longest_option(long_key(100, hits), samples(100)))[ALL]
    assert (row["accuracy"], row["chance"], row["within"]) == (hits / 100, 0.5, within)


def test_one_task_alone_may_lie_a_little_farther_out_than_all_together():
    rows = by_task(longest_option(long_key(100, 62), samples(100)))
    assert rows["Abnormality Diagnosis"]["within"]
    assert not rows[ALL]["within"]


def test_equally_long_options_say_nothing_and_several_longest_share_the_lot():
    assert longest_option([item(0, ("Box 1", "Box 2"))], samples(1)) == []
    (row, _) = longest_option([item(0, ("hernia", "edema", "nodule"), 0)], samples(1))
    assert row["accuracy"] == 0.5


def test_scales_count_for_the_first_option():
    rows = by_task(first_option([item(n, ordered=True) for n in range(40)], samples(40)))
    assert rows[ALL]["accuracy"] == 1
    assert not rows[ALL]["within"]


def test_the_most_frequent_label_is_learnt_from_other_patients():
    skewed = [item(n, FOUR[:2], int(n % 10 == 0)) for n in range(100)]
    row = by_task(most_frequent_label(skewed, samples(100)))[ALL]
    assert row["accuracy"] == 0.9
    assert not row["within"]
    alone = [replace(sample, patient="one") for sample in samples(100)]
    assert most_frequent_label(skewed, alone) == []


def test_a_label_that_is_a_key_once_tells_nothing_about_itself():
    unlike = [item(n, [f"{name} {n}" for name in FOUR], n % 4) for n in range(40)]
    assert by_task(most_frequent_label(unlike, samples(40)))[ALL]["accuracy"] == 0.25


@pytest.mark.parametrize("options", [2, 3, 4])
def test_a_word_in_a_fifth_of_the_keys_is_seen_from_100_items_on(options):
    for seed in range(5):
        lots = random.Random(seed)
        items = [item(n, lots.sample(FOUR, options), n % options) for n in range(100)]
        marked = []
        for entry in items:
            texts = list(entry.options)
            if int(entry.id[1:]) < 20:
                texts[entry.key] = replace(
                    texts[entry.key], text=f"{texts[entry.key].text} confirmed"
                )
            marked.append(replace(entry, options=tuple(texts)))
        (before,), (row,) = key_words(items), key_words(marked)
        assert before["smallest_cue"] <= 20
        assert (row["word"], row["key"], row["within"]) == ("confirmed", 20, False)


@pytest.mark.parametrize("options", [2, 4])
def test_the_smallest_mark_that_is_seen_is_stated(options):
    items = [item(n, FOUR[:options], n % options) for n in range(200)]
    smallest = key_words(items)[0]["smallest_cue"]
    for count, within in ((smallest, False), (smallest - 1, True)):
        marked = []
        for entry in items:
            texts = list(entry.options)
            if int(entry.id[1:]) < count:
                texts[entry.key] = replace(
                    texts[entry.key], text=f"{texts[entry.key].text} confirmed"
                )
            marked.append(replace(entry, options=tuple(texts)))
        assert key_words(marked)[0]["within"] is within


def test_a_word_that_distractors_alone_have_is_seen():
    items = [item(n, FOUR, 1 + n % 3) for n in range(100)]
    (row,) = key_words(items)
    assert (row["word"], row["key"], row["due"], row["within"]) == ("edema", 0, 25.0, False)


@given(st.integers(1, 60), st.data())
def test_how_far_out_a_count_is_bounds_the_binomial_tail(items, data):
    keyed = data.draw(st.integers(0, items))
    chance = data.draw(st.sampled_from([1 / 2, 1 / 3, 1 / 4]))
    tail = sum(
        math.comb(items, k) * chance**k * (1 - chance) ** (items - k)
        for k in (range(keyed, items + 1) if keyed > items * chance else range(keyed + 1))
    )
    assert hoeffding_bound(keyed, items * chance, items) >= tail * (1 - 1e-9)


def test_who_holds_the_other_keys_of_a_block_names_the_last():
    """Each option is the key once: the least used one is always right, the most used never."""
    items = [item(n, FOUR, n % 4) for n in range(40)]
    rows = {(row["trick"], row["task"]): row for row in other_keys(items, samples(40))}
    assert rows["least", ALL]["accuracy"] == 1
    assert not rows["least", ALL]["within"]
    assert rows["most", ALL]["accuracy"] == 0
    assert {row["within"] for row in other_keys(fair(3), samples(3))} == {True}


def even_batch(count, **changes):
    return [item(n, FOUR, n % 4, **changes) for n in range(count)]


@pytest.mark.parametrize(
    ("items", "concept", "key", "count"),
    [
        pytest.param(
            [item(n, FOUR, n % 3) for n in range(10)], "goiter", 0, 10, id="never-in-a-set"
        ),
        pytest.param(
            [item(n, ("goiter", FOUR[n % 3]), n % 2) for n in range(20)]
            + [item(90 + n, ("supine", FOUR[n % 4]), 0) for n in range(10)],
            "supine",
            10,
            10,
            id="always-in-all-sets",
        ),
        pytest.param([item(0)], "edema", 1, 1, id="single-key-of-a-source"),
    ],
)
def test_an_option_that_is_always_or_never_the_key_is_an_error(items, concept, key, count):
    rule = batch_rules(items, samples(100))["even-keys"]
    assert (rule["level"], rule["holds"]) == ("error", False)
    assert (concept, key, count) in {(r["concept"], r["key"], r["shown"]) for r in rule["rows"]}


def test_nine_items_are_too_few_to_learn_from():
    items = [item(n, FOUR, n % 3) for n in range(9)]
    assert batch_rules(items, samples(9))["even-keys"]["holds"] is True


def test_a_modality_is_compared_over_all_sources_and_a_view_is_not():
    def of(task):
        return [
            item(n, ("CT", "MRI"), n % 2, task=task, source=("a", "b")[n % 2]) for n in range(40)
        ]

    assert unbalanced_options(of("Modality Recognition")) == []
    assert {option.place for option in unbalanced_options(of("View Recognition"))} == {"a", "b"}
    assert {option.place for option in unbalanced_options(of("Modality Recognition")[::2])} == {
        "all sources"
    }


def test_what_is_uneven_is_left_out_until_nothing_is():
    items = even_batch(40)
    items += [item(100 + n, (*FOUR[:2], "mass"), n % 2) for n in range(10)]
    remaining = drop_unbalanced(items)
    assert unbalanced_options(remaining) == []
    assert [entry.id for entry in remaining] == [entry.id for entry in items[:40]]


def test_boxes_have_no_label_and_no_prior():
    boxes = [
        replace(entry, options=tuple(replace(o, concept="") for o in entry.options))
        for entry in fair(20)
    ]
    assert label_prior(boxes) == []
    assert most_frequent_label(boxes, samples(20)) == []


def test_a_label_that_is_a_key_more_often_than_its_share_is_named():
    skewed = [item(n, FOUR, 0 if n < 30 else 1 + n % 3) for n in range(60)]
    (row,) = label_prior(skewed)
    assert (row["label"], row["key"], row["distractor"]) == ("edema", 30, 30)
    assert row["key_due"] == 15
    assert not row["within"]
    assert label_prior(fair(60))[0]["within"]


def test_items_out_of_order_are_counted():
    items = [item(n, key=n % 4, warnings=("order",) * (n < 2)) for n in range(20)]
    rule = batch_rules(items, samples(20))["option-order"]
    assert rule["holds"] is False
    assert rule["message"].startswith("2 of 20 items")


def test_the_committed_page_is_what_the_rules_say():
    assert PAGE.read_text(encoding="utf-8") == rules_page(), "run  make reference"
