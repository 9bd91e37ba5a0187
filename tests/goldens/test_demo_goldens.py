"""The demo's release and scores are those that were recorded: a refactoring alters none of them.

Meant to change? ``python tests/goldens/demo_digests.py`` records them anew.
"""

import shutil

import pytest
from demo_digests import demo_digests, read_goldens

PARTS = ("items", "item_ids", "test.json", "sets.json", "items.csv", "metrics")


@pytest.fixture(scope="module")
def small(small_demo, tmp_path_factory):
    """Digests of the demo of three sources."""
    return _digests(small_demo, tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def whole(whole_demo, tmp_path_factory):
    """Digests of the demo of all sources."""
    return _digests(whole_demo, tmp_path_factory.mktemp("whole"))


def _digests(root, folder):
    shutil.copytree(root / "demo/release", folder / "release")
    return demo_digests(folder)


@pytest.mark.parametrize("part", PARTS)
def test_a_demo_of_three_sources_is_as_recorded(small, part):
    _compare(small[part], read_goldens()["small"][part])


@pytest.mark.thorough
@pytest.mark.untraced
@pytest.mark.parametrize("part", PARTS)
def test_the_demo_of_all_sources_is_as_recorded(whole, part):
    _compare(whole[part], read_goldens()["all"][part])


def _compare(now, recorded):
    """Name the digests that differ; new columns and new kinds of figures are welcome."""
    digests = dict(_flat(now))
    assert [name for name, digest in _flat(recorded) if digests.get(name) != digest] == []


def _flat(digests, path=""):
    if isinstance(digests, dict):
        for name, inner in digests.items():
            yield from _flat(inner, f"{path}/{name}")
    else:
        yield path, digests
