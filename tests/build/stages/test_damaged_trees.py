"""Faults of a raw tree and of the disk: links that lead away, pipes, no room to write."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from PIL import Image

from medrcube.build.incremental.cache_database import BuildCache
from medrcube.build.incremental.kept_scan import keep_scan
from medrcube.build.stages.scan import inspect_tree, scan

SECONDS = 300


def _out_by_link(raw, elsewhere):
    shutil.move(raw / "g (0).png", elsewhere / "secret.png")
    (raw / "g (0).png").symlink_to(elsewhere / "secret.png")


def _out_by_folder(raw, elsewhere):
    shutil.move(raw / "g (0).png", elsewhere / "g (0).png")
    shutil.move(raw / "g (0)_mask.png", elsewhere / "g (0)_mask.png")
    (raw / "copy").symlink_to(elsewhere)


def _out_by_mask(raw, elsewhere):
    shutil.move(raw / "g (0)_mask.png", elsewhere / "secret.png")
    (raw / "g (0)_mask.png").symlink_to("../elsewhere/secret.png")


def _pipe(raw, _elsewhere):
    (raw / "g (0).png").unlink()
    os.mkfifo(raw / "g (0).png")


def _to_nothing(raw, _elsewhere):
    (raw / "g (0).png").unlink()
    (raw / "g (0).png").symlink_to("nothing")


@pytest.mark.parametrize(
    ("harm", "codes"),
    [
        (_out_by_link, {"g (0)": "outside-root"}),
        (
            _out_by_folder,
            {"copy/g (0).png": "outside-root", "copy/g (0)_mask.png": "outside-root"},
        ),
        (_out_by_mask, {"g (0)": "outside-root"}),
        (_pipe, {"g (0)": "outside-root"}),
        (_to_nothing, {"g (0)_mask.png": "unclaimed"}),  # as if the picture were not there
    ],
)
def test_what_leads_out_of_the_raw_root_is_not_read(toy, raw, tmp_path, harm, codes):
    (tmp_path / "elsewhere").mkdir()
    harm(raw, tmp_path / "elsewhere")
    source_scan = scan(toy, raw, b"k" * 32)
    assert {problem.case: problem.code for problem in source_scan.problems} == codes
    assert len(source_scan.cases) == 5
    assert str(tmp_path) not in str(source_scan.problems)


def test_a_link_within_the_raw_root_is_followed(toy, raw):
    (raw / "store").mkdir()
    shutil.move(raw / "g (0).png", raw / "store" / "pixels")
    (raw / "g (0).png").symlink_to("store/pixels")
    source_scan = scan(toy, raw, b"k" * 32)
    assert (len(source_scan.cases), source_scan.problems) == (6, ())


def test_a_table_cannot_lead_out_of_the_raw_root(toy, raw, tmp_path):
    shutil.copy(raw / "g (0).png", tmp_path / "secret.png")
    adapter = toy.folder / "adapter.py"
    way = '"../secret.png"'
    adapter.write_text(
        adapter.read_text()
        + f"\n    yield Case(key='out', images=(ImageRef(paths=(root / {way},)),))\n"
    )
    source_scan = scan(toy, raw, b"k" * 32)
    assert {problem.case: problem.code for problem in source_scan.problems} == {
        "out": "outside-root"
    }


def test_a_link_that_was_replaced_by_its_copy_is_seen(toy, raw, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    _out_by_link(raw, tmp_path / "elsewhere")
    with BuildCache(tmp_path / "cache" / "build.sqlite3") as memory:
        assert keep_scan(toy, inspect_tree(toy, raw), b"k" * 32, memory).head.cases == 5
        (raw / "g (0).png").unlink()
        shutil.copy2(tmp_path / "elsewhere" / "secret.png", raw / "g (0).png")
        assert keep_scan(toy, inspect_tree(toy, raw), b"k" * 32, memory).head.cases == 6


BUILD = """
import resource, sys
from pathlib import Path
from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.console.progress import Reporter
from medrcube.errors import MedrcubeError
from medrcube.sources._framework.contract import load_source
from medrcube.workspace import WorkspaceFolder

root, raw, source = map(Path, sys.argv[1:4])
limit = int(sys.argv[4])
toy = load_source(source)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    build(WorkspaceFolder(root=root, sources={"toy": raw}), {"toy": toy}, LocalEngine(1),
          Reporter(quiet=True))
except MedrcubeError as error:
    sys.exit(f"refused: {error}")
"""


@pytest.mark.thorough
@pytest.mark.untraced  # what is traced is written to that disk too
@pytest.mark.parametrize("limit", [0, 2_000, 12_000, 36_000])
def test_a_build_on_a_full_disk_is_refused_and_goes_on_when_there_is_room(
    workspace, toy, raw, tmp_path, limit
):
    script = tmp_path / "build.py"
    script.write_text(BUILD)

    def run(limit):
        arguments = [sys.executable, script, workspace.root, raw, toy.folder, str(limit)]
        return subprocess.run(
            arguments, capture_output=True, text=True, timeout=SECONDS, check=False
        )

    process = run(limit)
    assert process.returncode == 1
    assert process.stderr.startswith("refused: ")
    for path in workspace.images.rglob("*.png"):
        Image.open(path).load()
    assert not workspace.items.exists()
    assert run(1 << 30).returncode == 0
    assert workspace.items.exists()
    assert not list(workspace.root.rglob("*.partial"))
