"""``medrcube validate``: one screen, three exit statuses."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.errors import ReleaseError

KEYS = {
    "release", "name", "valid", "private", "proofs", "format", "items", "pictures", "restricted",
    "withdrawn", "without_picture", "findings", "unchecked", "contracts",
}  # fmt: skip


def call(*arguments):
    return CliRunner().invoke(app, ["validate", *map(str, arguments)])


def test_a_valid_release_exits_with_0(public):
    result = call(public)
    assert result.exit_code == 0
    assert "release x, public" in result.stdout
    assert "VALID: no errors, no warnings" in result.stdout


def test_a_private_release_says_that_it_must_not_be_shared(edition):
    assert "PRIVATE: this tree must not be shared" in call(edition(private=True)).stdout


def test_a_fault_exits_with_1_and_says_what_and_where_and_what_to_do(public, edit):
    edit(public, lambda rows: rows[0].update(task="Report Generation"))
    result = call(public)
    assert result.exit_code == 1
    assert "ERROR task (1): unknown task" in result.stdout
    assert "TOY/test.json item 0: task: 'Report Generation'" in result.stdout
    assert "do: use the published spelling" in result.stdout
    assert "NOT VALID" in result.stdout


def test_many_kinds_of_faults_fit_on_one_screen(public, edit):
    def change(rows):
        return [{"id": None, "task": "?", "parts": "?", "modality": "?", "image_path": "/x"}] * 50

    edit(public, change)
    for name in ("audit.json", "licences.csv", "items.parquet"):
        (public / name).write_bytes(b"\xff")
    lines = call(public).stdout.splitlines()
    assert len(lines) <= 40
    assert any("more kinds of faults; medrcube -v shows all" in line for line in lines)


def test_programs_get_everything(public):
    result = call(public, "--json")
    summary = json.loads(result.stdout)
    assert set(summary) == KEYS
    assert summary["valid"]


@pytest.mark.thorough
def test_great_expectations_agree_where_they_are_asked(public):
    pytest.importorskip("great_expectations", reason="needs the extra 'validate'")
    assert call(public, "--with-gx").exit_code == 0


def test_what_is_no_release_is_a_wrong_use(tmp_path):
    error = call(tmp_path).exception
    assert isinstance(error, ReleaseError)
    assert error.exit_code == 2


ALONE = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0].lower() in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

ABSENT = set(sys.argv[2:])
sys.meta_path.insert(0, Absent())
from medrcube.cli.app import app
app(["validate", sys.argv[1], "--workers", "1"])
"""


@pytest.mark.thorough
def test_a_release_is_checked_with_the_packages_of_evaluate_alone(public):
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    names = {
        extra: {name.partition(">")[0].partition("[")[0].lower() for name in extras[extra]}
        for extra in ("build", "evaluate")
    }
    absent = names["build"] - names["evaluate"]
    assert "deflate" in absent
    process = subprocess.run(
        [sys.executable, "-c", ALONE, str(public), *absent],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert "VALID: no errors" in process.stdout
