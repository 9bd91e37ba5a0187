import contextlib
import os
import pickle
import subprocess
import sys
import zlib
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.incremental import cache_database, result_cache
from medrcube.build.incremental.cache_database import BuildCache
from medrcube.build.incremental.kept_scan import keep_scan
from medrcube.build.stages.scan import inspect_tree
from medrcube.facts import Grade, LabelState, Scope, Skip, Visibility
from medrcube.sources._framework.contract import load_source
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Modality

KEY = b"k" * 32
CHECKOUT = Path(__file__).parents[3]


@pytest.fixture
def cache(tmp_path):
    with BuildCache(tmp_path / "w" / "cache" / "build.sqlite3") as opened:
        yield opened


@pytest.fixture
def counting(toy):
    """The toy source with an adapter that leaves a mark each time it looks."""
    marks = toy.folder / "marks"
    marks.mkdir()
    adapter = toy.folder / "adapter.py"
    line = f"    import os, tempfile; tempfile.mkstemp(dir={str(marks)!r})\n"
    text = adapter.read_text().replace("layout):\n", "layout):\n" + line)
    adapter.write_text(text)
    return load_source(toy.folder), lambda: len(list(marks.iterdir()))


def _keep(source, raw, cache, key=KEY):
    return keep_scan(source, inspect_tree(source, raw), key, cache)


def _cases(kept_scan):
    return [job.case for portion in kept_scan.head.portions for job in kept_scan.jobs(portion)]


def test_an_unchanged_tree_is_looked_through_once(counting, raw, cache):
    source, looks = counting
    first, again = (_keep(source, raw, cache) for _ in range(2))
    assert (first.head, _cases(first)) == (again.head, _cases(again))
    assert looks() == 1


def test_another_image_in_the_place_of_one_leaves_the_scan_as_it_was(counting, raw, cache):
    source, looks = counting
    first = _keep(source, raw, cache)
    (raw / "g (0).png").write_bytes((raw / "g (0).png").read_bytes()[::-1])
    assert _keep(source, raw, cache).head == first.head
    assert looks() == 1


def test_an_image_that_the_adapter_opens_counts_as_read(counting, raw, cache):
    source, looks = counting
    adapter = source.folder / "adapter.py"
    line = '    (root / "g (0).png").read_bytes()\n'
    adapter.write_text(adapter.read_text().replace("layout):\n", "layout):\n" + line))
    source = load_source(source.folder)
    _keep(source, raw, cache)
    os.utime(raw / "g (0).png", (1, 1))
    _keep(source, raw, cache)
    assert looks() == 2


def test_an_image_of_a_format_that_c_libraries_open_counts_as_read(counting, raw, cache):
    source, looks = counting
    (raw / "volume.mha").write_bytes(b"x")
    _keep(source, raw, cache)
    (raw / "volume.mha").write_bytes(b"y")
    _keep(source, raw, cache)
    assert looks() == 2


def _empty(raw, _source):
    (raw / "g (0).png").write_bytes(b"")


def _gone(raw, _source):
    (raw / "g (0).png").unlink()


def _grow(raw, _source):
    (raw / "new.txt").write_text("x")


def _card(_raw, source):
    card = source.folder / "card.toml"
    card.write_text(card.read_text().replace("images = 4", "images = 5"))


def _adapter(_raw, source):
    adapter = source.folder / "adapter.py"
    adapter.write_text(adapter.read_text() + "\n# changed\n")


@pytest.mark.parametrize("change", [_empty, _gone, _grow, _card, _adapter])
def test_any_change_of_tree_card_or_adapter_makes_it_look_again(counting, raw, cache, change):
    source, looks = counting
    _keep(source, raw, cache)
    change(raw, source)
    _keep(load_source(source.folder), raw, cache)
    assert looks() == 2


def test_another_key_for_patients_makes_it_look_again(counting, raw, cache):
    source, looks = counting
    first = _cases(_keep(source, raw, cache))
    again = _cases(_keep(source, raw, cache, b"l" * 32))
    assert again[0].patient != first[0].patient
    assert looks() == 2


def test_only_the_latest_record_of_a_name_is_kept_and_only_under_its_key(cache):
    cache.remember("name", "old", b"1")
    cache.remember("name", "new", b"2" * 1000)
    assert cache.recall("name", "new") == b"2" * 1000
    assert cache.recall("name", "old") is None
    assert cache.recall("other", "new") is None


