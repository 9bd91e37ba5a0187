"""A reader of the options alone finds planted leaks, and none where there is none."""

import math
import random
from dataclasses import replace

import pytest

from medrcube.build.audit.leakage import conditional_logit
from medrcube.build.audit.leakage.conditional_logit import (
    ConditionalLogit,
    LogitQuestion,
    QuestionSet,
    cross_validate,
    cross_validate_each,
    folds,
)
from medrcube.build.audit.leakage.leakage_features import option_features
from medrcube.build.audit.leakage.leakage_tests import (
    ALL,
    groups_of,
    options_only,
    score_against_chance,
    text_only,
)
from medrcube.build.questions.item_table import ChoiceItem, Option
from medrcube.build.stages.samples import Sample

LABELS = (
    *("edema", "pneumothorax", "rib fracture", "hiatal hernia"),
    *("cardiomegaly", "lung cyst", "pleural thickening", "atelectasis"),
)
BLANK = dict.fromkeys(Sample.__dataclass_fields__, "")


def sample(number, *, patient=None, case=None, picture=None):
    numbers = dict.fromkeys(("choices", "regions", "file_bytes", "colour"), 0)
    numbers |= {"area": 0.0, "grey": 0.0, "width": 1, "height": 1}
    named = {
        "id": f"s{number}",
        "source": "toy",
        "case": case or f"c{number}",
        "patient": patient or "",
        "pixel_sha256": picture or f"x{number}",
        "redistribute": True,
    }
    return Sample(**{**BLANK, **numbers, **named})


def item(number, texts, key, *, question="Which finding is seen?", task="Abnormality Diagnosis"):
    options = tuple(
        Option(text=text, concept=text, ids=(), strategy="s", grade="A", passed=())
        for text in texts
    )
    blank = dict.fromkeys(ChoiceItem.__dataclass_fields__, "")
    named = {
        "id": f"i{number:04}",
        "sample": f"s{number}",
        "source": "toy",
        "task": task,
        "question": question,
        "options": options,
        "key": key,
        "concept": texts[key],
        "ordered": False,
        "warnings": (),
        "seed": 0,
    }
    return ChoiceItem(**{**blank, **named})


def fair(lots, _number):
    return lots.sample(LABELS, 4), lots.randrange(4)


def always_key(lots, _number):
    texts, key = lots.sample(LABELS, 4), lots.randrange(4)
    return texts, texts.index("edema") if "edema" in texts else key


def uneven_prior(lots, _number):
    texts = lots.sample(LABELS[:2], 2)
    return texts, texts.index("edema" if lots.random() < 0.9 else "pneumothorax")


def longest(lots, _number):
    texts = [f"w{lots.randrange(10**6)}" + "x" * lots.randrange(12) for _ in range(4)]
    return texts, texts.index(max(texts, key=len)) if lots.random() < 0.6 else lots.randrange(4)


def shared_words(lots, _number):
    texts, key = [f"a{lots.randrange(999)} b{lots.randrange(999)}" for _ in range(4)], 0
    front, back = texts[key].split()
    texts[1], texts[2] = f"{front} {texts[1].split()[1]}", f"{texts[2].split()[0]} {back}"
    order = lots.sample(range(4), 4)
    return [texts[index] for index in order], order.index(key)


def position(lots, _number):
    return lots.sample(LABELS, 4), 1 if lots.random() < 0.5 else lots.randrange(4)


def never_a_distractor(lots, number):
    texts, key = lots.sample(LABELS, 4), lots.randrange(4)
    texts[key] = f"only here {number}"
    return texts, key


def circle(lots, _number):
    """Each of three labels is a key half of the time, but its company tells which time."""
    texts = lots.sample(LABELS[:3], 2)
    first, second = (LABELS.index(text) for text in texts)
    return texts, 0 if (second - first) % 3 == 1 else 1


def circle_in_company(lots, _number):
    """The same beside a third option that is always another; all names are equally long."""
    names = ("edema", "colon", "hilum")
    texts = lots.sample(names, 2)
    first, second = (names.index(text) for text in texts)
    return [*texts, f"f{lots.randrange(1000, 9999)}"], 0 if (second - first) % 3 == 1 else 1


def batch(plan, seed=0, *, n=160, each=1):
    lots = random.Random(f"{plan.__name__} {seed}")
    plans = [plan(lots, number) for number in range(n)]
    samples = [sample(number, patient=f"p{number // each}") for number in range(n)]
    return [item(number, *arguments) for number, arguments in enumerate(plans)], samples


LEAKS = (
    *(always_key, uneven_prior, longest, shared_words, position, never_a_distractor),
    circle,
)


