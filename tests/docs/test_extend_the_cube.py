"""The how-to page, followed to the letter: regions and a modality from outside reach the report."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

PAGE = Path(__file__).parents[2] / "docs/how-to/extend-the-cube.md"
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


def test_items_of_both_sources_name_the_new_words(followed):
    items = pd.read_parquet(followed / "work/items.parquet")
    cells = set(zip(items["anatomy"], items["modality"], strict=True))
    assert cells == {("Eye", "Fundus photograph"), ("Abdomen", "CT")}
    questions = " ".join(items["question"])
    assert "fundus photograph" in questions
    assert "abdominal CT image" in questions


def test_the_release_carries_the_words_that_the_package_lacks(followed):
    added = json.loads((followed / "release/vocabulary.json").read_text(encoding="utf-8"))
    names = {axis: [word["name"] for word in words] for axis, words in added.items()}
    assert names == {"anatomy": ["Abdomen", "Eye"], "modality": ["Fundus photograph"]}


def test_the_report_has_a_panel_and_columns_of_the_new_words(followed):
    report = (followed / "report.html").read_text(encoding="utf-8")
    assert "<caption>Fundus photograph" in report
    assert '<th scope="col">Eye' in report
    assert '<th scope="col">Abdomen' in report


def test_no_block_of_the_page_is_left_out():
    text = PAGE.read_text(encoding="utf-8")
    count = len(re.findall(r"^```\w", text, re.MULTILINE))
    assert len(BLOCK.findall(text)) == count
