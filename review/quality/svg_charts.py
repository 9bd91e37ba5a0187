"""SVG charts for pages: coloured by the stylesheet, with a description for screen readers.

Every chart is next to a table with the same figures; no information is conveyed by colour alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

__all__ = ["BarRow", "IntervalRow", "bar_chart", "interval_chart"]

_WIDTH = 490
_LABELS = 200
_ROOM = _WIDTH - _LABELS - 80
_DIGIT = 8.5
"""Width of a character, for a wide font, so that no browser's default font is cut off."""
_ROW = 28
_BAR = 18
_LONGEST = 26


@dataclass(frozen=True, slots=True)
class BarRow:
    """One row: name, bar length, and the figure as text."""

    label: str
    value: float
    text: str


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """One row: a point and its interval; without a point, only the text."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    text: str


def bar_chart(name: str, title: str, rows: Sequence[BarRow]) -> SafeString:
    """Return a horizontal bar chart; the longest bar has the full width.

    Args:
        name: unique on the page.
        title: description of the chart for screen readers.
        rows: rows from top to bottom.
    """
    most = max((row.value for row in rows), default=0) or 1
    figures = max((len(row.text) for row in rows), default=0) * _DIGIT + 12
    room = min(_ROOM, _WIDTH - _LABELS - figures)
    shapes = format_html_join(
        "",
        '{}<rect class="bar" x="{}" y="{}" width="{}" height="{}"></rect>'
        '<text class="count" x="{}" y="{}">{}</text>',
        (
            (
                _label(place, row.label),
                _LABELS,
                place * _ROW + (_ROW - _BAR) // 2,
                _number(room * row.value / most),
                _BAR,
                _number(_LABELS + room * row.value / most + 6),
                _baseline(place),
                row.text,
            )
            for place, row in enumerate(rows)
        ),
    )
    description = "; ".join(f"{row.label} {row.text}" for row in rows)
    return _chart(name, title, description, len(rows) * _ROW, shapes)


def interval_chart(name: str, title: str, rows: Sequence[IntervalRow]) -> SafeString:
    """Return a chart of points with 95 % intervals on a scale from -1 to 1, clipped at its ends.

    Args:
        name: unique on the page.
        title: description of the chart for screen readers.
        rows: rows from top to bottom.
    """
    bottom = len(rows) * _ROW
    scale = format_html_join(
        "",
        '<line class="{}" x1="{}" x2="{}" y1="0" y2="{}"></line>'
        '<text class="tick" x="{}" y="{}">{}</text>',
        (
            ("grid" if tick else "zero", _x(tick), _x(tick), bottom, _x(tick), bottom + 16, text)
            for tick, text in ((-1, "-1"), (-0.5, "-0.5"), (0, "0"), (0.5, "0.5"), (1, "1"))
        ),
    )
    marks = (mark for place, row in enumerate(rows) for mark in _interval(place, row))
    shapes = format_html("{}{}", scale, format_html_join("", "{}", ((mark,) for mark in marks)))
    description = "; ".join(f"{row.label} {row.text}" for row in rows)
    return _chart(name, title, description, bottom + 24, shapes)


def _interval(place: int, row: IntervalRow) -> Iterator[SafeString]:
    middle = place * _ROW + _ROW // 2
    yield _label(place, row.label)
    if row.low is not None and row.high is not None:
        ends = (_x(row.low), _x(row.high))
        yield format_html(
            '<line class="range" x1="{}" x2="{}" y1="{}" y2="{}"></line>', *ends, middle, middle
        )
        for end in ends:
            yield format_html(
                '<line class="range" x1="{}" x2="{}" y1="{}" y2="{}"></line>',
                end,
                end,
                middle - 5,
                middle + 5,
            )
    if row.value is not None:
        yield format_html(
            '<circle class="point" cx="{}" cy="{}" r="5"></circle>', _x(row.value), middle
        )


def _chart(name: str, title: str, description: str, height: int, shapes: SafeString) -> SafeString:
    return format_html(
        '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-labelledby="{}-title {}-said">'
        '<title id="{}-title">{}</title><desc id="{}-said">{}</desc>{}</svg>',
        _WIDTH,
        height,
        name,
        name,
        name,
        title,
        name,
        description,
        shapes,
    )


def _label(place: int, text: str) -> SafeString:
    short = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return format_html(
        '<text class="label" x="{}" y="{}">{}</text>', _LABELS - 10, _baseline(place), short
    )


def _x(value: float) -> str:
    return _number(_LABELS + _ROOM * (min(max(value, -1.0), 1.0) + 1) / 2)


def _number(value: float) -> str:
    return f"{value:.1f}"


def _baseline(place: int) -> int:
    return place * _ROW + _ROW // 2 + 5
