import os
import warnings
from datetime import date, datetime
from pathlib import Path
from zipfile import ZipFile

import openpyxl
import pytest

from medrcube.errors import SourceError
from medrcube.sources._formats.tables.spreadsheets import read_cells, read_sheet
from medrcube.sources._synthetic.spreadsheets import write_spreadsheet

SHARED = Path(os.environ.get("MEDRCUBE_SHARED", Path(__file__).parents[2] / "../shared"))
LIDC = SHARED / "real_raw/LIDC-IDRI/tcia-diagnosis-data-2012-04-20.xls"
DUKE = SHARED / "real_raw/Duke-Breast-Cancer-MRI/Clinical_and_Other_Features.xlsx"
ROWS = [["File Name", "Mass ", "Mass", "Note"], [22678622.0, "X", "", None], [None, None], [2, 0.5]]

both = pytest.mark.parametrize("suffix", [".xls", ".xlsx"])


@pytest.fixture
def table(tmp_path):
    def write(suffix, sheets):
        path = tmp_path / f"table{suffix}"
        write_spreadsheet(path, sheets)
        return path

    return write


@both
def test_rows_come_by_stripped_column_name_with_their_line(table, suffix):
    rows = read_sheet(table(suffix, {"Sheet1": ROWS}), columns=["File Name", "Mass"])
    assert [dict(row) for row in rows] == [
        {"File Name": "22678622", "Mass": "X", "Note": ""},
        {"File Name": "2", "Mass": "0.5", "Note": ""},
    ]
    assert rows[1].cite("Mass") == f"table{suffix}:4 Mass=0.5"


@both
def test_names_may_stand_below_the_first_row_and_data_further_down(table, suffix):
    rows = [["Demographics"], ["ID", "Age"], ["", "days"], ["A", "7"]]
    path = table(suffix, {"Data": rows})
    (row,) = read_sheet(path, columns=["ID", "Age"], header=2, data=4)
    assert (dict(row), row.line) == ({"ID": "A", "Age": "7"}, 4)


@both
def test_a_sheet_is_found_by_name_and_the_first_by_default(table, suffix):
    path = table(suffix, {"One": [["a"]], "Two": [["b"]]})
    assert (read_cells(path), read_cells(path, sheet="Two")) == ([("a",)], [("b",)])


@both
def test_a_missing_sheet_is_named_with_those_that_exist(table, suffix):
    with pytest.raises(SourceError, match=r"sheet 'Truth' is missing \(sheets: One\)"):
        read_cells(table(suffix, {"One": [["a"]]}), sheet="Truth")


@both
def test_a_missing_column_is_named(table, suffix):
    with pytest.raises(SourceError, match="column 'Micros' is missing"):
        read_sheet(table(suffix, {"Sheet1": ROWS}), columns=["Micros"])


@both
def test_a_broken_file_is_named(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    path.write_bytes(b"<html>please log in</html>")
    with pytest.raises(SourceError, match="is not a readable"):
        read_cells(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SourceError, match="the table is missing"):
        read_cells(tmp_path / "table.xlsx")


def test_dates_and_truth_values_become_text(tmp_path):
    book = openpyxl.Workbook()
    book.active.append([date(2010, 7, 4), datetime(2010, 7, 4, 9, 30), True])  # noqa: DTZ001
    book.save(tmp_path / "table.xlsx")
    assert read_cells(tmp_path / "table.xlsx") == [("2010-07-04", "2010-07-04T09:30:00", "TRUE")]


def test_a_wrong_stored_size_of_a_sheet_cuts_nothing_off(tmp_path):
    book = openpyxl.Workbook()
    for row in (["a", "b"], ["c", "d"]):
        book.active.append(row)
    book.save(tmp_path / "full.xlsx")
    with ZipFile(tmp_path / "full.xlsx") as full, ZipFile(tmp_path / "table.xlsx", "w") as copy:
        for name in full.namelist():
            copy.writestr(name, full.read(name).replace(b'ref="A1:B2"', b'ref="A1"'))
    assert read_cells(tmp_path / "table.xlsx") == [("a", "b"), ("c", "d")]


@pytest.mark.real
@pytest.mark.skipif(not LIDC.exists(), reason=f"{LIDC} is missing")
def test_the_diagnoses_of_lidc_are_read():
    cells = read_cells(LIDC, sheet="Diagnosis Truth")
    patients = [row for row in cells if row[0].startswith("LIDC-IDRI-")]
    assert len(patients) == 157
    assert {row[1] for row in patients} == {"0", "1", "2", "3"}


@pytest.mark.real
@pytest.mark.skipif(not DUKE.exists(), reason=f"{DUKE} is missing")
def test_the_clinical_features_of_duke_are_read_below_three_header_rows():
    with warnings.catch_warnings(record=True) as warning_list:
        rows = read_sheet(DUKE, columns=["Patient ID"], sheet="Data", header=2, data=4)
    assert len(rows) == 922
    assert rows[0]["Patient ID"] == "Breast_MRI_001"
    assert not warning_list


def test_a_sheet_saved_as_csv_reads_like_the_sheet(tmp_path):
    path = tmp_path / "sheet.csv"
    path.write_text('group,,\nid;x,name,\ncode,,\n1,"a, b",2\n\n3,c,4\n', encoding="utf-8")
    rows = read_sheet(path, columns=("id;x", "name"), sheet="Data", header=2, data=4)
    assert [(row.line, row["id;x"], row["name"]) for row in rows] == [
        (4, "1", "a, b"),
        (6, "3", "c"),
    ]
