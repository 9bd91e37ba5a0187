"""Every fenced block of README.md, CONTRIBUTING.md and docs/ runs here, or says why it does not.

A block of commands or Python that is not run has a line before it:  <!-- not run: REASON -->.
Its medrcube commands are held against the command line all the same. Settings are parsed.
"""

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import jinja2
import pytest
import typer
import yaml
from doc_blocks import PAGES, ROOT, blocks_of

from medrcube.cli.app import app
from medrcube.workspace import open_workspace

BLOCKS = [block for page in PAGES for block in blocks_of(page)]
CODE = ("bash", "sh", "python")
FOLLOWED = (
    "docs/how-to/add-a-model.md",
    "docs/how-to/add-a-source.md",
    "docs/how-to/add-a-task.md",
    "docs/how-to/extend-the-cube.md",
)
"""Pages that a test of their own follows from the first block to the last."""

IN_ORDER = ("docs/tutorial/index.md", "docs/reference/python.md")
"""Pages whose blocks run one after the other in one folder."""

SETTINGS = {"toml", "yaml", "ini", "jinja", "csv"}
OUTPUT = {"", "console", "text"}
_TABLES = {"build", "llm", "ontologies", "review", "sources"}


def path_of(block):
    return block.page.relative_to(ROOT).as_posix()


def of_pages(pages, blocks=BLOCKS):
    return [block for block in blocks if path_of(block) in pages]


def named(blocks):
    return [pytest.param(block, id=block.name) for block in blocks]


ALONE = [
    block
    for block in BLOCKS
    if block.language in CODE and not block.reason and path_of(block) not in (*FOLLOWED, *IN_ORDER)
]


@pytest.fixture(scope="module")
def sandbox(small_demo, tmp_path_factory):
    """A folder with what the guides speak of: ``bench``, ``release``, ``runs``, and raw data."""
    here = tmp_path_factory.mktemp("guide")
    demo = small_demo / "demo"
    shutil.copytree(demo, here / "demo")
    shutil.copytree(demo / "raw/busi", here / "busi")
    shutil.copytree(demo / "release", here / "release")
    shutil.copytree(demo / "runs/random", here / "runs/able")
    shutil.copytree(demo / "runs/first", here / "runs/poor")
    return here


def run(block, here):
    tools = Path(sys.executable).parent
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    shell = ["/bin/bash", "-ec", block.text]
    process = subprocess.run(
        [sys.executable, "-c", block.text] if block.language == "python" else shell,
        cwd=here,
        env={**os.environ, "PATH": path, "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, (
        f"{block.name}\n{block.text}\n{process.stdout}\n{process.stderr}"
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("block", named(ALONE))
def test_a_block_runs_on_the_demo(block, sandbox):
    # The one guide of checksums speaks of the folder of a release.
    run(block, sandbox / "release" if "SHA256SUMS" in block.text else sandbox)


@pytest.mark.thorough
@pytest.mark.untraced
@pytest.mark.parametrize("page", IN_ORDER)
def test_the_blocks_of_a_page_run_one_after_the_other(page, small_demo, tmp_path):
    shutil.copytree(small_demo / "demo/raw/busi", tmp_path / "busi")
    shutil.copytree(small_demo / "demo/raw", tmp_path / "demo/raw")
    (tmp_path / "demo/.medrcube-demo").touch()
    blocks = [block for block in of_pages((page,)) if block.language in CODE and not block.reason]
    assert blocks
    for block in blocks:
        run(block, tmp_path)


def commands_of(text):
    """The medrcube commands of a script, as lists of words."""
    joined = re.sub(r"\\\n\s*", " ", text)
    for line in joined.splitlines():
        words = shlex.split(line, comments=True)
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            del words[0]
        if words[:1] == ["medrcube"]:
            yield words[1:]


COMMANDS = [
    pytest.param(words, id=f"{block.name} {' '.join(words)}")
    for block in BLOCKS
    if block.language in ("bash", "sh")
    for words in commands_of(block.text)
]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_has_the_arguments_and_options_that_the_page_gives_it(words):
    command, words = typer.main.get_command(app), [*words]
    context = click.Context(command, info_name="medrcube")
    while isinstance(command, click.Group):
        name = words.pop(0)
        command = command.get_command(context, name)
        assert command is not None, f"there is no command {name}"
        context = click.Context(command, info_name=name, parent=context)
    command.make_context(command.name, words)


def test_every_code_block_runs_or_says_why_not():
    unknown = {
        block.name: block.language
        for block in BLOCKS
        if block.language not in {*CODE, *SETTINGS, *OUTPUT}
        and not block.language.startswith("{")  # a directive, which the site builds
        and not block.reason
    }
    assert unknown == {}


@pytest.mark.parametrize("block", named(b for b in BLOCKS if b.reason))
def test_a_reason_says_something(block):
    assert len(block.reason.split()) > 2
    assert block.language not in OUTPUT, "only code is run"


@pytest.mark.parametrize("block", named(b for b in BLOCKS if b.language in SETTINGS))
def test_settings_are_sound(block, tmp_path):
    if block.language == "jinja":
        jinja2.Environment(autoescape=True).parse(block.text)
    elif block.language == "yaml":
        assert yaml.safe_load(block.text)
    elif block.language == "ini":
        parser = configparser.ConfigParser(strict=False)
        parser.read_string(block.text)
        assert parser.sections()
    elif block.language == "toml" and tomllib.loads(block.text).keys() <= _TABLES:
        (tmp_path / "medrcube.toml").write_text(block.text, encoding="utf-8")
        assert open_workspace(tmp_path).root == tmp_path


def test_no_block_is_missed():
    for page in PAGES:
        fences = re.findall(r"^ *```", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert len(fences) == 2 * len(blocks_of(page)), page.name
