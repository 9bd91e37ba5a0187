import gzip
import io
import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.errors import RowError, SourceError
from medrcube.facts import BAD_ROW, Case, LabelState
from medrcube.sources._formats.tables.delimited import _LINE
from medrcube.sources._formats.tables.rows import cases_or_skip, group_by_name
from medrcube.sources._formats.tables.tables import (
    TableRow,
    find_table,
    natural_key,
    read_csv,
    read_key_values,
    read_text,
)
from medrcube.sources._framework.card import load_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree


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
        read_text(table(b"id\n\xff\xe9\n"))


def test_key_values_keep_what_follows_the_first_colon(tmp_path):
    path = tmp_path / "Info.cfg"
    path.write_text("ED: 1\nGroup: DCM\nTime: 12:30\nno colon here\n")
    info = read_key_values(path, keys=["ED", "Group"])
    assert (info["ED"], info["Group"], info["Time"]) == ("1", "DCM", "12:30")
    with pytest.raises(SourceError, match="'EF' is missing"):
        read_key_values(path, keys=["EF"])


def test_natural_order_puts_two_before_ten():
    names = [Path(f"{n}.mat") for n in (10, 2, 1)]
    assert sorted(names, key=natural_key) == [Path("1.mat"), Path("2.mat"), Path("10.mat")]


def test_a_gzip_table_reads_like_the_plain_one(table, tmp_path):
    plain = b'\xef\xbb\xbfid,note\r\n1,"two\r\nlines"\r\n2,x\r\n'
    packed = tmp_path / "train.csv.gz"
    packed.write_bytes(gzip.compress(plain))
    first, second = (read_csv(path, columns=["id"]) for path in (table(plain), packed))
    assert [dict(row) for row in second] == [dict(row) for row in first]
    assert second[1].cite("id") == "train.csv.gz:4 id=2"


def test_a_gzip_table_that_was_cut_is_a_source_error(tmp_path):
    path = tmp_path / "train.csv.gz"
    path.write_bytes(gzip.compress(b"id\n" + b"1\n" * 99)[:-9])
    with pytest.raises(SourceError, match="damaged gzip"):
        read_csv(path, columns=["id"])


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_header_tells_the_delimiter(table, delimiter):
    data = f'id{delimiter}"view; AP, PA|LL"\n1{delimiter}"a, b; c|d"\n'.encode()
    assert [dict(row) for row in read_csv(table(data), columns=["view; AP, PA|LL"])] == [
        {"id": "1", "view; AP, PA|LL": "a, b; c|d"}
    ]


def test_expected_names_tell_the_delimiter_where_another_parts_more(table):
    rows = read_csv(table(b"name;a,b,c\nx;1,2,3\n"), columns=["name"])
    assert dict(rows[0]) == {"name": "x", "a,b,c": "1,2,3"}


def test_free_text_in_rows_does_not_tell_the_delimiter(table):
    rows = read_csv(table(b"id,note\n1,a;b;c;d\n2,e;f;g\n"), columns=["note"])
    assert [row["note"] for row in rows] == ["a;b;c;d", "e;f;g"]


@pytest.fixture
def tree(tmp_path, toy_card):
    """A function that sees files as those of a layout with a table."""
    path = tmp_path / "card.toml"
    path.write_text(toy_card.replace('{ "*.png" = 3 }', '{ table = { "**/labels.csv" = 1 } }'))
    layout = load_card(path).layouts[0]
    return lambda *names: RawTree(tmp_path, names).of_layout(layout)


def test_a_table_is_found_at_any_depth_packed_or_not(tree, tmp_path):
    assert find_table(tree("labels.csv.bak", "b/labels.csv.gz"), "table") == (
        tmp_path / "b/labels.csv.gz"
    )


def test_a_table_that_is_nowhere_is_a_source_error(tree):
    with pytest.raises(SourceError, match="holds no table of the part 'table'"):
        find_table(tree("labels.csv.bak"), "table")


def test_a_part_that_no_card_names_is_an_error_with_those_that_it_does(tree):
    with pytest.raises(SourceError, match=r"names no part 'tables' \(parts: table\)"):
        find_table(tree("labels.csv"), "tables")


