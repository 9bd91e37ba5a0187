"""HTML representations of API objects for notebooks.

Notebooks store their output and get shared, so the HTML never contains a folder path or an image
that may not be redistributed.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from jinja2 import Environment

from medrcube.evaluate.reporting.markup.embedded_images import jpeg_within
from medrcube.templates import page_environment

__all__ = ["MOST_THUMBNAILS", "Thumbnail", "summary_html", "thumbnail_of"]

MOST_THUMBNAILS = 4
"""Maximum number of images in one summary."""

_LONGEST_SIDE, _QUALITY = 160, 85


class Thumbnail(NamedTuple):
    """A downscaled image with its caption.

    Attributes:
        uri: data URI of a JPEG whose longer side has at most 160 pixels.
        caption: plain text.
    """

    uri: str
    caption: str


def thumbnail_of(image: bytes, caption: str) -> Thumbnail | None:
    """Return a thumbnail of an encoded image, or ``None`` if it cannot be decoded."""
    data = jpeg_within(image, ((_LONGEST_SIDE, _QUALITY),))
    if data is None:
        return None
    return Thumbnail(f"data:image/jpeg;base64,{base64.b64encode(data).decode('ascii')}", caption)


def summary_html(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    thumbnails: Iterable[Thumbnail] = (),
    note: str = "",
) -> str:
    """Render a title, a table, thumbnails and a note as HTML; all text is escaped."""
    template = _environment().get_template("notebook.html.j2")
    return template.render(
        title=title,
        columns=columns,
        rows=[[f"{v:,}" if isinstance(v, int) else v for v in row] for row in rows],
        thumbnails=list(thumbnails),
        note=note,
    )


@cache
def _environment() -> Environment:
    return page_environment("cards")
