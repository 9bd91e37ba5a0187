"""What the check of a run that is handed in finds."""

from __future__ import annotations

import hashlib
import json
import re
import shutil

import pytest
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.evaluate.runner.completeness import list_problems
from medrcube.evaluate.scoring import score
from medrcube.evaluate.site.run_digests import write_digests
from medrcube.evaluate.site.run_validation import check_run


@pytest.fixture
def run(demo_site, tmp_path):
    """A run of its own to be spoiled."""
    return shutil.copytree(demo_site.runs[1], tmp_path / "run")


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def put(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def forge(run, change):
    """Change outcomes, and put their digest where the scores say it."""
    rows = lines(run / "outcomes.jsonl")
    change(rows)
    put(run / "outcomes.jsonl", rows)
    metrics = json.loads((run / "metrics.json").read_text())
    metrics["outcomes_sha256"] = hashlib.sha256((run / "outcomes.jsonl").read_bytes()).hexdigest()
    (run / "metrics.json").write_text(json.dumps(metrics))


def test_a_whole_run_is_valid_and_sealed(demo_site, run):
    args = ["validate-run", str(run), "--release", str(demo_site.release)]
    first = CliRunner().invoke(app, [*args, "--seal"])
    assert first.exit_code == 0, first.output
    assert "VALID: test/able, 48 items" in first.output
    again = CliRunner().invoke(app, [*args, "--json"])
    assert again.exit_code == 0
    assert json.loads(again.stdout)["problems"] == []


@pytest.mark.parametrize("name", ["attempts.jsonl", "metrics.json", "asked.jsonl"])
def test_a_missing_file_is_named(demo_site, run, name):
    (run / name).unlink()
    assert [name in problem for problem in check_run(run, demo_site.release).problems] == [True]


def test_a_forged_outcome_is_found(demo_site, run):
    def change(rows):
        wrong = next(row for row in rows if row["outcome"] != "correct")
        wrong["outcome"] = "correct"

    forge(run, change)
    problems = check_run(run, demo_site.release).problems
    assert any("1 outcomes do not follow from the replies" in problem for problem in problems)


def test_a_forged_accuracy_is_found(demo_site, run):
    metrics = json.loads((run / "metrics.json").read_text())
    metrics["global"]["accuracy"] = 1.0
    (run / "metrics.json").write_text(json.dumps(metrics))
    (problem,) = check_run(run, demo_site.release).problems
    assert "global do not follow from the outcomes" in problem


def without_wrong_answers(run):
    """Take every question that was answered wrong out of every list, and score the rest."""
    rows = lines(run / "outcomes.jsonl")
    gone = {row["item"] for row in rows if row["outcome"] != "correct"}
    assert gone
    for name in ("items.jsonl", "asked.jsonl", "attempts.jsonl"):
        remaining = [
            row
            for row in lines(run / name)
            if (row["item"] if "item" in row else f"{row['dataset']}/{row['id']}") not in gone
        ]
        put(run / name, remaining)
    score(run)
    return gone


def test_wrong_answers_that_were_taken_out_are_missed(demo_site, run):
    gone = without_wrong_answers(run)
    problems = check_run(run, demo_site.release).problems
    expected = f"items.jsonl: holds {48 - len(gone)} items, and the run asks 48"
    assert [expected in problem for problem in problems] == [True]
    scored = CliRunner().invoke(app, ["score", str(run)])
    assert scored.exit_code == 3
    assert expected in scored.output


def test_a_limit_that_was_put_in_does_not_explain_the_gap(demo_site, run):
    gone = without_wrong_answers(run)
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "limit": 48 - len(gone)}))
    (problem,) = check_run(run, demo_site.release).problems
    assert f"not what limit {48 - len(gone)} draws from the release" in problem


def test_fewer_items_of_the_release_do_not_explain_the_gap(demo_site, run):
    gone = without_wrong_answers(run)
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["dataset"]["items"] = 48 - len(gone)
    (run / "manifest.json").write_text(json.dumps(manifest))
    (problem,) = check_run(run, demo_site.release).problems
    assert problem.endswith("its release has 48")


