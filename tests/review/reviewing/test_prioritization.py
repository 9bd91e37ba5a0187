import json

import pytest

from medrcube.errors import WorkspaceError
from medrcube.review.reviewing.prioritization import (
    BLIND,
    CONFLICT,
    RARE,
    WARNED,
    ItemSummary,
    ModelDoubts,
    doubts_from_runs,
    priorities,
)


@pytest.fixture
def run(tmp_path):
    """A folder of a run: ``run("a", "openai/x", item1="wrong")``."""

    def make(name, model, **outcomes):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "manifest.json").write_text(json.dumps({"model": {"name": model}}))
        lines = [
            json.dumps({"id": item, "outcome": outcome}) + "\n"
            for item, outcome in outcomes.items()
        ]
        (folder / "results.jsonl").write_text("".join(lines))
        return folder

    return make


def test_each_weight_outweighs_all_lesser_ones_together():
    weights = (CONFLICT, BLIND, WARNED, RARE)
    assert all(weight > sum(weights[rank + 1 :]) for rank, weight in enumerate(weights))


def test_an_item_is_in_conflict_when_most_models_that_answered_chose_otherwise(run):
    runs = [
        run("a", "openai/a", x="wrong", y="wrong", z="wrong", w="correct"),
        run("b", "openai/b", x="wrong", y="correct", z="failed", w="correct"),
        run("c", "openai/c", x="correct", y="refused", z="truncated", w="correct"),
    ]
    doubts = doubts_from_runs(runs)
    assert (doubts.conflict, doubts.blind) == ({"x", "z"}, set())


def test_an_item_is_blind_when_every_run_without_pictures_found_the_key(run):
    runs = [run("a", "baseline/longest", x="correct", y="correct", z="missing-image")]
    blind = [run("b", "openai/b", x="correct", y="wrong")]
    doubts = doubts_from_runs(runs, blind)
    assert (doubts.blind, doubts.conflict) == ({"x"}, set())


def test_a_baseline_never_contradicts_a_key(run):
    assert doubts_from_runs([run("a", "baseline/random", x="wrong")]).conflict == set()


def test_a_folder_that_is_no_run_is_named(tmp_path, run):
    with pytest.raises(WorkspaceError, match="is not a run"):
        doubts_from_runs([tmp_path / "nothing"])
    folder = run("a", "openai/a")
    (folder / "results.jsonl").write_text("[1]\n")
    with pytest.raises(WorkspaceError, match="medrcube score"):
        doubts_from_runs([folder])


def test_conflicts_come_before_blind_items_before_warned_ones_before_rare_ones():
    rows = [
        ItemSummary(item=name, stratum=stratum, warnings=warnings, fingerprint="", case_key="")
        for name, stratum, warnings in [
            *[(f"plain{number}", "common", 1) for number in range(9)],
            *[("conflict", "common", 0), ("blind", "common", 0), ("warned", "common", 2)],
            ("rare", "rare", 0),
        ]
    ]
    doubts = ModelDoubts(conflict=frozenset({"conflict"}), blind=frozenset({"blind"}))
    priority_of = priorities(rows, doubts)
    assert (priority_of["conflict"], priority_of["blind"]) == (CONFLICT, BLIND)
    assert (priority_of["warned"], priority_of["rare"], priority_of["plain0"]) == (WARNED, RARE, 0)
    assert CONFLICT > BLIND > WARNED > RARE > 0


def test_a_stratum_of_half_the_even_share_is_not_rare():
    rows = [
        ItemSummary(item=str(number), stratum=stratum, warnings=0, fingerprint="", case_key="")
        for number, stratum in enumerate("aaab")
    ]
    assert priorities(rows, ModelDoubts(conflict=frozenset(), blind=frozenset()))["3"] == 0
    assert priorities((), ModelDoubts(conflict=frozenset(), blind=frozenset())) == {}


@pytest.mark.parametrize(("few", "rare"), [(1, True), (2, True), (3, False)])
def test_a_stratum_is_rare_below_half_of_the_even_share(few, rare):
    strata = "a" * (10 - few) + "b" * few
    rows = [
        ItemSummary(item=str(number), stratum=stratum, warnings=0, fingerprint="", case_key="")
        for number, stratum in enumerate(strata)
    ]
    priority_of = priorities(rows, ModelDoubts(conflict=frozenset(), blind=frozenset()))
    assert priority_of["9"] == (RARE if rare else 0)
    assert priority_of["0"] == 0
