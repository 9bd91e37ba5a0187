from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medrcube.build.profile.margin_fit import Supply, fit_margins, reachable_items
from medrcube.build.profile.profile import load_profile
from medrcube.build.questions.sampling.quotas import AnswerCell
from medrcube.taxonomy import Anatomy, Modality, Task, Voxel, cube_tasks

TASKS = (Task("Disease Diagnosis"), Task("Modality Recognition"), Task("View Recognition"))
MODALITIES = (Modality("CT"), Modality("MRI"))
ANATOMIES = (Anatomy("Brain"), Anatomy("Heart"))
CUBE = [Voxel(a, m, t) for a, m, t in product(ANATOMIES, MODALITIES, TASKS)]
ANSWERS = ("yes", "no", "maybe")

UPSTREAM = load_profile("medrcube")
counts = st.integers(0, 6)
stocks = st.builds(
    lambda rooms, kinds: boxed(dict(zip(CUBE, rooms, strict=True)), kinds),
    st.lists(counts, min_size=len(CUBE), max_size=len(CUBE)),
    st.lists(st.integers(0, 3), min_size=len(CUBE), max_size=len(CUBE)),
)


def boxed(rooms, kinds=(0,) * 12):
    """A supply whose cells hold questions without a group, or one answer each in one group."""
    lots = {}
    for (cell, room), kind in zip(rooms.items(), kinds, strict=False):
        lot = AnswerCell(cell, str(cell.task), ANSWERS[kind - 1]) if kind else AnswerCell(cell)
        lots[lot] = room
    names = {
        (str(task), answer): frozenset(ANSWERS) - {answer} for task in TASKS for answer in ANSWERS
    }
    return Supply(cells=rooms, lots=lots, names=names)


@st.composite
def profiles(draw):
    """Margins that some table has, with one task outside."""
    table = {cell: draw(st.integers(0, 4)) for cell in CUBE}
    margins = {"task": Counter(), "modality": Counter(), "anatomy": Counter()}
    for cell, count in table.items():
        margins["task"][cell.task.value] += count
        if cell.task is not Task("View Recognition"):
            margins["modality"][cell.modality.value] += count
            margins["anatomy"][cell.anatomy.value] += count
    return replace(
        UPSTREAM,
        margins=margins,
        total=sum(table.values()),
        outside=frozenset({Task("View Recognition")}),
    )


def along(profile, cells):
    sums = Counter()
    for cell, count in cells.items():
        for bound in profile.bounds(cell):
            sums[bound] += count
    return sums


@given(profiles(), stocks)
@settings(max_examples=60)
def test_no_cell_gets_more_than_there_is_and_no_margin_more_than_is_wanted(profile, stock):
    cells = fit_margins(profile, stock).cells
    assert all(0 < count <= stock.cells[cell] for cell, count in cells.items())
    for (axis, value), count in along(profile, cells).items():
        assert count <= profile.margins[axis][value]


