"""Withdrawn items count nowhere: not in scores, reports, comparisons, sites or exports."""

from __future__ import annotations

import json

import pytest
from open_items import FORMS, RIGHT, open_row, write_open
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.errors import ReleaseError, WorkspaceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.exports.selection import select_exportable
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.site.run_validation import check_run
from medrcube.evaluate.site.write import write_site
from medrcube.evaluate.statistics.comparison.compare_many_runs import compare_many
from medrcube.evaluate.statistics.comparison.compare_runs import compare_two
from medrcube.evaluate.stored_scores import read_metrics, read_results
from medrcube.release_format.errata import FILE, Erratum, errata_text

GONE = "ALPHA/q001"


@pytest.fixture
def run(release, tmp_path):
    return make_run(release, tmp_path / "run")


def make_run(release, folder, rule="first"):
    model = open_model(f"baseline/{rule}", ModelSettings())
    run_evaluation(load_benchmark(release), model, folder)
    return folder


def withdraw(release, *names):
    rows = [
        Erratum(dataset="ALPHA", id=name[6:], by="maintainer", on="2026-01-01", why="wrong key")
        for name in names or (GONE,)
    ]
    (release / FILE).write_text(errata_text(rows), encoding="utf-8")


def invoke(*words, expect=0):
    ran = CliRunner().invoke(app, [*map(str, words)])
    assert ran.exit_code == expect, (ran.output, ran.exception)
    return ran.output


def names(run):
    return [result.item.name for result in read_results(run)]


def test_a_run_that_is_scored_with_the_release_leaves_them_out(release, run):
    before = read_metrics(run)
    withdraw(release)
    outcome = invoke("score", run, "--release", release)
    after = read_metrics(run)
    assert (before["global"]["n"], after["global"]["n"]) == (8, 7)
    assert (after["withdrawn"], GONE in names(run)) == ([GONE], False)
    assert outcome.index("left out: 1 item") < outcome.index("wrote")


@pytest.fixture
def open_release(release):
    """The release with two items of each form without options."""
    return write_open(release, [open_row(form, n) for n in range(2) for form in FORMS])


@pytest.mark.parametrize("form", FORMS)
def test_an_open_item_that_is_withdrawn_counts_nowhere(open_release, tmp_path, form):
    run = make_run(open_release, tmp_path / "run")
    before = read_metrics(run)
    assert before["forms"][form]["n"] == 2
    withdraw(open_release, f"ALPHA/{form}-0")
    invoke("score", run, "--release", open_release)
    after = read_metrics(run)
    assert after["withdrawn"] == [f"ALPHA/{form}-0"]
    assert {name: row["n"] for name, row in after["forms"].items()} == {
        name: row["n"] - (name == form) for name, row in before["forms"].items()
    }
    assert f"ALPHA/{form}-0" not in names(run)
    assert f"ALPHA/{form}-1" in names(run)


def test_a_score_follows_an_open_item_that_is_withdrawn(release, tmp_path):
    other = {"value": 90.0, "low": 80.0, "high": 99.0}
    write_open(release, [open_row("number"), open_row("number", 1, truth=other)])
    rows = [{"id": f"number-{n}", "text": RIGHT["number"]} for n in range(2)]
    rows += [{"id": f"q{n:03}", "text": "A"} for n in range(8)]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    scored = ("score", "--replies", tmp_path / "r.jsonl", "--release", release, "--json")

    def figures():
        return json.loads(invoke(*scored))["metrics"]["forms"]["number"]

    assert (figures()["n"], figures()["accuracy"]) == (2, 0.5)
    withdraw(release, "ALPHA/number-1")
    assert (figures()["n"], figures()["accuracy"]) == (1, 1.0)


def test_no_reply_is_lost_and_a_row_that_is_taken_back_counts_again(release, run):
    before = (run / "metrics.json").read_bytes(), (run / "attempts.jsonl").read_bytes()
    withdraw(release)
    invoke("score", run, "--release", release)
    assert (run / "attempts.jsonl").read_bytes() == before[1]
    (release / FILE).unlink()
    invoke("score", run, "--release", release)
    assert (run / "metrics.json").read_bytes() == before[0]


def test_they_are_not_asked_and_the_benchmark_stays_the_same(release, tmp_path):
    digest = load_benchmark(release).digest
    withdraw(release)
    benchmark = load_benchmark(release)
    assert (benchmark.digest, len(benchmark.items), len(benchmark.standing)) == (digest, 8, 7)
    model = open_model("baseline/first", ModelSettings())
    conditions = [Condition.FULL, Condition.CIRCULAR]
    summary = run_evaluation(benchmark, model, tmp_path / "run", conditions=conditions)
    assert summary.left_out == {"withdrawn": 1}
    assert GONE not in (tmp_path / "run/attempts.jsonl").read_text()


def test_a_run_goes_on_after_an_item_was_withdrawn(release, run):
    withdraw(release)
    model = open_model("baseline/first", ModelSettings())
    summary = run_evaluation(load_benchmark(release), model, run)
    assert (summary.reused, summary.answered) == (7, 0)
    assert read_metrics(run)["global"]["n"] == 7


def test_a_report_says_so_above_its_first_number(release, run, tmp_path):
    withdraw(release)
    invoke("score", run, "--release", release)
    write_report([run], tmp_path / "r.html", release)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.index("1 item withdrawn by the errata") < page.index("Accuracy of all questions")


