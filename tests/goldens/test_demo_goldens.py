"""The demo's release and scores are those that were recorded: a refactoring alters none of them.

Meant to change? ``python tests/goldens/demo_digests.py`` records them anew.
"""

import pytest
from demo_digests import demo_digests, read_goldens

from medrcube.console.progress import Reporter
from medrcube.demo import run_demo

PARTS = ("items", "item_ids", "test.json", "sets.json", "items.csv", "metrics")


@pytest.fixture(scope="module")
def small(small_demo):
    return demo_digests(small_demo / "demo")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Digests of the demo of all sources."""
    demo = tmp_path_factory.mktemp("whole") / "demo"
    run_demo(demo, Reporter(quiet=True))
    return demo_digests(demo)


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
