"""The page on adding a model, followed to the letter, and the two on running one."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs/how-to"
BLOCK = re.compile(
    r"^```(?P<language>\w+)(?: (?P<path>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
QUESTION = """\
[{"id": "q0", "dataset": "A", "image_path": "pictures/p.png", "question": "What is shown?",
"option_A": "Normal", "option_B": "Mass", "gt_answer": "Mass", "correct_index": 1,
"task": "Disease Diagnosis", "modality": "X-ray", "parts": "Chest", "original_task": "x",
"restricted": false}]
"""
OPEN_QUESTION = """\
[{"id": "q1", "dataset": "A", "image_path": "pictures/p.png", "question": "Where is the mass?",
"form": "point", "ask": {}, "truth": {"size": [1, 1], "region": {"mask": {"size": [1, 1],
"counts": [0, 1]}}, "margin": 0}, "chance": 0.5, "task": "Disease Diagnosis", "modality": "X-ray",
"parts": "Chest", "original_task": "x", "restricted": true}]
"""
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010800000000"
    "3a7e9b550000000a49444154789c6368000000820081775fad040000000049454e44ae426082"
)


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """The folder after the last step, and what each command wrote."""
    here = tmp_path_factory.mktemp("reader")
    (here / "release/A/pictures").mkdir(parents=True)
    (here / "release/A/test.json").write_text(QUESTION, encoding="utf-8")
    (here / "release/A/open.json").write_text(OPEN_QUESTION, encoding="utf-8")
    (here / "release/A/pictures/p.png").write_bytes(PIXEL)
    tools = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(here),
    }
    outputs = []
    for block in BLOCK.finditer((PAGES / "add-a-model.md").read_text(encoding="utf-8")):
        if block["path"]:
            (here / block["path"]).write_text(block["text"], encoding="utf-8")
            continue
        assert block["language"] == "bash", block["text"]
        if block["text"] == "pip install .\n":
            install(here)
            continue
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


def install(here):
    """What pip leaves behind, without a network: the entry points of the package."""
    project = tomllib.loads((here / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    record = here / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    record.mkdir()
    name = f"Name: {project['name']}\nVersion: {project['version']}\n"
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\n{name}", encoding="utf-8")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in points.items())]
    (record / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.thorough
@pytest.mark.untraced
def test_the_page_makes_a_model_that_runs(followed):
    here, outputs = followed
    assert "1 passed" in outputs[0]
    assert '"lab/brightness"' in (here / "runs/brightness/manifest.json").read_text()
    assert (here / "runs/brightness/results.jsonl").read_text().count("\n") == 2
    assert "not-asked" not in (here / "runs/brightness/outcomes.jsonl").read_text()
    compared = subprocess.run(
        [Path(sys.executable).parent / "medrcube", "compare", "runs/brightness", "runs/random"],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
    )
    assert compared.returncode == 0, compared.stderr
    assert "lab/brightness" in (here / "report.html").read_text()


def test_no_block_of_the_page_is_left_out():
    text = (PAGES / "add-a-model.md").read_text(encoding="utf-8")
    assert len(BLOCK.findall(text)) == len(re.findall(r"^```\w", text, re.MULTILINE))


@pytest.mark.parametrize("page", ["evaluate-a-local-model.md", "evaluate-on-a-cluster.md"])
def test_every_option_that_a_page_gives_to_medrcube_exists(page):
    text = (PAGES / page).read_text(encoding="utf-8")
    tools = Path(sys.executable).parent
    help_text = subprocess.run(
        [tools / "medrcube", "evaluate", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "200"},
    ).stdout
    commands = re.findall(r"medrcube evaluate (?:[^\n\\]|\\\n)*", text)
    assert commands
    named = {option for command in commands for option in re.findall(r"--[a-z-]+", command)}
    if page.startswith("evaluate-a-local"):
        named |= set(re.findall(r"^\| `(--[a-z-]+)", text, re.MULTILINE))
    assert named
    assert all(option in help_text for option in named), named


def test_the_script_for_slurm_is_sound_shell():
    text = (PAGES / "evaluate-on-a-cluster.md").read_text(encoding="utf-8")
    scripts = [block["text"] for block in BLOCK.finditer(text) if block["language"] == "bash"]
    assert any("#SBATCH" in script for script in scripts)
    for script in scripts:
        subprocess.run(["/bin/bash", "-n"], input=script, text=True, check=True)
