"""Pairs are dealt so that size, brightness and file size do not tell their members apart."""

import random
from dataclasses import replace
from statistics import fmean

import pytest

from medrcube.build.open_items.pairing import pairs
from medrcube.build.open_items.pairing.pairs import deal_pairs
from medrcube.build.open_items.pairing.waiting import Waiting
from medrcube.build.open_items.question import OpenQuestion
from medrcube.build.stages.samples import Sample
from medrcube.forms.option import OptionTarget
from medrcube.taxonomy import Task

OPTIONS = (("A", "Yes"), ("B", "No"))
SAMPLE = Sample(
    id="s", source="toy", case="c", artefact="clean", field="", marked="", truth="", choices=0,
    area=0.0, regions=0, image="i.png", pixel_sha256="", perceptual_hash="", width=100, height=100,
    anatomy="Chest", modality="X-ray", patient="p", split="", scope="image", licence="CC0-1.0",
    redistribute=True, frames="0", reason="only one", recipe="r", file_bytes=1000, grey=100.0,
)  # fmt: skip


def question_of(name, role, *, task="Presence", **cues):
    sample = replace(SAMPLE, id=name, patient=name, pixel_sha256=name, **cues)
    key = "A" if role == "yes" else "B"
    return OpenQuestion(
        task=Task(task),
        sample=sample,
        field="finding",
        concept="Edema",
        target=OptionTarget(options=OPTIONS, key=key),
        role=role,
    )


def deal(questions, seed=0):
    return deal_pairs(questions, dict.fromkeys(range(len(questions)), ()), seed)


def differences(dealt):
    by_role = [{question.role: question.sample.grey for question in pair} for pair in dealt]
    return [greys["yes"] - greys["no"] for greys in by_role]


@pytest.fixture
def brighter():
    """Images of which those with the finding are brighter by about a standard deviation."""
    draw = random.Random(1)
    return [
        question_of(f"{role}{number}", role, grey=draw.gauss(100 + 10 * (role == "yes"), 10))
        for role in ("yes", "no")
        for number in range(100)
    ]


def test_a_partner_is_as_bright_as_the_lot_allows(brighter):
    apart = differences(deal(brighter))
    assert len(apart) > 50
    assert abs(fmean(apart)) < 2.5


def test_where_every_image_with_the_finding_is_brighter_few_pairs_are_made():
    questions = [
        question_of(f"{role}{number}", role, grey=90 + 20 * (role == "yes") + number % 3)
        for role in ("yes", "no")
        for number in range(30)
    ]
    assert 1 <= len(deal(questions)) <= 3


def test_images_that_differ_by_lot_are_all_paired():
    draw = random.Random(2)
    questions = [
        question_of(
            f"{role}{number}", role, grey=draw.gauss(100, 10), file_bytes=draw.randrange(900, 999)
        )
        for role in ("yes", "no")
        for number in range(40)
    ]
    assert len(deal(questions)) >= 38


def test_pairs_do_not_depend_on_the_order_of_the_questions(brighter):
    mixed = random.Random(3).sample(brighter, len(brighter))
    ids = [{question.sample.id for question in pair} for pair in deal(brighter)]
    assert [{question.sample.id for question in pair} for pair in deal(mixed)] == ids


def test_a_task_without_the_audit_pairs_whatever_the_lot_gives():
    questions = [
        question_of(f"{role}{number}", role, task="Patient Side", grey=90 + 20 * (role == "yes"))
        for role in ("yes", "no")
        for number in range(30)
    ]
    assert len(deal(questions)) == 30


def test_a_question_and_its_equal_image_are_no_pair():
    questions = [question_of("a", "yes"), question_of("b", "no")]
    twin = replace(questions[1], sample=replace(questions[1].sample, pixel_sha256="a"))
    assert deal([questions[0], twin]) == []
    assert len(deal([questions[0], twin, question_of("c", "no")])) == 1


def test_two_images_of_one_patient_come_together_before_those_of_two():
    of_one = [
        replace(question, sample=replace(question.sample, patient="one"))
        for question in (question_of("a", "yes"), question_of("b", "no"))
    ]
    others = [question_of(f"{role}{n}", role) for role in ("yes", "no") for n in range(5)]
    dealt = [{question.sample.id for question in pair} for pair in deal([*others, *of_one])]
    assert {"a", "b"} in dealt
    assert len(dealt) == 6


def test_waiting_questions_are_told_by_lot_one_of_each_image():
    questions = [
        replace(question_of(str(n), "yes"), sample=replace(SAMPLE, id=str(n), pixel_sha256=image))
        for n, image in enumerate("aabcab")
    ]
    waiting = Waiting(questions)
    ids = []
    while waiting:
        ids.append([question.sample.id for question in waiting.first(3)])
        waiting.take(waiting.first(3)[-1])
    assert ids == [["0", "2", "3"], ["0", "2"], ["0", "5"], ["0"], ["1"], ["4"]]
    assert waiting.first(3) == []


def test_only_what_was_told_can_be_taken():
    waiting = Waiting([question_of("a", "yes")])
    with pytest.raises(ValueError, match="not the first of its image"):
        waiting.take(question_of("a", "no"))


def looks(monkeypatch, questions):
    """How many pairs of images are compared while these are dealt."""
    compared = []
    fit = pairs._fit
    monkeypatch.setattr(pairs, "_fit", lambda *pair: compared.append(pair) or fit(*pair))
    deal(questions)
    return len(compared)


@pytest.mark.parametrize("kind", ["one image", "one patient", "one answer of one patient"])
def test_twice_the_questions_take_no_more_than_about_twice_the_looks(monkeypatch, kind):
    def batch(count):
        for n in range(count):
            role = "no" if "answer" in kind else ("yes", "no")[n % 2]
            question = question_of(f"{n:04}", role)
            changes = {"pixel_sha256": "one"} if kind == "one image" else {"patient": "one"}
            yield replace(question, sample=replace(question.sample, **changes))

    few, many = (looks(monkeypatch, list(batch(count))) for count in (200, 400))
    assert many <= 2.2 * few + 64