@given(profiles(), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_margins_that_the_stock_can_meet_are_met_exactly(profile, random):
    # A table with these margins exists; a stock that covers it is enough.
    stock = boxed({cell: 4 + random.randrange(3) for cell in CUBE})
    cells = fit_margins(profile, stock).cells
    expected = {
        (axis, value): count
        for axis, margin in profile.margins.items()
        for value, count in margin.items()
        if count
    }
    assert +along(profile, cells) == expected


@given(profiles(), st.lists(st.integers(0, 2), min_size=8, max_size=8))
@settings(max_examples=25)
def test_there_is_no_table_with_more_items(profile, rooms):
    inside = [cell for cell in CUBE if cell.task is not Task("View Recognition")]
    grid = np.array(list(product(*(range(room + 1) for room in rooms))))
    fits = np.ones(len(grid), dtype=bool)
    for axis, value in {bound for cell in inside for bound in profile.bounds(cell)}:
        members = [n for n, cell in enumerate(inside) if (axis, value) in profile.bounds(cell)]
        fits &= grid[:, members].sum(axis=1) <= profile.margins[axis][value]
    best = grid[fits].sum(axis=1).max()
    stock = boxed(dict(zip(inside, rooms, strict=True)))
    assert sum(fit_margins(profile, stock).cells.values()) == best


@pytest.mark.thorough
@given(profiles(), stocks, stocks)
@settings(max_examples=60)
def test_a_further_source_never_makes_the_distance_longer(profile, first, second):
    alone = fit_margins(profile, first)
    both = fit_margins(profile, first.beside(second))
    assert sum(both.cells.values()) >= sum(alone.cells.values())
    assert reachable_items(profile, first.beside(second)) >= reachable_items(profile, first) - 1e-6


@pytest.mark.thorough
@given(profiles(), stocks, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_the_order_of_the_stock_does_not_matter(profile, stock, random):
    cells, lots = list(stock.cells.items()), list(stock.lots.items())
    random.shuffle(cells)
    random.shuffle(lots)
    shuffled = replace(stock, cells=dict(cells), lots=dict(lots))
    assert fit_margins(profile, shuffled) == fit_margins(profile, stock)


def alone(total, stock):
    """Fit to a total alone."""
    return fit_margins(replace(UPSTREAM, margins={}, total=total, outside=frozenset()), stock)


def test_an_answer_gets_no_more_questions_than_it_has_partners():
    cell = CUBE[0]
    lots = {
        AnswerCell(cell, "s", "yes"): 90,
        AnswerCell(cell, "s", "no"): 7,
        AnswerCell(cell, "s", "maybe"): 5,
    }
    names = {("s", answer): frozenset(ANSWERS) for answer in ANSWERS}  # none is its own partner
    table = alone(100, Supply(cells={cell: 102}, lots=lots, names=names))
    assert table.cells == {cell: 24}
    assert 12 <= table.lots[AnswerCell(cell, "s", "yes")] < 18


def test_an_answer_that_no_other_may_stand_against_is_not_asked():
    cell = CUBE[0]
    lots = {AnswerCell(cell, "s", answer): 10 for answer in ANSWERS}
    names = {
        ("s", "yes"): frozenset({"no"}),
        ("s", "no"): frozenset({"yes", "maybe"}),
        ("s", "maybe"): frozenset({"yes"}),  # "no" may not stand against it
    }
    table = alone(30, Supply(cells={cell: 30}, lots=lots, names=names))
    assert table.cells == {cell: 20}
    assert AnswerCell(cell, "s", "maybe") not in table.lots


def test_partners_may_come_from_other_cells():
    first, second = CUBE[0], CUBE[3]
    lots = {AnswerCell(first, "s", "yes"): 10, AnswerCell(second, "s", "no"): 10}
    names = {("s", "yes"): frozenset({"no"}), ("s", "no"): frozenset({"yes"})}
    stock = Supply(cells={first: 10, second: 10}, lots=lots, names=names)
    assert alone(20, stock).cells == {first: 10, second: 10}


def test_without_need_cells_and_keys_are_even():
    table = alone(120, boxed(dict.fromkeys(CUBE, 1000)))
    assert set(table.cells.values()) == {10}
    cell = CUBE[0]
    lots = {
        AnswerCell(cell, "s", "yes"): 900,
        AnswerCell(cell, "s", "no"): 90,
        AnswerCell(cell, "s", "maybe"): 90,
    }
    names = {("s", answer): frozenset(ANSWERS) - {answer} for answer in ANSWERS}
    table = alone(90, Supply(cells={cell: 1080}, lots=lots, names=names))
    assert len(set(table.lots.values())) == 1


def test_what_a_small_cell_lacks_the_others_share():
    rooms = dict.fromkeys(CUBE, 100) | {CUBE[0]: 1}
    table = alone(12 * 11 + 1, boxed({**rooms}))
    assert table.cells[CUBE[0]] == 1
    assert set(table.cells.values()) == {1, 12}


def test_an_empty_stock_gives_an_empty_table():
    assert fit_margins(UPSTREAM, Supply()).cells == {}
    assert reachable_items(UPSTREAM, Supply()) == 0


def test_cells_that_a_margin_leaves_out_stay_empty():
    profile = replace(UPSTREAM, margins={"modality": {"CT": 5}}, total=5, outside=frozenset())
    cells = fit_margins(profile, boxed(dict.fromkeys(CUBE, 9))).cells
    assert sum(cells.values()) == 5
    assert {cell.modality for cell in cells} == {Modality("CT")}


@pytest.mark.parametrize("room", [7626, 20_000])
def test_the_published_margins_are_met_from_full_cells(room):
    cube = [Voxel(a, m, t) for a, m, t in product(Anatomy, Modality, cube_tasks())]
    stock = Supply(cells=dict.fromkeys(cube, room), lots={AnswerCell(cell): room for cell in cube})
    cells = fit_margins(UPSTREAM, stock).cells
    for (axis, value), count in along(UPSTREAM, cells).items():
        assert count == UPSTREAM.margins[axis][value]
    assert sum(cells.values()) == 7626
    assert len(cells) == len(cube)
