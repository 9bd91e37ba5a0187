"""Keys of the places of blocks are drawn by lot, and questions take the places in turn."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from types import SimpleNamespace

import pytest

from medrcube.build.questions.eligibility import EligibleQuestion
from medrcube.build.questions.option_blocks import BlockMember
from medrcube.build.questions.sampling.key_draws import draw_keys
from medrcube.build.stages.samples import Sample

BLANK = {field.name: "" for field in fields(Sample)}
NAMES = ("edema", "hernia")


def question(answer, lot=0, *, names=NAMES, number=None, source="toy", modality="CT"):
    sample = Sample(**{**BLANK, "source": source, "modality": modality})
    labels = {name: name.title() for name in names if name != answer}
    alike = sum(map(ord, "".join(sorted(labels)))) if number is None else number
    compatible = SimpleNamespace(number=alike, labels=labels)
    return EligibleQuestion(
        query=SimpleNamespace(sample=sample),
        identity=f"{answer} {lot} {source} {modality}",
        lot=f"{lot:04}",
        answer=answer,
        compatible=compatible,
    )


def block(*questions):
    return [BlockMember(ready=entry, wrong=()) for entry in questions]


def planned(count, names=NAMES, **changes):
    return [
        block(*(question(name, number, names=names, **changes) for name in names))
        for number in range(count)
    ]


def draw(blocks, spare=(), seed="s"):
    return list(draw_keys(blocks, spare, seed=seed))


def answers(groups):
    return [member.ready.answer for group in groups for member in group.members]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("names", [NAMES, ("a", "b", "c"), ("a", "b", "c", "d")])
def test_every_label_is_a_key_where_a_set_has_two_places_for_each(seed, names):
    spare = [question(name, 100 + n, names=names) for name in names for n in range(20)]
    for count in (2, 3):
        keys = answers(draw(planned(count, names), spare, seed=str(seed)))
        assert len(keys) == count * len(names)
        assert set(keys) == set(names)
    single = answers(draw(planned(1, names), spare, seed=str(seed)))
    assert len(single) == len(names)
    assert len(set(single)) >= 2


def test_keys_are_drawn_by_the_seed_and_evenly():
    spare = [question(name, 100 + n) for name in NAMES for n in range(400)]
    counts = Counter(answers(draw(planned(200), spare)))
    assert sum(counts.values()) == 400
    assert 160 < counts["edema"] < 240
    again, other = (answers(draw(planned(200), spare, seed=seed)) for seed in ("s", "t"))
    assert answers(draw(planned(200), spare)) == again
    assert again != other


def test_places_are_filled_block_by_block_with_the_other_labels_as_wrong_options():
    spare = [question(name, 100 + n) for name in NAMES for n in range(20)]
    groups = draw(planned(3), spare)
    assert [len(group.members) for group in groups] == [2, 2, 2]
    assert len({group.block for group in groups}) == 1
    for group in groups:
        assert len(group.block) == 12
        for member in group.members:
            (other,) = set(NAMES) - {member.ready.answer}
            assert member.wrong == (other.title(),)


def test_no_question_is_asked_twice_and_a_place_without_one_stays_empty():
    totals = set()
    for seed in "abcdefgh":
        groups = draw(planned(4), seed=seed)
        identities = [member.ready.identity for group in groups for member in group.members]
        assert len(identities) == len(set(identities))
        assert max(Counter(answers(groups)).values()) <= 4
        assert all(group.members for group in groups)
        totals.add(len(identities))
    assert min(totals) < 8


def test_questions_of_the_block_come_before_spare_ones():
    own = planned(4)
    spare = [question(name, 100 + n) for name in NAMES for n in range(20)]
    members = [member.ready for group in draw(own, spare) for member in group.members]
    for name in NAMES:
        lots = [int(member.lot) for member in members if member.answer == name]
        assert lots == sorted(lots)
        assert lots[:4] == list(range(min(4, len(lots))))


def test_larger_sets_come_first_and_what_they_leave_fills_smaller_ones():
    small, large = planned(2), planned(2, ("edema", "hernia", "mass"))
    groups = draw([*small, *large])
    sizes = [len(group.members[0].wrong) + 1 for group in groups]
    assert sizes == sorted(sizes, reverse=True)
    assert len({group.block for group in groups}) == 2


@pytest.mark.parametrize("other", [{"source": "few"}, {"modality": "MRI"}])
def test_cells_and_sources_take_turns(other):
    few = [question("edema", 50 + n, **other) for n in range(2)]
    edemas = [*(question("edema", n) for n in range(8)), *few]
    blocks = [block(edema, question("hernia", n)) for n, edema in enumerate(edemas)]
    members = [member.ready for group in draw(blocks) for member in group.members]
    lots = [int(member.lot) for member in members if member.answer == "edema"]
    assert lots == [0, 50, 1, 51, *range(2, 8)][: len(lots)]
    assert len(lots) > 4


def test_of_questions_in_turn_the_one_that_fits_least_elsewhere_comes_first():
    wide = question("edema", 0, names=(*NAMES, "mass"), source="wide")
    narrow = question("edema", 9, source="narrow")
    blocks = [block(edema, question("hernia", n)) for n, edema in enumerate((wide, narrow))]
    members = [member.ready for group in draw(blocks) for member in group.members]
    edemas = [member.query.sample.source for member in members if member.answer == "edema"]
    assert edemas == ["narrow", "wide"][: len(edemas)]


def test_a_question_takes_only_places_whose_labels_it_allows():
    others = ("edema", "mass")
    narrow = [question("edema", n, names=others, source="narrow") for n in range(30)]
    groups = draw(planned(6), narrow)
    assert len(answers(groups)) > 6
    sources = {m.ready.query.sample.source for group in groups for m in group.members}
    assert sources == {"toy"}


def test_questions_about_numbers_take_no_place():
    bare = question("edema", 1)
    numbered = EligibleQuestion(
        query=bare.query, identity="box", lot="0000", answer="edema", compatible=None
    )
    identities = {m.ready.identity for g in draw(planned(6), [numbered]) for m in g.members}
    assert "box" not in identities


def test_nothing_planned_gives_nothing():
    assert draw([], [question("edema")]) == []
