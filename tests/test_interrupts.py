"""Ctrl-C during every command that may run long: one line, status 130, nothing half written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.untraced

# As a terminal does it: the whole group of processes hears it, so many seconds after the imports.
CHILD = """
import os, signal, sys
from medrcube.cli.app import main
signal.signal(signal.SIGALRM, lambda *_: os.killpg(0, signal.SIGINT))
signal.setitimer(signal.ITIMER_REAL, float(sys.argv.pop(1)))
main()
"""
DELAYS = (0.05, 0.5)
"""Seconds; a fast machine may have ended by the last."""

COMMANDS = {
    "demo": ("demo", "{new}", "--only", "busi", "--workers", "2"),
    "build": ("build", "{new}", "--source", "busi={raw}", "--workers", "2"),
    "release": ("release", "{work}", "{new}", "--name", "v1", "--allow-unreviewed"),
    "validate": ("validate", "{release}"),
    "reconstruct": ("reconstruct", "{release}", "--source", "busi={raw}"),
    "evaluate": ("evaluate", "{release}", "--model", "baseline/random", "--out", "{new}"),
    "score": ("score", "{run}"),
    "report": ("report", "{run}", "--out", "{new}.html", "--release", "{release}"),
    "compare": ("compare", "{run}", "{other}", "{run}"),
    "site": ("site", "{run}", "{other}", "--release", "{release}", "--out", "{new}"),
    "validate-run": ("validate-run", "{run}", "--release", "{release}"),
    "export": ("export", "{release}", "--to", "vlmevalkit", "--private", "--out", "{new}"),
    "sources validate": ("sources", "validate", "busi", "{raw}"),
    "sources check": ("sources", "check", "busi"),
    "review import": ("review", "import", "{work}"),
}
WITHOUT_OBJECT = {"demo", "export"}
"""Commands that have no --json."""


def medrcube(*arguments, delay=60.0):
    # Not the database of the tests of the queue.
    own = {
        name: value for name, value in os.environ.items() if not name.startswith("MEDRCUBE_REVIEW")
    }
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(delay), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
        timeout=300,
        env={**own, "PYTHONWARNINGS": "ignore"},
    )


@pytest.fixture(scope="module")
def places_of_demo(tmp_path_factory):
    """A raw tree, a workspace, a release and two runs of one source."""
    folder = tmp_path_factory.mktemp("made")
    names = ("raw", "work", "release", "run", "other")
    places = SimpleNamespace(**{name: folder / name for name in names})
    for arguments in (
        ("sources", "fixture", "busi", places.raw),
        ("build", places.work, "--source", f"busi={places.raw}", "--workers", "1"),
        ("release", places.work, places.release, "--name", "v1", "--allow-unreviewed"),
        ("reconstruct", places.release, "--source", f"busi={places.raw}"),
        *(
            ("evaluate", places.release, "--model", f"baseline/{rule}", "--out", place)
            for rule, place in (("first", places.run), ("random", places.other))
        ),
    ):
        process = medrcube(*arguments)
        assert process.returncode == 0, process.stderr
    return places


def rubbish(folder):
    return [path for path in folder.rglob("*") if ".partial" in path.name or path.suffix == ".tmp"]


@pytest.mark.thorough
@pytest.mark.parametrize("name", COMMANDS)
def test_an_interrupt_ends_in_one_line_and_leaves_nothing_half_written(
    places_of_demo, tmp_path, name
):
    places = SimpleNamespace(new=tmp_path / "new")
    for own, place in vars(places_of_demo).items():
        setattr(places, own, tmp_path / own)
        shutil.copytree(place, tmp_path / own, symlinks=True)
    arguments = [part.format(**vars(places)) for part in COMMANDS[name]]
    programs = [] if name in WITHOUT_OBJECT else ["--json"]
    ends = []
    for delay in DELAYS:
        process = medrcube(*arguments, *programs, delay=delay)
        ends.append(process.returncode)
        if process.returncode != 130:
            break
        assert "Traceback" not in process.stderr
        last = process.stderr.rstrip().splitlines()
        assert last[-1] == "stopped; run the same command again to resume"
        assert process.stderr.count("stopped") == 1
        assert not programs or json.loads(process.stdout)["interrupted"] is True
        assert rubbish(tmp_path) == []
    assert ends[0] == 130, process.stderr
    again = medrcube(*arguments)
    assert again.returncode == 0, again.stderr
    assert rubbish(tmp_path) == []


def test_an_interrupt_during_the_imports_is_one_line_too():
    code = "import os, signal, sys\nfrom medrcube.__main__ import main\n"
    code += "class Late:\n    def find_spec(self, name, *_):\n"
    code += "        if name == 'typer': os.kill(os.getpid(), signal.SIGINT)\n"
    code += "sys.meta_path.insert(0, Late())\nmain()\n"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (process.returncode, process.stderr.strip()) == (
        130,
        "stopped; run the same command again to resume",
    )
