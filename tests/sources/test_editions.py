"""Of several editions of one table the newest is read; a damaged one costs no more than itself."""

import pytest

from medrcube.errors import TableError
from medrcube.facts import Case, Skip
from medrcube.sources._formats.tables.rows import OLDER_EDITION
from medrcube.sources.registry import find_sources

NIH = find_sources()["nih-chestxray14"]


@pytest.fixture
def copy(tmp_path):
    NIH.build_fixture(tmp_path, "official")
    (table,) = tmp_path.rglob("Data_Entry_2017*.csv")
    newer = table.with_name("Data_Entry_2017_v2020.csv")
    older = table.with_name("Data_Entry_2017.csv")
    content = table.read_bytes()
    newer.write_bytes(content)
    older.write_bytes(content)
    return tmp_path, newer, older


def _scan(root):
    return list(NIH.scan(root, "official"))


def test_an_older_edition_is_read_where_the_newest_is_damaged_and_that_is_told(copy):
    root, newer, older = copy
    whole = [entry.key for entry in _scan(root) if isinstance(entry, Case)]
    newer.write_bytes(b"\0" * 4096)
    results = _scan(root)
    assert [entry.key for entry in results if isinstance(entry, Case)] == whole
    (result,) = [
        entry for entry in results if isinstance(entry, Skip) and entry.code == OLDER_EDITION
    ]
    assert result.key == newer.name
    assert "is not text" in result.reason
    assert f"{older.name}, an older edition, is read in its place" in result.reason


def test_labels_of_the_older_edition_cite_it(copy):
    root, newer, older = copy
    newer.write_bytes(b"")
    labels = [label for entry in _scan(root) if isinstance(entry, Case) for label in entry.labels]
    assert labels
    assert all(label.evidence.startswith(f"{older.name}:") for label in labels)


def test_a_copy_without_a_readable_edition_is_refused(copy):
    root, newer, older = copy
    newer.write_bytes(b"")
    older.write_bytes(b"")
    with pytest.raises(TableError, match="is empty"):
        _scan(root)
