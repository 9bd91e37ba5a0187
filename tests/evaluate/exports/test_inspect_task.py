"""``inspect eval`` runs a release, from the installed package and from an exported folder.

``MEDRCUBE_INSPECT_PYTHON`` names a Python with inspect_ai, openai, jinja2 and typer; the package
is built and installed into a folder of the test.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.exports.export import write_export
from medrcube.evaluate.exports.selection import select_exportable
from medrcube.evaluate.imports.import_run import import_run

PYTHON = os.environ.get("MEDRCUBE_INSPECT_PYTHON", "")
GIT = shutil.which("git") or "git"
ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.skipif(
    not PYTHON, reason="MEDRCUBE_INSPECT_PYTHON names no Python with inspect_ai"
)

REPLIES = ("A", "The answer is **B**.", "I cannot tell.", "A", "(A)", "Answer: B")
"""To keys A, B, C, D, A, B: four are right."""


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """A folder with the package as a wheel installs it."""
    folder = tmp_path_factory.mktemp("inspect")
    where = folder / "site-packages"
    source = folder / "source"
    listing = subprocess.run(
        [GIT, "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in filter(None, listing.split("\0")):
        if not name.startswith(("tests/", "docs/", "benchmarks/")) and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    arguments = ["install", "--quiet", "--no-deps", "--target", str(where), str(source)]
    subprocess.run([PYTHON, "-m", "pip", *arguments], check=True)
    return where


@pytest.fixture
def release(load, row):
    benchmark = load(*(row(n) for n in range(6)), row(6, image_path="pictures/gone.png"))
    (benchmark.root / "ALPHA/pictures/gone.png").unlink()
    return load_benchmark(benchmark.root)


@pytest.fixture
def ask(server, completion, prompt_of, tmp_path, installed):
    """``ask(*arguments)`` runs ``inspect eval`` and gives its output and its log."""

    def reply(_number, body):
        number = int(re.search(r"picture (\d+) show", prompt_of(body)).group(1))
        return completion(REPLIES[number])

    def run(*arguments, packages=installed):
        server.behave = reply
        logs = tmp_path / "logs"
        command = [str(Path(PYTHON).with_name("inspect")), "eval", *map(str, arguments)]
        options = ["--model", "openai-api/stub/m", "--log-dir", str(logs), "--display", "plain"]
        process = subprocess.run(
            [*command, *options], capture_output=True, text=True, check=False, cwd=tmp_path,
            env={
                **os.environ, "PYTHONPATH": str(packages), "STUB_BASE_URL": server.url,
                "STUB_API_KEY": "none",
            },
        )  # fmt: skip
        assert process.returncode == 0, process.stdout[-3000:] + process.stderr[-3000:]
        (log,) = logs.glob("*.eval")
        return process.stdout + process.stderr, log

    return run


@pytest.mark.parametrize("form", ["package", "folder"])
def test_inspect_asks_the_pictures_and_gives_our_accuracy(release, ask, server, tmp_path, form):
    if form == "package":
        reply, log = ask("medrcube/benchmark", "-T", f"release={release.root}")
        assert "left out 1 item (ALPHA 1): their images are not in this release" in reply
    else:
        write_export(select_exportable(release, private=False), tmp_path / "out", "inspect")
        reply, log = ask("out/medrcube_task.py", packages=tmp_path / "no-medrcube")
    assert re.search(r"accuracy\D+0\.667", reply), reply
    back = import_run(log, release, tmp_path / "run")
    assert (back.tool, back.replies, back.metrics["global"]["correct"]) == ("inspect", 6, 4)
    images = {
        base64.b64decode(part["image_url"]["url"].partition(",")[2])
        for body in server.requests
        for part in body["messages"][0]["content"]
        if part["type"] == "image_url"
    }
    pictures = release.root / "ALPHA/pictures"
    assert images == {(pictures / f"p{n}.png").read_bytes() for n in range(3)}


def test_pictures_under_contract_stay_here_unless_leave_is_given(load, row, tmp_path, installed):
    root = load(row(0), row(1, dataset="SECRET", restricted=True, image_path="pictures/s.png")).root
    script = (
        "import json, sys\n"
        "from inspect_ai.model import get_model\n"
        "import medrcube.evaluate.exports.inspect_task as ours\n"
        "class Model:\n"
        "    def __init__(self, url): self.api = type('Api', (), {'base_url': url})\n"
        "    def __str__(self): return 'openai-api/x/m'\n"
        "counts = []\n"
        "for url, leave in ((None, ''), (None, 'secret'), ('http://127.0.0.1:9/v1', '')):\n"
        "    ours.get_model = lambda: Model(url)\n"
        "    counts.append(len(ours.benchmark(sys.argv[1], leave).dataset))\n"
        "print(json.dumps(counts))\n"
    )
    process = subprocess.run(
        [PYTHON, "-c", script, str(root)], capture_output=True, text=True, check=False,
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(installed)},
    )  # fmt: skip
    assert process.returncode == 0, process.stderr[-2000:]
    assert json.loads(process.stdout) == [1, 2, 2]
    assert "left out 1 item (SECRET 1): an agreement keeps their images" in process.stderr