def test_a_record_larger_than_a_row_is_kept_in_several(cache, monkeypatch):
    monkeypatch.setattr(cache_database, "_PIECE", 10)
    long, short = bytes(range(256)), b"1"
    cache.remember("name", "key", long)
    assert cache.recall("name", "key") == long
    cache.remember("name", "key", short)
    assert cache.recall("name", "key") == short
    cache.remember("name", "key", long)
    cache.forget("na", {"name"})
    assert cache.recall("name", "key") == long
    assert cache.recall("name", "other") is None
    cache.forget("na", {"nam"})
    assert cache.recall("name", "key") is None


def _global(module, name):
    """A pickle that calls what stands under a name, which may have dots, with one argument."""
    parts = [b"\x8c" + bytes([len(text)]) + text.encode() for text in (module, name, "echo no")]
    return b"\x80\x04" + parts[0] + parts[1] + b"\x93" + parts[2] + b"\x85R."


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("posix", "system"),
        ("builtins", "eval"),
        ("medrcube.sources._framework.layout", "os.system"),
        ("medrcube.sources._framework.layout", "os"),
        ("medrcube.sources._framework.raw_tree.raw_tree", "walk_files"),
        ("medrcube.build.incremental.file_states", "Path"),
        ("medrcube.build.incremental.cache_database", "BuildCache"),
        ("medrcube.build.incremental.result_cache", "Source"),
    ],
)
def test_a_foreign_record_runs_no_code(module, name):
    with pytest.raises(pickle.UnpicklingError, match="must not hold"):
        result_cache.parse_record(_global(module, name))


def test_a_record_of_a_scan_is_read_back_as_it_was(toy, raw):
    entries = list(toy.scan(raw, "flat"))
    assert result_cache.parse_record(result_cache.dump_record(entries)) == entries


@given(place=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_record_is_read_or_refused_but_never_ends_a_build(place, byte, cut):
    whole = result_cache.dump_record(
        (Skip(key="a", reason="b" * 40), LabelState.ABSENT, Scope.STUDY, Path("c"))
    )
    at = int(place * len(whole))
    with contextlib.suppress(pickle.UnpicklingError):
        result_cache.parse_record(
            whole[:at] if cut else whole[:at] + bytes([byte]) + whole[at + 1 :]
        )


def test_a_record_holds_no_call_but_of_its_own_kinds():
    """Python 3.11.2 keeps a member of an enumeration as a call of getattr, if it is let."""
    kinds = (LabelState.ABSENT, Scope.STUDY, Grade.A, Visibility.PARTLY, Modality("CT"))
    record = result_cache.dump_record(kinds)
    assert b"getattr" not in record
    assert result_cache.parse_record(record) == kinds


@pytest.mark.parametrize(
    "record",
    [b"", b"\x80", result_cache.dump_record(("another", "kind")), _global("builtins", "getattr")],
)
def test_a_record_that_cannot_be_used_counts_as_never_kept(counting, raw, cache, record):
    source, looks = counting
    cases = _cases(_keep(source, raw, cache))
    cache._database.execute("UPDATE memory SET record = ?", (zlib.compress(record),))
    assert _cases(_keep(source, raw, cache)) == cases
    assert _cases(_keep(source, raw, cache)) == cases
    assert looks() == 2


@pytest.mark.parametrize("record", [b"no zlib", 7, None])
def test_a_row_that_holds_no_record_counts_as_none(cache, record):
    cache.remember("name", "key", b"1")
    cache._database.execute("UPDATE memory SET record = ?", (record,))
    assert cache.recall("name", "key") is None


LOADED = """
import pkgutil, sys
from importlib import import_module
import medrcube.build.pipeline
for room in ("stages", "readers", "pixels", "regions", "burnt_in", "viewer", "questions"):
    package = import_module(f"medrcube.build.{room}")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)
from medrcube.sources._framework.contract import _load
from medrcube.sources.registry import find_sources
for source in find_sources().values():
    _load(source.folder / "adapter.py")
for module in [*sys.modules.values()]:
    print(getattr(module, "__file__", None) or "")
"""


@pytest.mark.thorough
def test_whatever_a_build_loads_is_in_the_digest_of_its_code():
    printed = subprocess.check_output([sys.executable, "-c", LOADED], text=True)
    loaded = {Path(name) for name in printed.splitlines() if name}
    digested = {
        file
        for part, glob in result_cache._PARTS.items()
        for file in Path(str(files(part))).glob(glob)
    }
    sources = find_sources().values()
    own = {file for source in sources for file in source.folder.iterdir()}
    product = {
        file
        for file in loaded
        if CHECKOUT in file.parents and not {".venv", "_synthetic"} & set(file.parts)
    }  # phantoms make raw data for tests, which have digests of their own
    assert len(product) > 100
    assert product - digested - own == set()