@pytest.mark.parametrize("with_release", [True, False])
def test_a_report_never_shows_a_number_of_before(release, run, tmp_path, with_release):
    withdraw(release)
    newer = make_run(release, tmp_path / "newer", "longest")
    runs, image_release = ([run], release) if with_release else ([newer, run], None)
    with pytest.raises(WorkspaceError, match=r"run: items differ .*ALPHA/q001.* medrcube score"):
        write_report(runs, tmp_path / "r.html", image_release)
    assert not (tmp_path / "r.html").exists()


def test_two_runs_are_compared_without_what_either_leaves_out(release, run, tmp_path):
    withdraw(release)
    newer = make_run(release, tmp_path / "newer", "longest")
    comparison = compare_two(run, newer)
    assert (comparison["items"]["common"], comparison["items"]["withdrawn"]) == (7, 1)
    assert comparison["items"]["only_one"] == 0
    assert compare_many([run, newer, newer])["items"]["withdrawn"] == 1
    outcome = invoke("compare", run, newer)
    assert outcome.index("1 item withdrawn") < outcome.index("A %")


def test_an_export_leaves_them_out_and_says_so(release):
    withdraw(release)
    selection = select_exportable(load_benchmark(release), private=False)
    assert GONE not in {item.name for item in selection.items}
    assert "left out 1 item (ALPHA 1): withdrawn by the errata" in selection.left_out()[0]


def test_tables_for_a_paper_say_so_in_every_caption(release, run, tmp_path):
    withdraw(release)
    invoke("score", run, "--release", release)
    outcome = invoke("export", run, "--to", "latex", "--out", tmp_path / "tex")
    assert outcome.index("withdrawn by errata") < outcome.index("wrote")
    assert "1 item that its release has withdrawn" in (tmp_path / "tex/leaderboard.tex").read_text()


def test_a_site_leaves_them_out_and_refuses_a_run_of_before(release, run, tmp_path):
    withdraw(release)
    with pytest.raises(WorkspaceError, match="medrcube score"):
        write_site([run], release, tmp_path / "site")
    invoke("score", run, "--release", release)
    site = write_site([run], release, tmp_path / "site")
    page = site.index.read_text(encoding="utf-8")
    assert site.items == 7
    assert page.index("1 item of the release, withdrawn") < page.index("Table of models")
    data = "".join(path.read_text() for path in (tmp_path / "site/data").glob("*.js"))
    assert GONE not in data


def test_a_run_that_is_handed_in_must_know_them(release, run):
    withdraw(release)
    assert any("ALPHA/q001" in problem for problem in check_run(run, release).problems)
    invoke("score", run, "--release", release)
    run_check = check_run(run, release)
    assert not run_check.problems
    assert not any("sample" in note for note in run_check.notes)


def test_replies_from_elsewhere_are_scored_without_them(release, tmp_path):
    withdraw(release)
    rows = [{"id": f"q{n:03}", "text": "A"} for n in range(8)]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    outcome = invoke("score", "--replies", tmp_path / "r.jsonl", "--release", release)
    assert "left out: 1 item withdrawn by errata: ALPHA/q001" in outcome
    assert "7 replies to 7 items" in outcome


def test_the_list_of_another_release_is_refused(release, run, tmp_path, row, write_release):
    other = write_release(tmp_path / "other", [row(9)])
    ran = CliRunner().invoke(app, ["score", str(run), "--release", str(other)])
    assert isinstance(ran.exception, WorkspaceError)
    assert not (run / FILE).exists()


def test_a_list_that_names_no_item_of_the_release_is_refused(release):
    withdraw(release, "ALPHA/q999")
    with pytest.raises(ReleaseError, match=r"ALPHA/q999' is not an item"):
        load_benchmark(release)


def test_the_commands_write_and_list_it(release):
    data = json.loads(
        invoke("errata", "add", release, "q001", "ALPHA/q002", "--why", "Wrong key.", "--json")
    )
    assert [row["id"] for row in data["added"]] == ["q001", "q002"]
    assert "q001 is already withdrawn" in invoke("errata", "add", release, "q001", "--why", "x")
    assert "2 items withdrawn" in invoke("errata", "list", release)
    ran = CliRunner().invoke(app, ["errata", "add", str(release), "q9", "--why", "x"])
    assert "q9 is not in this release" in str(ran.exception)


@pytest.mark.few(1)
@pytest.mark.parametrize("command", ["compare", "csv", "latex", "report"])
def test_commands_over_runs_look_at_the_errata_of_the_release(release, run, tmp_path, command):
    runs = (run, make_run(release, tmp_path / "other", "longest"))
    words = {
        "compare": ("compare", *runs),
        "report": ("report", *runs, "--out", tmp_path / "page.html"),
    }.get(command, ("export", *runs, "--to", command, "--out", tmp_path / "out"))
    withdraw(release)
    assert "errata of the release were not checked" in invoke(*words)
    ran = CliRunner().invoke(app, [*map(str, words), "--release", str(release)])
    assert "items differ from the errata" in str(ran.exception)
    for entry in runs:
        invoke("score", entry, "--release", release)
    assert "not checked" not in invoke(*words, "--release", release)


def test_scoring_with_a_copy_that_lacks_its_errata_is_said(release, run):
    withdraw(release)
    invoke("score", run, "--release", release)
    (release / FILE).unlink()
    outcome = invoke("score", run, "--release", release)
    assert f"1 item that the run left out, such as {GONE}; they count again" in outcome
