"""DICOM image reader (pydicom): frames on demand, named elements only.

Messages carry file names and technical values only, never the content of a text element.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pydicom.dataset import Dataset

from medrcube.build.pixels.volume import (
    Array,
    LazySlices,
    PixelSemantics,
    Volume,
    without_equal_channels,
)
from medrcube.build.readers.dicom.decoding import PALETTE, decode_frame
from medrcube.build.readers.dicom.header import (
    geometry_of,
    pixel_millimetres,
    pixel_semantics_of,
    rescale_of,
)
from medrcube.build.readers.dicom.opening import DAMAGE, damaged_elements, frames_of, open_header
from medrcube.build.readers.read_errors import (
    check_frame,
    unreadable,
    unsupported,
)
from medrcube.errors import ReadError
from medrcube.sources._formats.dicom.quiet_pydicom import silent_pydicom

__all__ = ["AS_SHOWN", "COLOUR", "GREY", "read"]

GREY = ("MONOCHROME1", "MONOCHROME2")
COLOUR = ("RGB", "YBR_FULL", "YBR_FULL_422", "YBR_ICT", "YBR_RCT")
# A window that keeps 8-bit values unchanged: colour converted to grey is ready for display.
AS_SHOWN = PixelSemantics(windows=((128.0, 256.0),))


@silent_pydicom()
def read(path: Path, frame: int | None = None, member: str | None = None) -> Volume:  # noqa: ARG001
    """Read one file; frames of a multi-frame file are decoded on access.

    Grey frames are stored values, whose meaning ``PixelSemantics`` describes. If the slices of one
    body are scaled differently, as in PET, they are modality values (float32) instead. Colour is
    RGB; a single RGB image without colour becomes grey, while a stack that is decoded on demand
    stays RGB.

    Raises:
        ReadError: code ``no-pixels``, ``unsupported-syntax`` (retired transfer syntaxes),
            ``unsupported-format``, ``unreadable``, ``truncated``, ``missing-frame``,
            ``singular-affine``, ``not-finite``, ``mosaic``, ``several-scales`` (frames that are
            scaled differently and are not slices of one body: several kinds of image).
    """
    header = open_header(path)
    count = frames_of(path, header)
    check_frame(path, frame, count)
    frames = range(count) if frame is None else range(frame, frame + 1)
    try:
        spacing, affine = geometry_of(header, frames)
        measured = pixel_millimetres(header, frames[0]) is not None
        greys = pixel_semantics_of(header, frames)
        rescales = [rescale_of(header, k) for k in frames]
    except ReadError as error:
        raise ReadError(f"{path.name}: {error}", code=error.code) from error
    except DAMAGE as error:
        raise damaged_elements(path, error) from None
    photometric = str(header.get("PhotometricInterpretation", ""))
    if photometric not in (*GREY, *COLOUR, PALETTE):
        raise unsupported(path, "has an unsupported photometric interpretation")
    colour = photometric not in GREY
    if len(frames) == 1:
        picture = without_equal_channels(decode_frame(path, header, frames[0]))
        if colour:
            greys = AS_SHOWN
        return Volume(
            slices=picture[None],
            spacing=spacing,
            measured=measured,
            affine=affine,
            greys=greys,
            slice_ids=_ids(header, count),
        )
    mixed = not colour and len(set(rescales)) > 1
    if mixed and affine is None:
        raise ReadError(
            f"{path.name}: its {count} frames have {len(set(rescales))} different rescales and no "
            "even spacing, so they are several kinds of image, not one cine; the adapter "
            "must name one as ImageRef.frame",
            code="several-scales",
        )
    return Volume(
        slices=_Frames(path, header, count, rescales if mixed else None),
        spacing=spacing,
        measured=measured,
        affine=affine,
        greys=AS_SHOWN if colour else greys,
    )


def _ids(header: Dataset, frames: int) -> dict[str, int]:
    """A multi-frame file has one UID for all its frames, which identifies no slice."""
    uid = str(header.get("SOPInstanceUID") or "")
    return {uid: 0} if uid and frames == 1 else {}


class _Frames(LazySlices):
    """Frames of a file, decoded one by one; the first determines shape and type of all."""

    def __init__(
        self,
        path: Path,
        header: Dataset,
        count: int,
        rescales: list[tuple[float, float]] | None,
    ) -> None:
        self._path = path
        self._header = header
        self._rescales = rescales
        first = self._scaled(0)
        super().__init__((count, *first.shape), first.dtype)

    def _picture(self, k: int) -> Array:
        picture = self._scaled(k)
        if picture.shape != self.shape[1:] or picture.dtype != self.dtype:
            raise unreadable(
                self._path,
                f"frame {k} has {picture.shape} {picture.dtype} pixels where frame 0 has "
                f"{self.shape[1:]} {self.dtype}",
            )
        return picture

    def _scaled(self, k: int) -> Array:
        picture = decode_frame(self._path, self._header, k)
        if self._rescales is None:
            return picture
        slope, intercept = self._rescales[k]
        return (picture * slope + intercept).astype(np.float32)
