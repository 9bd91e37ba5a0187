"""The how-to page, followed to the letter: its files are saved and its commands are run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

PAGE = Path(__file__).parents[2] / "docs/how-to/add-a-source.md"
BLOCK = re.compile(
    r"^```(?P<language>\w+)(?: (?P<path>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """The folder after the last step, and what each command wrote."""
    here = tmp_path_factory.mktemp("reader")
    tools = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    outputs = []
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
        outputs.append(process.stdout)
    return here, outputs


@pytest.mark.thorough
@pytest.mark.untraced
def test_the_draft_marks_what_is_left_to_do(followed):
    _, outputs = followed
    marked = set(re.findall(r"(\w+\.\w+):\d+:.*TODO", "".join(outputs)))
    assert marked == {"card.toml", "adapter.py", "fixture.py"}


@pytest.mark.thorough
@pytest.mark.untraced
def test_the_build_of_the_page_asks_what_its_readers_found(followed):
    here, _ = followed
    items = pd.read_parquet(here / "work/items.parquet")
    assert set(items["task"]) == {"Abnormality Diagnosis"}
    assert set(items["options"].map(len)) == {3}
    assert len(pd.read_parquet(here / "work/samples.parquet")) == 24
    assert pd.read_parquet(here / "work/quarantine.parquet").empty


def test_no_block_of_the_page_is_left_out():
    text = PAGE.read_text(encoding="utf-8")
    count = len(re.findall(r"^```\w", text, re.MULTILINE))
    assert len(BLOCK.findall(text)) == count
