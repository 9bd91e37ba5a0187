"""The command line of an evaluation: what its options mean, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.cli.endings import Interrupted
from medrcube.cli.options.values import again_of, number_of, object_of, prices_of
from medrcube.console.progress import Reporter
from medrcube.errors import ModelError
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.runner import run as runner
from medrcube.evaluate.runner.progress_line import progress_text, report_progress
from medrcube.evaluate.runner.run_state import RunProgress


@pytest.fixture
def evaluate(release, server, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def run(*options):
        command = ["evaluate", str(release), "--model", "openai/stub", "--base-url", server.url]
        return CliRunner().invoke(app, [*command, "--out", str(tmp_path / "run"), *options])

    return run


def test_a_run_that_is_complete_ends_with_zero(evaluate):
    result = evaluate("--json")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert (summary["answered"], summary["failed"], summary["left"]) == (8, 0, 0)


def test_an_unusable_model_ends_with_two(evaluate, server, problem):
    server.behave = lambda _n, _b: problem(401, "Incorrect API key")
    result = evaluate()
    assert isinstance(result.exception, ModelError)
    assert result.exception.exit_code == 2
    assert "Incorrect API key" in str(result.exception)


def test_too_many_failures_end_with_three(evaluate, server, completion, problem):
    server.behave = lambda n, _b: problem(400, "too large") if n % 2 else completion("A")
    result = evaluate()
    assert result.exit_code == 3
    assert "INCOMPLETE" in result.stdout
    assert "to ask only those again: the same command with --again failed" in result.stdout
    assert "reconstruct" not in result.stdout


def test_left_out_pictures_are_no_failures_and_the_way_to_them_is_named(evaluate, release):
    (release / "ALPHA/pictures/p0.png").unlink()
    result = evaluate()
    assert result.exit_code == 3
    assert f"medrcube reconstruct {release}" in " ".join(result.stdout.split())
    assert "--again" not in result.stdout


def test_the_closing_line_counts_how_every_question_ended(evaluate, server, completion, problem):
    script = [
        completion("A"),
        completion("The answer is B. The opacity", reason="length"),
        completion(""),
        completion("I'm sorry, I can't assist with that."),
        completion("The opacity", reason="length"),
        problem(400, "too large"),
        completion("B"),
        completion("C"),
    ]
    server.behave = lambda n, _b: script[n % 8]
    result = evaluate("--max-connections", "1")
    text = "4 answered, 1 unparsed, 1 refused, 1 cut, 1 failed, 0 missing image"
    assert text in " ".join(result.stdout.split())
    assert result.exit_code == 3


def test_a_run_of_cut_replies_ends_with_three_and_names_the_command(evaluate, server, completion):
    server.behave = lambda n, _b: completion("Let me see", reason="length" if n % 2 else "stop")
    result = evaluate()
    words = " ".join(result.stdout.split())
    assert result.exit_code == 3
    assert "INCOMPLETE" in words
    assert "to ask only those again: the same command with --again cut --max-tokens 16384" in words


def test_what_was_cut_or_failed_is_asked_again_alone_with_longer_replies(
    evaluate, server, completion, problem, tmp_path, prompt_of
):
    def short(_n, body):
        number = int(prompt_of(body).split("picture ")[1].split()[0])
        if number in {2, 5}:
            return completion("Let me", reason="length")
        return problem(400, "no") if number == 6 else completion("A")

    server.behave = short
    assert evaluate().exit_code == 3
    count = len(server.requests)
    server.behave = lambda _n, _b: completion("C")
    result = evaluate("--again", "cut,failed", "--max-tokens", "9000")
    assert result.exit_code == 0, result.output
    again = server.requests[count:]
    assert sorted(prompt_of(body).split("picture ")[1].split()[0] for body in again) == list("256")
    assert {body["max_tokens"] for body in again} == {9000}
    assert "8 answered" in result.stdout
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert manifest["model"]["parameters"]["max_tokens"] == 4096
    assert (
        manifest["again"][0]["questions"],
        manifest["again"][0]["parameters"]["max_tokens"],
    ) == (
        3,
        9000,
    )
    assert evaluate().exit_code == 0
    assert len(server.requests) == count + 3


def test_only_longer_replies_may_differ_when_asking_again(evaluate, server, completion):
    server.behave = lambda n, _b: completion("Let me", reason="length" if n else "stop")
    evaluate()
    for options, words in [
        (("--max-tokens", "100"), "raise the token limit"),
        (("--temperature", "1"), "another model"),
    ]:
        result = evaluate("--again", "cut", *options)
        assert words in str(result.exception)
    assert len(server.requests) == 8


@pytest.mark.parametrize("value", ["", "wrong", "cut,unparsed"])
def test_results_of_a_model_are_not_asked_again(value):
    with pytest.raises(ModelError, match="--again"):
        again_of(value)


def test_a_largest_cost_ends_with_three_and_tells_the_cost(evaluate):
    # The stub counts 10 tokens in and 1 out: a dollar and ten for each reply.
    prices = ("--price-in", "100000", "--price-out", "100000")
    result = evaluate(*prices, "--max-cost", "4.5")
    assert result.exit_code == 3, result.output
    assert "cost so far: 4.40 US dollars" in result.stdout
    assert "4 questions left" in result.stdout
    assert "0 cut, 0 failed, 0 missing image, 4 not asked" in " ".join(result.stdout.split())


def test_a_parameter_can_be_left_to_the_server(evaluate, server):
    assert evaluate("--temperature", "none", "--max-tokens", "none").exit_code == 0
    assert not {"temperature", "max_tokens"} & set(server.requests[0])


def test_parameters_reach_the_server(evaluate, server):
    options = ("--temperature", "0.5", "--max-tokens", "7", "--seed", "3", "--logprobs")
    assert evaluate(*options, "--extra-body", '{"top_k": 1}').exit_code == 0
    request = server.requests[0]
    assert [
        request[name] for name in ("temperature", "max_tokens", "seed", "logprobs", "top_k")
    ] == [
        0.5,
        7,
        3,
        True,
        1,
    ]
    assert isinstance(request["max_tokens"], int)


def test_the_help_names_every_exit_status():
    text = " ".join(CliRunner().invoke(app, ["evaluate", "--help"]).stdout.split())
    for words in ("0 done", "2 usage error", "3 incomplete", "130 stopped by Ctrl-C", "--max-cost"):
        assert words in text


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--temperature", "hot"),
        ("--temperature", "-1"),
        ("--temperature", "nan"),
        ("--max-tokens", "0"),
        ("--max-tokens", "1.5"),
        ("--max-tokens", "inf"),
    ],
)
def test_a_number_that_is_none_is_refused(option, value):
    with pytest.raises(ModelError, match=option):
        number_of(option, value)


@pytest.mark.parametrize("text", ["{", "[1]", "3"])
def test_further_fields_must_be_an_object(text):
    with pytest.raises(ModelError, match="--extra-body"):
        object_of("--extra-body", text)


@pytest.mark.parametrize("prices", [(1.0, None), (None, 1.0)])
def test_one_price_alone_is_refused(prices):
    with pytest.raises(ModelError, match="must be given together"):
        prices_of(*prices, 0.5)


def test_the_defaults_of_the_command_are_those_of_the_library(evaluate, server, tmp_path):
    evaluate()
    parameters = json.loads((tmp_path / "run/manifest.json").read_text())["model"]["parameters"]
    settings = ModelSettings()
    assert parameters == {
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
    }


def test_the_progress_says_how_fast_how_many_and_what_it_costs(capsys):
    at = RunProgress(
        total=100,
        reused=10,
        done_count=30,
        failed=2,
        retries=5,
        running=7,
        limit=8,
        rate=3.0,
        cost=1.5,
    )
    words = "3.0 a second, 7 of 8 under way, 2 failed, 5 retried, 1.50 US dollars"
    assert progress_text(at) == words
    with report_progress(Reporter()) as show:
        show(RunProgress(total=100, reused=10))
        show(RunProgress(total=100, reused=10, done_count=1, note="500: busy"))
        show(RunProgress(total=100, reused=10, done_count=2, note="500: busy"))
    message = capsys.readouterr().err
    assert "10 reused, 90 to run" in message
    assert message.count("500: busy") == 1


def test_scoring_again_gives_its_numbers_to_programs(evaluate, tmp_path):
    evaluate()
    result = CliRunner().invoke(app, ["score", str(tmp_path / "run"), "--json"])
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    beside = {"metrics": None, "ends": None, "incomplete": None, "gaps": None}
    assert {**summary, **beside} == {**metrics, **beside}
    assert summary["metrics"] == str(tmp_path / "run/metrics.json")
    assert (summary["ends"]["answered"], summary["incomplete"], summary["gaps"]) == (8, None, [])


def _score(run, *options):
    return CliRunner().invoke(app, ["score", str(run), *options])


def test_scoring_a_run_that_was_not_asked_to_its_end_says_so_and_ends_with_three(
    evaluate, tmp_path
):
    evaluate()
    run = tmp_path / "run"
    attempts = run / "attempts.jsonl"
    attempts.write_bytes(b"".join(attempts.read_bytes().splitlines(keepends=True)[:5]))
    result = _score(run)
    words = " ".join(result.stdout.split())
    assert result.exit_code == 3, result.output
    assert "0 failed, 0 missing image, 3 not asked" in words
    assert words.count("INCOMPLETE 3 questions not asked yet") == 1
    summary = json.loads(_score(run, "--json").stdout)
    assert (summary["ends"]["not-asked"], summary["ends"]["failed"]) == (3, 0)
    assert summary["incomplete"]
    write_report([run], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert 0 < page.index("3 of 8 questions were not asked") < page.index('class="figure')


def test_scoring_a_run_with_too_many_failures_ends_with_three(
    evaluate, server, completion, problem, tmp_path
):
    server.behave = lambda n, _b: problem(400, "too large") if n % 2 else completion("A")
    evaluate()
    result = _score(tmp_path / "run")
    assert result.exit_code == 3, result.output
    assert "4 failed, 0 missing image, 0 not asked" in " ".join(result.stdout.split())
    assert "INCOMPLETE too many questions have no reply" in result.stdout


def test_a_model_that_cannot_be_used_keeps_no_other_from_being_asked(
    evaluate, server, completion, problem
):
    def behave(_n, body):
        return problem(401, "no such key") if body["model"] == "stub" else completion("A")

    server.behave = behave
    result = evaluate("--model", "openai/good", "--json")
    assert result.exit_code == 2, result.output
    broken, good = json.loads(result.stdout)["runs"]
    assert (broken["model"], good["model"]) == ("openai/stub", "openai/good")
    assert "no such key" in broken["error"]
    assert good["answered"] == 8
    outcome = evaluate("--model", "openai/good")
    assert outcome.exit_code == 2
    assert "openai/stub: FAILED" in outcome.stdout
    assert "openai/good: done" in outcome.stdout


def test_a_run_that_is_stopped_by_hand_tells_how_far_it_came(
    evaluate, server, completion, monkeypatch, tmp_path
):
    def stop(self, *_, **__):
        raise KeyboardInterrupt

    evaluate("--limit", "5")
    monkeypatch.setattr(runner.RunSession, "ask_all", stop)
    result = evaluate()
    assert result.exit_code == 130
    words = " ".join(result.stdout.split())
    assert "8 questions: 5 answered" in words
    assert "3 not asked" in words


def test_a_stopped_command_keeps_for_programs_what_the_models_before_it_did(
    evaluate, server, completion, monkeypatch
):
    ask_all = runner.RunSession.ask_all

    async def stop(self, *arguments, **named):
        if self.model.name == "openai/good":
            raise KeyboardInterrupt
        return await ask_all(self, *arguments, **named)

    monkeypatch.setattr(runner.RunSession, "ask_all", stop)
    result = evaluate("--model", "openai/good", "--json", "--limit", "5")
    first, second = interrupt_behind(result.exception).summary["runs"]
    assert (first["model"], first["answered"]) == ("openai/stub", 5)
    assert (second["model"], second["interrupted"]) == ("openai/good", True)
    assert second["ends"]["not-asked"] == 5


def interrupt_behind(error):
    """The interrupt that led to an error."""
    while not isinstance(error, Interrupted):
        error = error.__cause__ or error.__context__
    return error


def test_a_report_says_above_its_first_number_how_many_replies_were_cut(
    evaluate, server, completion, tmp_path
):
    answered = completion("The answer is B. The opacity", reason="length")
    server.behave = lambda n, _b: answered if n % 2 else completion("It", reason="length")
    evaluate("--max-connections", "1")
    write_report([tmp_path / "run"], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert 0 < page.index("8 of 8 replies of openai/stub were cut") < page.index('class="figure')
    assert "4 of them had given no answer" in page


def test_several_models_are_several_runs_and_none_is_lost(evaluate, server, tmp_path):
    result = evaluate("--model", "openai/org/other", "--model", "baseline/random", "--json")
    assert result.exit_code == 0, result.output
    runs = json.loads(result.stdout)["runs"]
    assert [Path(run["out"]).name for run in runs] == [
        "openai-stub",
        "openai-org-other",
        "baseline-random",
    ]
    assert {body["model"] for body in server.requests} == {"stub", "org/other"}
    assert len(server.requests) == 16
    assert all((Path(run["out"]) / "metrics.json").exists() for run in runs)


@pytest.mark.few(1)
@pytest.mark.parametrize("way", ["--dry-run", "--estimate"])
def test_of_several_models_those_after_one_that_fails_are_foreseen_too(
    evaluate, server, tmp_path, way
):
    evaluate("--model", "openai/other", "--system", "Be brief.")
    before = len(server.requests)
    (tmp_path / "run/openai-stub/manifest.json").unlink()
    others = ["--model", "openai/other", "--model", "openai/third"]
    result = evaluate(*others, "--system", "Be brief.", way, "--json")
    assert result.exit_code == 2, result.output
    runs = json.loads(result.stdout)["runs"]
    assert "contains something that is not a run" in runs[0]["error"]
    assert [run["model"] for run in runs] == ["openai/stub", "openai/other", "openai/third"]
    assert all("error" not in run for run in runs[1:])
    output = evaluate(*others, "--system", "Be brief.", way).stdout
    assert "openai/stub: FAILED" in output
    assert "openai/third: done" in output
    assert (len(server.requests) > before) == (way == "--estimate")


def test_a_model_that_is_named_twice_is_a_mistake(evaluate, server):
    result = evaluate("--model", "openai/stub")
    assert isinstance(result.exception, ModelError)
    assert not server.requests


def test_a_system_prompt_is_sent_and_is_part_of_the_identity(evaluate, server, tmp_path):
    evaluate("--system", "Be brief.")
    first, question = server.requests[0]["messages"]
    assert first == {"role": "system", "content": "Be brief."}
    assert [part["type"] for part in question["content"]] == ["image_url", "text"]
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert manifest["model"]["system"] == "Be brief."
    assert "another model" in str(evaluate().exception)


@pytest.mark.parametrize(("model", "text"), [("baseline/random", "Be brief."), ("openai/m", "\0")])
def test_a_system_prompt_that_cannot_be_sent_is_refused(model, text):
    with pytest.raises(ModelError, match="system prompt"):
        open_model(model, ModelSettings(system=text, base_url="http://127.0.0.1:9/v1"))


@pytest.mark.parametrize("verbose", [False, True])
def test_the_traceback_of_a_models_fault_is_shown_to_those_who_ask(
    release, tmp_path, monkeypatch, scripted_model, verbose
):
    def fail(_request):
        raise IndexError("list index out of range")

    monkeypatch.setattr(
        "medrcube.evaluate.models.registry.open_model", lambda *_: scripted_model(fail)
    )
    command = ["evaluate", str(release), "--model", "lab/x", "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(app, [*(["-v"] if verbose else []), *command])
    assert isinstance(result.exception, ModelError)
    assert "scripted/1 failed at ALPHA/" in str(result.exception)
    assert ("Traceback" in result.output) is verbose
