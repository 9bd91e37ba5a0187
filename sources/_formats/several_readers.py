"""Consensus of several readers, each with their own column or row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from medrcube.facts import LabelState
from medrcube.sources._formats.tables.tables import TableRow

__all__ = ["agreed_states", "unanimous"]


def unanimous(states: Iterable[LabelState]) -> LabelState:
    """Return the unanimous state; unknown if a reader differs or there is no reader.

    A majority also counts as disagreement, because the minority may be right.
    """
    distinct = set(states)
    return distinct.pop() if len(distinct) == 1 else LabelState.UNKNOWN


def agreed_states(
    row: TableRow, columns: Mapping[str, Iterable[str]], states: Mapping[str, LabelState]
) -> dict[str, LabelState]:
    """Return the unanimous state of each finding.

    Args:
        row: row with a column per reader and finding.
        columns: finding -> column of each reader.
        states: allowed value -> state.

    Raises:
        RowError: a cell has another value.
    """
    return {
        finding: unanimous([row.state(column, states) for column in own])
        for finding, own in columns.items()
    }
