"""One film, step by step: how long a worker takes for each part of what ``render_job`` does.

Usage: ``python steps.py FILM OUT TIMES``. Prints one line of JSON; of all runs the best counts.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import ours
import timing

from medrcube.build.pixels.case_image import open_case_images
from medrcube.build.pixels.pixel_hash import pixel_hash
from medrcube.build.pixels.png_encoder import encode_png
from medrcube.build.readers.detect_format import module_of
from medrcube.build.stages.rendering.render import render_job
from medrcube.files.atomic import sha256_of, write_again

Result = TypeVar("Result")


class Clock:
    """The least time that each step took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, step: str, work: Callable[[], Result]) -> Result:
        started = time.perf_counter()
        result = work()
        duration = time.perf_counter() - started
        self.seconds[step] = min(duration, self.seconds.get(step, duration))
        return result


def main() -> None:
    film, out, times = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    for reader in ours.readers_of(film):
        module_of(reader)
    job = ours.job_of(film)
    clock, data = Clock(), b""
    idle = timing.peak_memory()
    for _ in range(times):
        clock("hash", lambda: sha256_of(film))
        (tile,) = clock("read", lambda: open_case_images(job))
        picture = clock("grey", lambda tile=tile: tile.picture(0))  # type: ignore[misc]
        data = clock("png", lambda picture=picture: encode_png(picture))  # type: ignore[misc]
        clock("identity", lambda picture=picture: pixel_hash(picture))  # type: ignore[misc]
        clock("write", lambda data=data: write_again(out / "film.png", data))  # type: ignore[misc]
        del tile, picture
        clock("whole", lambda: render_job(job, out))
    sizes = {"bytes": film.stat().st_size, "png_bytes": len(data), "idle": idle}
    print(json.dumps({**clock.seconds, **sizes, "peak": timing.peak_memory()}))


if __name__ == "__main__":
    main()
