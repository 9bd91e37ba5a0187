"""Whoever counts the samples of a tree comes to one number: upstream's evaluator, ours, this check.

Upstream's evaluator knows the tables of the cube alone; ours and the check count ``open.json`` too.
Upstream's rule, in our own words: every folder below the tree that holds a ``test.json`` counts.
Of its items those are passed over that lack an id, a question or an answer, that have no field of
an option, or whose picture is named and not there.
"""

import json
from dataclasses import replace

import pytest

from medrcube.build.execution.local import LocalEngine
from medrcube.build.reconstruction.reconstruct import reconstruct
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.sources._framework.contract import load_source

OPTIONS = ("option_A", "option_B", "option_C", "option_D")


def upstream_count(tree):
    count = 0
    for table in tree.rglob("test.json"):
        for item in json.loads(table.read_text(encoding="utf-8")):
            complete = all(item.get(name) for name in ("id", "question", "gt_answer"))
            optional = any(name in item for name in OPTIONS)
            image = item.get("image_path")
            there = not image or (table.parent / image).exists()
            count += complete and optional and there
    return count


@pytest.fixture
def our_count(tmp_path):
    """Items that a model is asked; those without a picture are not passed over but on record.

    ``our_count(tree)`` counts all items, ``our_count(tree, beyond=False)`` those of the cube.
    """

    def run(tree, *, beyond=True):
        benchmark = load_benchmark(tree)
        if not beyond:
            cube = tuple(item for item in benchmark.items if not item.is_open)
            benchmark = replace(benchmark, items=cube)
        out = tmp_path / f"run-{tree.name}-{beyond}"
        summary = run_evaluation(benchmark, open_model("baseline/first"), out)
        return summary.answered, summary.missing

    return run


@pytest.mark.thorough
def test_the_three_counts_agree_on_public_private_and_reconstructed_trees(
    edition, toy, raw, check, quiet, our_count
):
    public, private, remade = edition("public"), edition("private", private=True), edition("r")
    sources = {"toy": load_source(toy.folder)}
    assert reconstruct(remade, {"toy": raw}, sources, LocalEngine(1), quiet).short == 0
    counts = {}
    for tree in (public, private, remade):
        validation, (item_count, missing) = check(tree), our_count(tree)
        assert not validation.findings
        assert (item_count + missing, missing) == (validation.items, validation.without_picture)
        cube = our_count(tree, beyond=False)[0]
        assert upstream_count(tree) == cube < item_count
        counts[tree.name] = item_count, cube
    assert counts["private"] == counts["r"]
    for public, private in zip(counts["public"], counts["private"], strict=True):
        assert 0 < public < private


def test_a_picture_that_is_lost_is_passed_over_there_and_on_record_here(edition, our_count):
    tree = edition("private", private=True)
    before, all_before = upstream_count(tree), len(load_benchmark(tree).items)
    (tree / "TOY/pictures/0a/g_0.png").unlink()
    item_count, missing = our_count(tree, beyond=False)
    assert upstream_count(tree) == item_count < before
    assert item_count + missing == before
    all_asked, all_missing = our_count(tree)
    assert all_missing > missing
    assert all_asked + all_missing == all_before
