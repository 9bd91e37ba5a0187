"""Decoded video frames as grey or RGB arrays.

Ultrasound is mostly grey, but coded as luma and chroma. If the chroma of a frame is neutral
everywhere, its grey values follow from luma alone, by a table that swscale itself computes; this
takes a tenth of the conversion to RGB and gives the same values.
"""

from __future__ import annotations

from typing import Any

import av
import numpy as np
from av.video.format import VideoFormat
from av.video.reformatter import Interpolation, VideoReformatter
from numpy.typing import NDArray

from medrcube.build.pixels.volume import Array, without_equal_channels

__all__ = ["FrameConverter", "frame_bytes"]

# Disable platform-dependent shortcuts of swscale.
_EXACT = Interpolation.BILINEAR | Interpolation.ACCURATE_RND | Interpolation.BITEXACT
_NEUTRAL = 128
_LEVELS = np.arange(256, dtype=np.uint8)
_Coding = tuple[str, int, int, bool]


class FrameConverter:
    """Converts the frames of one video; keeps the state of swscale between them."""

    def __init__(self) -> None:
        self._reformatter = VideoReformatter()
        self._tables: dict[_Coding, bytes | None] = {}

    def rgb(self, frame: av.VideoFrame) -> Array:
        """Return a frame as ``(rows, columns, 3)``."""
        converted = self._reformatter.reformat(
            frame, format="rgb24", interpolation=_EXACT, threads=1
        )
        return converted.to_ndarray()

    def grey_or_rgb(self, frame: av.VideoFrame) -> Array:
        """Return a frame as ``(rows, columns)`` if its RGB channels are equal, else as RGB."""
        table = self._table(frame) if _is_neutral(frame) else None
        if table is None:
            return without_equal_channels(self.rgb(frame))
        luma = _samples(frame, 0)
        grey: NDArray[np.uint8] = np.frombuffer(luma.tobytes().translate(table), np.uint8)
        return grey.reshape(luma.shape)

    def _table(self, frame: av.VideoFrame) -> bytes | None:
        """Return the grey value of each luma value; ``None`` if neutral chroma has a colour."""
        # swscale rounds in another way where the number of columns is odd.
        odd = bool(frame.width % 2)
        coding = (frame.format.name, int(frame.colorspace), int(frame.color_range), odd)
        if coding not in self._tables:
            colours = FrameConverter().rgb(_ramp(*coding))
            greys = without_equal_channels(colours)
            self._tables[coding] = greys[0, : len(_LEVELS)].tobytes() if greys.ndim == 2 else None
        return self._tables[coding]


def frame_bytes(frame: av.VideoFrame) -> int:
    """Return the memory that a decoded frame takes."""
    return sum(plane.buffer_size for plane in frame.planes)


def _is_neutral(frame: av.VideoFrame) -> bool:
    """Whether a frame is 8-bit luma, with chroma that is neutral everywhere or absent."""
    return _has_luma_plane(frame.format) and all(
        bool((_samples(frame, place) == _NEUTRAL).all()) for place in range(1, len(frame.planes))
    )


def _has_luma_plane(coding: VideoFormat) -> bool:
    """Whether each component is a plane of bytes, the first of which is luma."""
    parts = coding.components
    return (
        not (coding.is_rgb or coding.has_palette or coding.is_bayer)
        and len(parts) in (1, 3)
        and (coding.is_planar or len(parts) == 1)
        and all(part.plane == k and part.bits == 8 for k, part in enumerate(parts))
    )


def _samples(frame: av.VideoFrame, place: int) -> NDArray[np.uint8]:
    """Return a view of one plane without the padding of its lines."""
    plane: Any = frame.planes[place]
    lines = np.frombuffer(plane, np.uint8)[: plane.line_size * plane.height]
    return lines.reshape(plane.height, plane.line_size)[:, : plane.width]


def _ramp(name: str, colorspace: int, color_range: int, odd: bool) -> av.VideoFrame:  # noqa: FBT001
    """Return a frame of every luma value from left to right, with neutral chroma."""
    frame = av.VideoFrame(len(_LEVELS) + odd, 4, name)
    frame.colorspace, frame.color_range = colorspace, color_range
    for place, plane in enumerate(frame.planes):
        lines = np.full((plane.height, plane.line_size), _NEUTRAL, np.uint8)
        if place == 0:
            lines[:, : len(_LEVELS)] = _LEVELS
        plane.update(lines.tobytes())
    return frame
