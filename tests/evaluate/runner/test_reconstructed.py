"""A run that was begun without restricted pictures goes on once they were reconstructed."""

from __future__ import annotations

import json
import shutil

import pytest

from medrcube.errors import WorkspaceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.reporting.usage_table import run_usage
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.stored_scores import read_results

WITHHELD = "pictures/p3.png"


@pytest.fixture
def tree(tmp_path, row, write_release):
    """A release with four pictures, of which one is restricted and may be taken away."""
    rows = [row(n, image_path=f"pictures/p{n}.png", restricted=n == 3) for n in range(4)]
    root = write_release(tmp_path / "release", rows)
    recipes = [{"image": f"ALPHA/pictures/p{n}.png", "pixel_sha256": f"{n}" * 64} for n in range(4)]
    (root / "recipes.jsonl").write_text("".join(json.dumps(recipe) + "\n" for recipe in recipes))
    return root


@pytest.fixture
def picture(tree, tmp_path):
    """The restricted picture, kept elsewhere; the tree is the public edition."""
    return shutil.move(tree / "ALPHA" / WITHHELD, tmp_path / "kept.png")


def outcomes(run):
    return [result.outcome.value for result in read_results(run)]


def test_the_run_asks_only_about_the_pictures_that_were_missing(
    tree, picture, tmp_path, scripted_model
):
    run = tmp_path / "run"
    first = run_evaluation(load_benchmark(tree), scripted_model(), run, may_send=["ALPHA"])
    assert (first.answered, first.missing) == (3, 1)
    assert outcomes(run)[3] == "missing-image"
    shutil.copy(picture, tree / "ALPHA" / WITHHELD)
    second = run_evaluation(load_benchmark(tree), scripted_model(), run, may_send=["ALPHA"])
    assert (second.reused, second.answered, second.missing) == (3, 1, 0)
    assert outcomes(run)[3] != "missing-image"


def test_public_and_reconstructed_tree_are_one_benchmark(tree, picture):
    public = load_benchmark(tree).digest
    shutil.copy(picture, tree / "ALPHA" / WITHHELD)
    assert load_benchmark(tree).digest == public


def test_another_published_pixel_hash_is_another_benchmark(tree, picture):
    before = load_benchmark(tree).digest
    recipes = (tree / "recipes.jsonl").read_text()
    (tree / "recipes.jsonl").write_text(recipes.replace("3" * 64, "4" * 64))
    assert load_benchmark(tree).digest != before


def test_a_run_never_loses_a_picture_that_it_was_asked_with(tree, tmp_path, scripted_model):
    run = tmp_path / "run"
    run_evaluation(load_benchmark(tree), scripted_model(), run, may_send=["ALPHA"])
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    (tree / "ALPHA" / WITHHELD).unlink()
    with pytest.raises(WorkspaceError, match=r"1 image of the run disappeared .*ALPHA/q003"):
        run_evaluation(load_benchmark(tree), scripted_model(), run, may_send=["ALPHA"])
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def test_a_run_of_which_no_picture_was_there_has_a_report(
    tmp_path, row, write_release, scripted_model
):
    rows = [row(n, restricted=True) for n in range(4)]
    root = write_release(tmp_path / "release", rows, pictures=False)
    summary = run_evaluation(
        load_benchmark(root), scripted_model(), tmp_path / "run", may_send=["ALPHA"]
    )
    assert summary.missing == 4
    write_report([tmp_path / "run"], tmp_path / "report.html", root)
    assert run_usage(tmp_path / "run").minutes == 0
