"""Synthetic ultrasound videos: a fan of speckle that moves, as MP4 (H.264) and as AVI (MJPEG)."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
from data import smooth

__all__ = ["write_video"]


def write_video(path: Path, frames: int, height: int, width: int) -> None:
    """So many frames of grey speckle within a fan."""
    rng = np.random.default_rng(10)
    y, x = np.mgrid[0:height, 0:width]
    reach = np.hypot(y, x - width / 2)
    fan = (reach < 0.95 * height) & (np.abs(x - width / 2) < 0.7 * y)
    speckle = smooth(rng.standard_normal((height, width), np.float32), 2)
    codec, pixels = ("libx264", "yuv420p") if path.suffix == ".mp4" else ("mjpeg", "yuvj420p")
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=30)
        stream.height, stream.width, stream.pix_fmt = height, width, pixels
        for k in range(frames):
            depth = np.roll(speckle, round(3 * np.sin(k / 5)), 0)
            grey = np.where(fan, np.clip(90 + 35 * depth - reach / height * 40, 0, 255), 0)
            picture = np.repeat(grey.astype(np.uint8)[..., None], 3, axis=-1)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
