"""Detection of Siemens mosaics: slices of a volume tiled into one image.

No standard element states where a tile ends. Three criteria identify a mosaic: ``ImageType``,
Siemens' private elements, and, if both were removed, its size: it covers more of the patient than
any scanner can image, and each side is a multiple of the acquisition matrix.
"""

from __future__ import annotations

import struct

import numpy as np
from pydicom.dataset import Dataset

__all__ = ["KEYWORDS", "PRIVATE", "is_mosaic"]

CSA = 0x00291010
"""``CSA Image Header Info``: Siemens' own header, in its own format."""
COUNT = 0x0019100A
"""``Number Of Images In Mosaic``."""
PRIVATE = (CSA, COUNT)
KEYWORDS = ("Modality", "ImageType", "NumberOfFrames", "AcquisitionMatrix", "PixelSpacing")

_NAME = b"NumberOfImagesInMosaic\0"
_NAME_BYTES = 64
_FIELD_OF_VIEW = 700.0
"""Width in millimetres of the widest bore that is built; no single image is larger in both
directions.
"""


def is_mosaic(header: Dataset) -> bool:
    """Whether an image is a mosaic, by the elements ``KEYWORDS`` and ``PRIVATE``."""
    if "MOSAIC" in (header.get("ImageType") or ()):
        return True
    if int(header.get("NumberOfFrames") or 1) > 1 or header.get("Modality") != "MR":
        return False
    return _says_so(header) or _is_too_large(header)


def _says_so(header: Dataset) -> bool:
    if COUNT in header and _number(header[COUNT].value) > 1:
        return True
    return CSA in header and _count_in_csa(header[CSA].value) > 1


def _count_in_csa(data: object) -> int:
    """Return the number of tiles stated in a CSA header; 0 if it states none.

    An entry has a name of 64 bytes, multiplicity, type (4 bytes), syngo type, number of items and a
    marker; each item has four numbers, of which the second is its length, and its text in multiples
    of four bytes (nibabel's description of the format).
    """
    place = data.find(_NAME) if isinstance(data, bytes) else -1
    if not isinstance(data, bytes) or place < 0:
        return 0
    place += _NAME_BYTES + 12
    try:
        (items, _) = struct.unpack_from("<ii", data, place)
        place += 8
        for _ in range(min(items, 6)):
            length = struct.unpack_from("<4i", data, place)[1]
            if length > 0:
                return _number(data[place + 16 : place + 16 + length].split(b"\0")[0])
            place += 16
    except struct.error:
        return 0
    return 0


def _is_too_large(header: Dataset) -> bool:
    matrix = [number for number in header.get("AcquisitionMatrix") or () if number]
    size = np.array([int(header.Rows), int(header.Columns)])
    spacing = np.asarray(header.get("PixelSpacing") or (), np.float64)
    if len(matrix) != 2 or spacing.shape != (2,) or not (size * spacing > _FIELD_OF_VIEW).all():
        return False
    return all(side % length == 0 and side > length for side in size for length in matrix)


def _number(value: object) -> int:
    text = value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)
    return int(text) if text.strip().isdigit() else 0
