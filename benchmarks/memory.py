"""What one case takes in a worker of a build, in bytes.

Usage: ``python memory.py DATA OUT [MARKS]``. Prints one line of JSON: the memory of the worker
when it has loaded the reader of images alone, when it has loaded all that the case needs, and
the most that it took. A worker imports this file again, so what only the client needs is imported
where it is used.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import timing


def load(*readers: str) -> int:
    """Load readers in a worker; returns its memory."""
    from medrcube.build.readers.detect_format import module_of  # noqa: PLC0415
    from medrcube.build.stages.rendering.render import render_job  # noqa: F401, PLC0415  # what every job calls

    for reader in readers:
        module_of(reader)
    return timing.peak_memory()


def main() -> None:
    import ours  # noqa: PLC0415

    from medrcube.build.execution.local import LocalEngine  # noqa: PLC0415
    from medrcube.build.stages.rendering.render import render_job  # noqa: PLC0415

    data, out, *marks = (Path(word) for word in sys.argv[1:])
    with LocalEngine(1).pool() as pool:
        pictures = pool.submit(load, "raster").result()
        idle = pool.submit(load, *ours.readers_of(data, *marks)).result()
        rendered = pool.submit(render_job, ours.job_of(data, "case", "all", *marks), out).result()
        peak = pool.submit(load).result()
    for problem in rendered.problems:
        if problem.stage == "render":
            sys.exit(problem.message)
    print(json.dumps({"pictures": pictures, "idle": idle, "peak": peak}))


if __name__ == "__main__":
    main()
