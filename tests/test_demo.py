import json
import subprocess
import sys
from collections import Counter

import pandas as pd
import pytest

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.console.progress import Reporter
from medrcube.demo import BASELINES, run_demo
from medrcube.errors import MedrcubeError
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task
from medrcube.workspace import init_workspace, open_workspace

QUIET = Reporter(quiet=True)
ONLY = ("camus", "mmwhs", "vindr-mammo")
LEAST = 5
"""Items of each task and of each source that show what its questions look like."""


def test_the_demo_builds_evaluates_and_reports(small_demo):
    demo = small_demo / "demo"
    page = (demo / "report.html").read_text(encoding="utf-8")
    assert page.count("baseline/") >= len(BASELINES)
    metrics = json.loads((demo / "runs/random/metrics.json").read_text())
    assert metrics["global"]["n"] > 20
    assert set(metrics["contrasts"]) == {"image_gain", "image_swap", "position"}


@pytest.mark.parametrize(
    "name", ["README.md", "LICENSE.md", "croissant.json", "audit.html", "../report.html"]
)
def test_what_is_made_from_the_demo_says_that_its_images_are_synthetic(small_demo, name):
    text = (small_demo / "demo" / "release" / name).read_text(encoding="utf-8")
    assert "ynthetic" in text
    assert "in the layout of the" in " ".join(text.split())


def test_a_demo_is_synthetic_until_a_source_of_a_user_is_added(small_demo, tmp_path):
    demo = open_workspace(small_demo / "demo")
    assert demo.is_synthetic
    assert not demo.with_sources({"camus": tmp_path}).is_synthetic
    assert not init_workspace(tmp_path / "own").is_synthetic


def test_the_report_says_what_its_questions_ask_for(small_demo):
    page = (small_demo / "demo" / "report.html").read_text(encoding="utf-8")
    purpose = (
        "multiple-choice questions and questions that are answered without options (point, box)"
    )
    assert f"This measures answers to {purpose}, each about one image" in page


@pytest.mark.thorough
@pytest.mark.untraced
@pytest.mark.parametrize(
    ("column", "names"), [("task", list(map(str, Task))), ("source", sorted(find_sources()))]
)
def test_the_demo_has_some_items_of_every_task_and_every_source(whole_demo, column, names):
    tables = [whole_demo / "demo" / f"{name}.parquet" for name in ("items", "open_items")]
    counts = Counter(pd.concat([pd.read_parquet(table)[column] for table in tables]))
    assert {name: counts[name] for name in names if counts[name] < LEAST} == {}


@pytest.mark.thorough
def test_a_demo_can_be_repeated(tmp_path):
    page = run_demo(tmp_path / "demo", QUIET, only=ONLY, workers=1)
    first = {path: path.read_bytes() for path in (tmp_path / "demo" / "release").rglob("*.json")}
    assert run_demo(tmp_path / "demo", QUIET, only=ONLY, workers=1) == page
    assert all(
        path.read_bytes() == data for path, data in first.items() if path.name == "test.json"
    )


@pytest.mark.thorough
def test_a_demo_is_a_workspace_that_the_other_commands_open(tmp_path):
    demo = tmp_path / "demo"
    for name in ("busi", "camus"):
        run_demo(demo, QUIET, only=[name], workers=1)
    moved = demo.rename(tmp_path / "moved")
    again = build(open_workspace(moved), find_sources(), LocalEngine(1), QUIET)
    assert ({entry.source for entry in again.sources}, again.failures) == ({"busi", "camus"}, ())


def test_the_demo_never_touches_a_folder_of_somebody_else(tmp_path):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(MedrcubeError, match="contains other files"):
        run_demo(tmp_path, QUIET, only=ONLY)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_unknown_source_is_named(tmp_path):
    with pytest.raises(MedrcubeError, match="did you mean 'busi'"):
        run_demo(tmp_path / "demo", QUIET, only=["bussi"])


@pytest.mark.thorough
def test_nobody_but_the_owner_may_write_in_a_demo_whatever_the_umask(tmp_path):
    demo = tmp_path / "demo"
    command = [sys.executable, "-m", "medrcube", "demo", demo, "--only", "camus", "--workers", "1"]
    process = subprocess.run(command, umask=0, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    paths = [demo, *demo.rglob("*")]
    assert demo / "release" in paths
    assert [path for path in paths if not path.is_symlink() and path.stat().st_mode & 0o022] == []
