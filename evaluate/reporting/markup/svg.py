"""SVG primitives: deterministic numbers, escaped text.

Colours, fonts and strokes come from the page's style sheet, for light and dark pages and print.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from medrcube.evaluate.reporting.markup.escaping import one_line

__all__ = [
    "Point",
    "drawing",
    "join",
    "line",
    "mark",
    "number",
    "polygon",
    "square",
    "text",
    "turned",
]

Point = tuple[float, float]

_LONGEST = 300


def drawing(width: float, height: float, title: str, parts: Iterable[Markup]) -> Markup:
    """Return a scalable drawing; ``title`` is for screen readers."""
    return Markup(
        '<svg class="chart" viewBox="0 0 {} {}" width="{}" height="{}" role="img" '
        'aria-label="{}">{}</svg>'
    ).format(number(width), number(height), number(width), number(height), title, join(parts))


def line(start: Point, end: Point, css: str) -> Markup:
    """Return a straight line."""
    return Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
        css, *map(number, (*start, *end))
    )


def polygon(points: Sequence[Point], css: str) -> Markup:
    """Return a polygon."""
    corners = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    return Markup('<polygon class="{}" points="{}"/>').format(css, corners)


def mark(place: Point, shape: int, css: str, title_text: str) -> Markup:
    """Return one of three marker shapes, so that runs differ by more than colour."""
    x, y = place
    title = Markup("<title>{}</title>").format(one_line(title_text, _LONGEST))
    if shape % 3 == 0:
        return Markup('<circle class="{}" cx="{}" cy="{}" r="5">{}</circle>').format(
            css, number(x), number(y), title
        )
    half = 4.6 if shape % 3 == 1 else 6.2
    corners = (
        ((x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half))
        if shape % 3 == 1
        else ((x, y - half), (x + half, y), (x, y + half), (x - half, y))
    )
    points = " ".join(f"{number(a)},{number(b)}" for a, b in corners)
    return Markup('<polygon class="{}" points="{}">{}</polygon>').format(css, points, title)


def square(corner: Point, side: float, css: str, title_text: str) -> Markup:
    """Return a filled square with a title."""
    x, y, size = (number(value) for value in (*corner, side))
    return Markup(
        '<rect class="{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>'
    ).format(css, x, y, size, size, one_line(title_text, _LONGEST))


def text(place: Point, words: str, css: str, anchor: str = "middle") -> Markup:
    """Return a label; ``anchor`` is ``start``, ``middle`` or ``end``."""
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(
        css, number(place[0]), number(place[1]), anchor, words
    )


def turned(place: Point, words: str, css: str) -> Markup:
    """Return a label rotated to read upwards, centred on its position."""
    x, y = number(place[0]), number(place[1])
    return Markup(
        '<text class="{}" x="{}" y="{}" text-anchor="middle" '
        'transform="rotate(-90 {} {})">{}</text>'
    ).format(css, x, y, x, y, words)


def join(parts: Iterable[Markup]) -> Markup:
    """Concatenate parts."""
    return Markup("").join(parts)


def number(value: float) -> str:
    """Format with at most two decimals, without a sign for zero."""
    digits = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if digits in {"-0", ""} else digits
