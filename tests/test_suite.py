"""The suite looks at itself: a folder that is not collected would pass in silence."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

from medrcube.build.open_items.rule_files import open_tasks, rule_path
from medrcube.sources.registry import find_sources

HERE = Path(__file__).parent
PARTS = ("build", "evaluate", "medrcube", "ontologies", "review", "sources", "tasks", "templates")


def test_no_folder_of_tests_is_left_out_by_its_name(request):
    """The default of pytest leaves out every folder called `build`."""
    patterns = request.config.getini("norecursedirs")
    folders = {path.parent.name for path in HERE.rglob("test_*.py")}
    assert "build" in folders
    assert not [name for name in folders for pattern in patterns if fnmatch(name, pattern)]


def test_the_fast_tests_import_every_room_of_the_product():
    texts = [path.read_text(encoding="utf-8") for path in HERE.rglob("test_*.py")]
    whole = re.compile(r"^pytestmark = .*thorough", re.MULTILINE)
    fast = [text for text in texts if not whole.search(text)]
    assert len(fast) < len(texts)
    modules = {name for text in fast for name in re.findall(r"\bmedrcube(?:\.\w+)+", text)}
    lacking = [name for name in _rooms() if not _imported(name, modules)]
    assert lacking == []


def test_the_sources_of_the_fast_tests_are_sources(request):
    shared = request.config.pluginmanager.get_plugin(str(HERE / "conftest.py"))
    assert shared.ONE_OF_EACH_READER.keys() < find_sources().keys()


def test_a_few_parameters_are_spread_over_all_and_the_others_are_thorough(request):
    shared = request.config.pluginmanager.get_plugin(str(HERE / "conftest.py"))
    marked = [_Item(f"a.py::test[{number}]", pytest.mark.few(3)) for number in range(7)]
    items = [*marked, _Item("a.py::other[0]"), _Item("a.py::test_more[0]", pytest.mark.few(2))]
    beyond = [item.nodeid for item in shared._beyond_a_few(items)]
    assert beyond == [f"a.py::test[{number}]" for number in (1, 3, 5, 6)]


class _Item:
    """What is asked of a test here: its id and its marks."""

    def __init__(self, nodeid, mark=None):
        self.nodeid = nodeid
        self._mark = mark

    def get_closest_marker(self, name):
        return self._mark.mark if self._mark and self._mark.name == name else None


def _rooms():
    """Dotted names of the rooms: the parts of the product and the folders in them.

    Those of sources and of tasks with a rule go by their parameters, and migrations are run by
    every test of the queue.
    """
    own = {source.folder for source in find_sources().values()}
    own |= {rule_path(task).parent for task in open_tasks()}
    own.add(HERE.parent / "review" / "migrations")
    for part in PARTS:
        modules = [*(HERE.parent / part).glob("*.py"), *(HERE.parent / part).glob("*/*.py")]
        for folder in sorted({path.parent for path in modules} - own):
            name = ".".join(folder.relative_to(HERE.parent).parts)
            yield name if part == "medrcube" else f"medrcube.{name}"


def _imported(package, modules):
    return any(name == package or name.startswith(f"{package}.") for name in modules)
