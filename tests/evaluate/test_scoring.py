"""Outcomes and metrics: what was lost stays apart from what was wrong."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from medrcube.errors import WorkspaceError
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.questions.conditions import Condition, Presentation
from medrcube.evaluate.reply_outcomes import score_reply
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.runner.run_folder import AskedQuestion
from medrcube.evaluate.scoring import score
from medrcube.evaluate.statistics.metrics import group_metrics, metrics
from medrcube.evaluate.stored_scores import read_metrics


@pytest.fixture
def item(benchmark):
    return benchmark.items[1]  # key B


def question_of(item, digest, key):
    presentation = Presentation(item=item, condition=Condition.FULL, image=item.image)
    return AskedQuestion(presentation=presentation, subject=digest, image_sha256=digest, key=key)


def reply(text, reason="stop"):
    return {"text": text, "finish_reason": reason}


@pytest.mark.parametrize(
    ("record", "outcome", "answer"),
    [
        (reply("B"), AnswerOutcome.CORRECT, "B"),
        (reply("C"), AnswerOutcome.WRONG, "C"),
        (reply("A or B"), AnswerOutcome.UNPARSED, None),
        (reply("E"), AnswerOutcome.UNPARSED, None),
        (reply("I'm sorry, I can't assist with that."), AnswerOutcome.REFUSED, None),
        (reply("", "content_filter"), AnswerOutcome.REFUSED, None),
        (reply("I will not say B", "refusal"), AnswerOutcome.REFUSED, None),
        (reply("The answer is B", "length"), AnswerOutcome.CUT, None),
        (reply("The answer is B. The picture", "length"), AnswerOutcome.CORRECT, "B"),
        (reply("<think>The answer is B"), AnswerOutcome.CUT, None),
        (reply(""), AnswerOutcome.UNPARSED, None),
        (reply("", "tool_calls"), AnswerOutcome.UNPARSED, None),
        (None, AnswerOutcome.FAILED, None),
    ],
)
def test_a_reply_has_exactly_one_outcome(item, record, outcome, answer):
    result = score_reply(question_of(item, "0", "k"), record)
    assert (result.outcome, result.answer) == (outcome, answer)


@pytest.mark.parametrize(
    "text",
    [
        "**Answer: B**\n\nExplanation: the opacity",
        "The answer is B. The opacity is",
        "\\boxed{B} because of",
        "<think>A or C?</think>The answer is B. It",
        "B\n\nThe picture shows",
    ],
)
def test_a_cut_reply_that_had_answered_is_read_and_marked(item, text):
    result = score_reply(question_of(item, "0", "k"), reply(text, "length"))
    assert (result.outcome, result.answer, result.cut) == (AnswerOutcome.CORRECT, "B", True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "B",
        "A",
        "A chest X-ray",
        "The answer is",
        "The answer is B",
        "The answer is A chest",
        "A. Normal: the lungs would be clear, but",
        "B. Mass: this is",
        "Let me see.\nA. Normal: no.\nB. Mass: the opacity is round",
        "It could be B",
        "<think>The answer is B. The opacity",
    ],
)
def test_a_cut_reply_that_was_on_its_way_gives_no_letter(item, text):
    result = score_reply(question_of(item, "0", "k"), reply(text, "length"))
    assert (result.outcome, result.answer, result.cut) == (AnswerOutcome.CUT, None, True)


def test_a_question_that_was_not_sent_is_not_asked_and_no_failure(item):
    assert score_reply(question_of(item, "0", "k"), None).outcome is AnswerOutcome.FAILED
    assert (
        score_reply(question_of(item, "0", "k"), None, tried=False).outcome
        is AnswerOutcome.NOT_ASKED
    )


def test_an_item_without_picture_is_no_wrong_answer(item):
    result = score_reply(question_of(item, None, None), reply("B"))
    assert result.outcome is AnswerOutcome.MISSING_IMAGE


@pytest.fixture
def results(load, row):
    rows = [
        row(0, task="Modality Recognition"),
        row(1, task="View Recognition"),
        row(2, task="Abnormity Diagnosis", modality="CT", parts="Lungs"),
        row(3, option_A=None, option_B=None, correct_index=3),
        row(4),
    ]
    texts = ["A", "B", "A", None, "B"]
    return [
        score_reply(question_of(item, "0", "k"), reply(text) if text is not None else None)
        for item, text in zip(load(*rows).items, texts, strict=True)
    ]


def test_failures_are_counted_both_ways(results):
    group = group_metrics(results)
    assert (group["n"], group["correct"], group["accuracy"]) == (5, 2, 0.4)
    assert group["accuracy_without_failures"] == 0.5
    assert group["accuracy_answered"] == 0.5
    assert list(group["bounds"]) == [0.4, 0.6]
    assert group["outcomes"]["failed"] == 1


def test_chance_knows_the_number_of_options(results):
    assert metrics(results)["global"]["chance"] == pytest.approx((4 * 0.25 + 0.5) / 5)


def test_outcomes_of_all_slices_add_up(results):
    summary = metrics(results)
    for axis in ("task", "level", "modality", "parts", "dataset"):
        assert sum(group["n"] for group in summary["slices"][axis].values()) == 5
    assert sum(voxel["n"] for voxel in summary["voxels"]) == 5


def test_published_margins_leave_out_views_and_protocols(results):
    slices = metrics(results)["slices"]
    assert slices["modality"]["X-ray"]["n"] == 4
    assert slices["modality_as_published"]["X-ray"]["n"] == 3


def test_small_voxels_are_marked_and_the_macro_mean_weighs_voxels_alike(results):
    summary = metrics([result for result in results if result.reply is not None])
    assert all(voxel["small"] for voxel in summary["voxels"])
    accuracies = [voxel["accuracy"] for voxel in summary["voxels"]]
    assert summary["macro"]["accuracy"] == pytest.approx(sum(accuracies) / len(accuracies))
    assert summary["macro"]["accuracy_not_small"] is None


def test_no_items_give_no_accuracy_rather_than_zero():
    group = metrics([])["global"]
    assert (group["n"], group["accuracy"], group["interval"]) == (0, None, None)


@pytest.fixture
def run(benchmark, tmp_path):
    (benchmark.root / "ALPHA/pictures/p3.png").unlink()
    run_evaluation(benchmark, open_model("baseline/first"), tmp_path / "run")
    return tmp_path / "run"


def test_scoring_again_gives_the_same_bytes_without_a_model(run):
    names = ("results.jsonl", "metrics.json", "results.json", "metrics_summary.json")
    before = {name: (run / name).read_bytes() for name in names}
    for name in names:
        (run / name).unlink()
    score(run)
    assert {name: (run / name).read_bytes() for name in names} == before


SCORES = ("outcomes.jsonl", "results.jsonl", "metrics.json", "results.json", "metrics_summary.json")


@pytest.mark.parametrize("writes", range(len(SCORES)))
def test_a_disk_that_is_full_leaves_all_scores_as_they_were(run, monkeypatch, writes):
    before = {name: (run / name).read_bytes() for name in SCORES}
    log = (run / "attempts.jsonl").read_text()
    (run / "attempts.jsonl").write_text(log.replace('"text":"A"', '"text":"B"'))
    paths, opened = [], Path.open

    def full(path, mode="r", *rest, **how):
        if mode == "wb":
            if len(paths) == writes:
                raise OSError(errno.ENOSPC, "No space left on device")
            paths.append(path)
        return opened(path, mode, *rest, **how)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(WorkspaceError, match="No space left"):
        score(run)
    assert {name: (run / name).read_bytes() for name in SCORES} == before
    assert not list(run.glob("*.partial"))


@pytest.mark.parametrize("renames", range(1, len(SCORES)))
def test_scores_that_a_kill_left_half_old_are_refused_until_scored_again(run, monkeypatch, renames):
    log = (run / "attempts.jsonl").read_text()
    (run / "attempts.jsonl").write_text(log.replace('"text":"A"', '"text":"B"'))
    renamed, replace = [], os.replace

    def killed(path, target):
        if len(renamed) == renames:
            raise KeyboardInterrupt
        renamed.append(Path(target).name)
        return replace(path, target)

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        score(run)
    monkeypatch.undo()
    if "outcomes.jsonl" in renamed:
        with pytest.raises(WorkspaceError, match="of different scorings"):
            read_metrics(run)
    else:
        assert read_metrics(run)["global"]["correct"] == 2
    score(run)
    assert read_metrics(run)["rules"]["bare-letter"] == 6


def test_a_result_row_has_the_agreed_columns(run):
    row = json.loads((run / "results.jsonl").read_text().splitlines()[0])
    assert list(row) == [
        "id", "dataset", "task", "modality", "parts", "image_path", "outcome", "answer", "rule",
        "reply",
    ]  # fmt: skip
    assert row["image_path"] == "ALPHA/pictures/p0.png"


def test_upstreams_files_have_upstreams_form(run):
    records = json.loads((run / "results.json").read_text())
    summary = json.loads((run / "metrics_summary.json").read_text())
    assert len(records) == 6
    assert records[0]["correct"] is True
    assert {"id", "image_path", "option_A", "gt_answer", "model_response"} <= set(records[0])
    assert list(summary) == ["global", "slice_results", "voxel_results"]
    assert list(summary["slice_results"]) == ["by_task", "by_modality", "by_parts", "by_dataset"]
    assert summary["voxel_results"]["by_task_modality_parts"] == {
        "task=Disease Diagnosis|modality=X-ray|parts=Chest": {
            "n": 6, "correct": 2, "acc": None, "bounds": [0.25, 0.5],
        }
    }  # fmt: skip


def test_upstreams_files_of_a_whole_run_have_upstreams_keys_alone(load, row, tmp_path):
    benchmark = load(*(row(number) for number in range(4)))
    run_evaluation(benchmark, open_model("baseline/first"), tmp_path / "run")
    summary = json.loads((tmp_path / "run/metrics_summary.json").read_text())
    assert summary["global"] == {"n": 4, "correct": 1, "acc": 0.25}


def test_upstreams_files_spell_a_task_as_the_release_does(load, row, tmp_path):
    benchmark = load(row(0, task="Abnormality Diagnosis"))
    run_evaluation(benchmark, open_model("baseline/first"), tmp_path / "run")
    summary = json.loads((tmp_path / "run/metrics_summary.json").read_text())
    assert list(summary["slice_results"]["by_task"]) == ["task=Abnormity Diagnosis"]


def test_a_folder_that_is_no_run_cannot_be_scored(tmp_path):
    with pytest.raises(WorkspaceError, match="is not a run"):
        score(tmp_path)


@pytest.mark.thorough
def test_evaluating_needs_none_of_the_packages_that_build():
    code = (
        "import sys\n"
        "import medrcube.evaluate.html_report, medrcube.evaluate.runner.run\n"
        "import medrcube.evaluate.scoring\n"
        "heavy = {'numpy', 'pandas', 'PIL', 'openai', 'pydicom', 'medrcube.build'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert outcome.stdout.strip() == "[]"
