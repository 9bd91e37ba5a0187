import json

import pytest

from medrcube.console import Reporter
from medrcube.demo import BASELINES, run_demo
from medrcube.errors import MedrcubeError

QUIET = Reporter(quiet=True)
ONLY = ("camus", "mmwhs", "vindr-mammo")


def test_the_demo_builds_evaluates_and_reports_and_can_be_repeated(tmp_path):
    page = run_demo(tmp_path / "demo", QUIET, only=ONLY, workers=1)
    first = {path: path.read_bytes() for path in (tmp_path / "demo" / "release").rglob("*.json")}
    assert page.read_text(encoding="utf-8").count("baseline/") >= len(BASELINES)
    metrics = json.loads((tmp_path / "demo/runs/random/metrics.json").read_text())
    assert metrics["global"]["n"] > 50
    assert set(metrics["contrasts"]) == {"image_gain", "image_swap", "position"}
    assert run_demo(tmp_path / "demo", QUIET, only=ONLY, workers=1) == page
    assert all(
        path.read_bytes() == data for path, data in first.items() if path.name == "test.json"
    )


def test_the_demo_never_touches_a_folder_of_somebody_else(tmp_path):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(MedrcubeError, match="holds something else"):
        run_demo(tmp_path, QUIET, only=ONLY)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_unknown_source_is_named(tmp_path):
    with pytest.raises(MedrcubeError, match="did you mean 'busi'"):
        run_demo(tmp_path / "demo", QUIET, only=["bussi"])
