"""Rows that cannot be used: each sets aside the case that it speaks of, and no other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from medrcube.errors import RowError
from medrcube.records import BAD_ROW, Case, Skip
from medrcube.sources.tables import Row


def unless_bad(
    make: Callable[[], Iterable[Case | Skip]], *, key: str, paths: tuple[Path, ...] = ()
) -> Iterator[Case | Skip]:
    """What ``make`` gives; or, where a row cannot be used, a ``Skip`` that says which and why.

    Make a case of all rows that speak of it, so that one bad row sets aside the whole case: without
    that row the others would call absent what it calls present.
    """
    try:
        yield from tuple(make())
    except RowError as error:
        yield Skip(key=key, reason=str(error), paths=paths, code=BAD_ROW)


def nameless(row: Row, column: str) -> Skip:
    """What is said of a row that names no picture; its files are nobody's."""
    return Skip(
        key=row.place,
        reason=f"{row.cite(column)}: is blank; expected the name of a picture",
        code=BAD_ROW,
    )


def check_no_finding(place: str, named: Collection[str]) -> None:
    """Refuse "no finding" beside findings of the same picture: one of the two is wrong.

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


def by_name(
    rows: Iterable[Row], column: str, *, opens: tuple[str, ...] = ()
) -> tuple[dict[str, list[Row]], list[Skip]]:
    """Rows of a table in which several speak of one picture, by the name of the picture.

    Args:
        rows: in table order.
        column: the one with the name.
        opens: fields in which a picture is called absent because no row says otherwise; where a
            row has no name, it may be that very row.

    Returns:
        The rows of each name, in order of their first, and a ``Skip`` for each without a name.
    """
    named: dict[str, list[Row]] = {}
    skips: list[Skip] = []
    for row in rows:
        if row[column]:
            named.setdefault(row[column], []).append(row)
        else:
            skip = nameless(row, column)
            doubt = f"; it may speak of any, so no absence in {' and '.join(opens)} is certain"
            reason = skip.reason + (doubt if opens else "")
            skips.append(replace(skip, reason=reason, opens=opens))
    return named, skips
