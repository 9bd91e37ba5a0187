"""Video reader (PyAV, FFmpeg), on one thread; frames are decoded once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.container import InputContainer

from medrcube.build.pixels.volume import Array, ForwardSlices, LazySlices, SliceStack, Volume
from medrcube.build.readers.ascii_paths import ascii_path
from medrcube.build.readers.read_errors import (
    MOST_PIXELS,
    check_frame,
    truncated,
    unreadable,
    unsupported,
)
from medrcube.build.readers.video.video_frames import FrameConverter, frame_bytes
from medrcube.build.readers.video.video_truncation import is_whole
from medrcube.errors import ReadError

__all__ = ["check_count", "read"]

_SLANT = 1.0
"""Tolerance in degrees; an integer matrix states a quarter turn exactly."""
_MOST_KEPT = 256 << 20
"""Most bytes of decoded frames kept in memory: as much as a CT of 500 slices takes."""


def read(path: Path, frame: int | None = None, member: str | None = None) -> Volume:  # noqa: ARG001
    """Read the first video stream; frames are counted by decoding them, never from the header.

    With ``frame``, decoding stops there. Otherwise one pass counts the frames, detects colour, and
    keeps the frames as decoded (in half the memory of RGB); they are converted on access. A video
    of more than ``_MOST_KEPT`` bytes is decoded again instead. Rotation metadata is applied;
    non-square pixels are reflected in ``spacing``.

    Raises:
        ReadError: code ``truncated``, ``unreadable``, ``unsupported-format``, ``missing-frame``.
    """
    if not is_whole(path):
        raise truncated(path, "is shorter than its header states")
    convert = _Converter(path)
    if frame is not None:
        return _single(path, frame, convert)
    frames: list[av.VideoFrame] = []
    count, size, memory, grey = 0, (0, 0), 0, True
    spacing = None
    with _opened(path) as opened:
        ratio = opened[1].sample_aspect_ratio
        for decoded in _frames(path, *opened):
            frame_size = _size(path, decoded)
            if not count:
                size, spacing = frame_size, _spacing(path, ratio, decoded)
            if frame_size != size:
                raise unsupported(
                    path, f"changes its size from {size} to {frame_size} at frame {count}"
                )
            grey = grey and convert(decoded, count).ndim == 2
            memory += frame_bytes(decoded)
            if memory > _MOST_KEPT:
                frames.clear()
            else:
                frames.append(decoded)
            count += 1
    if not count:
        raise truncated(path, "has no frame that can be decoded")
    shape = (count, *size) if grey else (count, *size, 3)
    slices: SliceStack = _Decoded(frames, shape, convert)
    if memory > _MOST_KEPT:
        slices = ForwardSlices(lambda: _pictures(path, convert, colour=not grey), shape)
    return Volume(slices=slices, spacing=spacing, measured=False)


def check_count(path: Path, count: int) -> None:
    """Reject a video whose number of frames differs from what its source states.

    Packets are counted, which equal frames in a video without audio; nothing is decoded.

    Raises:
        ReadError: code ``frame-count``, ``unreadable``.
    """
    try:
        with ascii_path(path) as link, av.open(link, metadata_errors="replace") as container:
            packets = sum(1 for packet in container.demux(video=0) if packet.size)
    except (av.error.FFmpegError, ValueError, IndexError) as error:
        raise unreadable(path, f"cannot be read as video ({error.__class__.__name__})") from error
    if packets != count:
        raise ReadError(
            f"{path.name}: holds {packets} frames; expected {count}, as its source states: is it a "
            "copy with other frames? get it from the release",
            code="frame-count",
        )


class _Converter:
    """Converts decoded frames to upright arrays."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._frames = FrameConverter()

    def __call__(self, frame: av.VideoFrame, number: int, *, colour: bool = False) -> Array:
        """Return a frame as ``(rows, columns)`` if it has no colour, or else as RGB.

        Args:
            frame: as decoded.
            number: names it in errors.
            colour: whether it is RGB in any case.
        """
        try:
            pixels = self._frames.rgb(frame) if colour else self._frames.grey_or_rgb(frame)
        except (av.error.FFmpegError, ValueError) as error:
            raise _undecodable(self._path, number, error) from error
        quarters = _quarters(self._path, frame)
        return np.rot90(pixels, k=quarters) if quarters else pixels


