"""``items.csv``: what stands beside the published fields of an item."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.errors import ReleaseError
from medrcube.release_facts import ITEMS, ItemFacts, read_item_facts, write_item_facts

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=9)
ROWS = st.lists(
    st.builds(
        ItemFacts,
        dataset=NAMES,
        id=NAMES,
        visible=st.sampled_from(["yes", "partly", "no"]),
        block=NAMES,
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
    ],
)
def test_a_table_of_another_form_is_refused_by_line(tmp_path, text, says):
    (tmp_path / ITEMS).write_text(text)
    with pytest.raises(ReleaseError, match=says):
        read_item_facts(tmp_path)
