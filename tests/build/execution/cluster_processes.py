"""A cluster of separate processes; a worker may see another disk or run other code."""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from distributed import Client

PREAMBLE = """\
import importlib.abc, importlib.metadata, os, sys

class Patch(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "medrcube":
            raise ModuleNotFoundError("No module named 'medrcube'", name="medrcube")

real = importlib.metadata.version

def version(name):
    if name == "deflate" and os.environ.get("OTHER_DEFLATE"):
        return os.environ["OTHER_DEFLATE"]
    if name == "medrcube" and os.environ.get("WITHOUT_MEDRCUBE"):
        raise importlib.metadata.PackageNotFoundError(name)
    return real(name)

importlib.metadata.version = version
if os.environ.get("WITHOUT_MEDRCUBE"):
    sys.meta_path.insert(0, Patch())
"""


class Cluster:
    """A scheduler with workers of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "scheduler.json"
        (folder / "site").mkdir()
        (folder / "site" / "sitecustomize.py").write_text(PREAMBLE)
        self.scheduler = self._start("dask_scheduler", "--port", "0", "--no-dashboard")
        deadline = time.monotonic() + 60
        while not (self._file.exists() and self._file.read_text().endswith("}")):
            assert time.monotonic() < deadline, "no scheduler"
            time.sleep(0.05)
        self._workers = []

    @property
    def address(self):
        return json.loads(self._file.read_text())["address"]

    def worker(self, *, binds=(), read_only=None, **environment):
        """Start a worker and wait for it.

        Args:
            binds: pairs of a folder and what the worker sees there.
            read_only: folder that it may only read.
            environment: variables of its process.
        """
        worker = self._start(
            *("dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard"),
            *("--local-directory", str(self.folder / "scratch")),
            binds=binds,
            read_only=read_only,
            **environment,
        )
        self._workers.append(worker)
        with Client(self.address) as client:
            deadline = time.monotonic() + 60
            while worker.pid not in client.run(os.getpid, on_error="ignore").values():
                assert time.monotonic() < deadline, "no worker"
                time.sleep(0.05)

    def kill_workers(self):
        """Kill every worker, and wait until the scheduler knows."""
        for worker in self._workers:
            worker.kill()
            worker.wait()
        self._workers = []
        with Client(self.address) as client:
            deadline = time.monotonic() + 60
            while client.scheduler_info(n_workers=-1)["workers"]:
                assert time.monotonic() < deadline, "killed workers do not leave"
                time.sleep(0.05)

    def close(self):
        for process in (*self._workers, self.scheduler):
            process.kill()
            process.wait()

    def _start(self, command, *options, binds=(), read_only=None, **environment):
        line = [sys.executable, "-m", f"distributed.cli.{command}"]
        line += ["--scheduler-file", str(self._file), *options]
        if binds or read_only:
            mounts = "".join(f'mount --bind "{there}" "{here}" && ' for here, there in binds)
            if read_only:
                mounts += f'mount --bind "{read_only}" "{read_only}" && '
                mounts += f'mount -o remount,ro,bind "{read_only}" && '
            line = ["unshare", "--mount", "sh", "-c", f'{mounts} exec "$@"', "sh", *line]
        log = (self.folder / f"{command}.log").open("ab")
        path = os.pathsep.join([str(self.folder / "site"), os.environ.get("PYTHONPATH", "")])
        # Not traced for coverage: what a worker runs is traced in this process by other tests.
        own = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
        return subprocess.Popen(
            line, stdout=log, stderr=log, env={**own, "PYTHONPATH": path, **environment}
        )


@contextmanager
def running_cluster(folder):
    cluster = Cluster(folder)
    try:
        yield cluster
    finally:
        cluster.close()


def can_mount():
    """Whether a process may have mounts of its own."""
    unshare = shutil.which("unshare")
    line = [str(unshare), "--mount", "true"]
    return bool(unshare) and subprocess.run(line, check=False, capture_output=True).returncode == 0
