"""Chains in the report, its tables and a comparison."""

from __future__ import annotations

import re

import pytest
from chain_items import chain_rows

from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.models.protocol import Reply
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.reporting.data_tables import tables
from medrcube.evaluate.reporting.scored_runs import load_runs
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.statistics.comparison.compare_runs import compare_two

IMAGES = [f"p{n}" for n in range(12)]


class Reader:
    """Is right on the images of which it is told; counts tokens with or without the history."""

    takes_history = True

    def __init__(self, name, right, *, drops=False):
        self.name = f"test/{name}"
        self.identity = {"adapter": "reader/1", "name": self.name}
        self.right = right
        self.drops = drops

    async def answer(self, request):
        image = request.item.partition("/")[2].partition("-")[0]
        images = 1 if self.drops else 1 + len(request.history)
        return Reply(
            text="A" if image in self.right else "B",
            finish_reason="stop",
            usage={"prompt_tokens": 100 * images, "completion_tokens": 1, "total_tokens": 1},
            model="m",
            latency=0.0,
        )

    async def close(self):
        """Nothing to close."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory, row, write_release):
    from medrcube.evaluate.dataset import load_benchmark  # noqa: PLC0415

    root = tmp_path_factory.mktemp("chains")
    benchmark = load_benchmark(write_release(root / "release", chain_rows(row, *IMAGES)))
    conditions = (Condition.FULL, Condition.CHAIN)
    readers = {
        "good": Reader("good", IMAGES[:9]),
        "poor": Reader("poor", IMAGES[:3]),
        "deaf": Reader("deaf", IMAGES[:6], drops=True),
    }
    for name, reader in readers.items():
        run_evaluation(benchmark, reader, root / name, conditions=conditions)
    return {name: root / name for name in readers}


def panel_of(page):
    text = page.read_text()
    panel = text[text.index('<h2 id="chains">') : text.index('<h2 id="outcomes">')]
    return " ".join(re.sub(r"<[^>]*>", " ", panel).split())


def test_the_report_shows_whole_chains_and_each_step(runs, tmp_path):
    write_report([runs["good"]], tmp_path / "r.html")
    panel = panel_of(tmp_path / "r.html")
    assert "test/good 75.0" in panel
    assert "later steps: 75.0 % right in the conversation, 75.0 % of the same" in panel
    assert "ROI Grounding 75.0" in panel
    assert "seems not to reach" not in panel


def test_the_report_warns_of_a_history_that_does_not_arrive(runs, tmp_path):
    write_report([runs["good"], runs["deaf"]], tmp_path / "r.html")
    panel = panel_of(tmp_path / "r.html")
    assert "test/deaf: the conversation seems not to reach the model." in panel
    assert "24 of 24 later steps" in panel
    assert "test/good: the conversation" not in panel


def test_a_report_without_chains_has_no_such_part(benchmark, tmp_path, scripted_model):
    run_evaluation(benchmark, scripted_model(), tmp_path / "run")
    write_report([tmp_path / "run"], tmp_path / "r.html")
    assert 'id="chains"' not in (tmp_path / "r.html").read_text()


def test_the_tables_hold_the_chains_and_their_steps(runs):
    rows = tables(load_runs([runs["poor"]]))["chains"]
    assert [(row["axis"], row["name"]) for row in rows[:4]] == [
        ("chain", "all"),
        ("step", "1"),
        ("step", "2"),
        ("step", "3"),
    ]
    assert (rows[0]["accuracy"], rows[0]["depth_mean"]) == (0.25, 0.75)
    assert rows[3]["after_right_n"] == 3


def test_two_runs_are_compared_chain_by_chain(runs):
    compared = compare_two(runs["good"], runs["poor"])
    row = compared["chains"]
    assert (row["n"], row["first"], row["second"], row["only_first"]) == (12, 0.75, 0.25, 6)
    assert row["verdict"] == "first"
    assert any("more whole chains right" in sentence for sentence in compared["conclusions"])
    assert compared["condition"] == "full"
