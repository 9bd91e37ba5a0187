"""Memory of a worker that waits for its first job, in bytes; the reader of pictures is loaded."""

from __future__ import annotations

import json

import timing

from medrcube.build.readers import raster  # noqa: F401  # what is measured
from medrcube.build.render import render_job  # noqa: F401


def main() -> None:
    print(json.dumps(timing.peak_memory()))


if __name__ == "__main__":
    main()
