"""Benchmarks, which no other test runs, import only what the package has."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = sorted((ROOT / "benchmarks").rglob("*.py"))


def _file(module):
    """Path of a module of the package; ``None`` if there is none."""
    parts = module.split(".")[1:]
    for base in (ROOT, ROOT / "medrcube"):
        path = base.joinpath(*parts)
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if parts and file.is_file():
                return file
    return ROOT / "medrcube/__init__.py" if not parts else None


def _names(file):
    """Names that a module binds at its top level."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        for inner in ast.walk(node):
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield inner.name
            elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                yield inner.id
            elif isinstance(inner, ast.alias):
                yield inner.asname or inner.name


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "medrcube":
            yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_a_benchmark_imports_only_what_exists(path):
    missing = [
        f"{module}.{name}"
        for module, name in _imports(path)
        if _file(f"{module}.{name}") is None
        and (_file(module) is None or name not in set(_names(_file(module))))
    ]
    assert missing == []
