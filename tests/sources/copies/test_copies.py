"""Copies as users have them: what every source takes, and each variant by name."""

import functools
import re
import runpy
import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest

from medrcube.build.stages.scan import scan
from medrcube.errors import SourceError
from medrcube.sources.registry import find_sources

sys.path.insert(0, str(Path(__file__).parents[1]))
edit = import_module("copies.edits").edit
page = import_module("copies.page")

SOURCES = find_sources()
KEY = b"k" * 32
KEYS = {"source", "name", "seen", "layout", "edits", "keys", "cases", "refused"}


@pytest.fixture(scope="module")
def intact(tmp_path_factory):
    """``(source_id, layout)`` -> root of a fixture, and what a scan finds there."""

    @functools.cache
    def make(source_id, layout):
        root = tmp_path_factory.mktemp(source_id) / "raw"
        SOURCES[source_id].build_fixture(root, layout)
        return root, scan(SOURCES[source_id], root, KEY)

    return make


@pytest.fixture
def copy(tmp_path, intact):
    """``(source_id, layout, edits)`` -> folder that a user names, after the edits."""

    def make(source_id, layout, edits):
        root = tmp_path / "data" / "raw"
        root.parent.mkdir()
        shutil.copytree(intact(source_id, layout)[0], root)
        given_root = root
        for line in edits:
            given_root = edit(root, line) or given_root
        return given_root

    return make


def _told(case):
    """All that a case says, without the names of its files and tables."""
    return (
        *(case.key, case.patient, case.split, len(case.images), _stated(case)),
        sorted((region.field, region.value, region.image) for region in case.regions),
    )


def _stated(case):
    return sorted((label.field, label.value, label.state.name) for label in case.labels)


def _ruled_out(case):
    return {label[:2] for label in _stated(case) if label[2] == "ABSENT"}


def _codes(outcome):
    return sorted(problem.code for problem in outcome.problems)


EVERY = [
    pytest.param(source, entry["edits"], id=f"{source}: {entry['name']}")
    for entry in page.read_every()
    for source in SOURCES
    if source not in entry.get("but", {})
]


@pytest.mark.few(6)
@pytest.mark.parametrize(("source", "edits"), EVERY)
def test_every_source_takes(source, edits, copy, intact):
    layout = SOURCES[source].card.layouts[0].name
    _, expected = intact(source, layout)
    source_scan = scan(SOURCES[source], copy(source, layout, edits), KEY)
    assert [_told(case) for case in source_scan.cases] == [_told(case) for case in expected.cases]
    assert _codes(source_scan) == _codes(expected)


ACCEPTED = [entry for entry in page.read_named() if "refused" not in entry]
REFUSED = [entry for entry in page.read_named() if "refused" in entry]


def _named(variants):
    return [
        pytest.param(variant, id=f"{variant['source']}: {variant['name']}") for variant in variants
    ]


@pytest.mark.few(12)
@pytest.mark.parametrize("variant", _named(ACCEPTED))
def test_accepted(variant, copy, intact):
    source = SOURCES[variant["source"]]
    layout = variant.get("layout", source.card.layouts[0].name)
    _, expected = intact(source.id, layout)
    source_scan = scan(source, copy(source.id, layout, variant["edits"]), KEY)
    whole = {case.key: case for case in expected.cases}
    if "cases" in variant:
        assert len(source_scan.cases) == variant["cases"]
    else:
        part = variant.get("keys", "")
        assert {case.key for case in source_scan.cases} == {
            entry for entry in whole if re.search(part, entry)
        }
    if {"cases", "keys"} & variant.keys():
        assert not any(_ruled_out(case) - _ruled_out(whole[case.key]) for case in source_scan.cases)
    else:
        assert sorted(map(_told, source_scan.cases)) == sorted(map(_told, whole.values()))
        assert "unclaimed" not in _codes(source_scan)


@pytest.mark.parametrize("variant", _named(REFUSED))
def test_refused_with_the_hint(variant, copy):
    source = SOURCES[variant["source"]]
    layout = variant.get("layout", source.card.layouts[0].name)
    root = copy(source.id, layout, variant["edits"])
    with pytest.raises(SourceError) as excinfo:
        scan(source, root, KEY)
    assert variant["refused"] in str(excinfo.value)


def test_each_row_is_told_apart_and_has_no_other_keys():
    rows = page.read_named()
    assert len({(row["source"], row["name"]) for row in rows}) == len(rows)
    assert not [(row["name"], row.keys() - KEYS) for row in rows if row.keys() - KEYS]


def test_the_page_of_the_docs_is_made_from_the_table(monkeypatch, tmp_path):
    (tmp_path / "reference").mkdir()
    monkeypatch.setattr(sys, "argv", ["page.py", str(tmp_path)])
    runpy.run_path(str(Path(__file__).parent / "page.py"), run_name="__main__")
    docs = Path(__file__).parents[3] / "docs"
    page_text = (tmp_path / "reference/copies.md").read_text(encoding="utf-8")
    assert (docs / "reference/copies.md").read_text(encoding="utf-8") == page_text, "make reference"
