"""One word for one thing: classes have different names, and names say what they hold."""

import ast
import functools
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = ("build", "evaluate", "medrcube", "ontologies", "review", "sources", "tasks", "templates")
EMPTY_WORDS = {"found", "it", "one", "said", "told"}
"""Words that tell neither what a value is nor what it is for."""
ALLOWED = {
    ("build/reconstruction/outcomes.py", "found"),  # a key of the report that users keep
    ("review/models/blindness.py", "told"),  # a column of the queue's database
}
_WITHOUT_NAMES = (ast.expr_context, ast.Constant, ast.operator, ast.cmpop)
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)
PARTICIPLES = {
    *("asked", "chosen", "done", "drawn", "given", "held", "kept", "known"),
    *("made", "seen", "sent", "shown", "stored", "taken", "wanted", "written"),
}
"""Words that need a noun; ``left`` and ``read`` may stand, as a side and as a verb."""
PARTICIPLES_OF_PRODUCT = PARTICIPLES | {"barred", "marked", "named"}
PARTICIPLES_OF_TESTS = PARTICIPLES | {"built", "caught", "changed", "scripted"}
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
    ("build/stages/samples.py", "marked"),  # a column of the table of samples
    ("sources/_framework/card_parts/counts.py", "shown"),  # a key of ``card.toml``
}


def _is_migration(path):
    return path.parent == ROOT / "review/migrations"


def _is_loaded_by_path(path):
    """Whether a file is no module of the package: a source's code, or the rule of a task."""
    return path.name in {"adapter.py", "fixture.py", "rule.py"}


@dataclass
class _Names:
    """Names of a module: its classes, what it assigns or imports, and what is true or false."""

    classes: set[str] = field(default_factory=set)
    assigned: set[str] = field(default_factory=set)
    flags: set[str] = field(default_factory=set)


def _files(*parts):
    for part in parts:
        for path in sorted((ROOT / part).rglob("*.py")):
            if not _is_migration(path):
                yield path, path.relative_to(ROOT).as_posix()


@functools.cache
def _text(path):
    return path.read_text(encoding="utf-8")


@functools.cache
def _names(path):
    names, nodes = _Names(), [ast.parse(_text(path))]
    while nodes:
        node = nodes.pop()
        _note(node, names)
        for key in node._fields:
            value = getattr(node, key, None)
            if isinstance(value, list):
                nodes += (child for child in value if isinstance(child, ast.AST))
            elif isinstance(value, ast.AST) and not isinstance(value, _WITHOUT_NAMES):
                nodes.append(value)
    return names


def _note(node, names):
    """Add what a node names: an argument, a variable, an attribute, an import, a definition."""
    if isinstance(node, ast.arg):
        names.assigned.add(node.arg)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        names.assigned.add(node.id)
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        names.assigned.add(node.attr)
    elif isinstance(node, ast.alias) and node.asname:
        names.assigned.add(node.asname)
    elif isinstance(node, _NAMED) and node.name:
        names.assigned.add(node.name)
    if isinstance(node, ast.ClassDef):
        names.classes.add(node.name)
    if isinstance(node, ast.arg | ast.AnnAssign) and getattr(node.annotation, "id", "") == "bool":
        target = node.arg if isinstance(node, ast.arg) else node.target
        names.flags.add(target.id if isinstance(target, ast.Name) else target)


def test_no_two_classes_have_the_same_name():
    modules = defaultdict(set)
    for path, place in _files(*PARTS):
        if not _is_loaded_by_path(path):
            for name in _names(path).classes - {"Meta"}:
                modules[name.lstrip("_")].add(place)
    assert {name: paths for name, paths in modules.items() if len(paths) > 1} == {}


def test_no_name_is_an_empty_word():
    names = {
        (place, name.strip("_")) for path, place in _files(*PARTS) for name in _names(path).assigned
    }
    assert {place for place in names if place[1] in EMPTY_WORDS} == ALLOWED


def _participles(words, *parts):
    """Places where such a word alone is a name, except of what is true or false."""
    word = re.compile(rf"\b_*({'|'.join(words)})_*\b", re.IGNORECASE)
    names = {
        (place, name.strip("_").lower())
        for path, place in _files(*parts)
        if word.search(_text(path))
        for name in _names(path).assigned - _names(path).flags
    }
    return {place for place in names if place[1] in words}


def test_no_name_of_the_product_is_a_participle():
    assert _participles(PARTICIPLES_OF_PRODUCT, *PARTS, "benchmarks") == KEYS_OF_FILES


def test_no_name_of_the_tests_is_a_participle():
    assert _participles(PARTICIPLES_OF_TESTS, "tests") == set()
