"""A build that is killed at any moment goes on to the bytes of one that never was."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter

import pytest

KILLED = 16
"""Builds that are killed, at moments spread evenly over a whole one; half of them once more."""

# One process has everything imported and forks every build from itself, so that kills fall into
# the work of a build and not into the start of Python. A child kills itself at a step of its own,
# so that no clock has a say in it: at any call or return or, since few of them touch a file, at
# one that does.
NURSERY = """
import json, os, signal, sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet
import medrcube.build.readers.raster
from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.console.progress import Reporter
from medrcube.sources._framework.contract import load_source
from medrcube.workspace import WorkspaceFolder

base, raw, toy, kills = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
toy = load_source(toy)
TOUCHING = {"open", "write", "close", "__exit__", "fsync", "replace", "unlink", "mkdir", "chmod"}
OTHERS = (str, bytes)  # whose method "replace" touches nothing


def start(root, last=(), *, counted=True):
    child = os.fork()
    if child == 0:
        taken = Counter()

        def step(_, event, called):
            kinds = ["any"]
            if event == "c_call" and called.__name__ in TOUCHING:
                kinds += [] if isinstance(called.__self__, OTHERS) else ["touching"]
            for kind in kinds:
                taken[kind] += 1
                if (kind, taken[kind]) == last:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            if counted:
                sys.setprofile(step)
            build(WorkspaceFolder(root=root, sources={"toy": raw}), {"toy": toy}, LocalEngine(1),
                  Reporter(quiet=True))
            sys.setprofile(None)
            (base / f"steps-{root.name}").write_text(json.dumps(taken))
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def finish(root, *, counted=False):
    _, status = os.waitpid(start(root, counted=counted), 0)
    if status:
        sys.exit(f"the build of {root.name} failed")


def fresh(name):
    root = base / name
    (root / "cache").mkdir(parents=True)
    (root / "cache" / "patient.key").write_bytes(b"k" * 32)
    return root


def stage(root):
    if (root / "items.parquet").exists():
        return "tables"
    pictures = sum(1 for _ in (root / "images").rglob("*.png"))
    return "pictures" if pictures else "start"


finish(fresh("clean"), counted=True)
whole = json.loads((base / "steps-clean").read_text())
stages = []
for number in range(kills):
    root = fresh(f"killed-{number}")
    kind = ("any", "touching")[number % 2]
    moments = [whole[kind] * (2 * number + 1) // (2 * kills)]
    if number // 2 % 2:
        moments.append(whole[kind] // 20)  # soon after the build has gone on
    for moment in moments:
        _, status = os.waitpid(start(root, (kind, moment)), 0)
        if os.WIFSIGNALED(status):
            stages.append(stage(root))
    finish(root)
print(json.dumps(stages))
"""


@pytest.mark.thorough
@pytest.mark.untraced
def test_a_build_killed_at_any_moment_goes_on_to_the_bytes_of_a_clean_one(
    toy, raw, write_case, tmp_path
):
    for number in range(10, 22):
        write_case(raw, f"m ({number})", seed=number)
    script = tmp_path / "nursery.py"
    script.write_text(NURSERY)
    base = tmp_path / "workspaces"
    arguments = [sys.executable, script, base, raw, toy.folder, str(KILLED)]
    process = subprocess.run(arguments, capture_output=True, text=True, timeout=900, check=False)
    assert process.returncode == 0, process.stderr
    stages = Counter(json.loads(process.stdout))
    assert stages.keys() >= {"start", "pictures"}, stages
    assert stages.total() > KILLED, stages
    clean = _files(base / "clean")
    assert {"samples.parquet", "items.parquet", "quarantine.parquet"} <= clean.keys()
    for root in sorted(base.glob("killed-*")):
        assert _files(root) == clean, root.name
        shutil.rmtree(root)


def _files(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and "cache" not in path.parts
    }
