"""A reader of the words alone must not score above chance."""

import json
from dataclasses import replace

from medrcube.build.audit.open_rules import open_rules
from medrcube.build.audit.shortcuts.text_prior import text_prior
from medrcube.build.open_items.table import OpenItem

ITEM = OpenItem(
    id="i", sample="s", source="toy", task="Relative Position", anatomy="Heart", modality="MRI",
    question="Where does A lie relative to B?", form="option", truth=json.dumps({"key": 0}),
    ask=json.dumps({"options": ["To the left", "To the right"]}), chance=0.5, field="part",
    concept="LV", grade="A", visible="yes", variant="where", template="t", seed=0,
)  # fmt: skip


def items_of(rights, question=lambda _: ITEM.question):
    """One item for each side, the place of whose key among the options is turned with its number.

    ``rights`` has ``l`` and ``r``; the members of a set follow each other.
    """
    options = ["To the left", "To the right"]
    items = []
    for number, right in enumerate(rights):
        texts = options[:: (-1) ** number]
        key = texts.index(options["lr".index(right)])
        items.append(
            replace(
                ITEM,
                id=f"{number:03}",
                ask=json.dumps({"options": texts}),
                truth=json.dumps({"key": key}),
                set=f"pair-{number // 2}",
                question=question(number // 2),
            )
        )
    return items


def by_cue(items):
    return {row["cue"]: row for row in text_prior(items, [])}


def test_sets_of_both_answers_leave_the_reader_at_chance():
    for row in by_cue(items_of("lr" * 40)).values():
        assert row["accuracy"] == row["chance"] == 0.5
        assert row["within"]


def test_an_answer_that_textbooks_know_is_told():
    rows = by_cue(items_of("l" * 70 + "lr" * 10))
    assert not rows["words"]["within"]
    assert not rows["concept"]["within"]
    verdict = open_rules(items_of("l" * 70 + "lr" * 10), [])["text-prior"]
    assert verdict["holds"] is False


def test_words_that_tell_are_found_where_the_concept_does_not():
    rows = by_cue(items_of("ll" * 20 + "rr" * 20, question=lambda pair: f"In case {pair // 20}?"))
    assert not rows["words"]["within"]
    assert rows["concept"]["within"]
