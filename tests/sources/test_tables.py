from pathlib import Path

import pytest

from medrcube.errors import SourceError
from medrcube.sources.tables import natural, read_csv, read_key_values


@pytest.fixture
def table(tmp_path):
    def write(data):
        path = tmp_path / "train.csv"
        path.write_bytes(data)
        return path

    return write


def test_values_stay_the_strings_that_stand_in_the_file(table):
    rows = read_csv(table(b"id,label\n1e3,NO\n0012,\n"), columns=["id", "label"])
    assert [dict(row) for row in rows] == [
        {"id": "1e3", "label": "NO"},
        {"id": "0012", "label": ""},
    ]


def test_a_row_cites_its_first_line_also_after_a_quoted_line_break(table):
    rows = read_csv(table(b'id,note\r\n1,"two\r\nlines"\r\n2,x\r\n'), columns=["id"])
    assert [row.cite("id") for row in rows] == ["train.csv:2 id=1", "train.csv:4 id=2"]


def test_comment_lines_before_the_header_count_as_lines(table):
    rows = read_csv(table(b"# a\n# b\nid\n7\n"), columns=["id"], comment="#")
    assert rows[0].cite("id") == "train.csv:4 id=7"


def test_bom_and_blanks_around_names_and_values_are_stripped(table):
    rows = read_csv(table("\ufeffid , label\n a, b \n".encode()), columns=["id", "label"])
    assert dict(rows[0]) == {"id": "a", "label": "b"}


def test_short_rows_have_empty_values(table):
    assert read_csv(table(b"a,b\n1\n"), columns=["b"])[0]["b"] == ""


def test_a_missing_column_names_table_column_and_nearest(table):
    with pytest.raises(SourceError, match=r"train.csv: column 'Patient ID' is missing; nearest"):
        read_csv(table(b"Patient Id,x\n"), columns=["Patient ID"])


def test_a_missing_table_and_wrong_encoding_are_source_errors(table, tmp_path):
    with pytest.raises(SourceError, match="the table is missing"):
        read_csv(tmp_path / "no.csv", columns=[])
    with pytest.raises(SourceError, match="is not utf-8-sig text"):
        read_csv(table(b"id\n\xb0\n"), columns=["id"])


def test_key_values_keep_what_follows_the_first_colon(tmp_path):
    path = tmp_path / "Info.cfg"
    path.write_text("ED: 1\nGroup: DCM\nTime: 12:30\nno colon here\n")
    info = read_key_values(path, keys=["ED", "Group"])
    assert (info["ED"], info["Group"], info["Time"]) == ("1", "DCM", "12:30")
    with pytest.raises(SourceError, match="'EF' is missing"):
        read_key_values(path, keys=["EF"])


def test_natural_order_puts_two_before_ten():
    names = [Path(f"{n}.mat") for n in (10, 2, 1)]
    assert sorted(names, key=natural) == [Path("1.mat"), Path("2.mat"), Path("10.mat")]
