"""Blocks hold questions whose answers are safe wrong options of each other."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from medrcube.build.questions import option_blocks
from medrcube.build.questions.eligibility import EligibleQuestion
from medrcube.build.questions.option_blocks import BlockBuilder


@pytest.fixture
def builder(monkeypatch):
    """A builder of questions by their answer and the names that are safe beside it."""
    monkeypatch.setattr(option_blocks, "option_conflict", lambda *_: None)

    def make(options, *questions):
        allowed = SimpleNamespace(trust=0, difficulty=None)
        ready = [
            EligibleQuestion(
                query=SimpleNamespace(),
                identity=f"{answer} {number}",
                lot=f"{number:04}",
                answer=answer,
                compatible=SimpleNamespace(
                    labels={name: name for name in names},
                    pool=SimpleNamespace(allowed=dict.fromkeys(names, allowed)),
                    request=SimpleNamespace(key=answer),
                ),
            )
            for number, (answer, names) in enumerate(questions)
        ]
        return BlockBuilder(ready, None, options=options, seed="s")

    return make


def blocks(builder):
    return [
        {member.ready.answer: set(member.wrong) for member in block}
        for block in iter(builder.take, ())
    ]


def test_questions_whose_answers_are_safe_beside_each_other_make_a_whole_block(builder):
    block_builder = builder(3, ("a", ("x", "b")), ("b", ("x", "a")), ("x", ("a", "b")))
    assert blocks(block_builder) == [{"a": {"x", "b"}, "b": {"x", "a"}, "x": {"a", "b"}}]
    assert block_builder.rest() == ()


@pytest.mark.parametrize("missing", ["a", "b", "x"])
def test_one_unsafe_pair_leaves_no_block_of_three(builder, missing):
    """The first name that the builder has met is no exception."""
    names = {"a": ("x", "b"), "b": ("a", "x"), "x": ("a", "b")}
    dropped = names[missing][-1]
    names[missing] = names[missing][:-1]
    block_builder = builder(3, *names.items())
    (pair,) = blocks(block_builder)
    assert len(pair) == 2
    assert set(pair) != {missing, dropped}
    assert len(block_builder.rest()) == 1


@pytest.mark.parametrize("unsafe", ["a", "b"])
def test_the_name_met_first_is_safe_only_where_the_question_says_so(builder, unsafe):
    names = {"a": ("x", "b"), "b": ("x", "a"), "x": ("a", "b")}
    first = "b" if unsafe == "a" else "a"
    names[unsafe] = names[unsafe][1:]
    order = [first, unsafe, "x"]
    block_builder = builder(3, *((answer, names[answer]) for answer in order))
    for block in blocks(block_builder):
        assert {unsafe, "x"} - block.keys()
