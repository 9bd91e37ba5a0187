"""Answers without options, from the release to the report."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from open_items import CHANCE, FORMS, RIGHT, WRONG, open_row, write_open
from PIL import Image
from typer.testing import CliRunner

from medrcube.build.validation.validate import validate
from medrcube.cli.app import app
from medrcube.console.progress import Reporter
from medrcube.errors import ReleaseError, WorkspaceError
from medrcube.evaluate.benchmark_item import item_from_json, item_to_json
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.exports.csv_table import export_items
from medrcube.evaluate.exports.selection import select_exportable
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.questions.few_shot import FewShotSettings
from medrcube.evaluate.questions.prompts import read_prompt, render_prompt
from medrcube.evaluate.questions.question_setup import QuestionSetup
from medrcube.evaluate.reply_outcomes import score_attempts
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.runner.run_folder import read_asked
from medrcube.evaluate.scoring import recompute_scores, score
from medrcube.evaluate.statistics.form_metrics import open_metrics
from medrcube.evaluate.stored_scores import read_metrics, read_results

COUNT = 4


@pytest.fixture
def mixed(release):
    """Eight items with options on four images, and four of each other form."""
    rows = [
        open_row(form, number, image_path=f"pictures/p{number % 4}.png")
        for form in FORMS
        for number in range(COUNT)
    ]
    return write_open(release, rows)


def answers(replies):
    """A script that answers each question of an open form with its own reply."""
    return lambda request: "A" if request.ask is None else replies[request.ask.form]


def evaluate(scripted_model, release, out, replies, **settings):
    model = scripted_model(answers(replies))
    run_evaluation(load_benchmark(release), model, out, **settings)
    return read_metrics(out)


def test_items_that_all_pass_without_the_image_have_no_accuracy_beyond_chance(
    scripted_model, release, tmp_path
):
    rows = [open_row("number", number, chance=1.0, modality="CT") for number in range(COUNT)]
    metrics = evaluate(scripted_model, write_open(release, rows), tmp_path / "run", RIGHT)
    row = metrics["slices"]["modality"]["CT"]
    assert (row["accuracy"], row["chance"], row["chance_corrected"]) == (1, 1, None)
    write_report([tmp_path / "run"], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "4 of 4 correct = 100.0 %" in page


@pytest.mark.parametrize("form", FORMS)
def test_the_right_reply_passes_with_full_credit(scripted_model, mixed, tmp_path, form):
    row = evaluate(scripted_model, mixed, tmp_path / "run", RIGHT)["forms"][form]
    assert (row["accuracy"], row["credit"], row["no_answer"]) == (1, 1, 0)
    assert row["chance"] == pytest.approx(CHANCE[form])
    assert row["slips"] == {}


@pytest.mark.parametrize(
    ("form", "slip"),
    [
        ("number", "a tenth"),
        ("point", "shares from 0 to 1"),
        ("box", "pixels"),
        ("order", "reversed"),
        ("pair", "answers exchanged"),
    ],
)
def test_another_convention_is_wrong_and_is_told(scripted_model, mixed, tmp_path, form, slip):
    replies = {**WRONG, "order": "Panel C, Panel A, Panel B", "box": "[2, 2, 4, 4]"}
    row = evaluate(scripted_model, mixed, tmp_path / "run", replies)["forms"][form]
    assert row["accuracy"] == 0
    assert row["slips"][slip] == COUNT


def test_the_prompt_says_what_to_reply(mixed):
    prompts = {i.form: render_prompt(i) for i in load_benchmark(mixed).items if not i.options}
    assert prompts["number"].endswith("Reply with one number in mm.")
    assert "(x, y)" in prompts["point"]
    assert "[left, top, right, bottom]" in prompts["box"]
    assert "Panel A; Panel B; Panel C" in prompts["order"]
    assert "There is an effusion." in prompts["pair"]


def test_a_template_of_the_users_must_show_the_instruction(mixed, tmp_path):
    item = next(item for item in load_benchmark(mixed).items if item.form == "number")
    path = tmp_path / "mine.j2"
    path.write_text("{{ question }} Choose a letter.")
    with pytest.raises(WorkspaceError, match="leaves out the instruction"):
        read_prompt(path).render(item)
    path.write_text("{{ question }} {{ instruction }}")
    assert read_prompt(path).render(item).endswith("Reply with one number in mm.")


def test_an_example_has_the_form_of_the_question(scripted_model, mixed, tmp_path):
    for number in range(4):
        shades = np.random.default_rng(number).integers(0, 256, (8, 8), np.uint8)
        picture = Image.fromarray(shades).resize((96, 96), Image.Resampling.BICUBIC)
        picture.save(mixed / f"ALPHA/pictures/p{number}.png")
    model = scripted_model(answers(RIGHT))
    model.takes_shots = True
    asking = QuestionSetup(shots=FewShotSettings(count=1))
    run_evaluation(load_benchmark(mixed), model, tmp_path / "run", asking=asking)
    examples = {
        "option" if request.ask is None else request.ask.form: request.shots[0].reply
        for request in model.requests
    }
    assert examples.pop("option") in "ABCD"
    assert examples == {
        "number": "23 mm",
        "point": "(312.5, 375)",
        "box": "[250, 250, 500, 500]",
        "order": "Panel B, Panel A, Panel C",
        "pair": "1. yes, 2. no",
    }


def test_neither_prompt_nor_request_holds_the_truth(scripted_model, mixed, tmp_path):
    model = scripted_model(answers(RIGHT))
    run_evaluation(load_benchmark(mixed), model, tmp_path / "run")
    texts = [f"{request.prompt} {request.ask}" for request in model.requests if request.ask]
    assert not [text for text in texts if "23" in text or "375" in text or "False" in text]


def test_items_with_options_score_as_without_the_others(scripted_model, release, mixed, tmp_path):
    together = evaluate(scripted_model, mixed, tmp_path / "mixed", RIGHT)
    (mixed / "ALPHA/open.json").unlink()
    alone = evaluate(scripted_model, release, tmp_path / "alone", RIGHT)
    assert together["upstream"] == alone["upstream"]
    rows = [
        json.loads((tmp_path / name / "results.json").read_text()) for name in ("mixed", "alone")
    ]
    assert rows[0] == rows[1]
    lines = [
        (tmp_path / name / "outcomes.jsonl").read_text().split("\n") for name in ("mixed", "alone")
    ]
    assert set(lines[1]) < set(lines[0])


def test_a_run_is_resumed_and_scored_again_to_the_same_bytes(scripted_model, mixed, tmp_path):
    run = tmp_path / "run"
    evaluate(scripted_model, mixed, run, RIGHT, limit=9)
    evaluate(scripted_model, mixed, run, RIGHT)
    before = (run / "metrics.json").read_bytes()
    score(run)
    assert (run / "metrics.json").read_bytes() == before
    assert recompute_scores(run, read_results(run))["metrics.json"] == json.loads(before)


@pytest.mark.parametrize("name", ["random", "first", "longest"])
def test_a_baseline_answers_every_form(mixed, tmp_path, name):
    model = open_model(f"baseline/{name}")
    run_evaluation(load_benchmark(mixed), model, tmp_path / "run")
    forms = read_metrics(tmp_path / "run")["forms"]
    assert {form: row["no_answer"] for form, row in forms.items()} == dict.fromkeys(FORMS, 0)


def test_every_condition_can_be_asked(scripted_model, mixed, tmp_path):
    conditions = [Condition.FULL, Condition.BLIND, Condition.CIRCULAR, Condition.IMAGE_SWAP]
    metrics = evaluate(scripted_model, mixed, tmp_path / "run", RIGHT, conditions=conditions)
    circular = metrics["conditions"]["circular"]["global"]
    assert circular["n"] == 8 * 4 + COUNT * len(FORMS)
    assert metrics["contrasts"]["position"]["left_out"] == {"lost": 0, "not_asked": 0}


def test_a_reply_without_an_answer_has_no_credit(scripted_model, mixed, tmp_path):
    replies = {**RIGHT, "number": "Between 20 and 25 mm", "point": "I'm sorry, I can't see it."}
    metrics = evaluate(scripted_model, mixed, tmp_path / "run", replies)
    number, point = (metrics["forms"][form] for form in ("number", "point"))
    assert (number["no_answer"], number["credit"]) == (1, 0)
    assert number["outcomes"]["unparsed"] == point["outcomes"]["refused"] == COUNT
    assert number["abs_log_ratio"] is None


def test_items_of_which_too_many_have_no_reply_have_no_credit_and_no_errors(
    scripted_model, mixed, tmp_path
):
    evaluate(scripted_model, mixed, tmp_path / "run", RIGHT)
    results = [r for r in read_results(tmp_path / "run") if r.item.form == "number"]
    lost = [replace(results[0], outcome=AnswerOutcome.FAILED, answer=None, reply=None)]
    row = open_metrics([*results[1:], *lost])
    assert (row["accuracy"], row["credit"], row["abs_log_ratio"], row["no_answer"]) == (None,) * 4
    assert (row["replies"], row["positive"]) == (COUNT - 1, 0)
    assert set(row["within"].values()) == {None}


def test_outcomes_tell_answer_and_credit(scripted_model, mixed, tmp_path):
    evaluate(scripted_model, mixed, tmp_path / "run", {**RIGHT, "number": "20 mm"})
    results = {result.item.form: result for result in read_results(tmp_path / "run")}
    assert results["number"].parsed_answer == 20
    assert results["number"].outcome is AnswerOutcome.CORRECT
    assert results["order"].choice == "Panel B, Panel A, Panel C"
    lines = (tmp_path / "run/outcomes.jsonl").read_text().split("\n")
    earned = {row["credit"] for row in map(json.loads, filter(None, lines)) if "credit" in row}
    assert earned == {0.8, 1.0}


def test_a_truncated_reply_counts_only_if_its_mark_was_closed(scripted_model, mixed, tmp_path):
    evaluate(scripted_model, mixed, tmp_path / "run", RIGHT)
    questions = [q for q in read_asked(tmp_path / "run") if q.item.form == "number"][:1]

    def outcome(text):
        record = {
            "key": questions[0].key,
            "status": "reply",
            "text": text,
            "finish_reason": "length",
        }
        return score_attempts(questions, [record])[0].outcome

    assert outcome("\\boxed{23 mm} because") is AnswerOutcome.CORRECT
    assert outcome("Answer: 23") is AnswerOutcome.CUT


def test_the_report_has_a_panel_for_each_form(scripted_model, mixed, tmp_path):
    evaluate(scripted_model, mixed, tmp_path / "run", WRONG)
    write_report([tmp_path / "run"], tmp_path / "report.html", mixed, tmp_path / "tables")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Answers without options" in page
    assert [form for form in FORMS if f"<h3>{form.capitalize()}</h3>" not in page] == []
    assert "shares from 0 to 1: 4" in page
    assert ": <b>1. yes, 2. no</b>" in page
    assert "number,abs_log_ratio" in (tmp_path / "tables/forms.csv").read_text("utf-8")


def test_a_report_of_options_alone_has_no_such_panel(scripted_model, release, tmp_path):
    evaluate(scripted_model, release, tmp_path / "run", RIGHT)
    write_report([tmp_path / "run"], tmp_path / "report.html", release)
    assert "Answers without options" not in (tmp_path / "report.html").read_text("utf-8")


def test_an_unknown_form_is_counted_and_neither_asked_nor_checked(release):
    strange = {"id": "w1", "dataset": "ALPHA", "form": "words", "anything": "else"}
    write_open(release, [open_row("number"), strange, strange])
    benchmark = load_benchmark(release)
    assert benchmark.unknown_forms == {"words": 2}
    assert [item.form for item in benchmark.items if not item.options] == ["number"]


def test_the_command_tells_of_an_unknown_form(release, tmp_path):
    write_open(release, [{"id": "w1", "dataset": "ALPHA", "form": "words"}])
    command = ["evaluate", str(release), "--model", "baseline/first", "--out", str(tmp_path / "r")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0
    assert "not asked, not checked: 1 item of the answer form 'words'" in result.output


def test_validation_checks_open_rows_and_lists_unknown_forms(release):
    wrong = open_row("number", 1, chance=2)
    write_open(release, [open_row("box"), wrong, {"id": "w1", "dataset": "ALPHA", "form": "words"}])
    validation = validate(release, Reporter(quiet=True), workers=1)
    faults = {fault.check: fault.examples for fault in validation.findings}
    assert faults["target"] == [
        "ALPHA/open.json item 1: form number: chance is '2'; expected a number from 0 to 1"
    ]
    assert "1 item of the answer form 'words'" in " ".join(validation.unchecked)
    assert validation.items == 9


def test_a_truth_on_another_size_than_that_of_the_image_is_a_fault(release):
    truth = {"size": [16, 8], "box": [2, 2, 4, 4], "iou": 0.5}
    write_open(release, [open_row("box"), open_row("box", 1, truth=truth)])
    faults = {
        fault.check: fault.examples
        for fault in validate(release, Reporter(quiet=True), workers=1).findings
    }
    assert faults["target"] == [
        (
            "ALPHA/open.json item 1: truth size is (16, 8); expected (8, 8), that of "
            "ALPHA/pictures/p1.png"
        )
    ]


def test_a_release_of_open_items_alone_is_scored_and_reported(scripted_model, release, tmp_path):
    write_open(release, [open_row(form) for form in FORMS])
    (release / "ALPHA/test.json").unlink()
    metrics = evaluate(scripted_model, release, tmp_path / "run", RIGHT)
    assert metrics["global"]["accuracy"] == 1
    assert metrics["options"]["global"]["n"] == metrics["upstream"]["global"]["n"] == 0
    write_report([tmp_path / "run"], tmp_path / "report.html", release)


def test_a_source_may_have_open_items_alone(release):
    write_open(release, [open_row(form) for form in FORMS])
    (release / "ALPHA/test.json").unlink()
    assert [item.form for item in load_benchmark(release).items] == list(FORMS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"truth": {"value": 23, "low": 24, "high": 27}}, "low <= value <= high"),
        ({"truth": {"value": 23, "low": 19}}, "has no 'high'"),
        ({"ask": {"unit": "furlong"}}, "unit is 'furlong'"),
        ({"chance": 1.5}, "chance is '1.5'"),
        ({"chance": None}, "chance is 'None'"),
        ({"option_A": "Normal"}, "option_A"),
        ({"id": "q000"}, "used twice"),
        ({"task": "Cooking"}, "Cooking"),
    ],
)
def test_a_row_that_breaks_a_rule_is_refused_by_name(release, changes, message):
    with pytest.raises(ReleaseError) as refusal:
        load_benchmark(write_open(release, [open_row("number", **changes)]))
    assert "open.json item 0" in str(refusal.value)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("form", "truth"),
    [
        (
            "point",
            {"size": [8, 8], "region": {"mask": {"size": [8, 8], "counts": [64]}}, "margin": 0},
        ),
        (
            "point",
            {"size": [8, 8], "region": {"mask": {"size": [8, 9], "counts": [1, 71]}}, "margin": 0},
        ),
        ("point", {"size": [8, 8], "region": {"polygons": [[[0, 0], [1, 1]]]}, "margin": 0}),
        (
            "point",
            {"size": [8, 8], "region": {"polygons": [[[0, 0], [1, 1], [2, 2]]]}, "margin": 0},
        ),
        (
            "point",
            {
                "size": [8, 8],
                "region": {"mask": {"size": [8, 8], "counts": [9 * 10**4299] * 2}},
                "margin": 0,
            },
        ),
        ("point", {"size": [8, 8], "region": {"ellipses": []}, "margin": 0}),
        ("point", {"size": [8, 8], "region": {"ellipses": [[2, 2, 2, 4]]}, "margin": 0}),
        ("point", {"size": [8, 8], "region": {"ellipses": [[2, 2, 4, 9]]}, "margin": 0}),
        ("box", {"size": [8, 8], "box": [4, 2, 2, 4], "iou": 0.5}),
        ("box", {"size": [8, 8], "box": [2, 2, 4, 9], "iou": 0.5}),
        ("box", {"size": [8, 8], "box": [2, 2, 4, 4], "iou": 0}),
        ("order", {"order": ["Panel A", "Panel B"]}),
        ("order", {"order": ["Panel A", "Panel B", "Panel D"]}),
        ("pair", {"answers": [True]}),
        ("pair", {"answers": [1, 0]}),
    ],
)
def test_a_truth_that_breaks_a_rule_is_refused(release, form, truth):
    with pytest.raises(ReleaseError, match=f"form {form}"):
        load_benchmark(write_open(release, [open_row(form, truth=truth)]))


@pytest.mark.parametrize("form", FORMS)
def test_an_item_survives_writing_and_reading(mixed, form):
    item = next(item for item in load_benchmark(mixed).items if item.form == form)
    assert item_from_json(json.loads(json.dumps(item_to_json(item)))) == item


def test_a_harness_of_options_gets_options_and_says_what_it_leaves_out(mixed, tmp_path):
    selection = select_exportable(load_benchmark(mixed), private=False)
    assert all(item.options for item in selection.items)
    assert "20 items" in " ".join(selection.left_out())
    export_items(load_benchmark(mixed), tmp_path / "items.csv")
    assert '""value"": 23.0' in (tmp_path / "items.csv").read_text("utf-8")