@pytest.mark.few(3)
@pytest.mark.parametrize("plan", LEAKS, ids=lambda plan: plan.__name__)
def test_a_planted_leak_is_found(plan):
    for seed in range(3):
        row, everything = options_only(*batch(plan, seed))
        assert not row["within"]
        assert row["accuracy"] > row["chance"] + 4 * row["se"]
        assert everything == {**row, "task": ALL}


def test_the_company_of_a_label_is_seen_in_sets_that_never_come_twice():
    row, _ = options_only(*batch(circle_in_company))
    assert row["accuracy"] > 0.9


@pytest.mark.thorough
@pytest.mark.parametrize("each", [1, 8])
def test_a_fair_batch_rarely_seems_to_leak(each):
    """Two standard errors are passed by luck in 2.3 of 100; 6 of 50 would be 1 in 1,000."""
    rows = [options_only(*batch(fair, seed, n=96, each=each))[0] for seed in range(50)]
    assert sum(not row["within"] for row in rows) <= 5
    assert sum(row["accuracy"] - row["chance"] for row in rows) / 50 < 0.02


@pytest.mark.thorough
def test_keys_that_run_in_patients_do_not_seem_to_leak():
    """All pictures of a patient have one key: a lucky guess is lucky eight times."""
    alarms = 0
    for seed in range(40):
        lots = random.Random(seed)
        truth = [lots.choice(LABELS[:4]) for _ in range(12)]
        items = []
        for number in range(96):
            texts = lots.sample(LABELS[:4], 4)
            items.append(item(number, texts, texts.index(truth[number // 8])))
        row = options_only(items, [sample(n, patient=f"p{n // 8}") for n in range(96)])[0]
        alarms += not row["within"]
    assert alarms <= 4


def test_tasks_are_judged_apart_and_together():
    leaky, samples = batch(position)
    sound = [
        item(1000 + n, *fair(random.Random(n), n), task="Disease Diagnosis") for n in range(80)
    ]
    rows = options_only([*leaky, *sound], [*samples, *(sample(1000 + n) for n in range(80))])
    assert [row["task"] for row in rows] == ["Abnormality Diagnosis", "Disease Diagnosis", ALL]
    assert [row["within"] for row in rows] == [False, True, False]
    assert [row["n"] for row in rows] == [160, 80, 240]


def test_chance_is_the_mean_of_one_over_the_options():
    items = [item(n, LABELS[: 2 + 2 * (n % 2)], 0) for n in range(8)]
    row = options_only(items, [sample(n) for n in range(8)])[0]
    assert row["chance"] == pytest.approx(3 / 8)
    assert row["groups"] == 8


def test_one_patient_alone_cannot_be_measured():
    items, _ = batch(position, n=30)
    (row,) = options_only(items, [sample(n, patient="p") for n in range(30)])
    assert (row["accuracy"], row["se"], row["within"]) == (None, None, None)
    assert row["n"] == 30


def test_an_empty_batch_has_no_rows():
    assert options_only([], []) == []
    assert text_only([], []) == []


def test_the_order_of_the_input_changes_nothing():
    items, samples = batch(longest, n=60)
    assert options_only(items, samples) == options_only(items[::-1], samples[::-1])


def test_a_wording_that_goes_with_the_key_is_found_and_others_are_not():
    def leak_row(tells):
        lots = random.Random(5)
        items = []
        for number in range(120):
            texts, key = fair(lots, number)
            other = LABELS.index(texts[key] if tells else lots.choice(LABELS))
            words = ("View", "Plane", "Slice", "Frame", "Film", "Field", "Scene", "Scan")
            items.append(item(number, texts, key, question=f"{words[other]}: which finding?"))
        return text_only(items, [sample(n) for n in range(120)])[0]

    assert leak_row(tells=True)["accuracy"] > 0.8
    assert not leak_row(tells=True)["within"]
    assert leak_row(tells=False)["within"]


def test_patients_cases_and_equal_pictures_stay_together():
    samples = [
        sample(0, patient="a"),
        sample(1, patient="a"),
        sample(2, case="c1"),
        sample(3, picture="x0"),
        sample(4),
        sample(5, patient="b", picture="x5"),
        sample(6, picture="x5"),
    ]
    groups = groups_of([item(n, LABELS[:2], 0) for n in range(8)], samples)
    assert len({groups[f"i{n:04}"] for n in range(4)}) == 1
    assert groups["i0005"] == groups["i0006"]
    assert len(set(groups.values())) == 4


def test_the_same_patient_name_in_two_sources_is_two_patients():
    other = Sample(**{f: getattr(sample(1, patient="a"), f) for f in BLANK} | {"source": "other"})
    groups = groups_of(
        [item(0, LABELS[:2], 0), item(1, LABELS[:2], 0)], [sample(0, patient="a"), other]
    )
    assert groups["i0000"] != groups["i0001"]


def test_no_model_has_seen_the_group_that_it_is_asked_about():
    """Each pair of questions has a label of its own: only by seeing the twin could it score."""
    questions = [
        LogitQuestion(options=({f"good {n // 2}": 1.0}, {f"bad {n // 2}": 1.0}), key=0)
        for n in range(40)
    ]
    apart = cross_validate(questions, [f"g{n // 2}" for n in range(40)])
    mixed = cross_validate(questions, [f"g{n}" for n in range(40)])
    assert apart == [0.5] * 40
    assert sum(mixed) > 30


@pytest.mark.parametrize("together", [2_000, 100])
def test_questions_that_are_validated_together_get_the_hits_they_get_apart(monkeypatch, together):
    monkeypatch.setattr(conditional_logit, "TOGETHER", together)
    sets = [
        QuestionSet(
            [
                LogitQuestion(options=({f"{n % 3}": 1.0}, {f"{n % 7}": weight}), key=n % 2)
                for n in range(count)
            ],
            [f"g{n // members}" for n in range(count)],
        )
        for count, members, weight in [(20, 1, 0.5), (6, 6, 1.0), (60, 4, 0.5), (9, 2, 2.0)]
    ]
    expected = [cross_validate(each.questions, each.groups) for each in sets]
    assert list(cross_validate_each(sets)) == expected
    assert list(cross_validate_each(sets[::-1])) == expected[::-1]
    assert None in expected


def test_folds_are_even_and_hold_whole_groups():
    groups = [f"g{n // 3}" for n in range(30)]
    placed = folds(groups, 5)
    sizes = [sum(placed[group] == fold for group in groups) for fold in range(5)]
    assert sizes == [6] * 5
    assert placed == folds(groups[::-1], 5)
    assert set(folds(["a", "b"], 5).values()) == {0, 1}


def test_rare_options_and_strange_company_can_be_seen():
    texts = [("edema", "hernia"), ("edema", "hernia"), ("edema", "goiter")]
    *_, (common, rare) = option_features([item(n, pair, 0) for n, pair in enumerate(texts)])
    assert common["often"] == pytest.approx(math.log(3))
    assert rare["often"] == 0
    assert "most often" in common
    assert "least often" in rare
    usual, *_ = option_features([item(n, pair, 0) for n, pair in enumerate(texts)])
    assert usual[0]["close"] == pytest.approx(math.log(2) / 2)
    assert "most close" not in usual[0]
    trio = [item(n, ("edema", "hernia"), 0) for n in range(3)] + [
        item(3, ("edema", "hernia", "goiter"), 0)
    ]
    first_option, _, stranger = option_features(trio)[3]
    assert first_option["close"] > stranger["close"] == 0
    assert "least close" in stranger


def test_lengths_and_shared_words_can_be_seen():
    texts = ("left lung mass", "left lung cyst", "hernia")
    ((long, _, short),) = option_features([item(0, texts, 0)])
    assert "most length" in long
    assert "least length" in short
    assert (long["shared"], short["shared"]) == (2, 0)


def test_the_model_learns_a_weight_and_breaks_ties_by_lot():
    model = ConditionalLogit([LogitQuestion(options=({"a": 1.0}, {"b": 1.0}), key=0)] * 40)
    assert model.hit(LogitQuestion(options=({"b": 1.0}, {"a": 1.0}), key=1)) == 1
    assert model.hit(LogitQuestion(options=({"b": 1.0}, {"a": 1.0}), key=0)) == 0
    assert model.hit(LogitQuestion(options=({"new": 1.0}, {}, {"other": 1.0}), key=1)) == 1 / 3


def test_the_standard_error_is_that_of_lots_or_of_groups_whichever_is_larger():
    alone = score_against_chance([(float(n % 4 == 0), 0.25, f"g{n}") for n in range(100)])
    assert alone["se"] == pytest.approx((0.25 * 0.75 / 100) ** 0.5, rel=0.01)
    together = score_against_chance([(float(n < 24), 0.25, f"g{n // 12}") for n in range(96)])
    assert together["groups"] == 8
    assert together["se"] == pytest.approx((0.25 * 0.75 / 7) ** 0.5)
    assert together["within"]


@pytest.mark.parametrize("reader", [options_only, text_only])
def test_numbered_boxes_are_left_to_the_reader_of_boxes(reader):
    items = [item(number, ("Box 1", "Box 2"), 0) for number in range(20)]
    boxes = [
        replace(entry, options=tuple(replace(o, concept="") for o in entry.options))
        for entry in items
    ]
    assert reader(items, [sample(number) for number in range(20)])
    assert reader(boxes, [sample(number) for number in range(20)]) == []
