from collections import Counter
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medrcube.build.questions.balance import balance
from medrcube.build.questions.items import Item, Option


def item(number, key, wrong, *, task="View Recognition", source="toy", question="q?", box=False):
    def option(text, strategy):
        concept = "" if box else text
        return Option(text=text, concept=concept, ids=(), strategy=strategy, grade="", passed=())

    return Item(
        id=f"{number:05}",
        sample=f"s{number}",
        source=source,
        task=task,
        anatomy="Chest",
        modality="X-ray",
        question=question,
        options=(option(key, "key"), *(option(text, "predefined") for text in wrong)),
        key=0,
        strategy="predefined",
        state="unreviewed",
        field="f",
        concept=key,
        group="",
        scope="image",
        grade="A",
        ordered=False,
        variant="v",
        template="t",
        warnings=(),
        seed=0,
    )


def items(keys, names, **changes):
    return [
        item(number, key, [name for name in names if name != key], **changes)
        for number, key in enumerate(keys)
    ]


def best_reader(batch):
    """Right answers of whoever knows the best answer to every set of options, and the bound."""
    sets = {}
    for it in batch:
        names = frozenset(option.text for option in it.options)
        sets.setdefault(names, Counter())[it.concept] += 1
    right = sum(max(counts.values()) for counts in sets.values())
    chances = [1 / len(it.options) for it in batch]
    return right, sum(chances) + 2 * sqrt(sum(chance * (1 - chance) for chance in chances))


def test_what_is_even_stays_whole():
    even = items(["AP", "PA", "LATERAL"] * 20, ("AP", "PA", "LATERAL"))
    done = balance(even, seed=0)
    assert done.items == tuple(even)
    assert not done.dropped


def test_of_an_uneven_pair_the_frequent_answer_is_left_out_and_counted():
    uneven = items(["benign"] * 90 + ["malignant"] * 10, ("benign", "malignant"))
    done = balance(uneven, seed=0)
    kept = Counter(it.concept for it in done.items)
    assert kept["malignant"] == 10
    assert done.dropped == {"View Recognition: balance": 90 - kept["benign"]}
    right, bound = best_reader(done.items)
    assert right <= bound
    assert right + 0.5 > bound - 0.5


def test_accident_is_left_alone():
    near = items(["a"] * 55 + ["b"] * 45, ("a", "b"))
    assert len(balance(near, seed=0).items) == 100


def test_the_last_item_of_a_source_in_its_cell_stays():
    one_sided = items(["breast"] * 10, ("breast", "brain", "heart", "lung"))
    other = items(["breast"] * 10, ("breast", "brain", "heart", "lung"), source="other")
    other = [
        item(100 + n, it.concept, ["brain", "heart"], source="b") for n, it in enumerate(other)
    ]
    done = balance([*one_sided, *other], seed=0)
    assert {it.source for it in done.items} == {"toy", "b"}


def test_nothing_is_left_out_that_helps_nobody():
    """Of two keys as frequent as each other one must stay: without the other more is given away."""
    batch = []
    for n in range(20):
        names = [f"{letter}{n}" for letter in "abcd"]
        batch.append(item(2 * n, names[0], names[1:]))
        batch.append(item(2 * n + 1, names[1], [names[0], *names[2:]], source=f"source {n}"))
    assert len(balance(batch, seed=0).items) == 40


def test_the_label_that_is_most_over_its_due_goes_first():
    """Piles alike in what they give away: left out is whose key never stands as a distractor."""
    pairs = [("T1", f"x{n}") for n in range(12)]
    pairs += [("T2", f"y{n}") for n in range(2)] + [("w", "T2")]
    batch = [item(n, key, [wrong]) for n, (key, wrong) in enumerate(pairs)]
    kept = Counter(it.concept for it in balance(batch, seed=0).items)
    assert kept["T2"] == 2
    assert kept["T1"] < 12


def test_tasks_are_balanced_one_by_one():
    even = items(["a", "b"] * 20, ("a", "b"), task="Organ Recognition")
    uneven = [item(900 + n, "c", ["d"]) for n in range(30)]
    done = balance([*even, *uneven], seed=0)
    assert sum(it.task == "Organ Recognition" for it in done.items) == 40
    assert set(done.dropped) == {"View Recognition: balance"}


@settings(deadline=None, max_examples=60)
@given(
    keys=st.lists(st.tuples(st.sampled_from("abcd"), st.integers(2, 4)), min_size=4, max_size=80),
    seed=st.integers(0, 9),
)
def test_no_rule_over_options_beats_chance_by_more_than_the_bound(keys, seed):
    batch = [
        item(n, key, [name for name in "abcd" if name != key][: size - 1])
        for n, (key, size) in enumerate(keys)
    ]
    kept = balance(batch, seed=seed).items
    right, bound = best_reader(kept)
    assert right <= bound or len(kept) == 1
    assert balance(batch[::-1], seed=seed).items[::-1] == kept


@pytest.mark.parametrize("seed", [0, 1])
def test_names_that_read_alike_are_one_option(seed):
    """Another label with the same name makes no set of its own: a reader sees no difference."""
    batch = items(["pleural effusion"] * 20, ("pleural effusion", "hernia"))
    batch += [item(100 + n, "hernia", ["Pleural effusions"]) for n in range(20)]
    assert len(balance(batch, seed=seed).items) == 40


def test_a_word_of_the_question_that_tells_the_key_is_counted_too():
    """Both are right as often among the same options, but the words say which."""
    brain = items(["brain"] * 60, ("brain", "breast"), question="in this MRI image?")
    breast = [
        item(100 + n, "breast", ["brain"], question="in this X-ray image?", source="other")
        for n in range(60)
    ]
    done = balance([*brain, *breast], seed=0)
    assert 2 <= len(done.items) < 20
    assert done.dropped == {"View Recognition: balance": 120 - len(done.items)}


def test_words_that_go_with_each_key_alike_cost_nothing():
    batch = [
        item(n, key, [{"brain": "breast", "breast": "brain"}[key]], question=f"in this {what}?")
        for n, (key, what) in enumerate(
            [(key, what) for key in ("brain", "breast") for what in ("CT", "MRI")] * 10
        )
    ]
    assert len(balance(batch, seed=0).items) == 40


def test_numbers_of_boxes_are_no_words():
    """Each question has a target of its own, and its box is drawn by lot."""
    boxes = ("Box 1", "Box 2", "Box 3")
    batch = [
        item(
            n, boxes[n % 3], [it for it in boxes if it != boxes[n % 3]], question=f"{n}?", box=True
        )
        for n in range(30)
    ]
    assert len(balance(batch, seed=0).items) == 30
