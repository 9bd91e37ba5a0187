"""What several readers say together of one thing, each in a column or row of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from medrcube.facts import LabelState
from medrcube.sources._formats.tables.tables import TableRow

__all__ = ["agreed_states", "unanimous"]


def unanimous(states: Iterable[LabelState]) -> LabelState:
    """The state that all readers give; unknown where one differs, or where there is no reader.

    A majority is a disagreement too: who was outvoted may be the one who is right.
    """
    said = set(states)
    return said.pop() if len(said) == 1 else LabelState.UNKNOWN


def agreed_states(
    row: TableRow, columns: Mapping[str, Iterable[str]], states: Mapping[str, LabelState]
) -> dict[str, LabelState]:
    """What all readers agree on of each finding.

    Args:
        row: one row with a column for each reader and finding.
        columns: by finding, the column of each reader.
        states: every value that may stand there.

    Raises:
        RowError: another value stands there.
    """
    return {
        finding: unanimous([row.state(column, states) for column in own])
        for finding, own in columns.items()
    }
