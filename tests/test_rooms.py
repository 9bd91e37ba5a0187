"""Modules import each other in one direction, and those of other folders only if listed there."""

import ast
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("build", "evaluate", "medrcube", "ontologies", "review", "sources", "tasks", "templates")


def _module(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    name = ".".join(parts if parts[0] == "medrcube" else ("medrcube", *parts))
    return name.removesuffix(".__init__")


@cache
def _modules():
    return {_module(path): path for part in PARTS for path in (ROOT / part).rglob("*.py")}


@cache
def _folders():
    """Packages, without the face of the whole, whose ``__all__`` is the public interface."""
    modules = {name for name, path in _modules().items() if path.name == "__init__.py"}
    return sorted(modules - {"medrcube"})


@cache
def _imported_from_elsewhere():
    """Modules of each folder that a module of another folder imports or names."""
    imported = defaultdict(set)
    for name, path in _modules().items():
        folder = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for target in _named_modules(path):
            parent, _, module = target.rpartition(".")
            if parent != folder:
                imported[parent].add(module)
    return imported


def _named_modules(path):
    """Modules that a file imports or loads by name, as Django does."""
    texts = (
        node.value
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return _imports(path) | set(filter(None, map(_longest_module, texts)))


@cache
def _imports(path):
    """Modules that a file imports, also in a function or for types alone."""
    names = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return set(filter(None, map(_longest_module, names)))


@cache
def _tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def _longest_module(name):
    while name not in _modules():
        name = name.rpartition(".")[0]
        if not name:
            return None
    return name


def _listed(folder):
    tree = ast.parse(_modules()[folder].read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def _own_modules(folder):
    return {name.rpartition(".")[2] for name in _modules() if name.rpartition(".")[0] == folder}


@pytest.mark.parametrize("folder", _folders())
def test_a_folder_lists_the_modules_that_others_import(folder):
    assert _imported_from_elsewhere()[folder] - _listed(folder) == set()


@pytest.mark.parametrize("folder", _folders())
def test_a_folder_lists_no_module_that_it_alone_uses(folder):
    assert (_listed(folder) & _own_modules(folder)) - _imported_from_elsewhere()[folder] == set()


def test_no_module_imports_itself_through_others():
    graph = {name: _imports(path) for name, path in _modules().items()}
    del graph["medrcube"]  # names the interface for type checkers and imports it on first use
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))
