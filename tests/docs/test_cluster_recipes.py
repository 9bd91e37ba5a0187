"""The recipes of "Build on a cluster" start workers that build: over SSH, and as jobs of Slurm.

``ssh``, ``sbatch`` and ``scancel`` are stand-ins that run on this machine what they are given; the
scheduler, the workers and the build are processes of their own, as on a cluster.
"""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from doc_blocks import ROOT, blocks_of

from medrcube.sources.registry import find_sources
from medrcube.workspace import init_workspace

PAGE = ROOT / "docs/how-to/run-on-a-cluster.md"
STAND_INS = {
    "ssh": 'shift; exec "$@"',
    "sbatch": 'cp "$1" "job.$$"; setsid bash "job.$$" > "job.$$.log" 2>&1 & echo "batch job $!"',
    "scancel": 'for job; do kill -- "-$job" 2> /dev/null; done; true',
}
SECONDS = 120

pytestmark = pytest.mark.thorough


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A home folder with the environment that the recipes name, and the stand-ins on the path."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, script in STAND_INS.items():
        (commands / name).write_text(f"#!/bin/sh\n{script}\n")
        (commands / name).chmod(0o755)
    environment = Path(sys.executable).parent
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv/bin").symlink_to(environment)
    path = os.pathsep.join([str(commands), str(environment), os.environ["PATH"]])
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DASK_JOBQUEUE__SLURM__INTERFACE", "lo")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def bench(site):
    """A workspace with one source."""
    find_sources()["busi"].build_fixture(site / "raw", "original")
    init_workspace(site / "bench", {"busi": site / "raw"})
    return site / "bench"


def test_workers_that_slurm_starts_build(bench, site):
    (recipe,) = (block for block in blocks_of(PAGE) if "SLURMCluster" in block.text)
    code = recipe.text.replace("jobs=64", "jobs=2")
    with running([sys.executable, "-c", code], stdin=subprocess.PIPE) as login_node:
        address = login_node.stdout.readline().strip()
        build = _build(bench, address)
        login_node.communicate("\n", timeout=SECONDS)
    assert build.returncode == 0, build.stderr
    assert len(list(site.glob("job.*.log"))) == 2
    assert list((bench / "images").rglob("*.png"))


def test_workers_that_ssh_starts_build(bench, site):
    (recipe,) = (block for block in blocks_of(PAGE) if "\nssh " in block.text)
    address = r'"$(sed -n "s/.*\"address\": \"\([^\"]*\)\".*/\1/p" scheduler.json)"'
    commands = recipe.text.replace("/shared/", "").replace("tcp://10.0.0.5:8786", address)
    commands = commands.replace(
        "dask scheduler", "dask scheduler --host 127.0.0.1 --port 0"
    ).replace(":8787", ":0")
    wait = "until [ -s scheduler.json ]; do sleep 0.1; done\nmedrcube build"
    commands = commands.replace("medrcube build", wait).replace("--nworkers 8", "--nworkers 1")
    with running(["sh", "-ec", f"exec 2> errors.txt\n{commands}"]) as shell:
        assert shell.wait(SECONDS) == 0, (site / "errors.txt").read_text()
    assert list((bench / "images").rglob("*.png"))


def _build(bench, address):
    assert re.fullmatch(r"tcp://127\.0\.0\.1:\d+", address)
    line = ["medrcube", "build", str(bench), "--engine", "dask", "--scheduler", address]
    return subprocess.run(line, check=False, capture_output=True, text=True, timeout=SECONDS)


@contextmanager
def running(line, stdin=subprocess.DEVNULL):
    """A command in a process group of its own, which ends with all that it started."""
    process = subprocess.Popen(
        line,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
