"""Widths of the columns of a table, so that ids stay whole where the terminal is narrow."""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ["GAP", "fitted"]

GAP = 2
"""Characters between two columns."""

_LEAST = 6
"""Characters of text below which a column says nothing and is dropped."""


def fitted(widths: Sequence[int], whole: Collection[int], room: int) -> list[int]:
    """The width of each column; 0 drops it.

    The widest column of text gives way first, down to a few characters; where that is not enough,
    columns are dropped from the last on. Columns in ``whole`` keep their width, and the first one
    is never dropped.

    Args:
        widths: what each column needs.
        whole: places of columns that may not be cut: ids, and numbers.
        room: characters of a line.
    """
    found = list(widths)
    for last in range(len(found) - 1, 0, -1):
        if _least(found, whole) <= room:
            break
        found[last] = 0
    while _needed(found) > room:
        text = [place for place, width in enumerate(found) if place not in whole and width > _LEAST]
        if not text:
            break
        found[max(text, key=lambda place: found[place])] -= 1
    return found


def _needed(widths: Sequence[int]) -> int:
    shown = [width for width in widths if width]
    return sum(shown) + GAP * max(0, len(shown) - 1)


def _least(widths: Sequence[int], whole: Collection[int]) -> int:
    return _needed(
        [width if place in whole else min(width, _LEAST) for place, width in enumerate(widths)]
    )
