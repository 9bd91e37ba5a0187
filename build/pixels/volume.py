"""Volume: stored values of an image stack, its geometry and the meaning of its values.

Nothing here is windowed, flipped or resampled; ``geometry`` and ``windowing`` do that.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import deflate
import numpy as np
from numpy.typing import NDArray

from medrcube.build.regions.region_mask import Mask

__all__ = [
    "Array",
    "ForwardSlices",
    "LazySlices",
    "LookupTable",
    "PackedSlices",
    "PixelSemantics",
    "SliceStack",
    "Volume",
    "is_grey",
    "stack_slices",
    "without_equal_channels",
]

Array = NDArray[Any]
_BYTE: np.dtype[Any] = np.dtype(np.uint8)


class SliceStack(Protocol):
    """Protocol of a stack of images, met by numpy arrays and by readers that decode on demand.

    Slices are ``(rows, columns)`` stored values, or ``(rows, columns, 3)`` of RGB in uint8. An
    index outside ``0 .. n - 1`` raises ``IndexError``; a lazy reader may raise ``ReadError``.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """``(n, rows, columns)`` or ``(n, rows, columns, 3)``."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the stored values."""
        ...

    def __getitem__(self, k: int, /) -> Array:
        """Return the ``k``-th image of the stack."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LookupTable:
    """A DICOM lookup table (PS3.3 C.11.1.1): values below ``first`` take the first entry.

    Attributes:
        first: input value of the first entry.
        entries: output values, one for each consecutive input value.
        bits: width of the output; its range is ``0 .. 2**bits - 1``.
    """

    first: int
    entries: NDArray[np.uint16]
    bits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PixelSemantics:
    """Meaning of stored values; by default they are modality values.

    Attributes:
        slope: modality value = stored value * slope + intercept.
        intercept: see ``slope``.
        modality_table: replaces slope and intercept if a file has one.
        windows: (centre, width) pairs in modality values, in file order.
        function: ``linear``, ``linear_exact`` or ``sigmoid`` (DICOM PS3.3 C.11.2.1).
        voi_table: takes precedence over ``windows`` if a file has one.
        inverted: low values are bright (MONOCHROME1); applied after everything else.
        bits: stored bits of integer data; ``None`` means all bits of the type.
        padding: lowest and highest stored value that mark pixels outside the image.
        repair: name of the repair that was applied to the stored values, or empty.
        median_of: number of slices with differing windows whose median is ``windows``; 0 if all
            have the same.
        filled: number of non-finite voxels that were filled with background.
        gaps: mask of these voxels, as stored.
    """

    slope: float = 1.0
    intercept: float = 0.0
    modality_table: LookupTable | None = None
    windows: tuple[tuple[float, float], ...] = ()
    function: str = "linear"
    voi_table: LookupTable | None = None
    inverted: bool = False
    bits: int | None = None
    padding: tuple[int, int] | None = None
    repair: str = ""
    median_of: int = 0
    filled: int = 0
    gaps: Mask | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Volume:
    """A stack of images on one grid.

    Attributes:
        slices: the stored values.
        spacing: mm between slices, rows and columns, or ``None`` if the file does not state it. The
            first number is 1 if images have no distance in space; if a file states only the shape
            of its pixels, only the ratio of rows to columns is valid.
        measured: whether rows and columns of ``spacing`` are in mm, and not only relative.
        affine: 4 x 4, index (slice, row, column, 1) to RAS+ mm, or ``None``.
        greys: meaning of the stored values.
        solid: whether the slices cut one body; otherwise they may be frames over time.
        uneven: whether the slices are unevenly spaced, so that ``affine`` is exact only within each
            slice and at the first and last one.
        slice_ids: SOP instance UID -> slice index, in slice order, followed by those of omitted
            copies of a slice. Used to place marks; never part of an output.
        frame_of_reference: DICOM frame of reference of ``affine``, empty if the file states none.
            Used for marks drawn in space; never part of an output.
    """

    slices: SliceStack
    spacing: tuple[float, float, float] | None = None
    measured: bool = True
    affine: NDArray[np.float64] | None = None
    greys: PixelSemantics = field(default_factory=PixelSemantics)
    solid: bool = False
    uneven: bool = False
    slice_ids: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    frame_of_reference: str = ""

    @property
    def colour(self) -> bool:
        """Whether the images are RGB; then no grey scale applies to them."""
        return len(self.slices.shape) == 4


class LazySlices(ABC):
    """Slices that are made on access.

    Attributes:
        shape: ``(n, rows, columns)`` or ``(n, rows, columns, 3)``.
        dtype: type of the stored values.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype

    def __getitem__(self, k: int, /) -> Array:
        """Return the ``k``-th image of the stack."""
        if not 0 <= k < self.shape[0]:
            raise IndexError(k)
        return self._picture(k)

    @abstractmethod
    def _picture(self, k: int) -> Array: ...


class ForwardSlices(LazySlices):
    """Frames of a file that can only be decoded from its start, kept one at a time.

    Reading in ascending order decodes every frame once; a step back starts over.
    """

    def __init__(
        self,
        frames: Callable[[], Iterator[Array]],
        shape: tuple[int, ...],
        dtype: np.dtype[Any] = _BYTE,
    ) -> None:
        """Take a function that decodes from the start, and the shape and type it will yield."""
        super().__init__(shape, dtype)
        self._frames = frames
        self._cursor = frames()
        self._next = 0
        self._last: Array | None = None

    def _picture(self, k: int) -> Array:
        if k == self._next - 1 and self._last is not None:
            return self._last
        if k < self._next:
            self._cursor, self._next = self._frames(), 0
        for frame in self._cursor:
            self._next += 1
            if self._next > k:
                self._last = frame[..., 0] if len(self.shape) == 3 and frame.ndim == 3 else frame
                return self._last
        raise IndexError(k)


class PackedSlices(LazySlices):
    """Compressed copy of slices, for label maps: their few values compress to a hundredth."""

    def __init__(self, slices: SliceStack) -> None:
        """Compress slices, one at a time, in ascending order."""
        super().__init__(slices.shape, slices.dtype)
        self._packed = tuple(
            bytes(deflate.zlib_compress(np.ascontiguousarray(slices[k]), 1))
            for k in range(slices.shape[0])
        )

    def _picture(self, k: int) -> Array:
        size = math.prod(self.shape[1:]) * self.dtype.itemsize
        values: Array = np.frombuffer(deflate.zlib_decompress(self._packed[k], size), self.dtype)
        return values.reshape(self.shape[1:])


def is_grey(picture: Array) -> bool:
    """Whether an RGB image has no colour: its three channels are equal everywhere."""
    red = picture[..., 0]
    return all(bool((picture[..., k] == red).all()) for k in (1, 2))


def without_equal_channels(picture: Array) -> Array:
    """Return ``(rows, columns)`` of an image without colour; coloured images stay RGB."""
    if picture.ndim == 3 and is_grey(picture):
        return np.ascontiguousarray(picture[..., 0])
    return picture


def stack_slices(slices: SliceStack) -> Array:
    """Return all slices as one array; copied only if they are not already an array."""
    if isinstance(slices, np.ndarray):
        return slices
    whole: Array = np.empty(slices.shape, slices.dtype)
    for k in range(slices.shape[0]):
        whole[k] = slices[k]
    return whole
