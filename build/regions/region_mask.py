"""Region mask: one bit per pixel, cropped to its bounding box.

A boolean array of the size of its volume would take half the memory of a CT for each region.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Mask"]

Shape3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mask:
    """Marked pixels of a stack of images; a ``volume.SliceStack`` of bool.

    Attributes:
        shape: ``(n, rows, columns)`` of the stack.
        first: slice, row and byte within a row at which ``bits`` begin.
        bits: ``(slices, rows, bytes)`` of the box that holds every mark; the highest bit of a byte
            is the leftmost of its eight pixels.
    """

    shape: Shape3
    first: Shape3
    bits: NDArray[np.uint8]

    @classmethod
    def of(cls, shape: tuple[int, ...], pictures: Iterable[tuple[int, NDArray[np.bool_]]]) -> Self:
        """Build the mask from numbered images, ``(rows, columns)`` each.

        Images of one slice are combined.

        Args:
            shape: of the stack; axes beyond the third are ignored.
            pictures: consumed one at a time, in any order.
        """
        count, rows, columns = (int(size) for size in shape[:3])
        pieces: list[tuple[Shape3, NDArray[np.uint8]]] = []
        for k, picture in pictures:
            if not picture.any():  # most slices of a volume
                continue
            packed = np.packbits(picture, axis=1)
            down, across = (np.flatnonzero(packed.any(axis=axis)) for axis in (1, 0))
            box = np.s_[down[0] : down[-1] + 1, across[0] : across[-1] + 1]
            pieces.append(((k, int(down[0]), int(across[0])), packed[box].copy()))
        first, sizes = _around(pieces)
        bits = np.zeros(sizes, np.uint8)
        while pieces:
            place, part = pieces.pop()
            k, row, byte = (at - start for at, start in zip(place, first, strict=True))
            bits[k, row : row + part.shape[0], byte : byte + part.shape[1]] |= part
        return cls(shape=(count, rows, columns), first=first, bits=bits)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Always bool."""
        return np.dtype(np.bool_)

    def __getitem__(self, k: int, /) -> NDArray[np.bool_]:
        """Return the marks of the ``k``-th image, ``(rows, columns)``."""
        if not 0 <= k < self.shape[0]:
            raise IndexError(k)
        picture = np.zeros(self.shape[1:], np.bool_)
        if self.marks(k):
            rows, columns = self._span(1), self._span(2)
            bits = np.unpackbits(self.bits[k - self.first[0]], axis=1, count=len(columns))
            picture[rows.start : rows.stop, columns.start : columns.stop] = bits
        return picture

    def any(self) -> bool:
        """Whether any pixel is marked."""
        return self.bits.size > 0

    def marks(self, k: int) -> bool:
        """Whether any pixel of the ``k``-th image is marked."""
        return k in self._span(0) and bool(self.bits[k - self.first[0]].any())

    def areas(self) -> NDArray[np.int64]:
        """Return the number of marked pixels of each image."""
        areas = np.zeros(self.shape[0], np.int64)
        span = self._span(0)
        areas[span.start : span.stop] = np.bitwise_count(self.bits).sum(axis=(1, 2), dtype=np.int64)
        return areas

    def centre(self) -> NDArray[np.float64]:
        """Return mean slice, row and column of the marked pixels; NaN if there are none."""
        areas = self.areas()
        places = np.zeros(3)
        for k in np.flatnonzero(areas):
            rows, columns = np.nonzero(self[int(k)])
            places += (k * areas[k], rows.sum(), columns.sum())
        return places / areas.sum() if areas.any() else np.full(3, np.nan)

    def at(
        self, k: NDArray[np.intp], row: NDArray[np.intp], column: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        """Return whether pixels are marked, given their indices as arrays of one shape.

        Pixels outside the stack are not.
        """
        place = (k - self.first[0], row - self.first[1], (column >> 3) - self.first[2])
        inside = np.ones(np.shape(k), np.bool_)
        for index, size in zip(place, self.bits.shape, strict=True):
            inside &= (index >= 0) & (index < size)
        inside_mask = np.zeros(inside.shape, np.bool_)
        slices, rows, parts = (index[inside] for index in place)
        inside_mask[inside] = self.bits[slices, rows, parts] >> (7 - (column[inside] & 7)) & 1
        return inside_mask

    def turned(self, axes: Shape3, flips: tuple[bool, bool, bool]) -> Self:
        """Return the mask with reordered axes; see ``geometry.Orientation``.

        Args:
            axes: present axis of each new axis.
            flips: whether the new axis runs against the present one.
        """
        if (axes, flips) == ((0, 1, 2), (False, False, False)):
            return self
        shape = tuple(self.shape[axis] for axis in axes)
        rows, columns = (slice(None, None, -1 if flip else 1) for flip in flips[1:])
        along = axes[0]
        return self.of(
            shape,
            (
                (
                    shape[0] - 1 - index if flips[0] else index,
                    (self._cut(along, index).T if axes[1] > axes[2] else self._cut(along, index))[
                        rows, columns
                    ],
                )
                for index in self._span(along)
            ),
        )

    def _span(self, axis: int) -> range:
        """Return the pixels that the box covers along an axis."""
        start, size = self.first[axis], self.bits.shape[axis]
        if axis < 2:
            return range(start, start + size)
        return range(8 * start, min(8 * (start + size), self.shape[2]))

    def _cut(self, axis: int, index: int) -> NDArray[np.bool_]:
        """Return the marks of all pixels at one index of an axis, over the two other axes."""
        if axis == 0:
            return self[index]
        picture = np.zeros([size for other, size in enumerate(self.shape) if other != axis], bool)
        slices, rows, columns = (self._span(other) for other in range(3))
        here = picture[slices.start : slices.stop]
        if axis == 1:
            bits = np.unpackbits(self.bits[:, index - rows.start], axis=1, count=len(columns))
            here[:, columns.start : columns.stop] = bits
        else:
            bits = self.bits[:, :, index // 8 - self.first[2]]
            here[:, rows.start : rows.stop] = bits >> (7 - index % 8) & 1
        return picture


def _around(pieces: Sequence[tuple[Shape3, NDArray[np.uint8]]]) -> tuple[Shape3, Shape3]:
    """Return the origin of the box around all pieces, and its size."""
    if not pieces:
        return (0, 0, 0), (0, 0, 0)
    places = np.array([place for place, _ in pieces])
    ends = places + [(1, *part.shape) for _, part in pieces]
    first = places.min(axis=0)
    return tuple(first.tolist()), tuple((ends.max(axis=0) - first).tolist())
