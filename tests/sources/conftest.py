"""The synthetic tree of each layout of each source, and what a build makes of it, once for all."""

import contextlib
import functools
import json

import pytest

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build_settings import BuildSettings
from medrcube.console.progress import Reporter
from medrcube.facts import Grade
from medrcube.sources.registry import find_sources
from medrcube.workspace import Workspace

SOURCES = find_sources()
KEY = b"k" * 32
SETTINGS = BuildSettings(evidence=Grade.C, items_per_cell=0, even_keys=False)
"""Silence counts as evidence, and which questions a batch keeps is no fact of a case."""


@pytest.fixture(scope="session")
def fixture_tree(tmp_path_factory):
    """``(source_id, layout)`` -> root of the synthetic tree, made once: never change it."""

    @functools.cache
    def make(source_id, layout):
        root = tmp_path_factory.mktemp(source_id) / "raw"
        SOURCES[source_id].build_fixture(root, layout)
        return root

    return make


@pytest.fixture(scope="session")
def build_raw():
    """``(source_id, raw, root)`` -> the workspace ``root`` after a build of a raw tree."""

    def make(source_id, raw, root, engine=LocalEngine(1)):  # noqa: B008  (it is frozen)
        workspace = Workspace(root=root, settings=SETTINGS, sources={source_id: raw})
        workspace.cache.parent.mkdir(parents=True)
        (workspace.cache.parent / "patient.key").write_bytes(KEY)
        build(workspace, SOURCES, engine, Reporter(quiet=True))
        return workspace

    return make


@pytest.fixture(scope="session")
def built_layout(made_once, build_raw):
    """``(source_id, layout)`` -> a workspace built from its synthetic tree: never change either.

    The tree may not be written to meanwhile; ``tree.json`` beside it tells what it was before.
    """

    @functools.cache
    def make(source_id, layout):
        def fill(folder):
            SOURCES[source_id].build_fixture(folder / "raw", layout)
            (folder / "tree.json").write_text(json.dumps(tree_state(folder / "raw")))
            with _read_only(folder / "raw"):
                build_raw(source_id, folder / "raw", folder / "workspace")

        folder = made_once(f"built {source_id} {layout}", fill)
        return Workspace(
            root=folder / "workspace", settings=SETTINGS, sources={source_id: folder / "raw"}
        )

    return make


@pytest.fixture(scope="session")
def tree_changes():
    """What differs between a tree of ``built_layout`` now and before its build."""

    def make(raw):
        before = json.loads(raw.with_name("tree.json").read_text())
        now = tree_state(raw)
        return {name for name in before | now if before.get(name) != now.get(name)}

    return make


def tree_state(root):
    """Size and time of change of every file and folder, by name."""
    return {
        path.relative_to(root).as_posix(): [path.stat().st_size, path.stat().st_mtime_ns]
        for path in root.rglob("*")
    }


@contextlib.contextmanager
def _read_only(root):
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        yield
    finally:
        for folder in folders:
            folder.chmod(0o755)
