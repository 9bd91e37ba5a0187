import os
import pickle

import pytest

from medrcube.build import scan_memory
from medrcube.build.cache import BuildCache
from medrcube.build.scan import scan
from medrcube.sources.contract import load_source

KEY = b"k" * 32


@pytest.fixture
def memory(tmp_path):
    with BuildCache(tmp_path / "w" / "cache" / "build.sqlite3") as cache:
        yield cache


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


def test_an_unchanged_tree_is_looked_through_once(counting, raw, memory):
    source, looks = counting
    assert scan(source, raw, KEY, memory) == scan(source, raw, KEY, memory)
    assert looks() == 1


def test_without_a_memory_every_scan_looks(counting, raw):
    source, looks = counting
    scan(source, raw, KEY)
    scan(source, raw, KEY)
    assert looks() == 2


def _touch(raw, _source):
    os.utime(raw / "g (0).png", (1, 1))


def _grow(raw, _source):
    (raw / "new.txt").write_text("x")


def _card(_raw, source):
    card = source.folder / "card.toml"
    card.write_text(card.read_text().replace("images = 4", "images = 5"))


def _adapter(_raw, source):
    adapter = source.folder / "adapter.py"
    adapter.write_text(adapter.read_text() + "\n# changed\n")


@pytest.mark.parametrize("change", [_touch, _grow, _card, _adapter])
def test_any_change_of_tree_card_or_adapter_makes_it_look_again(counting, raw, memory, change):
    source, looks = counting
    scan(source, raw, KEY, memory)
    change(raw, source)
    scan(load_source(source.folder), raw, KEY, memory)
    assert looks() == 2


def test_a_foreign_record_runs_no_code():
    with pytest.raises(pickle.UnpicklingError, match="must not hold"):
        scan_memory.load(pickle.dumps(os.system))
