"""Keys that tell nothing, silence that proves nothing, and facts that a picture can show."""

from collections import Counter
from dataclasses import replace

import pytest
from truth.design import ENOUGH, never_and_always, single_keys
from truth.facts import Statement
from truth.silence import (
    MINED,
    NORMAL,
    card_faults,
    read_card,
    sight_faults,
    silence_faults,
)

from medrcube.fact_kind import FactKind
from medrcube.facts import Grade, LabelState, Scope
from medrcube.sources.registry import find_sources

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]
VARIANTS = ("demo", "hard", "easy")


@pytest.fixture(scope="module")
def cards():
    """The text of every card, by the id of its source."""
    return {name: read_card(source.folder) for name, source in find_sources().items()}


@pytest.fixture(scope="module")
def lone():
    """Source and field of each organ or structure that is the only one of its source."""
    parts = Counter()
    for name, source in find_sources().items():
        for field in source.card.fields.values():
            if field.kind == FactKind("structure"):
                parts[name, field.name] = len(set(field.concepts()))
    return {place for place, count in parts.items() if count == 1}


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_option_is_always_or_never_the_key(demo, lone, variant):
    results = list(never_and_always(demo[variant].items, lone))
    assert not results, f"{len(results)}:\n" + "\n".join(results)


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_task_of_a_source_has_a_single_key(demo, lone, variant):
    results = list(single_keys(demo[variant].items, lone))
    assert not results, f"{len(results)}:\n" + "\n".join(results)


@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_is_asked_that_the_picture_cannot_show(demo, cards, variant):
    items = demo[variant].items
    assert [fault for item in items for fault in sight_faults(item, cards[item.source])] == []
    assert {item.visible for item in items} == {"yes", "partly"}


def test_a_question_that_the_picture_cannot_answer_is_found(demo, cards):
    hidden = {
        name: field["name"]
        for name, card in cards.items()
        for field in card["field"]
        if field.get("visible") == "no"
    }
    items = [item for item in demo["whole"].items if item.source in hidden]
    assert len({item.source for item in items}) > 5
    for item in items:
        changed_item = replace(item, field=hidden[item.source])
        assert any(
            "could not know" in fault for fault in sight_faults(changed_item, cards[item.source])
        )


def test_an_item_that_hides_how_much_is_visible_is_found(demo, cards):
    other = {"yes": "partly", "partly": "yes"}
    for item in demo["whole"].items:
        variant = replace(item, visible=other[item.visible])
        assert len(list(sight_faults(variant, cards[item.source]))) == 1


def test_whoever_trusts_silence_or_a_zero_says_why(cards):
    assert [fault for card in cards.values() for fault in card_faults(card)] == []


@pytest.mark.parametrize("variant", [*VARIANTS, "whole"])
def test_no_option_rests_on_silence_or_on_a_mined_normal(demo, cards, variant):
    faults = [
        fault for item in demo[variant].items for fault in silence(demo, variant, item, cards)
    ]
    assert not faults, f"{len(faults)}:\n" + "\n".join(faults[:20])


def silence(demo, variant, item, cards, card=None):
    """Faults of silence of an item on a whole picture."""
    oracle = demo[variant].oracle
    sample = oracle.samples[item.sample]
    if sample.artefact != "clean":
        return []
    card = card or cards[item.source]
    faults = silence_faults(oracle.tables, oracle.picture(sample), item, card)
    return [f"{item.source} {sample.case} {item.concept}: {fault}" for fault in faults]


def test_a_reason_that_is_taken_away_is_missed(cards):
    for card in cards.values():
        for place, field in enumerate(card["field"]):
            for key in {"absence", "stated"} & set(field.get("reasons", {})):
                less = {name: reason for name, reason in field["reasons"].items() if name != key}
                fields = [*card["field"]]
                fields[place] = {**field, "reasons": less}
                (fault,) = card_faults({**card, "field": fields})
                assert f"{field['name']}: {key}" in fault


def test_an_option_whose_proof_loses_its_reason_is_found(demo, cards):
    """Of the findings of sources that deny by a list or a zero, without the reasons of the card."""
    count = 0
    for item in demo["whole"].items:
        bare = [{**field, "reasons": {}} for field in cards[item.source]["field"]]
        faults = silence(demo, "whole", item, cards, {**cards[item.source], "field": bare})
        count += any("rests on silence" in fault for fault in faults)
    assert count > 10


def test_an_option_that_rests_on_a_mined_normal_is_found(demo, cards):
    build = demo["whole"]
    item = next(
        candidate
        for candidate in build.items
        if (candidate.source, candidate.field) == ("mimic-cxr-jpg", "finding")
    )
    assert not silence(demo, "whole", item, cards)
    tables, card = build.oracle.tables, cards["mimic-cxr-jpg"]
    picture = build.oracle.picture(build.oracle.samples[item.sample])
    mined = Statement(NORMAL, LabelState.PRESENT, "finding", Scope.STUDY, Grade.B, "chexpert.csv:2")
    only = replace(picture, statements=(mined,))
    assert any("rests on a mined" in fault for fault in silence_faults(tables, only, item, card))
    # The same words of somebody who looked at the film are a proof.
    changed_item = replace(item, source="shenzhen-tb")
    assert not list(silence_faults(tables, only, changed_item, card))


def test_mined_sources_are_sources():
    assert set(MINED) <= set(find_sources())


def many(demo, task):
    """The largest lot of items of one source and task, on one set of options."""
    lots = {}
    for item in demo["whole"].items:
        if item.task == task:
            texts = frozenset(option.text for option in item.options)
            lots.setdefault((item.source, texts), []).append(item)
    return max(lots.values(), key=len)


def test_a_key_that_is_always_the_same_is_found(demo):
    lot = many(demo, "Severity Grading")
    same = [entry for entry in lot if entry.concept == lot[0].concept]
    (item,) = single_keys(same)
    assert "is the key of all" in item
    enough = (same * ENOUGH)[:ENOUGH]
    words = {
        word for fault in never_and_always(enough) for word in ("always", "never") if word in fault
    }
    assert words == {"always", "never"}
    assert not list(never_and_always(enough[:-1]))


def test_an_option_that_is_never_the_key_is_found(demo):
    lot = many(demo, "Severity Grading")
    without = [item for item in lot if item.concept != lot[0].concept]
    enough = (without * ENOUGH)[: max(ENOUGH, len(without))]
    text = lot[0].options[lot[0].key].text.casefold()
    assert any(f"{text!r} is never the key" in fault for fault in never_and_always(enough))
