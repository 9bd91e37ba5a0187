"""Write the tables of a workspace at the end of a build."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from medrcube.build.incremental.file_states import FileState, file_state
from medrcube.build.open_items.table import OpenItem, open_items_to_frame
from medrcube.build.questions.item_table import ChoiceItem, items_to_frame
from medrcube.build.record_columns import RecordTable
from medrcube.build.stages.geometry_table import Geometry
from medrcube.build.stages.samples import Sample
from medrcube.facts import QuarantineRow
from medrcube.files.atomic import PRIVATE, SHARED, replacing, write_texts
from medrcube.workspace import WorkspaceFolder

__all__ = ["BuildTables", "table_paths", "write_parquet", "write_tables"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildTables:
    """All tables written at the end of a build; long texts are given in pieces to be joined."""

    samples: RecordTable[Sample]
    geometry: RecordTable[Geometry]
    items: Sequence[ChoiceItem]
    open_items: Sequence[OpenItem]
    problems: Sequence[QuarantineRow]
    recipes: Iterable[str]
    absent: Sequence[str]
    raw_files: Iterable[str]
    verdict: Mapping[str, Any]


def table_paths(workspace: WorkspaceFolder) -> tuple[Path, ...]:
    """Return the paths of all tables of a build, in the order in which they are written."""
    return (
        workspace.samples,
        workspace.geometry,
        workspace.items,
        workspace.open_items,
        workspace.quarantine,
        workspace.absent,
        workspace.recipes,
        workspace.raw_files,
        workspace.audit,
    )


def write_tables(workspace: WorkspaceFolder, outcome: BuildTables) -> tuple[FileState | None, ...]:
    """Write all tables and return the state of each file afterwards.

    All are readable only by the owner of the workspace: they hold keys, keyed hashes of patients,
    names of raw files and cases, and what sources state about cases.
    """
    columns = list(QuarantineRow.__dataclass_fields__)
    rows = [asdict(problem) for problem in outcome.problems]
    quarantine = pd.DataFrame(rows, columns=columns, dtype="str")
    verdict = json.dumps(outcome.verdict, indent=2, sort_keys=True) + "\n"
    write: dict[Path, Callable[[Path], None]] = {
        workspace.samples: _columns(outcome.samples),
        workspace.geometry: _columns(outcome.geometry),
        workspace.items: _table(items_to_frame(outcome.items)),
        workspace.open_items: _table(open_items_to_frame(outcome.open_items)),
        workspace.quarantine: _table(quarantine),
        workspace.absent: _text(("source,case,file\n", *outcome.absent)),
        workspace.recipes: _text(outcome.recipes),
        workspace.raw_files: _text(outcome.raw_files),
        workspace.audit: _text((verdict,)),
    }
    states: list[FileState | None] = []
    for path in table_paths(workspace):
        write[path](path)
        states.append(file_state(path))
    return tuple(states)


_GROUP = 65_536
"""Rows in a Parquet row group, which is encoded in one go."""


def _columns(table: RecordTable[Any]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with replacing(path, mode=PRIVATE) as temporary:
            table.write(temporary, rows=_GROUP)

    return write


def _table(frame: pd.DataFrame) -> Callable[[Path], None]:
    return lambda path: write_parquet(path, frame, mode=PRIVATE)


def _text(texts: Iterable[str]) -> Callable[[Path], None]:
    return lambda path: write_texts(path, texts, mode=PRIVATE)


def write_parquet(path: Path, frame: pd.DataFrame, *, mode: int = SHARED) -> None:
    """Write a table atomically."""
    with replacing(path, mode=mode) as temporary:
        frame.to_parquet(temporary, index=False)
