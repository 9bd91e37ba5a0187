"""The how-to page, followed to the letter: a task from outside the package reaches the report."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

PAGE = Path(__file__).parents[2] / "docs/how-to/add-a-task.md"
BLOCK = re.compile(
    r"^```(?P<language>\w+)(?: (?P<path>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """The folder after the last step."""
    here = tmp_path_factory.mktemp("reader")
    tools = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    for block in BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
        if block["path"]:
            target = here / block["path"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block["text"], encoding="utf-8")
            continue
        assert block["language"] == "bash", block["text"]
        process = subprocess.run(
            ["/bin/bash", "-ec", block["text"]],
            cwd=here,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, f"{block['text']}\n{process.stdout}\n{process.stderr}"
    return here


def test_the_items_are_of_the_new_task(followed):
    items = pd.read_parquet(followed / "work/items.parquet")
    assert set(items["task"]) == {"Density Assessment"}
    assert all("breast densit" in question for question in items["question"])


def test_the_release_carries_the_declaration(followed):
    added = json.loads((followed / "release/vocabulary.json").read_text(encoding="utf-8"))
    assert [task["name"] for task in added["task"]] == ["Density Assessment"]


def test_the_report_shows_the_new_task(followed):
    assert "Density Assessment" in (followed / "report.html").read_text(encoding="utf-8")


def test_a_task_with_a_rule_reaches_a_release_and_a_score(followed):
    rows = json.loads((followed / "boxes-release/BUS-BRA/open.json").read_text(encoding="utf-8"))
    own = [row for row in rows if row["task"] == "Lesion Box"]
    assert len(own) > 20
    assert {row["form"] for row in own} == {"box"}
    metrics = json.loads((followed / "boxes-run/metrics.json").read_text(encoding="utf-8"))
    assert metrics["forms"]["box"]["n"] == len(own)
    assert "Answers without options" in (followed / "boxes.html").read_text(encoding="utf-8")


def test_every_key_of_a_declaration_stands_on_the_page(followed):
    del followed
    text = PAGE.read_text(encoding="utf-8")
    draft = (Path(__file__).parents[2] / "templates/cards/scaffold_task.toml.j2").read_text("utf-8")
    keys = set(re.findall(r"^(\w+) =", draft, re.MULTILINE))
    assert [key for key in sorted(keys) if key not in text] == []
