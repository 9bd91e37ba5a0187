"""Video reader (PyAV, FFmpeg), frame by frame on one thread."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.video.reformatter import Interpolation, VideoReformatter

from medrcube.build.pixels.volume import (
    Array,
    ForwardSlices,
    Volume,
    is_grey,
    without_equal_channels,
)
from medrcube.build.readers.ascii_paths import ascii_path
from medrcube.build.readers.read_errors import (
    MOST_PIXELS,
    check_frame,
    truncated,
    unreadable,
    unsupported,
)
from medrcube.build.readers.video_truncation import is_whole
from medrcube.errors import ReadError

__all__ = ["check_count", "read"]

_SLANT = 1.0
"""Tolerance in degrees; an integer matrix states a quarter turn exactly."""
# Disable platform-dependent shortcuts of swscale.
_EXACT = Interpolation.BILINEAR | Interpolation.ACCURATE_RND | Interpolation.BITEXACT


def read(path: Path, frame: int | None = None, member: str | None = None) -> Volume:  # noqa: ARG001
    """Read the first video stream; frames are counted by decoding them, never from the header.

    With ``frame``, decoding stops there. Otherwise one pass counts the frames and detects colour,
    and images are decoded again on access. Rotation metadata is applied; non-square pixels are
    reflected in ``spacing``.

    Raises:
        ReadError: code ``truncated``, ``unreadable``, ``unsupported-format``, ``missing-frame``.
    """
    if not is_whole(path):
        raise truncated(path, "is shorter than it says")
    if frame is not None:
        return _single(path, frame)
    count, grey, shape = 0, True, (0, 0, 3)
    for picture in _frames(path):
        if count and picture.shape != shape:
            raise unsupported(
                path, f"changes its size from {shape[:2]} to {picture.shape[:2]} at frame {count}"
            )
        shape = picture.shape
        grey = grey and is_grey(picture)
        count += 1
    if not count:
        raise truncated(path, "has no frame that can be decoded")
    stack = (count, *shape[:2]) if grey else (count, *shape)
    slices = ForwardSlices(lambda: _frames(path), stack)
    return Volume(slices=slices, spacing=_spacing(path), measured=False)


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


def _single(path: Path, frame: int) -> Volume:
    check_frame(path, frame if frame < 0 else None, 0)
    count = 0
    for count, picture in enumerate(islice(_frames(path), frame + 1), 1):
        if count == frame + 1:
            slices = without_equal_channels(picture)[None]
            return Volume(slices=slices, spacing=_spacing(path), measured=False)
    check_frame(path, frame, count)
    raise truncated(path, "has no frame that can be decoded")


def _frames(path: Path) -> Iterator[Array]:
    """Yield RGB frames in display order."""
    done = 0
    try:
        with ascii_path(path) as link, av.open(link, metadata_errors="replace") as container:
            if not container.streams.video:
                raise unsupported(path, "has no video stream")
            stream = container.streams.video[0]
            if stream.codec_context is None:
                raise unsupported(path, "is coded in a way that no decoder here knows")
            stream.codec_context.thread_count = 1
            stream.codec_context.options = {"max_pixels": str(MOST_PIXELS)}
            convert = VideoReformatter()
            for frame in container.decode(stream):
                rgb = convert.reformat(frame, format="rgb24", interpolation=_EXACT, threads=1)
                yield np.rot90(rgb.to_ndarray(), k=_quarters(path, frame))
                done += 1
    except (av.error.FFmpegError, ValueError) as error:
        if done or isinstance(error, av.error.EOFError):
            raise truncated(path, f"cannot be decoded beyond frame {done}") from error
        raise unreadable(
            path, f"cannot be decoded as video ({error.__class__.__name__})"
        ) from error


def _quarters(path: Path, frame: av.VideoFrame) -> int:
    """Return the quarter turns, counter-clockwise, from the stored to the displayed image."""
    matrix: Any = frame.side_data.get("DISPLAYMATRIX")
    if matrix is None:
        return 0
    a, b, _, c, d = np.frombuffer(matrix, np.int32)[:5].astype(float)
    quarters = round(frame.rotation / 90)
    if a * d - b * c <= 0 or abs(frame.rotation - 90 * quarters) > _SLANT:
        raise unsupported(
            path, "is to be shown mirrored or at a slant (display matrix); expected quarter turns"
        )
    return quarters % 4


def _spacing(path: Path) -> tuple[float, float, float] | None:
    """Return the relative pixel size; the sample aspect ratio is width over height as stored."""
    with ascii_path(path) as link, av.open(link, metadata_errors="replace") as container:
        stream = container.streams.video[0]
        ratio = stream.sample_aspect_ratio
        if not ratio or ratio == 1:
            return None
        upright = _quarters(path, next(container.decode(stream))) % 2 == 0
    return (1.0, 1.0, float(ratio)) if upright else (1.0, float(ratio), 1.0)