class _Decoded(LazySlices):
    """Frames in memory, converted on access; the last one is kept."""

    def __init__(
        self, frames: Sequence[av.VideoFrame], shape: tuple[int, ...], convert: _Converter
    ) -> None:
        super().__init__(shape, np.dtype(np.uint8))
        self._frames = frames
        self._convert = convert
        self._last: tuple[int, Array] | None = None

    def _picture(self, k: int) -> Array:
        if self._last is None or self._last[0] != k:
            self._last = k, self._convert(self._frames[k], k, colour=len(self.shape) == 4)
        return self._last[1]


def _single(path: Path, index: int, convert: _Converter) -> Volume:
    check_frame(path, index if index < 0 else None, 0)
    count, spacing = 0, None
    with _opened(path) as opened:
        ratio = opened[1].sample_aspect_ratio
        for decoded in _frames(path, *opened):
            if not count:
                spacing = _spacing(path, ratio, decoded)
            if count == index:
                slices = np.ascontiguousarray(convert(decoded, count))[None]
                return Volume(slices=slices, spacing=spacing, measured=False)
            count += 1
    check_frame(path, index, count)
    raise truncated(path, "has no frame that can be decoded")


@contextmanager
def _opened(path: Path) -> Iterator[tuple[InputContainer, av.VideoStream]]:
    with ascii_path(path) as link:
        try:
            container = av.open(link, metadata_errors="replace")
        except (av.error.FFmpegError, ValueError) as error:
            raise _undecodable(path, 0, error) from error
        with container:
            if not container.streams.video:
                raise unsupported(path, "has no video stream")
            stream = container.streams.video[0]
            if stream.codec_context is None:
                raise unsupported(path, "has an unsupported codec")
            stream.codec_context.thread_count = 1
            stream.codec_context.options = {"max_pixels": str(MOST_PIXELS)}
            yield container, stream


def _frames(
    path: Path, container: InputContainer, stream: av.VideoStream
) -> Iterator[av.VideoFrame]:
    """Decode frames in display order."""
    count = 0
    try:
        for frame in container.decode(stream):
            yield frame
            count += 1
    except (av.error.FFmpegError, ValueError) as error:
        raise _undecodable(path, count, error) from error


def _pictures(path: Path, convert: _Converter, *, colour: bool) -> Iterator[Array]:
    with _opened(path) as opened:
        for number, frame in enumerate(_frames(path, *opened)):
            yield convert(frame, number, colour=colour)


def _undecodable(path: Path, count: int, error: Exception) -> ReadError:
    if count or isinstance(error, av.error.EOFError):
        return truncated(path, f"cannot be decoded beyond frame {count}")
    return unreadable(path, f"cannot be decoded as video ({error.__class__.__name__})")


def _size(path: Path, frame: av.VideoFrame) -> tuple[int, int]:
    """Return rows and columns of a frame as displayed."""
    upright = _quarters(path, frame) % 2 == 0
    return (frame.height, frame.width) if upright else (frame.width, frame.height)


def _quarters(path: Path, frame: av.VideoFrame) -> int:
    """Return the quarter turns, counter-clockwise, from the stored to the displayed image."""
    matrix: Any = frame.side_data.get("DISPLAYMATRIX")
    if matrix is None:
        return 0
    a, b, _, c, d = np.frombuffer(matrix, np.int32)[:5].astype(float)
    quarters = round(frame.rotation / 90)
    if a * d - b * c <= 0 or abs(frame.rotation - 90 * quarters) > _SLANT:
        raise unsupported(
            path, "has a display matrix that mirrors or rotates obliquely; expected quarter turns"
        )
    return quarters % 4


def _spacing(
    path: Path, ratio: Fraction | None, frame: av.VideoFrame
) -> tuple[float, float, float] | None:
    """Return the relative pixel size; the sample aspect ratio is width over height as stored."""
    if not ratio or ratio == 1:
        return None
    upright = _quarters(path, frame) % 2 == 0
    return (1.0, 1.0, float(ratio)) if upright else (1.0, float(ratio), 1.0)