def test_a_question_that_is_only_taken_off_the_list_of_the_asked_is_missed(demo_site, run):
    put(run / "asked.jsonl", lines(run / "asked.jsonl")[1:])
    score(run)
    (problem,) = check_run(run, demo_site.release).problems
    assert problem.startswith("asked.jsonl: lacks 1 question")


@pytest.mark.parametrize("number", [3, 5])
def test_samples_and_runs_without_most_replies_lack_no_question(mixed, number):
    assert list_problems(mixed.runs[number]) == []


def edit(path, change):
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("metrics_summary.json", lambda f: f["global"].update(correct=48, acc=1.0), "global do"),
        ("metrics_summary.json", lambda f: f.update(more=1), "more do"),
        ("results.json", lambda f: f[3].update(correct=not f[3]["correct"]), "1 row, such as of"),
        ("results.json", lambda f: f.pop(), "the rows (expected 48)"),
        ("metrics.json", lambda f: f["upstream"]["global"].update(accuracy=1.0), "upstream do"),
        ("metrics.json", lambda f: f["strict"].update(accuracy=1.0), "strict do"),
        ("metrics.json", lambda f: f.update(contrasts={"image_gain": 1}), "contrasts do"),
    ],
)
def test_every_file_of_scores_follows_from_the_replies(demo_site, run, name, change, expected):
    edit(run / name, change)
    (problem,) = check_run(run, demo_site.release).problems
    assert problem.startswith(f"{name}: {expected}")


def test_rows_of_results_follow_from_the_replies(demo_site, run):
    rows = lines(run / "results.jsonl")
    put(run / "results.jsonl", [{**rows[0], "outcome": "refused"}, *rows[1:]])
    (problem,) = check_run(run, demo_site.release).problems
    assert problem.startswith(f"results.jsonl: 1 row, such as of {rows[0]['id']}")


def test_missing_replies_are_no_wrong_answers_in_the_published_files(mixed):
    silent = mixed.folder / "silent"
    rows = json.loads((silent / "results.json").read_text())
    assert {row["correct"] for row in rows if not row["model_response"]} == {None}
    metrics_summary = json.loads((silent / "metrics_summary.json").read_text())
    right = sum(bool(row["correct"]) for row in rows)
    assert metrics_summary["global"] == {
        "n": 48,
        "correct": right,
        "acc": None,
        "bounds": [right / 48, pytest.approx((right + 43) / 48)],
    }
    assert {g["acc"] for g in metrics_summary["slice_results"]["by_task"].values()} == {None}


def test_items_of_another_release_are_named(demo_site, run, tmp_path, row, write_release):
    rows = [row(n, question="Another?") for n in range(40)]
    problems = check_run(run, write_release(tmp_path / "other", rows)).problems
    assert any("8 items are not in the release" in problem for problem in problems)
    assert any("40 items differ" in problem for problem in problems)


def test_a_change_after_the_seal_is_named(demo_site, run):
    write_digests(run)
    assert check_run(run, demo_site.release).problems == []
    (run / "results.jsonl").write_text("{}\n")
    (run / "more.txt").write_text("more")
    problems = check_run(run, demo_site.release).problems
    assert [re.split(r"[: ]", p)[0] for p in problems] == ["results.jsonl", "more.txt"]


def test_a_link_out_of_the_folder_is_refused(demo_site, run, tmp_path):
    (tmp_path / "secret").write_text("secret")
    (run / "note.txt").symlink_to(tmp_path / "secret")
    (problem,) = check_run(run, demo_site.release).problems
    assert problem.startswith("note.txt is not a plain file")


@pytest.mark.parametrize(
    "manifest", ["[]", "{}", '{"model": 3}', '{"dataset": {}, "model": {"name": ""}}', "\x00"]
)
def test_a_manifest_of_another_form_is_a_problem_and_no_crash(demo_site, run, manifest):
    (run / "manifest.json").write_text(manifest)
    assert check_run(run, demo_site.release).problems


def test_a_part_of_the_items_is_noted(demo_site, run, tmp_path, row, write_release):
    bigger = shutil.copytree(demo_site.release, tmp_path / "bigger")
    write_release(bigger, [row(n, dataset="BETA") for n in range(2)])
    run_check = check_run(run, bigger)
    assert run_check.problems == []
    assert any("asked 48 of 50 items" in note for note in run_check.notes)
