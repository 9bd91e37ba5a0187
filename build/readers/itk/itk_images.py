"""Volumes read by ITK: coordinates are converted from LPS to RAS, pixels are not copied."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import SimpleITK
from numpy.typing import NDArray

from medrcube.build.pixels.volume import PixelSemantics, Volume
from medrcube.build.readers.non_finite import fill_non_finite
from medrcube.build.readers.read_errors import (
    as_stack,
    check_numeric,
    check_pixels,
    check_size,
    first_slice,
    truncated,
    unreadable,
    unsupported,
)
from medrcube.errors import ReadError

__all__ = ["check_pixel_file", "load_with_itk", "volume_of"]

_LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])


def check_pixel_file(path: Path, name: str) -> None:
    """Reject a header that takes its pixels from files that no case names.

    Raises:
        ReadError: code ``outside-root`` or ``unsupported-format``.
    """
    if "/" in name or "\\" in name:
        raise ReadError(
            f"{path.name}: takes its pixels from another folder; expected a file beside it",
            code="outside-root",
        )
    if name.upper().startswith("LIST") or "%" in name:
        raise unsupported(path, "is spread over a list of files; expected one file of pixels")


def load_with_itk(
    path: Path, link: Path, reader_name: str, check_length: Callable[[int], None]
) -> Any:
    """Read an image with one of ITK's readers, in one thread.

    Args:
        path: the file, for messages.
        link: the same file under a name that ITK can open.
        reader_name: ITK reader class, such as ``MetaImageIO``.
        check_length: raises if the file holds fewer bytes of pixels than its argument.

    Raises:
        ReadError: code ``unreadable``, ``truncated`` or ``too-large``.
    """
    toolkit: Any = SimpleITK
    toolkit.ProcessObject.SetGlobalDefaultNumberOfThreads(1)  # each worker uses one thread
    reader = toolkit.ImageFileReader()
    reader.SetImageIO(reader_name)
    reader.SetFileName(str(link))
    try:
        reader.ReadImageInformation()
        item = toolkit.GetArrayViewFromImage(toolkit.Image([1, 1], reader.GetPixelID())).itemsize
        shape = (*reader.GetSize(), reader.GetNumberOfComponents(), item)
    except (OverflowError, RuntimeError, TypeError) as error:
        kind = reader_name.removesuffix("ImageIO").removesuffix("IO")
        raise unreadable(path, f"has a damaged {kind} header; get the file again") from error
    check_pixels(path, reader.GetSize()[:3])
    check_size(path, math.prod(shape))
    check_length(math.prod(shape))
    try:
        return reader.Execute()
    except RuntimeError as error:
        raise truncated(
            path, "cannot be read: its pixel data (a file beside it?) are missing or short"
        ) from error


def volume_of(path: Path, image: Any, frame: int | None, *, placed: bool = True) -> Volume:
    """Convert an ITK image of two to four axes to a volume.

    Args:
        path: its file, for messages.
        image: ITK image, in LPS.
        frame: entry of the slowest axis, or ``None`` for all.
        placed: whether the file states the orientation of its axes in the patient.

    Raises:
        ReadError: code ``unsupported-format``, ``singular-affine``, ``not-finite`` or
            ``missing-frame``.
    """
    if image.GetNumberOfComponentsPerPixel() != 1:
        raise unsupported(path, "holds several values per pixel; expected one")
    array = np.asarray(_Pixels(image))
    check_numeric(path, array)
    affine = _affine(path, image, first_slice(array, frame)) if placed else None
    spacing = image.GetSpacing()
    slices, greys = fill_non_finite(path, as_stack(path, array, frame), PixelSemantics())
    return Volume(
        slices=slices,
        spacing=(spacing[2] if len(spacing) > 2 else 1.0, spacing[1], spacing[0]),
        affine=affine,
        greys=greys,
        solid=True,
    )


class _Pixels:
    """View on the pixels of an ITK image; an array made from it keeps the image alive."""

    def __init__(self, image: Any) -> None:
        self._image = image
        self.__array_interface__ = SimpleITK.GetArrayViewFromImage(image).__array_interface__


def _affine(path: Path, image: Any, first: int) -> NDArray[np.float64] | None:
    axes = image.GetDimension()
    if axes < 3:
        return None
    direction = np.asarray(image.GetDirection()).reshape(axes, axes)[:3, :3]
    step = direction * np.asarray(image.GetSpacing()[:3])
    if not abs(np.linalg.det(step)) > 0:
        raise ReadError(
            f"{path.name}: its direction matrix is singular; expected three independent axes",
            code="singular-affine",
        )
    matrix = np.eye(4)
    matrix[:3, :3] = step[:, ::-1]
    matrix[:3, 3] = np.asarray(image.GetOrigin()[:3]) + first * step[:, 2]
    return np.asarray(_LPS_TO_RAS @ matrix)
