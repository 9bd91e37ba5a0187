"""Unusable rows: each sets aside the case that it speaks of, and no other."""

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
    """Cases that ``make`` yields; or, where a row is unusable, a ``Skip`` with the reason.

    Build a case from all of its rows, so that one bad row sets aside the whole case: without that
    row the others would make absent what it states as present.
    """
    try:
        yield from tuple(make())
    except RowError as error:
        yield Skip(key=key, reason=str(error), paths=paths, code=BAD_ROW)


def skip_if_unnamed(row: TableRow, column: str, what: str = "picture") -> Skip | None:
    """A ``Skip`` for a row that names no image, else ``None``.

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
"""Code of an unusable table that is replaced by an older edition beside it."""


def skip_unusable_table(error: TableError, older: Path | None = None) -> Skip:
    """A ``Skip`` for an unusable table that a copy may lack.

    Args:
        error: what is wrong with it.
        older: the edition that is read in its place.
    """
    path = error.path
    reason = f"{path.name}: {error.what.replace(str(path), path.name)}"
    if older is None:
        return Skip(key=path.name, reason=reason, paths=(path,), code=BAD_ROW)
    reason += f"; {older.name}, an older edition, is read in its place"
    return Skip(key=path.name, reason=reason, paths=(path,), code=OLDER_EDITION)


def check_no_finding(place: str, named: Collection[str]) -> None:
    """Refuse "no finding" beside findings of the same image: one of the two is wrong.

    Args:
        place: where "no finding" stands.
        named: what is called present, or drawn, all the same.

    Raises:
        RowError: something is named.
    """
    if named:
        raise RowError(
            f"{place}: stands beside {' and '.join(map(repr, named))}; expected no finding or "
            "findings, since nobody knows which of the two is true"
        )


def group_by_name(
    rows: Iterable[TableRow], column: str, *, opens: tuple[str, ...] = (), about: str = ""
) -> tuple[dict[str, list[TableRow]], list[Skip]]:
    """Rows of a table grouped by the name of their image.

    Args:
        rows: in table order.
        column: the one with the name.
        opens: fields in which an image is called absent because no row says otherwise; where a
            row has no name, it may be that very row.
        about: column with the value of those fields that a row is about, where it is one alone.

    Returns:
        The rows of each name, in order of their first, and a ``Skip`` for each without a name.
    """
    named: dict[str, list[TableRow]] = {}
    skips: list[Skip] = []
    for row in rows:
        skip = skip_if_unnamed(row, column)
        if skip is None:
            named.setdefault(row[column], []).append(row)
            if row.fault and opens:  # rows of other images may be lost behind it
                skip = Skip(key=f"{row.place} rest", reason=f"{row.place}: {row.fault}")
        if skip is not None:
            whole = " and ".join(opens)
            value = _about(row, about)
            part = f"{whole} {value!r}" if value else whole
            doubt = f"; it may speak of any, so no absence in {part} is certain"
            reason = skip.reason + (doubt if opens else "")
            skips.append(replace(skip, reason=reason, code=BAD_ROW, opens=opens, opens_value=value))
    return named, skips


def only_row(rows: Sequence[TableRow], about: str) -> TableRow:
    """The row of a case of which a table has exactly one.

    Raises:
        RowError: it has none, or several, of which nothing says which one is right.
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
    """The rows of a table that a copy may lack, as ``group_by_name`` groups them.

    Args:
        root: the copy.
        part: of the layout.
        column: the one with the name.
        columns: others that must exist.
        opens: as of ``group_by_name``.

    Returns:
        ``None`` in place of the rows where there is no table.
    """
    table = find_optional_table(root, part)
    if table is None:
        return None, []
    return group_by_name(read_csv(table, columns=(column, *columns)), column, opens=opens)


def _about(row: TableRow, about: str) -> str:
    """The value that a row is about; empty where it may be any."""
    try:
        return row[about] if about else ""
    except RowError:
        return ""
