"""``raw_files.jsonl`` of a release: raw files that its images need.

Folders of a raw copy may contain names of persons. Files that no image of the release uses are not
named, and a folder above a table only if the card or the file of an image names it too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from medrcube.build.reconstruction.recipes import is_below
from medrcube.build.stages.raw_files import FACTS, LAYOUT, PICTURE, USES, ListedFile, RawFileRecord
from medrcube.errors import ReleaseError, WorkspaceError
from medrcube.release_format.strict_json import BadJsonError, read_lines
from medrcube.release_format.tree import open_file, safe_repr, stat_file
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

__all__ = ["RAW_FILES", "SourceUse", "read_raw_files", "write_raw_files"]

RAW_FILES = "raw_files.jsonl"

_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceUse:
    """Raw files and cases of one source that the images of a release use.

    Attributes:
        files: raw files that their recipes name.
        cases: keys of their cases.
    """

    files: frozenset[str]
    cases: frozenset[str]


def write_raw_files(tree: Path, workspace_table: Path, used: Mapping[str, SourceUse]) -> None:
    """Write the table of a new release.

    Args:
        tree: the release.
        workspace_table: the table of the workspace.
        used: raw files and cases in use, by source id.

    Raises:
        WorkspaceError: the workspace has no such table, or one of an older version.
    """
    by_source: dict[str, list[ListedFile]] = {}
    for listed in _read_listed(workspace_table):
        by_source.setdefault(listed.file.source, []).append(listed)
    with (tree / RAW_FILES).open("w", encoding="utf-8") as file:
        for source, names in sorted(used.items()):
            for row in _released_files(by_source.get(source, ()), names):
                file.write(row.line())


def read_raw_files(tree: Path) -> Iterator[RawFileRecord]:
    """Read the table of a release, which is untrusted; older releases have none.

    Raises:
        ReleaseError: a row is not a raw file.
    """
    path = tree / RAW_FILES
    if stat_file(tree, path) is None:
        return
    with open_file(tree, path) as file:
        try:
            for number, row in enumerate(read_lines(file), 1):
                if not _is_raw_file(row):
                    raise ReleaseError(
                        f"{path}: row {number} is {safe_repr(row)}; expected a raw file"
                    )
                yield RawFileRecord(**row)
        except BadJsonError as error:
            raise ReleaseError(f"{path}: {error}") from None


def _released_files(listed: Sequence[ListedFile], used: SourceUse) -> Iterator[RawFileRecord]:
    folders = {folder for path in used.files for folder in path.split("/")[:-1]}
    files: list[RawFileRecord] = []
    for row in listed:
        if row.file.use == PICTURE and row.file.path in used.files:
            files.append(row.file)
        elif row.file.use == FACTS and row.cases is None:
            files.extend(_without_hidden_folders(row, folders))
        elif row.file.use == FACTS and not used.cases.isdisjoint(row.cases or ()):
            files.append(row.file)
    yield from files
    tables = {file.path for file in files if file.use == FACTS}
    least: dict[str, RawFileRecord] = {}
    for row in listed:
        if row.file.use == LAYOUT:
            for file in _fitting(files, row.glob) or _without_hidden_folders(row, folders):
                least.setdefault(file.path, replace(file, use=LAYOUT))
    yield from (least[path] for path in sorted(least.keys() - tables))


def _fitting(files: Iterable[RawFileRecord], glob: str) -> tuple[RawFileRecord, ...]:
    """Return the smallest file that matches a glob; empty if none does."""
    by_path = {file.path: file for file in files}
    fitting = [by_path[name] for name in RawTree(Path(), by_path).match(glob)]
    return tuple(sorted(fitting, key=lambda file: (file.bytes, file.path))[:1])


def _without_hidden_folders(row: ListedFile, folders: Collection[str]) -> tuple[RawFileRecord, ...]:
    """Return a file with its path cut below folders that nothing public names.

    Empty if the shortened path no longer matches its glob.
    """
    *above, name = row.file.path.split("/")
    hidden = [
        n for n, folder in enumerate(above) if folder in row.unnamed and folder not in folders
    ]
    path = "/".join((*above[hidden[-1] + 1 :], name)) if hidden else row.file.path
    fits = not hidden or RawTree(Path(), [path]).holds(row.glob)
    return (replace(row.file, path=path),) if fits else ()


def _read_listed(table: Path) -> Iterator[ListedFile]:
    again = f"build again:  medrcube build {table.parent}"
    try:
        for line in table.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            cases = row["cases"]
            yield ListedFile(
                file=RawFileRecord(**row["file"]),
                glob=row["glob"],
                cases=None if cases is None else tuple(cases),
                unnamed=tuple(row["unnamed"]),
            )
    except FileNotFoundError:
        raise WorkspaceError(
            f"{table}: is missing, as an older version built the workspace; {again}"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise WorkspaceError(
            f"{table}: does not say which files belong to which case, as an older version wrote "
            f"it; {again}"
        ) from None


def _is_raw_file(row: Any) -> bool:
    return (
        isinstance(row, dict)
        and set(row) == {"source", "path", "bytes", "sha256", "use"}
        and all(isinstance(row[name], str) for name in ("source", "path", "sha256", "use"))
        and is_below(row["path"])
        and type(row["bytes"]) is int
        and row["bytes"] >= 0
        and _SHA256.fullmatch(row["sha256"]) is not None
        and row["use"] in USES
    )
