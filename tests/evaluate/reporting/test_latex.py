"""Tables for papers: every number with its interval, and text of others that LaTeX prints."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.errors import WorkspaceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.reporting.latex import escape, write_latex
from medrcube.evaluate.reporting.scored_runs import load_runs
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.taxonomy import Anatomy, Modality, cube_tasks

HOSTILE = "50 % of $x_1$ & {#}^~ \\input{/etc/passwd} <b>"


@pytest.fixture(scope="module")
def folder(row, write_release, tmp_path_factory):
    """A release ``r`` and two runs of it, made once."""
    root = tmp_path_factory.mktemp("runs")

    def place(n):
        return {
            "task": cube_tasks()[n % 8].release_name,
            "modality": list(Modality)[n % 3].value,
            "parts": list(Anatomy)[n % 5].value,
            "image_path": f"pictures/p{n}.png",
        }

    rows = [row(n, **place(n)) for n in range(240)]
    benchmark = load_benchmark(write_release(root / "r", rows))
    for rule in ("first", "random"):
        run_evaluation(benchmark, open_model(f"baseline/{rule}"), root / rule)
    return root


@pytest.fixture
def runs(folder, tmp_path):
    for path in folder.iterdir():
        shutil.copytree(path, tmp_path / path.name)
    return load_runs([tmp_path / rule for rule in ("first", "random")])


def table_rows(text):
    """Cells of each tabular; fails where a row has other columns than its layout."""
    tables = []
    for layout, body in re.findall(
        r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", text, re.DOTALL
    ):
        lines = [line for line in body.splitlines() if r"\\" in line]
        cells = [re.split(r"(?<!\\)&", line.rpartition(r"\\")[0]) for line in lines]
        assert {len(row) for row in cells} == {len(layout)}
        tables.append([[cell.strip() for cell in row] for row in cells])
    return tables


def test_the_leaderboard_has_every_run_with_its_interval(runs, tmp_path):
    write_latex(runs, tmp_path / "out")
    ((head, *rows),) = table_rows((tmp_path / "out/leaderboard.tex").read_text("utf-8"))
    assert head[:5] == ["Model", "Items", "Units", "Accuracy", r"95\,\% interval"]
    for row in rows:
        run = next(run for run in runs if run.label == row[0])
        low, high = run.total["interval"]
        assert row[3:5] == [
            f"{100 * run.total['accuracy']:.1f}",
            f"{100 * low:.1f} to {100 * high:.1f}",
        ]
    assert sorted(row[0] for row in rows) == ["baseline/first", "baseline/random"]


def test_the_cube_has_every_voxel_once(runs, tmp_path):
    write_latex(runs, tmp_path / "out")
    cells = [cell for n in (1, 2) for t in table_rows((tmp_path / f"out/cube-{n}.tex").read_text())
             for row in t[1:] if row[0] for cell in row[1:] if cell != "--"]  # fmt: skip
    assert len(cells) == sum(len(run.metrics["voxels"]) for run in runs)


def test_small_groups_and_runs_without_replies_are_marked(runs, tmp_path):
    lost = {**runs[0].total, "outcomes": {**runs[0].total["outcomes"], "failed": 100}}
    lost |= {"accuracy": None, "bounds": [0.1, 0.6], "interval": None}
    broken = replace(runs[0], metrics={**runs[0].metrics, "global": lost})
    write_latex([broken, runs[1]], tmp_path / "out")
    text = (tmp_path / "out/leaderboard.tex").read_text("utf-8")
    assert r"baseline/first\textsuperscript{*}" in text
    assert "10.0 to 60.0" in text
    assert "not the accuracy but the bounds" in text
    assert r"\textit{" in (tmp_path / "out/cube-1.tex").read_text("utf-8")


def test_text_of_others_keeps_no_sign_with_a_meaning():
    plain = re.sub(r"\\text\w+\{\}|\\[&%$#_{}]", "", escape(HOSTILE))
    assert not set(plain) & set("\\&%$#_{}~^<>")
    assert "\n" not in escape("a\n\nb")


def test_a_run_of_another_benchmark_is_not_ranked_beside(runs, tmp_path):
    other = {**runs[1].manifest, "dataset": {**runs[1].manifest["dataset"], "digest": "f" * 64}}
    write_latex([runs[0], replace(runs[1], manifest=other)], tmp_path / "out")
    text = (tmp_path / "out/leaderboard.tex").read_text("utf-8")
    assert "Different benchmarks" in text
    assert "Group" not in text


LATEX = shutil.which("pdflatex")


@pytest.mark.skipif(not LATEX, reason="no pdflatex")
def test_latex_sets_all_tables(runs, tmp_path):
    folder = tmp_path / "out"
    write_latex([replace(runs[0], label=HOSTILE), runs[1]], folder)
    process = subprocess.run(
        [LATEX, "-interaction=nonstopmode", "-halt-on-error", "tables.tex"],
        cwd=folder, capture_output=True, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stdout[-1500:]
    assert b"Overfull" not in process.stdout


def export(*text):
    return CliRunner().invoke(app, ["export", *map(str, text)])


def test_the_command_writes_tables_of_several_runs(runs, tmp_path):
    folders = [tmp_path / "first", tmp_path / "random"]
    assert export(*folders, "--to", "latex", "--out", tmp_path / "tex").exit_code == 0
    assert (tmp_path / "tex/tables.tex").is_file()
    assert export(*folders, "--to", "csv", "--out", tmp_path / "csv").exit_code == 0
    rows = (tmp_path / "csv/items.csv").read_text("utf-8").splitlines()
    assert len(rows) == 1 + 2 * 240


def test_what_cannot_be_exported_is_named(runs, tmp_path):
    run, release, out = tmp_path / "first", tmp_path / "r", tmp_path / "out"
    for releases, text in (
        ((release, "--to", "latex"), "is not a run; latex needs"),
        ((run, "--to", "lm-eval"), "is a run; lm-eval needs a release"),
        ((run, release, "--to", "csv"), "r is not a run; expected scored runs only"),
        ((release, release, "--to", "csv"), "export one release at a time"),
        ((run, run, "--to", "inspect"), "is a second run"),
        ((release, "--to", "csv"), "expected a file name ending in .csv"),
    ):
        ran = export(*releases, "--out", out)
        assert isinstance(ran.exception, WorkspaceError), ran.output
        assert text in str(ran.exception)
    assert not out.exists()
