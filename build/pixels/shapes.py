"""Drawings that are burnt into a picture as filled shapes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.strokes import Extent, ndimage

_COLOURFUL = 60
"""Distance between channels above which a pixel of a grey picture is drawn: tinted pictures of
pocus-lung stay below, yellow calipers and colour flow lie above."""
_TINTED = 0.1
"""Share of such pixels from which the picture itself is coloured."""
_LEAST = 12
"""Coloured pixels of a drawing; fewer are traces of JPEG."""


def coloured(picture: NDArray[np.uint8]) -> list[Extent]:
    """Coloured drawings on a picture, (rows, columns, 3), that is otherwise grey."""
    if picture.ndim == 2:
        return []
    drawn = np.ptp(picture, axis=2) > _COLOURFUL
    if not _LEAST <= drawn.sum() <= _TINTED * drawn.size:
        return []
    labels, _ = ndimage().label(ndimage().binary_dilation(drawn, np.ones((3, 3)), iterations=2))
    sizes = np.bincount(labels[drawn])
    return [
        Extent(rows.start, rows.stop, columns.start, columns.stop)
        for number, (rows, columns) in enumerate(ndimage().find_objects(labels), start=1)
        if sizes[number] >= _LEAST
    ]
