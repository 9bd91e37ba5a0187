"""Conditions: the same question shown in another way, and never another question."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.questions.conditions import Condition, presentations, rotate
from medrcube.taxonomy import Anatomy, Modality, Task


def make_item(number, *, count=4, key=0, image="same", texts=None):
    texts = texts or [f"text {i}" for i in range(count)]
    letters = "ABCD"[: len(texts)]
    return BenchmarkItem(
        id=f"q{number}",
        dataset="ALPHA",
        question="What is it?",
        options=tuple(zip(letters, texts, strict=True)),
        key=letters[key],
        task=Task("Disease Diagnosis"),
        modality=Modality("CT"),
        parts=Anatomy("Lungs"),
        image=None if image is None else f"ALPHA/{image}.png",
        original_task=None,
        restricted=False,
    )


shapes = st.integers(2, 4).flatmap(
    lambda count: st.tuples(st.just(count), st.integers(0, count - 1), st.integers(0, 9))
)


@given(shapes)
def test_a_rotation_keeps_the_right_text_and_every_option(shape):
    count, key, turn = shape
    item = make_item(0, count=count, key=key)
    turned = rotate(item, turn)
    assert dict(turned.options)[turned.key] == dict(item.options)[item.key]
    assert sorted(text for _, text in turned.options) == sorted(text for _, text in item.options)
    assert [letter for letter, _ in turned.options] == [letter for letter, _ in item.options]


@given(shapes)
def test_all_rotations_put_the_key_once_on_every_letter(shape):
    count, key, _ = shape
    entries = presentations([make_item(0, count=count, key=key)], [Condition.CIRCULAR])
    assert sorted(entry.item.key for entry in entries) == list("ABCD"[:count])


def test_the_first_rotation_is_the_question_as_it_stands():
    item = make_item(0)
    assert presentations([item], [Condition.CIRCULAR])[0].item == item


def test_blind_shows_no_picture_and_may_be_asked_without_one():
    (presentation,) = presentations([make_item(0)], [Condition.BLIND])
    assert presentation.image is None
    assert not presentation.wants_image


def test_a_swap_shows_a_picture_of_the_voxel_with_another_right_answer():
    items = [
        make_item(0, key=0, image="one"),
        make_item(1, key=0, image="two"),
        make_item(2, key=1, image="three"),
    ]
    first = presentations(items, [Condition.IMAGE_SWAP])[0]
    assert first.item == items[0]
    assert first.image == "ALPHA/three.png"


def test_a_swap_falls_back_to_any_other_picture_of_the_voxel():
    items = [make_item(0, image="one"), make_item(1, image="two")]
    assert [
        presentation.image for presentation in presentations(items, [Condition.IMAGE_SWAP])
    ] == [
        "ALPHA/two.png",
        "ALPHA/one.png",
    ]


@pytest.mark.parametrize(
    "other",
    [
        replace(make_item(1, image="two"), modality=Modality("MRI")),
        make_item(1),
        make_item(1, image=None),
    ],
    ids=["other voxel", "same picture", "no picture"],
)
def test_an_item_without_another_picture_in_its_voxel_is_not_swapped(other):
    entries = presentations([make_item(0), other], [Condition.IMAGE_SWAP])
    assert "ALPHA/q0" not in {entry.item.name for entry in entries}


def test_epochs_repeat_every_presentation():
    entries = presentations([make_item(0)], [Condition.FULL, Condition.BLIND], epochs=3)
    assert [(entry.condition, entry.epoch) for entry in entries] == [
        (condition, epoch) for epoch in range(3) for condition in (Condition.FULL, Condition.BLIND)
    ]