def test_a_table_alone_in_a_zip_is_read_and_one_of_several_refused(tmp_path):
    path = tmp_path / "train.csv.zip"
    with ZipFile(path, "w") as archive:
        archive.writestr("train.csv", "id\n7\n")
        archive.writestr("__MACOSX/._train.csv", "x")
    assert read_csv(path, columns=["id"])[0].cite("id") == "train.csv.zip:2 id=7"
    with ZipFile(path, "a") as archive:
        archive.writestr("test.csv", "id\n8\n")
    with pytest.raises(SourceError, match="holds 2 files"):
        read_csv(path, columns=["id"])


def test_a_damaged_zip_is_named(tmp_path):
    path = tmp_path / "train.csv.zip"
    with ZipFile(path, "w") as archive:
        archive.writestr("train.csv", "id\n7\n")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(SourceError, match="is damaged zip"):
        read_csv(path, columns=["id"])


def test_a_cell_that_is_no_number_names_its_place(table):
    row = read_csv(table(b"score\n1.5\n"), columns=["score"])[0]
    assert row.number("score") == 1.5
    for cell in (b"nan", b"1,5", b"high"):
        bad = read_csv(table(b"score;\n" + cell + b";\n"), columns=["score"])[0]
        with pytest.raises(SourceError, match=r"train.csv:2 score=.*: expected a number"):
            bad.number("score")


@pytest.mark.parametrize(("cell", "number"), [("4", 4), ("4.0", 4), ("-7.00", -7)])
def test_a_whole_number_that_was_saved_again_is_the_same_number(cell, number):
    assert TableRow({"n": cell}, "t.csv", 3).integer("n") == number


@pytest.mark.parametrize(
    ("cell", "text"),
    [("", ""), ("nan", "nan"), ("4.5", "4.5"), ("four", "(like xxxx)"), ("4.0.0", "4.0.0")],
)
def test_what_is_no_whole_number_names_table_row_and_column(cell, text):
    with pytest.raises(RowError, match=rf"t\.csv:3 n={re.escape(text)}: expected a whole number"):
        TableRow({"n": cell}, "t.csv", 3).integer("n")


def test_a_flag_that_was_saved_again_is_the_same_flag_and_a_blank_is_none():
    states = {"1": LabelState.PRESENT, "0": LabelState.ABSENT}
    assert TableRow({"n": "1.0"}, "t.csv", 3).state("n", states) is LabelState.PRESENT
    with pytest.raises(RowError, match="expected one of '1', '0'"):
        TableRow({"n": ""}, "t.csv", 3).state("n", states)


def test_a_bad_row_sets_aside_the_whole_case_that_it_speaks_of():
    def make():
        yield Case(key="x", images=())
        raise RowError("t.csv:3 n=nan: expected a number")

    (skip,) = cases_or_skip(make, key="x")
    assert (skip.key, skip.code, skip.reason) == ("x", BAD_ROW, "t.csv:3 n=nan: expected a number")


def test_a_table_that_is_missing_is_more_than_a_bad_row():
    def make():
        raise SourceError("t.csv: the table is missing")

    with pytest.raises(SourceError, match="missing"):
        list(cases_or_skip(make, key="x"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_table_in_wide_characters_is_refused_with_its_encoding_and_the_command(tmp_path, encoding):
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\n1,2\n".encode(encoding))
    with pytest.raises(SourceError, match=f"iconv -f {encoding.upper()} -t UTF-8 t.csv"):
        read_csv(path, columns=("a",))


def test_byte_that_is_no_text_spoils_its_cell_and_no_other_row(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,no\xe9\n2,yes\n")
    first, second = read_csv(path, columns=("a", "b"))
    assert (first["a"], second["b"]) == ("1", "yes")
    with pytest.raises(RowError, match=r"t\.csv:2 b=.*: holds a byte that is not text"):
        first.name("b")


def test_column_whose_cell_is_no_text_is_a_column_of_the_table(table):
    (row,) = read_csv(table(b"id,label\na,\xff\n"), columns=["id"])
    assert "label" in row
    assert "note" not in row


def test_name_with_a_byte_that_is_no_text_leaves_absences_open(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"image,finding\nf\xe9,mass\nf2,mass\n")
    rows = read_csv(path, columns=("image", "finding"))
    named, (skip,) = group_by_name(rows, "image", opens=("finding",), about="finding")
    assert list(named) == ["f2"]
    assert (skip.opens, skip.opens_value) == (("finding",), "mass")


@given(st.text(st.sampled_from('a,"\r\n\x0b\x0c\x1c\x85\u2028')))
def test_lines_of_a_table_end_where_python_ends_them_with_their_ends_kept(text):
    assert _LINE.findall(text) == list(io.StringIO(text, newline=""))
