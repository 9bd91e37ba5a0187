"""Sets are right when all their items are; one answer to all of them is distinguishable."""

import pytest

from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.statistics.item_sets import group_sets, paired_set_metrics, set_metrics
from medrcube.evaluate.statistics.metrics import metrics

TEXTS = ("edema", "hernia", "nodule")


@pytest.fixture
def answered(result):
    """Results of a set: ``answered("s", chosen=("edema", "edema"))``; none is no letter."""

    def make(name, answers, *, texts=TEXTS, size=None, roles=("", "", ""), **axes):
        rows = []
        for number, choice in enumerate(answers):
            # The letters of the options are drawn for each item.
            order = texts[number:] + texts[:number]
            rows.append(
                result(
                    f"{name}-{number}",
                    right=None if choice is None else int(choice == texts[number]),
                    choice=None if choice is None else order.index(choice),
                    picture=f"{name}-{number}",
                    options=tuple(zip("ABC", order, strict=False)),
                    count=len(texts),
                    set=f"block-{name}",
                    set_size=size or len(answers),
                    role=roles[number],
                    **axes,
                )
            )
        return rows

    return make


def test_a_set_is_right_when_all_its_items_are(answered):
    results = [
        *answered("a", ("edema", "hernia")),
        *answered("b", ("edema", "edema")),
        *answered("c", ("hernia", "edema")),
        *answered("d", ("edema", None)),
    ]
    row = set_metrics(results)["global"]
    assert (row["n"], row["correct"], row["accuracy"]) == (4, 1, 0.25)
    assert (row["items"], row["item_accuracy"]) == (8, 0.5)


def test_confusion_is_one_text_for_all_items_whatever_their_letters(answered):
    same_text = answered("a", ("edema", "edema"))
    assert {entry.answer for entry in same_text} == {"A", "C"}
    same_letter = answered("b", ("edema", "hernia"))
    assert {entry.answer for entry in same_letter} == {"A"}
    assert set_metrics(same_text)["global"]["confused"] == 1
    assert set_metrics(same_letter)["global"]["confused"] == 0
    assert set_metrics(answered("c", (None, None)))["global"]["confused"] == 0


def test_chance_is_that_of_independent_even_guesses(answered):
    row = set_metrics([*answered("a", TEXTS), *answered("b", TEXTS[:2])])["global"]
    assert row["chance"] == pytest.approx((1 / 27 + 1 / 9) / 2)
    assert row["confusion_chance"] == pytest.approx((1 / 9 + 1 / 3) / 2)


def test_a_set_without_all_its_items_is_counted_and_not_scored(answered):
    sets = set_metrics([*answered("a", TEXTS[:2]), *answered("b", TEXTS[:2], size=3)])
    assert (sets["global"]["n"], sets["incomplete"], sets["lost"]) == (1, 1, 0)


def test_a_set_with_an_item_without_reply_is_counted_and_not_scored(answered, result):
    rows = answered("a", TEXTS[:2])
    failed = result("a-1", outcome=AnswerOutcome.FAILED, set="block-a", set_size=2)
    sets = set_metrics([rows[0], failed])
    assert (sets["global"]["n"], sets["incomplete"], sets["lost"]) == (0, 0, 1)
    assert sets["global"]["accuracy"] is None


def test_a_release_without_sets_has_no_figures_of_sets(result):
    assert set_metrics([result("a"), result("b")]) is None


def test_an_incomplete_run_tells_no_accuracy_of_sets(answered, result):
    lost = [result(f"q{n}", outcome=AnswerOutcome.FAILED, picture=f"q{n}") for n in range(20)]
    sets = metrics([*answered("a", TEXTS), *lost])["sets"]
    assert sets["global"]["n"] == 1
    assert [sets["global"][name] for name in ("accuracy", "confusion", "item_accuracy")] == [
        None,
        None,
        None,
    ]


def test_the_share_of_yes_is_of_the_questions_of_yes_and_no(answered):
    pairs = [
        *answered("a", ("yes", "yes"), texts=("yes", "no")),
        *answered("b", ("yes", None), texts=("yes", "no")),
        *answered("c", TEXTS),
    ]
    assert set_metrics(pairs)["yes_no"] == {
        "n": 4,
        "answered": 3,
        "yes_share": 1.0,
        "yes_keys": 0.5,
    }
    assert set_metrics(answered("c", TEXTS))["yes_no"] is None


def twin(answered, name, *answers):
    texts = ("edema", "cannot tell")
    return answered(name, answers, texts=texts, roles=("shown", "hidden"))


def test_abstaining_where_the_image_tells_and_answering_where_it_cannot_are_told_apart(answered):
    results = [
        *twin(answered, "a", "edema", "cannot tell"),
        *twin(answered, "b", "cannot tell", "cannot tell"),
        *twin(answered, "c", "edema", "edema"),
        *twin(answered, "d", "cannot tell", None),
        *answered("e", TEXTS),
    ]
    assert set_metrics(results)["abstention"] == {
        "shown": 4,
        "hidden": 3,
        "false_abstention": 0.5,
        "false_confidence": pytest.approx(1 / 3),
    }
    assert set_metrics(answered("e", TEXTS))["abstention"] is None


def test_chance_of_a_set_is_not_that_of_the_best_constant_answer_to_its_items(answered):
    results = answered("a", TEXTS, stated_chance=0.5)
    assert set_metrics(results)["global"]["chance"] == pytest.approx(1 / 27)


def test_one_set_a_patient_gives_the_interval_of_single_answers(answered):
    rows = [row for n in range(20) for row in answered(f"s{n}", TEXTS[:2])]
    row = set_metrics(rows)["global"]
    assert (row["units"], row["accuracy"], row["interval"][1]) == (40, 1.0, 1.0)


def test_two_models_are_compared_on_sets(answered):
    right, wrong = ("edema", "hernia"), ("edema", "edema")
    better = group_sets([row for n in range(12) for row in answered(f"s{n}", right)]).answered
    worse = group_sets([row for n in range(12) for row in answered(f"s{n}", wrong)]).answered
    row = paired_set_metrics(list(zip(better, worse, strict=True)))
    assert (row["n"], row["first"], row["second"], row["only_first"]) == (12, 1.0, 0.0, 12)
    assert row["mcnemar_p"] == pytest.approx(2 / 2**12)
