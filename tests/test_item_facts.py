"""``items.csv``: what stands beside the published fields of an item."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.errors import ReleaseError
from medrcube.release_format.item_facts import (
    FACT,
    ITEMS,
    UNIT,
    ItemFacts,
    read_case_units,
    read_item_facts,
    write_item_facts,
)

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=9)
ROWS = st.lists(
    st.builds(
        ItemFacts,
        dataset=NAMES,
        id=NAMES,
        visible=st.sampled_from(["yes", "partly", "no"]),
        block=NAMES,
        unit=st.from_regex(UNIT, fullmatch=True) | st.just(""),
        fact=st.from_regex(FACT, fullmatch=True) | st.just(""),
    ),
    unique_by=lambda row: (row.dataset, row.id),
    max_size=5,
)


@given(rows=ROWS)
def test_what_is_written_is_read_back(rows, tmp_path_factory):
    root = tmp_path_factory.mktemp("release")
    write_item_facts(root, rows)
    assert list(read_item_facts(root).values()) == rows


def test_a_release_of_others_tells_nothing(tmp_path):
    assert read_item_facts(tmp_path) == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id,visible\n", "expected the columns dataset, id, visible, block"),
        ("", "expected the columns"),
        ("dataset,id,visible,block\nA,1,perhaps,\n", "line 2: .*perhaps"),
        ("dataset,id,visible,block\nA,1,yes\n", "line 2"),
        ('dataset,id,visible,block\nA,"1,yes,\n', "cannot be read"),
        ("dataset,id,visible,block,unit,fact\nA,1,yes,,patient-7,\n", "line 2: .*patient-7"),
        ("dataset,id,visible,block,unit,fact\nA,1,yes,,,xyz\n", "line 2: .*xyz"),
    ],
)
def test_a_table_of_another_form_is_refused_by_line(tmp_path, text, says):
    (tmp_path / ITEMS).write_text(text)
    with pytest.raises(ReleaseError, match=says):
        read_item_facts(tmp_path)


def test_a_table_of_an_earlier_version_tells_no_unit(tmp_path):
    (tmp_path / ITEMS).write_text("dataset,id,visible,block\nA,1,yes,b\n")
    assert read_item_facts(tmp_path) == {
        ("A", "1"): ItemFacts(dataset="A", id="1", visible="yes", block="b")
    }


def test_pictures_of_one_case_are_of_one_unit_by_the_recipes(tmp_path):
    rows = [
        {"image": "A/pictures/1.png", "source": "a", "case": "x"},
        {"image": "A/pictures/1-boxes.png", "source": "a", "case": "x"},
        {"image": "A/pictures/2.png", "source": "a", "case": "y"},
        {"image": "B/pictures/1.png", "source": "b", "case": "x"},
    ]
    (tmp_path / "recipes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    units = read_case_units(tmp_path)
    assert all(UNIT.fullmatch(unit) for unit in units.values())
    first, again, other, elsewhere = (units[row["image"]] for row in rows)
    assert first == again
    assert len({first, other, elsewhere}) == 3


def test_recipes_that_cannot_be_read_are_named(tmp_path):
    (tmp_path / "recipes.jsonl").write_text('{"image": ')
    with pytest.raises(ReleaseError, match=r"recipes.jsonl: cannot be read"):
        read_case_units(tmp_path)


def test_a_unit_is_refused_even_where_it_equals_a_sound_cell_of_another_column(tmp_path):
    (tmp_path / ITEMS).write_text("dataset,id,visible,block,unit,fact\nA,1,yes,b,,\nA,2,yes,,b,\n")
    with pytest.raises(ReleaseError, match="line 3"):
        read_item_facts(tmp_path)
