"""A cell that may identify somebody reaches no reason, in any table of any source."""

import csv
import functools
import gzip
import io

import pytest

from medrcube.errors import TableError
from medrcube.facts import BAD_ROW, Case, Skip
from medrcube.sources._formats.tables.redaction import redact_cell, redact_exception, redact_reason
from medrcube.sources._formats.tables.tables import TableRow, read_csv
from medrcube.sources._framework.raw_tree.raw_tree import RawTree
from medrcube.sources.registry import find_sources

WORDS = ("ZZCANARY19501231", "Zyllerq Annajo")
SOURCES = find_sources()


@pytest.mark.few(2)
@pytest.mark.untraced
@pytest.mark.usefixtures("headers_read_once")
@pytest.mark.parametrize("source", SOURCES.values(), ids=list(SOURCES))
def test_identifier_in_a_shifted_cell_stands_in_no_reason(source, tmp_path, monkeypatch):
    layout = source.card.layouts[0].name
    source.build_fixture(tmp_path, layout)
    tree, columns = RawTree(tmp_path), set()
    begin, get_item = TableRow.__init__, TableRow.__getitem__

    def note(self, column):
        columns.add((self.table, column))
        return get_item(self, column)

    with monkeypatch.context() as patch:
        patch.setattr(TableRow, "__getitem__", note)
        list(source.scan(tree, layout))

    def start(cell, words, self, values, table, line, lines=None, **rest):
        if table == cell[0] and cell[1] in values and (word := next(words, "")):
            values = {**values, cell[1]: word}
        begin(self, values, table, line, lines, **rest)

    for cell in sorted(columns):
        with monkeypatch.context() as patch:
            words = iter(WORDS)  # in a row each; a value that many people share is a label
            patch.setattr(TableRow, "__init__", functools.partialmethod(_swap, start, cell, words))
            entries = list(source.scan(tree, layout))
        for entry in entries:
            for word in () if isinstance(entry, Case) else WORDS:
                assert word in entry.key or word not in entry.reason, cell


def _swap(self, start, cell, words, *values, **named):
    start(cell, words, self, *values, **named)


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (f"t.csv:2 age={WORDS[0]}: expected a number", "t.csv:2 age=(like XXXXXXXX99999999)"),
        ("t.csv:2 age=1950-12-31: expected a number", "age=(like 9999-99-99)"),
        ("t.csv:223414 Edema=2: expected one of", "t.csv:223414 Edema=2: expected one of"),
        ("t.csv:2 study=50414267: is another", "t.csv:2 study=50414267: is another"),
        ("t.csv: has 2000000000 bytes", "t.csv: has 2000000000 bytes"),
    ],
)
def test_word_that_may_identify_somebody_is_told_by_its_shape(reason, text):
    skip = Skip(key="x", reason=reason, code=BAD_ROW)
    assert redact_reason(skip, ["files/p10/s50414267/a.jpg"]).reason.startswith(text) or (
        text in redact_reason(skip, ["files/p10/s50414267/a.jpg"]).reason
    )


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("Muller Anna", "(like Xxxxxx Xxxx)"),
        ("KIM", "(like XXX)"),
        ("Łukasz-Öz 07", "(like Xxxxxx-Xx 99)"),
        ("12345678", "(like 99999999)"),
        ("a" * 40, f"(like {'x' * 24}..., 40 characters)"),
        ("-1.5", "-1.5"),
        ("q", "q"),
        ("N/A", "N/A"),
        ("?", "?"),
        ("", ""),
        ("Latral", "Latral"),
        ("LATERAL", "LATERAL"),
        ("erect lateral", "erect lateral"),
    ],
)
def test_cell_is_shown_only_where_it_cannot_be_personal(cell, text):
    assert redact_cell(cell, ("Lateral", "AP erect")) == text


def test_fault_of_code_shows_no_cell_that_python_quotes():
    with pytest.raises(ValueError, match="Muller") as fault:
        int("Muller Anna")
    assert redact_exception(fault.value).endswith("base 10: (like Xxxxxx Xxxx)")


@pytest.mark.parametrize(("patients", "value_text"), [(2, "(like XXXXXXX)"), (3, "OBLIQUE")])
def test_unmapped_value_that_several_patients_share_is_shown(tmp_path, patients, value_text):
    source = SOURCES["padchest"]
    source.build_fixture(tmp_path, source.card.layouts[0].name)
    (table,) = tmp_path.rglob("PADCHEST*.csv.gz")
    records = list(csv.DictReader(io.StringIO(gzip.decompress(table.read_bytes()).decode())))
    for number, row in enumerate(records[:patients]):
        row |= {"Projection": "OBLIQUE", "PatientID": f"{number}0000000{number}"}
    text = io.StringIO()
    writer = csv.DictWriter(text, records[0])
    writer.writeheader()
    writer.writerows(records)
    table.write_bytes(gzip.compress(text.getvalue().encode()))
    entries = source.scan(tmp_path, source.card.layouts[0].name)
    reasons = [
        entry.reason
        for entry in entries
        if isinstance(entry, Skip) and "of field 'view'" in entry.reason
    ]
    assert len(reasons) == patients
    assert all(f"value {value_text!r}" in reason for reason in reasons)


def test_header_that_may_be_a_row_of_a_person_is_told_by_its_shape(tmp_path):
    (tmp_path / "t.csv").write_text("Muller Anna,1950-12-31\nMuller Anna,1950-12-31\n")
    with pytest.raises(TableError, match=r"columns: \(like Xxxxxx Xxxx\), \(like 9999-99-99\)"):
        read_csv(tmp_path / "t.csv", columns=("film", "age"))
    (tmp_path / "t.csv").write_text("film,other\n1,2\n")
    with pytest.raises(TableError, match=r"columns: film, other"):
        read_csv(tmp_path / "t.csv", columns=("film", "age"))


def test_a_shape_in_a_reason_is_not_replaced_by_its_shape():
    reason = f"zones {redact_cell('123456')} do not add up"
    assert redact_reason(Skip(key="a", reason=reason), []).reason == reason
