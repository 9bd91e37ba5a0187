"""A folder lists in ``__all__`` which of its modules others may import."""

import ast
from collections import defaultdict
from functools import cache
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
        for target in _targets(ast.parse(path.read_text(encoding="utf-8"))):
            parent, _, module = target.rpartition(".")
            if parent != folder:
                imported[parent].add(module)
    return imported


def _targets(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value]  # modules that are loaded by name, such as those of Django
        else:
            continue
        yield from filter(None, map(_longest_module, names))


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
