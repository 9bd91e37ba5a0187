"""Which questions of a release are asked as one conversation, and which give one another away."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from chain_items import chain_rows, stage_row

from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.questions.chains import gives_away, make_chains, scenes_of
from medrcube.forms.box import BoxAsk, BoxTarget
from medrcube.forms.number import NumberAsk, NumberTarget
from medrcube.taxonomy import Task
from medrcube.vocabulary.layers import using_vocabulary


@pytest.fixture
def chains_of(load):
    def chain_set(*rows):
        benchmark = load(*rows)
        return make_chains(benchmark.items, scenes_of(benchmark, benchmark.items))

    return chain_set


def steps(chains):
    return [[item.id for item in chain.steps] for chain in chains.chains]


def test_the_questions_on_an_image_are_asked_from_the_lowest_level_up(row, chains_of):
    rows = chain_rows(row, "p1", "p2")
    chains = chains_of(*reversed(rows))
    assert sorted(steps(chains)) == [
        ["p1-view", "p1-roi", "p1-disease"],
        ["p2-view", "p2-roi", "p2-disease"],
    ]
    assert (chains.steps, chains.left_out) == (6, {})


def test_chains_do_not_depend_on_the_order_of_the_items(row, load):
    rows = chain_rows(row, "p1", "p2", "p3")
    rows += [stage_row(row, "Disease Diagnosis", "p1", id="other")]
    benchmark = load(*rows)
    mixed = random.Random(1).sample(benchmark.items, len(benchmark.items))
    scenes = scenes_of(benchmark, benchmark.items)
    first, second = make_chains(benchmark.items, scenes), make_chains(mixed, scenes)
    assert first.identity == second.identity
    assert {chain.id for chain in first.chains} == {chain.id for chain in second.chains}


def test_one_question_or_one_level_on_an_image_is_no_chain(row, chains_of):
    alone = stage_row(row, "View Recognition", "p1")
    grades = {"option_A": "Mild", "option_B": "Moderate", "option_C": "Severe"}
    severity = stage_row(row, "Disease Diagnosis", "p2", task="Severity Grading", id="grade")
    severity |= {**grades, "gt_answer": "Mild"}
    high = [stage_row(row, "Disease Diagnosis", "p2"), severity]
    chains = chains_of(alone, *high)
    assert (steps(chains), chains.left_out) == ([], {"alone": 3})


def test_a_second_question_of_a_task_is_counted_and_left_out(row, chains_of):
    rows = chain_rows(row, "p1")
    chains = chains_of(*rows, {**rows[0], "id": "again"})
    assert (chains.steps, chains.left_out) == (3, {"same-task": 1})


def test_a_later_wording_that_names_an_earlier_key_costs_a_step(row, chains_of):
    rows = chain_rows(row, "p1", tasks=("View Recognition", "Disease Diagnosis"))
    rows.append(
        stage_row(row, "ROI Grounding", "p1", question="Which box of this axial slice has a cyst?")
    )
    chains = chains_of(*rows)
    assert steps(chains) == [["p1-view", "p1-disease"]]
    assert chains.left_out == {"gives-away": 1}


@pytest.mark.parametrize(
    "question",
    [
        "Which box of this axial slice holds the lesion?",
        "Which box holds the lesion in the AXIAL planes?",
        "Seen in the axial plane, where is it?",
    ],
)
def test_a_key_is_named_by_its_words_however_they_are_written(row, load, question):
    view = stage_row(row, "View Recognition", "p1")
    roi = stage_row(row, "ROI Grounding", "p1", question=question)
    assert gives_away(*load(view, roi).items)


def test_words_that_all_options_share_name_no_key(row, load):
    view = stage_row(row, "View Recognition", "p1")
    roi = stage_row(row, "ROI Grounding", "p1", question="Which box lies in this plane?")
    assert not gives_away(*load(view, roi).items)


def test_to_ask_which_box_holds_something_tells_that_it_is_there(row, load):
    yes_no = {"question": "Is this shown?", "gt_answer": "Yes", "option_A": "Yes"}
    present = stage_row(row, "Disease Diagnosis", "p1") | yes_no
    present |= {"option_B": "No", "option_C": None, "option_D": None}
    rows = [
        present,
        stage_row(row, "ROI Grounding", "p1"),
        stage_row(row, "View Recognition", "p1"),
    ]
    items = {item.task.value: item for item in load(*rows).items}
    assert gives_away(items["ROI Grounding"], items["Disease Diagnosis"])
    assert not gives_away(items["View Recognition"], items["Disease Diagnosis"])


def test_a_place_is_not_asked_beside_an_image_with_marks(row, load):
    rows = [stage_row(row, name, "p1") for name in ("ROI Grounding", "View Recognition")]
    boxes, view = sorted(load(*rows).items, key=lambda item: item.task.value)
    truth = BoxTarget(ask=BoxAsk(), size=(8, 8), box=(2, 2, 4, 4), iou=0.5)
    place = replace(view, target=truth, options=(), key="")
    assert gives_away(replace(boxes, image="marked.png"), place)
    assert not gives_away(view, place)


def test_yes_or_no_is_not_asked_beside_an_image_with_marks(row, load):
    """An outline of calcified arteries tells that something is calcified."""
    organ = stage_row(row, "View Recognition", "p1", task="Organ Recognition")
    yes_no = {"gt_answer": "Yes", "option_A": "Yes", "option_B": "No", "option_C": None}
    present = stage_row(row, "Disease Diagnosis", "p1") | yes_no
    items = {item.task.value: item for item in load(organ, present).items}
    outlined = replace(items["Organ Recognition"], image="outlined.png")
    assert gives_away(outlined, items["Disease Diagnosis"])
    assert not gives_away(items["Organ Recognition"], items["Disease Diagnosis"])


def test_what_cannot_be_determined_is_not_asked_beside_the_protocol(row, load):
    """T1, T2 or FLAIR? None of them shows enhancement."""
    protocol = stage_row(row, "View Recognition", "p1", task="Imaging Protocols Recognition")
    view = stage_row(row, "View Recognition", "p1", id="view")
    cannot = {"option_C": "Cannot be determined from this image alone"}
    abstention = stage_row(row, "Disease Diagnosis", "p1", **cannot)
    items = {item.task.value: item for item in load(protocol, view, abstention).items}
    assert gives_away(items["Imaging Protocols Recognition"], items["Disease Diagnosis"])
    assert not gives_away(items["View Recognition"], items["Disease Diagnosis"])


def grades(row, image="p1", **changes):
    names = {"option_A": "Mild", "option_B": "Moderate", "option_C": "Severe", "gt_answer": "Mild"}
    severity = stage_row(row, "Disease Diagnosis", image, task="Severity Grading", id="grade")
    return severity | names | changes


def test_a_grade_is_not_asked_beside_a_question_that_locates_a_finding(row, load):
    rows = [stage_row(row, name, "p1") for name in ("ROI Grounding", "View Recognition")]
    boxes, grade, view = sorted(load(*rows, grades(row)).items, key=lambda item: item.task.value)
    assert gives_away(boxes, grade)
    assert not gives_away(view, grade)


def test_a_kind_of_facts_from_outside_the_package_counts_by_what_it_is(row, load, tmp_path):
    words = '[[kind]]\nname = "injury"\nabnormal = true\nseveral = true\n'
    (tmp_path / "words.toml").write_text(words, encoding="utf-8")
    boxes, grade = sorted(
        load(stage_row(row, "ROI Grounding", "p1"), grades(row)).items,
        key=lambda item: item.task.value,
    )
    declaration = replace(boxes.task.declaration, kinds=("injury",))
    task = Task(boxes.task.value, {**vars(boxes.task), "declaration": declaration})
    injuries = replace(boxes, task=task)
    assert not gives_away(injuries, grade)
    with using_vocabulary([tmp_path]):
        assert gives_away(injuries, grade)


@pytest.mark.parametrize("option", ["No abnormality", "no pneumothorax", "Normal chest radiograph"])
def test_what_may_be_denied_is_not_asked_beside_a_question_that_locates_a_finding(
    row, load, option
):
    """Where is the opacity? That it names one rules out "No abnormality"."""
    view = stage_row(row, "View Recognition", "p1")
    disease = stage_row(row, "Disease Diagnosis", "p1", option_B=option)
    other = stage_row(row, "Disease Diagnosis", "p1", id="other", option_B="Nodular goiter")
    boxes = stage_row(row, "ROI Grounding", "p1")
    items = {item.id: item for item in load(view, boxes, disease, other).items}
    view, disease = items["p1-view"], items["p1-disease"]
    truth = BoxTarget(ask=BoxAsk(), size=(8, 8), box=(2, 2, 4, 4), iou=0.5)
    place = {"target": truth, "options": (), "key": "", "stated_chance": 0.1, "original_task": "a"}
    box = replace(view, task=Task("Box Grounding"), question="Where is the opacity?", **place)
    assert gives_away(box, disease)
    assert gives_away(items["p1-roi"], disease)
    assert not gives_away(view, disease)
    assert not gives_away(box, items["other"])


def test_a_number_and_its_grade_are_one_thing_asked_twice(row, load):
    rows = [grades(row), stage_row(row, "View Recognition", "p1")]
    grade, view = sorted(load(*rows).items, key=lambda item: item.task.value)
    truth = NumberTarget(ask=NumberAsk(unit="%"), value=62, low=54, high=70)
    number = {"task": Task("Ejection Fraction"), "target": truth, "options": (), "key": ""}
    assert gives_away(replace(view, original_task="fraction", **number), grade)


@pytest.mark.parametrize(("other", "alike"), [("mass", True), ("phase", False)])
def test_two_questions_of_one_field_are_no_steps_of_one_chain(row, load, other, alike):
    (view,) = load(stage_row(row, "View Recognition", "p1")).items
    truth = BoxTarget(ask=BoxAsk(), size=(8, 8), box=(2, 2, 4, 4), iou=0.5)
    place = {"target": truth, "options": (), "key": ""}
    box = replace(view, task=Task("Box Grounding"), original_task="mass", **place)
    point = replace(view, task=Task("Point Grounding"), original_task=other, **place)
    assert gives_away(box, point) is alike


def test_equal_numbers_of_boxes_give_nothing_away(row, load):
    boxes = stage_row(row, "ROI Grounding", "p1")
    frames = stage_row(row, "ROI Grounding", "p1", task="View Recognition", id="frame")
    assert not gives_away(*load(boxes, frames).items)


def test_options_that_all_hold_a_key_give_it_away(row, load):
    finding = stage_row(
        row,
        "Disease Diagnosis",
        "p1",
        task="Abnormality Diagnosis",
        id="finding",
        option_A="Mass",
        option_B="Calcification",
        option_C="Distortion",
        gt_answer="Mass",
    )
    kind = stage_row(
        row,
        "Disease Diagnosis",
        "p1",
        option_A="Round mass",
        option_B="Oval mass",
        option_C="Lobulated mass",
        gt_answer="Round mass",
    )
    assert gives_away(*load(finding, kind).items)


@pytest.mark.parametrize("word", ["MR image", "MRI", "magnetic resonance image"])
def test_the_words_by_which_questions_name_a_modality_are_its_key(row, load, word):
    modality = stage_row(
        row,
        "View Recognition",
        "p1",
        task="Modality Recognition",
        modality="MRI",
        question="Which modality produced this?",
        option_A="Magnetic resonance imaging (MRI)",
        option_B="Computed tomography (CT)",
        option_C="Ultrasonography (US)",
        gt_answer="Magnetic resonance imaging (MRI)",
    )
    disease = stage_row(
        row, "Disease Diagnosis", "p1", modality="MRI", question=f"What does this {word} show?"
    )
    assert gives_away(*load(modality, disease).items)


def test_two_files_with_the_same_bytes_are_one_image(row, write_release, tmp_path):
    rows = chain_rows(row, "p1", tasks=("View Recognition",))
    rows += chain_rows(row, "p2", tasks=("Disease Diagnosis",))
    root = write_release(tmp_path / "r", rows)
    pictures = root / "ALPHA/pictures"
    (pictures / "p2.png").write_bytes((pictures / "p1.png").read_bytes())
    benchmark = load_benchmark(root)
    chains = make_chains(benchmark.items, scenes_of(benchmark, benchmark.items))
    assert steps(chains) == [["p1-view", "p2-disease"]]


def test_the_same_bytes_of_two_patients_are_two_images(row, write_release, tmp_path):
    rows = chain_rows(row, "p1", tasks=("View Recognition",))
    rows += chain_rows(row, "p2", tasks=("Disease Diagnosis",))
    root = write_release(tmp_path / "r", rows)
    pictures = root / "ALPHA/pictures"
    (pictures / "p2.png").write_bytes((pictures / "p1.png").read_bytes())
    lines = ["dataset,id,visible,block,unit,fact"]
    lines += [
        f"ALPHA,{each['id']},yes,,patient-{place:016x},{place:016x}"
        for place, each in enumerate(rows)
    ]
    (root / "items.csv").write_text("\n".join(lines) + "\n")
    benchmark = load_benchmark(root)
    chains = make_chains(benchmark.items, scenes_of(benchmark, benchmark.items))
    assert (steps(chains), chains.left_out) == ([], {"alone": 2})


def test_marked_images_of_one_slice_are_one_image_by_their_recipes(row, write_release, tmp_path):
    rows = chain_rows(row, "p1", tasks=("View Recognition", "Disease Diagnosis"))
    rows += chain_rows(row, "boxes", tasks=("ROI Grounding",))
    root = write_release(tmp_path / "r", rows)

    def recipe(image, slice_number):
        images = [{"files": ["scan.nii"], "frame": slice_number, "member": None}]
        return {"image": image, "source": "alpha", "case": "c1", "images": images}

    recipes = [recipe("ALPHA/pictures/p1.png", 3), recipe("ALPHA/pictures/boxes.png", 3)]
    (root / "recipes.jsonl").write_text("".join(json.dumps(each) + "\n" for each in recipes))
    benchmark = load_benchmark(root)
    chains = make_chains(benchmark.items, scenes_of(benchmark, benchmark.items))
    assert steps(chains) == [["p1-view", "boxes-roi", "p1-disease"]]
    recipes[1] = recipe("ALPHA/pictures/boxes.png", 4)
    (root / "recipes.jsonl").write_text("".join(json.dumps(each) + "\n" for each in recipes))
    chains = make_chains(benchmark.items, scenes_of(benchmark, benchmark.items))
    assert steps(chains) == [["p1-view", "p1-disease"]]
