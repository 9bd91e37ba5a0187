"""What stands in the ranking of a site and of a report, what beside it, and with which marks."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.reporting.data_tables import tables
from medrcube.evaluate.reporting.latex import write_latex
from medrcube.evaluate.reporting.run_settings import comparable_runs
from medrcube.evaluate.reporting.scored_runs import load_runs
from medrcube.evaluate.site.leaderboard import leaderboard_rows, population_text, rows_by_block
from medrcube.evaluate.site.page_names import model_pages
from medrcube.evaluate.site.run_validation import check_run


@pytest.fixture
def entries(mixed):
    runs = load_runs(mixed.runs)
    return leaderboard_rows(runs, model_pages(run.label for run in runs))


def entry_of(entries, label):
    return next(entry for entry in entries if entry.run.label == label)


def page_of(mixed, name):
    return (mixed.out / "models" / f"{name}.html").read_text("utf-8")


def test_cut_replies_are_marked_on_the_leaderboard(mixed, entries):
    entry = entry_of(entries, "test/cut")
    assert entry.run.cut > 1
    assert f"{entry.run.cut} replies cut" in entry.remarks
    assert f"{entry.run.cut} replies cut</span>" in (mixed.out / "index.html").read_text("utf-8")


def test_cut_replies_are_told_above_the_first_number_of_the_page(mixed, entries):
    page = page_of(mixed, entry_of(entries, "test/cut").page[7:-5])
    position = page.index("were cut off at the token limit")
    assert position < page.index("Accuracy of all questions")


def test_an_incomplete_run_has_no_rank_no_group_and_no_interval(mixed, entries):
    entry = entry_of(entries, "test/silent")
    assert entries[-1] is entry
    assert entry.block.startswith("Not ranked")
    assert (entry.letters, entry.run.total["interval"]) == ("", None)
    assert any("5 of 48 have a reply" in remark for remark in entry.remarks)
    ranking, _, below = (mixed.out / "index.html").read_text("utf-8").partition("</table>")
    assert "test/silent" not in ranking
    assert "test/silent" in below


def test_the_page_of_an_incomplete_run_names_no_interval(mixed, entries):
    page = page_of(mixed, entry_of(entries, "test/silent").page[7:-5])
    assert "95 % interval" not in page.partition('id="cells"')[0]
    assert page.index("is incomplete: 43 of 48 questions have no reply") < page.index(
        "Accuracy of all questions"
    )


def test_an_incomplete_run_has_bounds_in_place_of_every_accuracy(mixed, entries):
    entry = entry_of(entries, "test/silent")
    page = page_of(mixed, entry.page[7:-5])
    assert "lies between" in page
    assert "10.4 to 100.0" in page
    assert 'class="dot"' not in page
    board = (mixed.out / "index.html").read_text("utf-8").partition("Not ranked")[2]
    assert "10.4 to 100.0" in board
    rows = {name: rows for name, rows in tables([entry.run]).items() if name in ("runs", "slices")}
    assert {row["accuracy"] for name in rows for row in rows[name]} == {None}
    assert rows["runs"][0]["bounds_low"] == pytest.approx(5 / 48)


def test_an_incomplete_run_changes_no_group_of_the_others(mixed, entries):
    runs = load_runs([run for run in mixed.runs if run.name != "silent"])
    without = leaderboard_rows(runs, model_pages(run.label for run in runs))
    assert [(e.run.label, e.letters) for e in without] == [
        (e.run.label, e.letters) for e in entries[:-1]
    ]


def test_a_sample_is_not_ranked_with_whole_runs(entries):
    assert [len(members) for _, members in rows_by_block(entries)] == [2, 1]
    title, samples = rows_by_block(entries)[0]
    assert title == "Asked a sample of 20 of 48 questions"
    assert [entry.run.label for entry in samples] == ["test/sample", "test/other"]
    assert all(entry.letters for entry in samples)
    assert [e.run.total["n"] for e in entries if not e.block] == [48] * 4


def test_a_report_lists_incomplete_runs_last_without_group_and_interval(mixed, tmp_path):
    *ranked, last = comparable_runs(load_runs(mixed.runs))
    assert [run.label for run in last.runs] == ["test/silent"]
    assert (last.letters, last.runs[0].total["interval"]) == ({}, None)
    assert all("test/silent" not in part.letters for part in ranked)
    write_report(mixed.runs, tmp_path / "x.html")
    text = (tmp_path / "x.html").read_text("utf-8")
    body = text[text.index("Not ranked: more than 5 %") :].partition("</tbody>")[0]
    assert "5 of 48 have a reply" in body
    assert not re.search(r"class=\"range\"", body)


def test_an_incomplete_run_is_refused_with_counts_and_advice(mixed):
    args = ["validate-run", str(mixed.folder / "silent"), "--release", str(mixed.release)]
    outcome = CliRunner().invoke(app, [*args, "--seal"])
    assert outcome.exit_code == 1
    assert "ERROR incomplete: 5 of 48 questions have a reply" in outcome.output
    assert "--again failed" in outcome.output
    assert not (mixed.folder / "silent/digests.json").exists()


def test_a_run_whose_replies_were_cut_may_be_handed_in(mixed):
    run_check = check_run(mixed.folder / "cut", mixed.release)
    assert run_check.problems == []
    assert "conditions: full" in run_check.notes
    assert any(note.startswith("prompt: default ") for note in run_check.notes)


def test_a_site_of_incomplete_runs_alone_has_no_ranking(mixed, tmp_path):
    args = ["site", str(mixed.folder / "silent"), "--release", str(mixed.release)]
    result = CliRunner().invoke(app, [*args, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    page = (tmp_path / "out/index.html").read_text("utf-8")
    assert 'id="board"' not in page
    assert "board.js" not in page


def test_a_copy_of_a_run_is_named_and_counts_as_one_model(mixed, tmp_path):
    copy = shutil.copytree(mixed.folder / "cut", tmp_path / "copy")
    args = ["site", str(mixed.folder / "cut"), str(copy), "--release", str(mixed.release)]
    result = CliRunner().invoke(app, [*args, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert f"{copy} is a copy of" in " ".join(result.output.split())
    assert "<h1>1 model on" in (tmp_path / "out/index.html").read_text("utf-8")


def test_people_are_no_model(mixed):
    runs = load_runs(mixed.runs[:3])
    reviewers = {"reviewers": 3, "items": 48, "answers": 100}
    runs[0] = replace(runs[0], manifest={**runs[0].manifest, "reviewers": reviewers})
    assert population_text(leaderboard_rows(runs, model_pages(run.label for run in runs))) == (
        "2 models and 1 group of reviewers"
    )


def test_a_run_that_was_asked_otherwise_than_the_most_says_so(mixed):
    runs = load_runs(mixed.runs[:3])
    other = {"system": "You are a radiologist.", **runs[0].manifest["model"]}
    runs[0] = replace(runs[0], manifest={**runs[0].manifest, "model": other, "shots": {"count": 5}})
    entries = leaderboard_rows(runs, model_pages(run.label for run in runs))
    settings_by_label = {entry.run.label: entry.differing_settings for entry in entries}
    assert settings_by_label.pop(runs[0].label) == ["system prompt d41fb863", "5 examples"]
    assert set(map(tuple, settings_by_label.values())) == {()}


def asked_by(run, **fields):
    """The run as if its manifest had been begun so."""
    return replace(run, manifest={**run.manifest, **fields})


def with_model(run, **fields):
    return asked_by(run, model={**run.manifest["model"], **fields})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda run: with_model(run, system="You read X-rays."), "system prompt 2fb0e9b9"),
        (lambda run: with_model(run, image_detail="low"), "detail low"),
        (lambda run: asked_by(run, shots={"count": 2, "seed": 0}), "2 examples"),
        (lambda run: asked_by(run, shots={"count": 2, "seed": 7}), "2 examples by seed 7"),
        (lambda run: asked_by(run, pictures={"longest_side": 512}), "images to 512 px"),
        (lambda run: asked_by(run, prompt={"name": "own", "version": "abc"}), "prompt own abc"),
    ],
)
def test_runs_whose_questions_were_put_in_another_way_are_ranked_apart(mixed, change, words):
    able, poor, third = load_runs(mixed.runs[:3])
    runs = [change(able), poor, third]
    entries = {
        entry.run.label: entry
        for entry in leaderboard_rows(runs, model_pages(r.label for r in runs))
    }
    assert entries[able.label].block == f"Asked all 48 questions, {words}"
    assert entries[able.label].letters == ""
    assert {entries[run.label].block for run in (poor, third)} == {""}
    assert all(entries[run.label].letters for run in (poor, third))
    assert [len(part.runs) for part in comparable_runs(runs)] == [1, 2]


def test_people_stand_with_the_runs_of_the_usual_prompt(mixed):
    able, poor, *_ = load_runs(mixed.runs[:3])
    reviewers = {"reviewers": 3, "items": 48, "answers": 100}
    human = asked_by(able, reviewers=reviewers, prompt={"name": "review", "version": "of review"})
    assert [len(part.runs) for part in comparable_runs([human, poor])] == [2]


@pytest.mark.parametrize("command", ["site", "report"])
def test_a_run_given_twice_is_named_and_taken_once(mixed, tmp_path, command):
    run = mixed.folder / "cut"
    out = tmp_path / ("out" if command == "site" else "out.html")
    args = [command, str(run), f"{run}/../cut", "--release", str(mixed.release)]
    result = CliRunner().invoke(app, [*args, "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "was given 2 times and is used once" in " ".join(result.output.split())
    page = (out / "index.html" if command == "site" else out).read_text("utf-8")
    assert "(run 2)" not in page
    assert ("1 model on" if command == "site" else "<h1>test/cut") in page


def test_tables_for_papers_rank_only_what_was_asked_the_same(mixed, tmp_path):
    runs = load_runs(mixed.runs)
    write_latex(runs, tmp_path)
    text = (tmp_path / "leaderboard.tex").read_text("utf-8")
    ranked, *below = text.partition("\\midrule")[2].split("\\midrule")
    assert "test/able" in ranked
    assert "test/sample" not in ranked
    assert "test/silent" not in ranked
    assert ["multicolumn{7}" in block for block in below] == [True, True]
    assert "Asked a sample of 20 of 48 questions" in below[0]
    assert below[0].index("test/sample") < below[0].index("test/other")
    assert "Not ranked: more than 5" in below[1]
    assert "Only models asked the same items in the same way are ranked together" in text
    assert text.count("multicolumn") == 2
    tasks = (tmp_path / "tasks.tex").read_text("utf-8")
    assert tasks.count("Asked a sample of 20") >= 1


def test_tables_as_csv_say_what_a_row_is_ranked_with(mixed):
    rows = tables(load_runs(mixed.runs))["leaderboard"]
    own = [(row["model"], row["ranked_with"]) for row in rows if row["kind"] == "run"]
    assert [name for name, _ in own][-3:] == ["test/sample", "test/other", "test/silent"]
    assert {block for _, block in own[:4]} == {"Asked all 48 questions"}
    assert {block for _, block in own[4:6]} == {"Asked a sample of 20 of 48 questions"}
    assert own[6][1].startswith("Not ranked")
    assert {row["group"] for row in rows if row["kind"] == "published"} == {""}


def test_a_run_that_was_asked_otherwise_is_named_in_the_caption(mixed, tmp_path):
    able, poor, third, *_ = load_runs(mixed.runs)
    prompt = {"name": "own", "version": "abc"}
    other = replace(able, manifest={**able.manifest, "prompt": prompt})
    write_latex([other, poor, third], tmp_path)
    text = (tmp_path / "leaderboard.tex").read_text("utf-8")
    assert f"Asked differently from the others: {able.label} (prompt own abc)." in text
    rows = {row["run"]: row for row in tables([other, poor, third])["runs"]}
    assert rows[able.label]["asked_otherwise"] == "prompt own abc"
    assert rows[poor.label]["asked_otherwise"] == ""
