"""Reference page of the parsers that adapters share, from their docstrings and imports."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from medrcube.sources import _formats
from medrcube.sources._framework.contract import Source
from medrcube.templates import render_card

__all__ = ["formats_page"]

_PACKAGE = _formats.__name__
_FORMS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("delimited table, one row an image or patient", "tables.tables", ("read_csv", "iter_csv")),
    ("long form: one row a finding, region or reading", "tables.rows", ("group_by_name",)),
    ("long form that a copy may lack", "tables.rows", ("group_optional_table",)),
    ("spreadsheet", "tables.spreadsheets", ("read_sheet", "read_cells")),
    ("file of `Key: value` lines for each case", "tables.tables", ("read_key_values",)),
    ("labels of slices: runs of slices with one finding", "runs", ("longest_run",)),
    ("labels of slices: arrays of NumPy", "tables.arrays", ()),
    ("boxes in JSON (COCO)", "annotations.coco", ()),
    ("JSON", "tables.contents", ("read_json",)),
    ("XML of readings (LIDC)", "annotations.lidc_xml", ()),
    ("XML of reports (Open-i)", "openi_xml", ()),
    ("property list of regions (OsiriX)", "annotations.osirix_plist", ()),
    ("points with a diameter", "balls", ()),
    ("masks as run lengths", "annotations.run_length", ()),
    ("masks: one value a structure, or one file a structure", "label_maps", ()),
)
"""Form of the facts, the module that reads it, and its functions; all if none is named."""


@dataclass(frozen=True, slots=True)
class _Parser:
    module: str
    reads: str
    sources: tuple[str, ...]


def formats_page(sources: Mapping[str, Source]) -> str:
    """Return the Markdown page: forms of facts, and which source uses which parser."""
    used = _used_names(sources.values())
    return render_card("formats.md", forms=_forms(used), parsers=_parsers(used))


def _forms(used: Mapping[tuple[str, str], set[str]]) -> list[tuple[str, str, str]]:
    return [
        (
            form,
            ", ".join(f"`{module}.{name}`" for name in names) or f"`{module}`",
            ", ".join(
                sorted(
                    {
                        source
                        for (place, name), owners in used.items()
                        if place == module and (name in names or not names)
                        for source in owners
                    }
                )
            ),
        )
        for form, module, names in _FORMS
    ]


def _parsers(used: Mapping[tuple[str, str], set[str]]) -> list[_Parser]:
    """Return every module of the shared formats, sorted by name."""
    root = Path(next(iter(_formats.__path__)))
    parsers = []
    for file in sorted(root.rglob("*.py")):
        if file.name == "__init__.py":
            continue
        module = ".".join(file.relative_to(root).with_suffix("").parts)
        summary = (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").split("\n")
        owners = {name for (place, _), names in used.items() if place == module for name in names}
        parsers.append(_Parser(module, summary[0], tuple(sorted(owners))))
    return parsers


def _used_names(sources: Iterable[Source]) -> dict[tuple[str, str], set[str]]:
    """Return the sources whose adapter imports each (module, name) of the shared formats."""
    used: dict[tuple[str, str], set[str]] = defaultdict(set)
    for source in sources:
        tree = ast.parse((source.folder / "adapter.py").read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_PACKAGE):
                module = (node.module or "").removeprefix(f"{_PACKAGE}.")
                for alias in node.names:
                    used[module, alias.name].add(source.id)
    return used
