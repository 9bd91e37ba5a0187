"""A cell that may identify somebody reaches no reason, in any table of any source."""

import functools

import pytest

from medrcube.records import BAD_ROW, Case, Skip
from medrcube.sources.raw_tree import RawTree
from medrcube.sources.registry import find_sources
from medrcube.sources.tables import Row
from medrcube.sources.telling import told

WORD = "ZZCANARY19501231"
SOURCES = find_sources()


@pytest.mark.untraced
@pytest.mark.parametrize("source", SOURCES.values(), ids=list(SOURCES))
def test_identifier_in_a_shifted_cell_stands_in_no_reason(source, tmp_path, monkeypatch):
    layout = source.card.layouts[0].name
    source.build_fixture(tmp_path, layout)
    tree, columns = RawTree(tmp_path), set()
    begin, read = Row.__init__, Row.__getitem__

    def note(self, column):
        columns.add((self.table, column))
        return read(self, column)

    with monkeypatch.context() as patch:
        patch.setattr(Row, "__getitem__", note)
        list(source.scan(tree, layout))

    def start(cell, self, values, table, line, lines=None, **rest):
        if table == cell[0] and cell[1] in values:
            values = {**values, cell[1]: WORD}
        begin(self, values, table, line, lines, **rest)

    for cell in sorted(columns):
        with monkeypatch.context() as patch:
            patch.setattr(Row, "__init__", functools.partialmethod(_swap, start, cell))
            found = list(source.scan(tree, layout))
        for it in found:
            if not isinstance(it, Case) and WORD not in it.key:
                assert WORD not in it.reason, cell


def _swap(self, start, cell, *values, **named):
    start(cell, self, *values, **named)


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        (f"t.csv:2 age={WORD}: expected a number", "t.csv:2 age=(16 characters, letters and"),
        ("t.csv:2 age=1950-12-31: expected a number", "age=(10 characters, digits)"),
        ("t.csv:223414 Edema=2: expected one of", "t.csv:223414 Edema=2: expected one of"),
        ("t.csv:2 study=50414267: is another", "t.csv:2 study=50414267: is another"),
        ("t.csv: has 2000000000 bytes", "t.csv: has 2000000000 bytes"),
    ],
)
def test_word_that_may_identify_somebody_is_told_by_its_shape(reason, shown):
    skip = Skip(key="x", reason=reason, code=BAD_ROW)
    assert told(skip, ["files/p10/s50414267/a.jpg"]).reason.startswith(shown) or (
        shown in told(skip, ["files/p10/s50414267/a.jpg"]).reason
    )
