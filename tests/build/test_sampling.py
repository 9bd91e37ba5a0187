from collections import Counter
from dataclasses import replace

import pytest

from medrcube.build.items import Item, Option
from medrcube.build.samples import Sample
from medrcube.build.sampling import select
from medrcube.errors import WorkspaceError

BLANK = dict.fromkeys(Sample.__dataclass_fields__, "")


def sample(number, *, patient="", case=""):
    numbers = {"choices": 0, "area": 0.0, "regions": 0, "width": 1, "height": 1}
    values = {
        **BLANK,
        **numbers,
        "id": f"s{number}",
        "source": "toy",
        "case": case or f"c{number}",
        "redistribute": True,
        "artefact": "clean",
        "patient": patient,
    }
    return Sample(**values)


def item(number, *, concept="Edema", task="Abnormality Diagnosis", source="toy", picture=None):
    def option(text, strategy):
        return Option(text=text, concept=text, ids=(), strategy=strategy, grade="", passed=())

    return Item(
        id=f"{task[:2]}{source}{number:04d}",
        sample=f"s{number if picture is None else picture}",
        source=source,
        task=task,
        anatomy="Chest",
        modality="X-ray",
        question="q?",
        options=(option(concept, "key"), option("wrong", "knowledge")),
        key=0,
        strategy="knowledge",
        state="unreviewed",
        field="f",
        concept=concept,
        group="",
        scope="image",
        grade="A",
        ordered=False,
        variant="v",
        template="t",
        warnings=(),
        seed=0,
    )


def test_a_quota_holds_for_every_source_and_task():
    items = [
        item(n, task=t) for t in ("Abnormality Diagnosis", "View Recognition") for n in range(9)
    ]
    chosen = select(items, [sample(n) for n in range(9)], per_cell=4, seed=0)
    assert Counter(it.task for it in chosen) == {"Abnormality Diagnosis": 4, "View Recognition": 4}


def test_no_quota_keeps_everything():
    items = [item(n) for n in range(9)]
    assert {it.id for it in select(items, [], per_cell=None, seed=0)} == {it.id for it in items}


def test_answers_are_balanced_as_far_as_they_go():
    concepts = ["Edema"] * 50 + ["Nodule"] * 20 + ["Hernia"] * 2
    items = [item(n, concept=concept) for n, concept in enumerate(concepts)]
    chosen = select(items, [sample(n) for n in range(72)], per_cell=20, seed=0)
    assert Counter(it.concept for it in chosen) == {"Edema": 9, "Nodule": 9, "Hernia": 2}


def test_a_patient_comes_twice_only_when_all_have_come_once():
    samples = [sample(n, patient=f"p{n % 5}") for n in range(25)]
    chosen = select([item(n) for n in range(25)], samples, per_cell=7, seed=0)
    by_id = {it.id: it.patient for it in samples}
    counts = Counter(by_id[it.sample] for it in chosen)
    assert sorted(counts.values()) == [1, 1, 1, 2, 2]


def test_without_patients_every_case_counts_as_one():
    samples = [sample(n, case="same" if n < 20 else "") for n in range(25)]
    chosen = select([item(n) for n in range(25)], samples, per_cell=6, seed=0)
    assert sum(int(it.sample[1:]) < 20 for it in chosen) == 1


def test_tasks_meet_on_the_same_pictures():
    items = [item(n) for n in range(40)]
    items += [item(n, task="View Recognition") for n in range(40)]
    items += [item(n, task="Disease Diagnosis", concept="Pneumonia") for n in range(10, 18)]
    chosen = select(items, [sample(n) for n in range(40)], per_cell=5, seed=0)
    pictures = {}
    for it in chosen:
        pictures.setdefault(it.task, set()).add(it.sample)
    assert pictures["Disease Diagnosis"] == pictures["View Recognition"]
    assert pictures["Disease Diagnosis"] == pictures["Abnormality Diagnosis"]


def test_the_order_of_the_input_does_not_matter():
    concepts = ["Edema", "Nodule", "Hernia"]
    items = [item(n, concept=concepts[n % 3]) for n in range(30)]
    samples = [sample(n, patient=f"p{n % 4}") for n in range(30)]
    first = select(items, samples, per_cell=10, seed=2)
    items.reverse()
    assert select(items, samples[::-1], per_cell=10, seed=2) == first


def test_positions_are_even_after_the_draw():
    items = [item(n, concept="Edema" if n % 2 else "Nodule") for n in range(60)]
    uneven = [replace(it, key=0) for it in items]
    chosen = select(uneven, [sample(n) for n in range(60)], per_cell=20, seed=0)
    assert Counter(it.key for it in chosen) == {0: 10, 1: 10}
    assert all(it.options[it.key].text == it.concept for it in chosen)


def test_an_item_without_its_picture_is_an_error():
    with pytest.raises(WorkspaceError, match="'s1' is not among the samples"):
        select([item(1)], [], per_cell=3, seed=0)


def test_a_quota_of_none_at_all_is_refused():
    with pytest.raises(ValueError, match="one or more"):
        select([], [], per_cell=0, seed=0)
