"""One word for one thing: classes have different names, and names say what they hold."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = ("build", "evaluate", "medrcube", "ontologies", "review", "sources", "tasks", "templates")
EMPTY_WORDS = {"found", "it", "one", "said", "told"}
"""Words that tell neither what a value is nor what it is for."""
ALLOWED = {
    ("build/reconstruction/outcomes.py", "found"),  # a key of the report that users keep
    ("review/models/blindness.py", "told"),  # a column of the queue's database
}


def _is_migration(path):
    return path.parent == ROOT / "review/migrations"


def _is_loaded_by_path(path):
    """Whether a file is no module of the package: a source's code, or the rule of a task."""
    return path.name in {"adapter.py", "fixture.py", "rule.py"}


def _trees():
    for part in PARTS:
        for path in sorted((ROOT / part).rglob("*.py")):
            if not _is_migration(path):
                yield path, ast.parse(path.read_text(encoding="utf-8"))


def _assigned(tree):
    """Yield the names of arguments, variables, attributes and imports of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def test_no_two_classes_have_the_same_name():
    modules = defaultdict(set)
    for path, tree in _trees():
        if not _is_loaded_by_path(path):
            classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
            for name in {node.name for node in classes} - {"Meta"}:
                modules[name.lstrip("_")].add(path.relative_to(ROOT).as_posix())
    assert {name: paths for name, paths in modules.items() if len(paths) > 1} == {}


def test_no_name_is_an_empty_word():
    names = {
        (path.relative_to(ROOT).as_posix(), name.strip("_"))
        for path, tree in _trees()
        for name in _assigned(tree)
    }
    assert {place for place in names if place[1] in EMPTY_WORDS} == ALLOWED
