"""Copies as users have them: what every source takes, and each variant of ``variants.toml``."""

import functools
import gzip
import re
import runpy
import shutil
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from medrcube.build.scan import scan
from medrcube.errors import SourceError
from medrcube.sources.raw_tree import compile_glob, walk
from medrcube.sources.registry import find_sources

SOURCES = find_sources()
KEY = b"k" * 32
VARIANTS = tomllib.loads((Path(__file__).parent / "variants.toml").read_text(encoding="utf-8"))


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
        given = root
        for edit in edits:
            given = _edit(root, *edit.split(" | ")) or given
        return given

    return make


def _edit(root, verb, *words):
    return _VERBS[verb](root, *words)


def _match(root, glob):
    pattern = compile_glob(glob)
    found = [name for name in walk(root) if pattern.fullmatch(name)]
    assert found, f"no file of the fixture fits {glob}"
    return found


def _move(root, glob, target):
    """``target`` may hold {name}, {stem}, {parent} and {folder}: name of the folder, whole path."""
    for name in _match(root, glob):
        path = Path(name)
        words = {"name": path.name, "stem": path.stem}
        words |= {"parent": path.parent.name, "folder": path.parent.as_posix()}
        place = root / target.format(**words)
        place.parent.mkdir(parents=True, exist_ok=True)
        (root / name).rename(place)


def _drop(root, glob):
    for name in _match(root, glob):
        (root / name).unlink()


def _wrap(root, folder):
    inner = root.with_name("inner")
    root.rename(inner)
    place = root / folder
    place.parent.mkdir(parents=True)
    inner.rename(place)


def _give(root, folder):
    given = (root / folder).resolve()
    assert given.is_dir()
    return given


def _gzip(root, glob):
    for name in _match(root, glob):
        (root / f"{name}.gz").write_bytes(gzip.compress((root / name).read_bytes()))
        (root / name).unlink()


def _pack(root, glob, archive):
    (root / archive).parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(root / archive, "w") as packed:
        for name in _match(root, glob):
            packed.write(root / name, Path(name).name)
            (root / name).unlink()


def _text(root, glob, change):
    changes = {
        "bom": lambda text: "\ufeff" + text,
        "crlf": lambda text: text.replace("\n", "\r\n"),
        "semicolons": lambda text: text.replace(",", ";"),
    }
    for name in _match(root, glob):
        text = (root / name).read_bytes().decode("utf-8")
        (root / name).write_bytes(changes[change](text).encode("utf-8"))


def _replace(root, glob, old, new):
    for name in _match(root, glob):
        text = (root / name).read_text(encoding="utf-8")
        assert old in text
        (root / name).write_text(text.replace(old, new), encoding="utf-8", newline="")


def _capitals(root, glob):
    for name in _match(root, glob):
        path = root / name
        path.rename(path.with_name(re.sub(r"\.[^.]+$", lambda it: it[0].upper(), path.name)))


def _litter(root):
    for name in list(walk(root)):
        path = root / name
        (path.parent / f"._{path.name}").write_bytes(b"\0\5\x16\7")
        twin = root / "__MACOSX" / path.relative_to(root)
        twin.parent.mkdir(parents=True, exist_ok=True)
        (twin.parent / f"._{path.name}").write_bytes(b"\0\5\x16\7")
        twin.write_bytes(b"")
        for left in (".DS_Store", "Thumbs.db", "desktop.ini", "SHA256SUMS.txt", "LICENSE.txt"):
            if not (path.parent / left).exists():
                (path.parent / left).write_bytes(b"left")


def _double(root):
    for folder in [path for path in root.iterdir() if path.is_dir()]:
        aside = root / "aside"
        folder.rename(aside)
        folder.mkdir()
        aside.rename(folder / folder.name)


_VERBS = {
    "move": _move,
    "drop": _drop,
    "wrap": _wrap,
    "give": _give,
    "gzip": _gzip,
    "pack": _pack,
    "text": _text,
    "replace": _replace,
    "capitals": _capitals,
    "litter": _litter,
    "double": _double,
}


def _codes(found):
    return sorted(problem.code for problem in found.problems)


EVERY = [
    pytest.param(source, entry["edits"], id=f"{source}: {entry['name']}")
    for entry in VARIANTS["every"]
    for source in SOURCES
    if source not in entry.get("but", {})
]


@pytest.mark.parametrize(("source", "edits"), EVERY)
def test_every_source_takes(source, edits, copy, intact):
    layout = SOURCES[source].card.layouts[0].name
    _, expected = intact(source, layout)
    found = scan(SOURCES[source], copy(source, layout, edits), KEY)
    assert [case.key for case in found.cases] == [case.key for case in expected.cases]
    assert _codes(found) == _codes(expected)


ACCEPTED = [it for it in VARIANTS["variant"] if "refused" not in it]
REFUSED = [it for it in VARIANTS["variant"] if "refused" in it]


def _named(variants):
    return [pytest.param(it, id=f"{it['source']}: {it['name']}") for it in variants]


@pytest.mark.parametrize("variant", _named(ACCEPTED))
def test_accepted(variant, copy, intact):
    source = SOURCES[variant["source"]]
    layout = variant.get("layout", source.card.layouts[0].name)
    _, expected = intact(source.id, layout)
    found = scan(source, copy(source.id, layout, variant["edits"]), KEY)
    if "cases" in variant:
        assert len(found.cases) == variant["cases"]
    else:
        part = variant.get("keys", "")
        keys = {case.key for case in expected.cases if re.search(part, case.key)}
        assert {case.key for case in found.cases} == keys
    if not {"cases", "keys"} & variant.keys():
        assert "unclaimed" not in _codes(found)


@pytest.mark.parametrize("variant", _named(REFUSED))
def test_refused_with_the_hint(variant, copy):
    source = SOURCES[variant["source"]]
    layout = variant.get("layout", source.card.layouts[0].name)
    given = copy(source.id, layout, variant["edits"])
    with pytest.raises(SourceError) as caught:
        scan(source, given, KEY)
    assert variant["refused"] in str(caught.value)


def test_the_page_of_the_docs_is_made_from_the_table(monkeypatch, tmp_path):
    (tmp_path / "reference").mkdir()
    monkeypatch.setattr(sys, "argv", ["page.py", str(tmp_path)])
    runpy.run_path(str(Path(__file__).parent / "page.py"), run_name="__main__")
    docs = Path(__file__).parents[3] / "docs"
    made = (tmp_path / "reference/copies.md").read_text(encoding="utf-8")
    assert (docs / "reference/copies.md").read_text(encoding="utf-8") == made, "make reference"
