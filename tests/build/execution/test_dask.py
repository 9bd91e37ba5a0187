import os
import shutil
import signal
from dataclasses import replace

import pytest
from distributed import LocalCluster

from medrcube.build.execution.dask import DaskEngine
from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.stages.plan import plan_jobs
from medrcube.errors import MedrcubeError

pytestmark = pytest.mark.filterwarnings("ignore")  # the library warns about its own internals


HOOK = """

def read(image):
    import os, signal
    from medrcube.build import readers
    if "(3)" in image.paths[0].name:
        os.kill(os.getpid(), signal.SIGKILL)
    return readers.read(image)
"""


@pytest.fixture
def cluster():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as running:
        yield running


def _files(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and "cache" not in path.parts
    }


def _beside(workspace, name):
    other = replace(workspace, root=workspace.root.with_name(name))
    (other.root / "cache").mkdir(parents=True)
    shutil.copy(workspace.root / "cache" / "patient.key", other.root / "cache" / "patient.key")
    return other


@pytest.mark.thorough
def test_a_cluster_gives_the_bytes_of_this_machine_also_when_a_worker_is_killed(
    toy, workspace, raw, write_case, quiet, cluster
):
    for number in range(10, 60):
        write_case(raw, f"m ({number})", seed=number, size=(200, 240))
    build(workspace, {"toy": toy}, LocalEngine(1), quiet)
    other = _beside(workspace, "clustered")
    engine = DaskEngine(cluster.scheduler_address, 2)
    victim = next(iter(cluster.workers.values())).pid

    class KillsOne:
        """The engine, with a worker killed after ten results."""

        def run(self, jobs, images):
            for number, result in enumerate(engine.run(jobs, images)):
                if number == 10:
                    os.kill(victim, signal.SIGKILL)
                yield result

    report = build(other, {"toy": toy}, KillsOne(), quiet)
    assert (report.rendered, report.failures) == (56, ())
    assert _files(other.root) == _files(workspace.root)


@pytest.mark.thorough
def test_a_case_that_kills_its_worker_takes_no_other_with_it(
    toy, raw, write_case, tmp_path, cluster
):
    for number in range(10, 34):
        write_case(raw, f"m ({number})", seed=number)
    adapter = toy.folder / "adapter.py"
    adapter.write_text(adapter.read_text() + HOOK)
    cluster.scheduler.allowed_failures = 0
    jobs = plan_jobs(toy, raw, list(toy.scan(raw, "flat")))
    results = list(DaskEngine(cluster.scheduler_address, 2).run(jobs, tmp_path / "images"))
    assert sorted(job.case.key for job, _ in results) == sorted(job.case.key for job in jobs)
    codes = {
        job.case.key: [problem.code for problem in rendered.problems] for job, rendered in results
    }
    assert {key: code for key, code in codes.items() if code} == {"m (3)": ["worker-died"]}
    assert all(job.case.key == rendered.case for job, rendered in results)


@pytest.mark.thorough
def test_without_an_address_a_local_cluster_is_started(toy, workspace, quiet):
    report = build(workspace, {"toy": toy}, DaskEngine(None, 2), quiet)
    assert (report.rendered, report.sources[0].failed) == (6, 0)
    assert build(workspace, {"toy": toy}, DaskEngine(None, 2), quiet).rendered == 0


def test_an_address_where_nobody_answers_is_named(toy, workspace, quiet, monkeypatch):
    monkeypatch.setattr("medrcube.build.execution.dask._PATIENCE", 1)
    with pytest.raises(MedrcubeError, match=r"tcp://127\.0\.0\.1:1: no dask scheduler"):
        build(workspace, {"toy": toy}, DaskEngine("tcp://127.0.0.1:1", 2), quiet)
