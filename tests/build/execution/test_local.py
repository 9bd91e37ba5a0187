import os
import subprocess
import sys

import pytest

from medrcube.build.execution.local import LocalEngine
from medrcube.build.execution.progress import usable_cores
from medrcube.build.stages.plan import plan_jobs

HOOK = """

def read(image):
    import os, signal
    from medrcube.build import readers
    if "(3)" in image.paths[0].name:
        os.kill(os.getpid(), signal.SIGKILL)
    return readers.read(image)
"""

CRASH = """

def read(image):
    raise ZeroDivisionError("CANARY")
"""


def _jobs(toy, raw):
    return plan_jobs(toy, raw, list(toy.scan(raw, "flat")))


@pytest.mark.thorough
def test_a_worker_that_dies_takes_only_its_own_case(toy, raw, tmp_path):
    adapter = toy.folder / "adapter.py"
    adapter.write_text(adapter.read_text() + HOOK)
    results = {
        job.case.key: rendered for job, rendered in LocalEngine(2).run(_jobs(toy, raw), tmp_path)
    }
    assert len(results) == 6
    dead = {key for key, rendered in results.items() if rendered.problems}
    assert dead == {"m (3)"}
    assert results["m (3)"].problems[0].code == "worker-died"
    assert all(rendered.pictures for key, rendered in results.items() if key not in dead)


@pytest.mark.few(1)
@pytest.mark.parametrize("workers", [1, 2])
def test_an_unexpected_error_becomes_a_problem_without_its_text(toy, raw, tmp_path, workers):
    """The text of a foreign exception may quote a header, so it is not kept."""
    adapter = toy.folder / "adapter.py"
    adapter.write_text(adapter.read_text() + CRASH)
    for _, rendered in LocalEngine(workers).run(_jobs(toy, raw)[:3], tmp_path):
        (problem,) = rendered.problems
        assert problem.code == "crashed"
        assert "ZeroDivisionError" in problem.message
        assert "CANARY" not in problem.message


def test_the_command_loads_nothing_before_it_runs():
    """Workers of a build import the program that started them."""
    script = "import sys, medrcube.__main__; print('medrcube.cli.app' in sys.modules)"
    process = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    )
    assert process.stdout == "False\n"


def test_usable_cores_is_what_this_process_may_use():
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)
