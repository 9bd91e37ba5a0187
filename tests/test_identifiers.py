"""One word for one thing: classes have different names, and names say what they hold."""

import ast
import re
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
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)
PARTICIPLES = {
    *("asked", "chosen", "done", "drawn", "given", "held", "kept", "known"),
    *("made", "seen", "sent", "shown", "taken", "wanted", "written"),
}
"""Words that need a noun; ``left`` and ``read`` may stand, as a side and as a verb."""
KEYS_OF_FILES = {
    # Keys of what commands print with --json or of ``audit.json``.
    ("build/build_report.py", "taken"),
    ("build/profile/distance_report.py", "made"),
    ("build/profile/distance_report.py", "wanted"),
    ("build/questions/sampling/key_balance.py", "shown"),
    ("build/reconstruction/complete_shards.py", "written"),
    ("build/release/write.py", "held"),
    ("build/viewer/copies.py", "made"),
    ("evaluate/cost/estimate.py", "asked"),
    ("evaluate/cost/estimate.py", "drawn"),
    ("evaluate/runner/run_state.py", "asked"),
    ("review/quality/progress.py", "done"),
    ("build/open_items/table.py", "seen"),  # a column of a release's table of open items
    ("sources/_framework/card_parts/counts.py", "shown"),  # a key of ``card.toml``
}


def _is_migration(path):
    return path.parent == ROOT / "review/migrations"


def _is_loaded_by_path(path):
    """Whether a file is no module of the package: a source's code, or the rule of a task."""
    return path.name in {"adapter.py", "fixture.py", "rule.py"}


def _trees(parts=PARTS, word=re.compile("")):
    """Yield the modules whose text contains such a word, parsed."""
    for part in parts:
        for path in sorted((ROOT / part).rglob("*.py")):
            if not _is_migration(path) and word.search(text := path.read_text(encoding="utf-8")):
                yield path, ast.parse(text)


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
        elif isinstance(node, _NAMED) and node.name:
            yield node.name


def _flags(tree):
    """Yield the names of arguments and fields that are annotated as true or false."""
    for node in ast.walk(tree):
        name = node.arg if isinstance(node, ast.arg) else getattr(node, "target", None)
        kind = getattr(node, "annotation", None)
        if isinstance(kind, ast.Name) and kind.id == "bool":
            yield name.id if isinstance(name, ast.Name) else name


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


def test_no_name_is_a_participle():
    word = re.compile(rf"\b_*({'|'.join(PARTICIPLES)})_*\b", re.IGNORECASE)
    names = {
        (path.relative_to(ROOT).as_posix(), name.strip("_").lower())
        for path, tree in _trees((*PARTS, "benchmarks", "tests"), word)
        for name in {*_assigned(tree)} - {*_flags(tree)}
    }
    assert {place for place in names if place[1] in PARTICIPLES} == KEYS_OF_FILES
