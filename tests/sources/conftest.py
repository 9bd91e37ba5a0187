"""The synthetic tree of each layout of each source, once for all."""

import functools
import json

import pytest

from medrcube.sources._formats.dicom import headers
from medrcube.sources.registry import find_sources

SOURCES = find_sources()


@pytest.fixture(scope="session")
def fixture_tree(tmp_path_factory):
    """``(source_id, layout)`` -> root of the synthetic tree, made once: never change it."""

    @functools.cache
    def make(source_id, layout):
        root = tmp_path_factory.mktemp(source_id) / "raw"
        SOURCES[source_id].build_fixture(root, layout)
        return root

    return make


@pytest.fixture(scope="module")
def headers_read_once():
    """Read each DICOM header once: for tests that scan a tree many times and change no header."""
    with pytest.MonkeyPatch.context() as patch:
        for read in ("_load", "_texts"):
            patch.setattr(headers, read, functools.cache(getattr(headers, read)))
        yield


@pytest.fixture(scope="session")
def tree_changes(tree_state):
    """What differs between a tree of ``built_layout`` now and before its build."""

    def make(raw):
        before = json.loads(raw.with_name("tree.json").read_text())
        now = tree_state(raw)
        return {name for name in before | now if before.get(name) != now.get(name)}

    return make
