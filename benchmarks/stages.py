"""Build, audit, release, validate and reconstruct as wholes: what each takes, and for what.

Usage: ``python stages.py FOLDER PICTURES``. A raw tree like MIMIC-CXR-JPG with images of 8 x 8
pixels, so that what does not depend on pixels shows; one process does everything. Cells are not
capped, so that a release holds every image that can be asked about, and not a few hundred. The
images of this source are withheld from a release, so that all of its images are reconstructed.
Prints one line of JSON: seconds of processor time, the functions with the largest shares, and the
load average at the end.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import asdict, replace
from pathlib import Path

from scale import SOURCE, write_mimic_films
from speed.sampling import Profile, profile

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.reconstruction.reconstruct import reconstruct
from medrcube.build.release.write import release
from medrcube.build.validation.validate import validate
from medrcube.console.progress import Reporter
from medrcube.sources.registry import find_sources
from medrcube.workspace import init_workspace, open_workspace


def main() -> None:
    folder, pictures = Path(sys.argv[1]), int(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    write_mimic_films(folder / "raw", pictures)
    sources, quiet = find_sources(), Reporter(quiet=True)
    init_workspace(folder / "bench")
    workspace = open_workspace(folder / "bench").with_sources({SOURCE: folder / "raw"})
    workspace = replace(workspace, settings=replace(workspace.settings, items_per_cell=0))
    out = folder / "release"
    profiles: dict[str, Profile] = {
        "build": profile(
            lambda: build(workspace, sources, LocalEngine(1), quiet), inside="audit_batch"
        ),
        "release": profile(
            lambda: release(workspace, sources, out, name="bench", allow_unreviewed=True)
        ),
        "validate": profile(lambda: validate(out, quiet, workers=1)),
        "reconstruct": profile(
            lambda: reconstruct(out, {SOURCE: folder / "raw"}, sources, LocalEngine(1), quiet)
        ),
    }
    rows = {name: asdict(entry) for name, entry in profiles.items()}
    rows["audit"] = {
        "processor": profiles["build"].processor * profiles["build"].within,
        "costs": profiles["build"].costs_within,
    }
    placed = sum(1 for _ in out.rglob("*.png"))
    load = round(os.getloadavg()[0], 1)
    print(json.dumps({"pictures": pictures, "placed": placed, "load": load, "stages": rows}))


if __name__ == "__main__":
    main()
