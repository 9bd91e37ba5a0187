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


def test_a_question_allows_the_names_of_its_block_and_need_allow_no_other(builder):
    block_builder = builder(2, ("a", ("z", "b")), ("b", ("a",)))
    assert blocks(block_builder) == [{"a": {"b"}, "b": {"a"}}]


def with_unfit(count, waiting=("b", "c")):
    """A block of three, each of whose questions is tried after some that fit no such block."""
    unfit = [(*waiting, f"never {number}") for number in range(count)]
    fit = {"a": ("d", "e"), "d": ("a", "e"), "e": ("a", "d")}
    never = ("never asked", "never either", "nor this")
    questions = [(answer, names) for answer in fit for names in unfit]
    questions += [(answer, (*names, *never)) for answer, names in fit.items()]
    return [*questions, ("b", ("a",)), ("c", ("a",))]


@pytest.mark.parametrize(("unfit", "size"), [(0, 3), (1, 3), (63, 3), (64, 2)])
def test_a_smaller_block_is_built_once_64_questions_with_an_answer_fit_no_larger_one(
    builder, unfit, size
):
    block = builder(3, *with_unfit(unfit)).take()
    assert len(block) == size
    if size == 3:
        assert {member.ready.answer: set(member.wrong) for member in block} == {
            "a": {"d", "e"},
            "d": {"a", "e"},
            "e": {"a", "d"},
        }


def test_names_that_fit_no_third_question_together_make_a_pair(builder, monkeypatch):
    monkeypatch.setattr(option_blocks, "option_conflict", lambda *_: "look-alike")
    three = (("a", ("b", "c")), ("b", ("a", "c")), ("c", ("a", "b")))
    block_builder = builder(3, *three)
    (pair,) = blocks(block_builder)
    assert len(pair) == 2
    assert len(block_builder.rest()) == 1


def test_questions_that_allow_too_few_waiting_names_count_as_no_try(builder):
    assert len(builder(3, *with_unfit(70, waiting=("b",))).take()) == 3
