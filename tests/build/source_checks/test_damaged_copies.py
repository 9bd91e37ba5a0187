"""One damaged row of a fixture's table: which of them end a scan."""

import pytest

from medrcube.build.source_checks.damaged_copies import scans_ended_by_a_row
from medrcube.sources._framework.contract import load_source
from medrcube.sources.registry import find_sources

FIXTURE = """\
def build(root, layout):
    root.mkdir(exist_ok=True)
    rows = ["exam,age", "1,41", "2,42", "3,"]
    (root / "ages.csv").write_text("\\n".join(rows) + "\\n")
"""

ADAPTER = """\
from functools import partial

from medrcube.errors import RowError
from medrcube.facts import Skip
from medrcube.sources._formats.tables.rows import cases_or_skip, group_by_name
from medrcube.sources._formats.tables.tables import find_table, read_csv

def cases(root, layout):
    table = read_csv(find_table(root, "ages"), columns=("exam", "age"))
    rows, unnamed = group_by_name(table, "exam")
    yield from unnamed
    for exam, (row, *_) in rows.items():
        yield from cases_or_skip(partial(one, exam, row), key=exam)

def one(exam, row):
    if row["age"] and not row["age"].isdecimal():
        raise RowError(f"{row.quote('age')}: expected a number")
    yield Skip(key=exam, reason="the age alone")
"""


@pytest.fixture
def ended(toy, tmp_path):
    """How a row has to be damaged to end the scan of an adapter."""
    card = toy.folder / "card.toml"
    images = 'expect = { "*.png" = 8 }'
    assert images in card.read_text()
    card.write_text(card.read_text().replace(images, 'expect.ages = { "ages.csv" = 1 }'))
    (toy.folder / "fixture.py").write_text(FIXTURE)

    def run(old="", new=""):
        assert old in ADAPTER
        (toy.folder / "adapter.py").write_text(ADAPTER.replace(old, new) if old else ADAPTER)
        source = load_source(toy.folder)
        source.build_fixture(tmp_path / "raw", "flat")
        before = (tmp_path / "raw/ages.csv").read_bytes()
        ends = dict(scans_ended_by_a_row(source, tmp_path / "raw", "flat"))
        assert (tmp_path / "raw/ages.csv").read_bytes() == before
        return ends

    return run


def test_a_row_that_sets_itself_aside_ends_no_scan(ended):
    assert ended() == {}


def test_comment_lines_above_the_header_are_neither_damaged_nor_taken_for_it(tmp_path):
    source = find_sources()["covid-chestxray"]
    source.build_fixture(tmp_path / "raw", "scored")
    (scores,) = (tmp_path / "raw").rglob("*severity-scores.csv")
    assert scores.read_text().startswith("## ")
    assert list(scans_ended_by_a_row(source, tmp_path / "raw", "scored")) == []


@pytest.mark.parametrize(
    ("old", "new", "damages"),
    [
        ("raise RowError(", "raise ValueError(", {"with '???' in a cell of its column 'age'"}),
        (
            "cases_or_skip(partial(one, exam, row), key=exam)",
            "one(exam, row)",
            {"with '???' in a cell of its column 'age'"},
        ),
        (
            "in rows.items()",
            "in ((exam, rows[exam]) for exam in '123')",
            {
                "without one of its rows",
                "with '???' in a cell of its column 'exam'",
                "with '' in a cell of its column 'exam'",
            },
        ),
    ],
)
def test_a_row_that_ends_the_scan_is_named_with_its_damage(ended, old, new, damages):
    assert set(ended(old, new)) == {f"ages.csv {damage}" for damage in damages}
