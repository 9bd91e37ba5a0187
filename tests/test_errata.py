"""The list of withdrawn items: what a row must be, and that nothing that stands there is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.errors import ReleaseError
from medrcube.release_format.errata import (
    FILE,
    Erratum,
    add_errata,
    errata_text,
    parse_errata,
    read_errata,
)

ROW = {"dataset": "A", "id": "1", "by": "maintainer", "on": "2026-01-31", "why": "key is wrong"}
LINE = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=40)


@given(
    st.lists(
        st.builds(
            Erratum,
            dataset=LINE,
            id=LINE,
            by=st.sampled_from(["maintainer", "adjudicator (2)"]),
            on=st.dates().map(str),
            why=LINE,
            reference=LINE,
        ),
        unique_by=lambda row: row.name,
    )
)
def test_every_list_comes_back_as_it_was_written(rows):
    assert list(parse_errata(errata_text(rows).encode(), "f")) == rows


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"by": "jane.doe@example.org"}, "expected a role"),
        ({"by": ""}, "expected a role"),
        ({"on": "yesterday"}, "expected a day"),
        ({"why": " "}, "why is empty"),
        ({"why": "x" * 501}, "at most 500 characters"),
        ({"why": "two\nlines"}, "one line"),
        ({"reference": "\x1b[2J"}, "one line"),
        ({"id": ""}, "has no item"),
    ],
)
def test_a_row_that_is_not_as_it_should_be_is_named(changes, says):
    text = errata_text([Erratum(**ROW), Erratum(**{**ROW, "id": "2", **changes})])
    with pytest.raises(ReleaseError, match=rf"f line \d.*{says}"):
        parse_errata(text.encode(), "f")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "expected the columns dataset, id, by, on, why, reference"),
        (b"dataset,id,by,on,why,reference\nA,1\n", "line 2: has 2 values"),
        (b"dataset,id,by,on,why,reference\n\xff\n", "cannot be read"),
    ],
)
def test_what_is_no_list_is_refused(text, says):
    with pytest.raises(ReleaseError, match=says):
        parse_errata(text, "f")


def test_an_item_is_withdrawn_once_and_its_first_row_stays(tmp_path):
    add_errata(tmp_path, [Erratum(**ROW)], {"A/1", "A/2"})
    again = [Erratum(**{**ROW, "why": "other"}), Erratum(**{**ROW, "id": "2"})]
    added, before = add_errata(tmp_path, again, {"A/1", "A/2"})
    assert (list(added), before) == (["A/2"], ("A/1",))
    assert [row.why for row in read_errata(tmp_path)] == ["key is wrong", "key is wrong"]


def test_an_unknown_item_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(ReleaseError, match=r"no item 'A/1'"):
        add_errata(tmp_path, [Erratum(**ROW)], {"A/2"})
    assert not (tmp_path / FILE).exists()
