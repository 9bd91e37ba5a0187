"""Damaged fixture copies, to test what a scan reports of them.

A fixture is intact: no image absent, no row shifted, no table without a header. What a build
reports of a damaged copy, and the message that refuses one, are searched for identifiers too; see
``source_check``.
"""

from __future__ import annotations

import csv
import gzip
import io
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from medrcube.build.stages.scan import holds_pixels, scan
from medrcube.errors import MedrcubeError
from medrcube.sources._formats.tables.delimited import delimiter_of, records_of
from medrcube.sources._framework.contract import Source

__all__ = ["damage_reports"]

_TABLES = frozenset({".csv", ".tsv", ".txt"})
_Rows = list[list[str]]
_KEY = b"k" * 32


def damage_reports(source: Source, raw: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """What is told of each damaged copy: how it is damaged, and every text that a scan gives.

    Args:
        source: whose fixture it is.
        raw: the fixture.
        folder: where the copies are made, one after the other.
    """
    for name, damage in _DAMAGES.items():
        copy = folder / "damaged"
        shutil.copytree(raw, copy)
        damage(copy)
        try:
            result = scan(source, copy, _KEY)
            listed = (result.absent, result.absent_files, result.problems, result.remarks)
            yield name, f"{result.layout.describe()} {listed!r}"
        except MedrcubeError as error:
            yield name, str(error)
        finally:
            shutil.rmtree(copy)


def _without_pictures(copy: Path) -> None:
    """Every second picture is taken away, so that the layout still fits."""
    files = sorted(path for path in copy.rglob("*") if path.is_file() and holds_pixels(path.name))
    for path in files[1::2]:
        path.unlink()


def _on_tables(change: Callable[[_Rows], _Rows]) -> Callable[[Path], None]:
    def damage(copy: Path) -> None:
        for path in sorted(copy.rglob("*")):
            if _TABLES & set(path.suffixes):
                _rewrite(path, change)

    return damage


def _rewrite(path: Path, change: Callable[[_Rows], _Rows]) -> None:
    content = path.read_bytes()
    packed = content.startswith(b"\x1f\x8b")
    try:
        text = (gzip.decompress(content) if packed else content).decode("utf-8-sig")
    except UnicodeDecodeError:
        return
    delimiter = delimiter_of(text)
    rows = [list(record.cells) for record in records_of(text, delimiter)]
    if max(map(len, rows), default=0) < 2:  # no table
        return
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter, lineterminator="\n").writerows(change(rows))
    changed = written.getvalue().encode()
    path.write_bytes(gzip.compress(changed) if packed else changed)


def _shift_cells(by: int) -> Callable[[_Rows], _Rows]:
    """The cells of every row stand some columns further to the right, the last ones in front."""

    def change(rows: _Rows) -> _Rows:
        return [rows[0], *(_rotate(row, by) for row in rows[1:])]

    return change


def _rotate(row: Sequence[str], by: int) -> list[str]:
    return [row[(place - by) % len(row)] for place in range(len(row))] if row else []


_DAMAGES: dict[str, Callable[[Path], None]] = {
    "a copy that lacks images": _without_pictures,
    "cells shifted to the right": _on_tables(_shift_cells(1)),
    "cells shifted to the left": _on_tables(_shift_cells(-1)),
    "tables without their headers": _on_tables(lambda rows: rows[1:]),
}
