"""Tables that are made to exhaust the memory, and tables that break off."""

import gzip
import tracemalloc
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from medrcube.errors import RowError, TableError
from medrcube.sources._formats.tables.contents import read_text
from medrcube.sources._formats.tables.notices import collect_notices
from medrcube.sources._formats.tables.tables import read_csv

BLANKS = b"id,label\n" + b" " * (48 << 20)
MOST_KEPT = 16 << 20


def _gzip(path):
    path.write_bytes(gzip.compress(BLANKS))


def _zip(path):
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", BLANKS)


@pytest.mark.parametrize("pack", [_gzip, _zip])
def test_packed_table_that_would_exhaust_the_memory_is_refused_before_it_is_unpacked(
    tmp_path, pack
):
    path = tmp_path / "table.csv"
    pack(path)
    tracemalloc.start()
    try:
        with pytest.raises(TableError, match="crafted to exhaust memory"):
            read_text(path)
        assert tracemalloc.get_traced_memory()[1] < MOST_KEPT
    finally:
        tracemalloc.stop()


def _rows(tmp_path, text):
    path = tmp_path / "train.csv"
    path.write_text(text)
    with collect_notices() as notices:
        rows = read_csv(path, columns=("id", "label"))
    return rows, [notice.reason for notice in notices]


def test_quote_that_is_never_closed_costs_its_row_alone(tmp_path):
    rows, result = _rows(tmp_path, 'id,label\na,1\nb,"2\nc,3\nd,4\n')
    assert [row["id"] for row in rows] == ["a", "b", "c", "d"]
    assert rows[2]["label"] == "3"
    with pytest.raises(RowError, match="never closed"):
        rows[1]["label"]
    (reason,) = result
    assert "train.csv:3" in reason
    assert "the row is set aside" in reason


@pytest.mark.parametrize(("cut", "lost"), [("c,3,x", "note"), ("c,3", "label"), ("c", "id")])
def test_last_row_that_breaks_off_loses_its_last_cell_and_those_behind(tmp_path, cut, lost):
    rows, result = _rows(tmp_path, f"id,label,note,more\na,1,x,y\nb,2,x,y\n{cut}")
    assert rows[1]["label"] == "2"
    with pytest.raises(RowError, match="ends in the middle of this row"):
        rows[2][lost]
    assert "the table seems cut off" in result[0]


def test_last_row_without_a_line_break_is_whole_where_no_cell_is_missing(tmp_path):
    rows, results = _rows(tmp_path, "id,label\na,1\nb,2")
    assert rows[1]["label"] == "2"
    assert results == []
