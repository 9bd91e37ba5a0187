"""Unusable rows: each excludes the case that it is about, and no other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from medrcube.errors import RowError, TableError
from medrcube.facts import BAD_ROW, Case, Skip
from medrcube.sources._formats.tables.tables import TableRow, find_optional_table, read_csv
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

__all__ = [
    "OLDER_EDITION",
    "cases_or_skip",
    "check_no_finding",
    "group_by_name",
    "group_optional_table",
    "only_row",
    "skip_if_unnamed",
    "skip_unusable_table",
]


def cases_or_skip(
    make: Callable[[], Iterable[Case | Skip]], *, key: str, paths: tuple[Path, ...] = ()
) -> Iterator[Case | Skip]:
    """Yield the cases of ``make`` or, if a row is unusable, a ``Skip`` with the reason.

    Build a case from all of its rows, so that one bad row excludes the whole case: without that
    row, the others would make absent what it states as present.
    """
    try:
        yield from tuple(make())
    except RowError as error:
        yield Skip(key=key, reason=str(error), paths=paths, code=BAD_ROW)


def skip_if_unnamed(row: TableRow, column: str, what: str = "picture") -> Skip | None:
    """Return a ``Skip`` for a row without an image name, else ``None``.

    The name is blank, not text, or lost in a truncated row.
    """
    try:
        if row[column]:
            return None
        reason = f"{row.quote(column)}: is blank; expected the name of a {what}"
    except RowError as error:
        reason = str(error)
    return Skip(key=row.place, reason=reason, code=BAD_ROW)


OLDER_EDITION = "older-edition"
"""Code of an unusable table that is replaced by an older edition."""


def skip_unusable_table(error: TableError, older: Path | None = None) -> Skip:
    """Return a ``Skip`` for an unusable optional table.

    Args:
        error: what is wrong with it.
        older: edition that is read instead.
    """
    path = error.path
    reason = f"{path.name}: {error.what.replace(str(path), path.name)}"
    if older is None:
        return Skip(key=path.name, reason=reason, paths=(path,), code=BAD_ROW)
    reason += f"; {older.name}, an older edition, is read in its place"
    return Skip(key=path.name, reason=reason, paths=(path,), code=OLDER_EDITION)


def check_no_finding(place: str, findings: Collection[str]) -> None:
    """Reject "no finding" together with findings of the same image, as one of them is wrong.

    Args:
        place: location of the "no finding" statement.
        findings: those that are nevertheless present or drawn.

    Raises:
        RowError: ``findings`` is not empty.
    """
    if findings:
        raise RowError(
            f"{place}: contradicts {' and '.join(map(repr, findings))}; expected either no finding "
            "or findings, since which of the two is true is unknown"
        )


def group_by_name(
    rows: Iterable[TableRow], column: str, *, opens: tuple[str, ...] = (), about: str = ""
) -> tuple[dict[str, list[TableRow]], list[Skip]]:
    """Group the rows of a table by image name.

    Args:
        rows: rows in table order.
        column: column with the name.
        opens: fields in which a value is absent if no row states it; a row without a name may be
            about any image.
        about: column with the value of those fields that a row is about, if it is a single one.

    Returns:
        The rows by name, in order of first occurrence, and a ``Skip`` per row without a name.
    """
    rows_of: dict[str, list[TableRow]] = {}
    skips: list[Skip] = []
    for row in rows:
        skip = skip_if_unnamed(row, column)
        if skip is None:
            rows_of.setdefault(row[column], []).append(row)
            if row.fault and opens:  # rows of other images after it may be lost
                skip = Skip(key=f"{row.place} rest", reason=f"{row.place}: {row.fault}")
        if skip is not None:
            whole = " and ".join(opens)
            value = _about(row, about)
            part = f"{whole} {value!r}" if value else whole
            doubt = f"; it may be about any image, so no absence in {part} is certain"
            reason = skip.reason + (doubt if opens else "")
            skips.append(replace(skip, reason=reason, code=BAD_ROW, opens=opens, opens_value=value))
    return rows_of, skips


def only_row(rows: Sequence[TableRow], about: str) -> TableRow:
    """Return the only row of a case.

    Raises:
        RowError: there is no row, or several, and it is unknown which one is right.
    """
    if len(rows) == 1:
        return rows[0]
    count = f"{len(rows)} rows" if rows else "no row"
    raise RowError(f"{about}: has {count} in the table; expected one")


def group_optional_table(
    root: RawTree,
    part: str,
    column: str,
    *,
    columns: tuple[str, ...] = (),
    opens: tuple[str, ...] = (),
) -> tuple[dict[str, list[TableRow]] | None, list[Skip]]:
    """Group the rows of an optional table as ``group_by_name``.

    Args:
        root: the copy.
        part: part of the layout.
        column: column with the name.
        columns: further required columns.
        opens: as for ``group_by_name``.

    Returns:
        The rows, or ``None`` if there is no table, and the skips.
    """
    table = find_optional_table(root, part)
    if table is None:
        return None, []
    return group_by_name(read_csv(table, columns=(column, *columns)), column, opens=opens)


def _about(row: TableRow, about: str) -> str:
    """Return the value that a row is about; empty if it may be any."""
    try:
        return row[about] if about else ""
    except RowError:
        return ""
