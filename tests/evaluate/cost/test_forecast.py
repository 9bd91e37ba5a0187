"""What a run would ask and cost: before anything is sent, and from a small part of it."""

from __future__ import annotations

import json
import math
import random

import pytest
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.console.counts import dollars
from medrcube.errors import ModelError, WorkspaceError
from medrcube.evaluate.cost.estimate import MOST, sample_sizes
from medrcube.evaluate.cost.image_tokens import picture_tokens, rule_name

PRICES = ("--price-in", "3", "--price-out", "15")


@pytest.fixture
def evaluate(release, server, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def run(*options, root=release, model="openai/stub"):
        command = ["evaluate", str(root), "--model", model, "--base-url", server.url]
        return CliRunner().invoke(app, [*command, "--out", str(tmp_path / "run"), *options])

    return run


@pytest.mark.parametrize(
    ("model", "size", "detail", "tokens"),
    [
        # The examples of OpenAI's guide.
        ("openai/gpt-4o", (1024, 1024), "high", 765),
        ("openai/gpt-4o", (2048, 4096), None, 1105),
        ("openai/gpt-4o", (4096, 8192), "low", 85),
        ("openai/gpt-4.1-mini", (1024, 1024), None, math.ceil(1024 * 1.62)),
        # What users measured of 128 x 64 pixels, less the 11 or 12 tokens of their text:
        # community.openai.com/t/1262691.
        ("openai/o3", (128, 64), "high", 236 - 11),
        ("openai/o3", (128, 64), "low", 86 - 11),
        ("openai/gpt-4o-mini", (128, 64), "high", 8512 - 12),
        ("openai/gpt-4o-mini", (128, 64), "low", 2845 - 12),
        ("openai/o4-mini", (128, 64), None, 26 - 12),
        ("openai/gpt-4.1", (128, 64), "high", 267 - 12),
        ("openai/gpt-5", (512, 512), "high", 210),
        # Of Anthropic's.
        ("openai/claude-sonnet-4", (200, 200), None, 54),
        ("anthropic/claude-sonnet-4", (1000, 1000), None, 1334),
        ("anthropic/claude-sonnet-4", (4000, 4000), None, 1600),
        # Of Google's.
        ("openai/gemini-2.5-flash", (384, 384), None, 258),
        ("openai/gemini-2.5-flash", (600, 400), None, 258),
        ("openai/gemini-2.5-flash", (1920, 1080), None, 6 * 258),
        ("openai/Qwen2.5-VL-7B", (560, 280), None, 200),
    ],
)
def test_a_picture_counts_as_its_provider_documents(model, size, detail, tokens):
    assert picture_tokens(model, size, detail) == tokens
    assert rule_name(model)


def test_a_dry_run_sends_nothing_and_writes_nothing(evaluate, server, tmp_path):
    result = evaluate("--dry-run", *PRICES)
    assert result.exit_code == 0, result.output
    assert "nothing was sent" in result.stdout
    assert not server.requests
    assert not (tmp_path / "run").exists()


def test_a_dry_run_tells_what_is_then_sent(evaluate, server, release, tmp_path):
    (release / "ALPHA/pictures/p0.png").unlink()
    options = ("--condition", "full", "--condition", "blind", "--max-tokens", "100")
    summary = json.loads(evaluate("--dry-run", "--json", *PRICES, *options).stdout)
    assert (summary["missing"], summary["reused"], summary["items"]) == (2, 0, 8)
    evaluate(*options)
    pictures = [b for b in server.requests if len(b["messages"][0]["content"]) == 2]
    assert summary["questions"] == len(server.requests)
    assert summary["pictures"] == len(pictures) == 6
    assert summary["distinct_pictures"] == 3
    assert summary["tokens_out_most"] == 100 * summary["questions"]
    assert summary["cost_most"] - summary["cost_in"] == pytest.approx(
        100 * summary["questions"] * 15 / 1e6
    )
    again = json.loads(evaluate("--dry-run", "--json", *PRICES, *options).stdout)
    assert (again["questions"], again["reused"]) == (0, summary["questions"])


def test_a_dry_run_needs_no_key(release, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    command = ["evaluate", str(release), "--model", "openai/gpt-4o", "--out", str(tmp_path / "r")]
    assert CliRunner().invoke(app, [*command, "--dry-run"]).exit_code == 0
    assert isinstance(CliRunner().invoke(app, command).exception, ModelError)


def test_a_dry_run_tells_what_may_not_be_sent(tmp_path, row, write_release, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    rows = [
        row(number, dataset=name, restricted=name != "BUSI")
        for number, name in enumerate(("BUSI", "BUSI", "VINDR-CXR"))
    ]
    root = write_release(tmp_path / "mixed", rows)
    command = ["evaluate", str(root), "--model", "openai/gpt-4o", "--out", str(tmp_path / "r")]
    summary = json.loads(CliRunner().invoke(app, [*command, "--dry-run", "--json"]).stdout)
    assert summary["left_out"] == {"may-not-be-sent": 1}
    assert summary["left_out_by_source"] == {"VINDR-CXR": 1}
    assert (summary["items"], summary["pictures"]) == (2, 2)


@pytest.mark.thorough
def test_an_estimate_is_within_a_fifth_of_what_the_run_then_costs(
    evaluate, server, completion, tmp_path, row, write_release, prompt_of
):
    rows = [
        row(
            number,
            image_path=f"pictures/p{number}.png",
            question=f"Q{number} {'what ' * (number % 40)}",
        )
        for number in range(160)
    ]
    root = write_release(tmp_path / "many", rows)

    def behave(_n, body):
        text = prompt_of(body)
        lots = random.Random(text)
        outcome = completion("A")
        # Lengths of replies as skewed as those of models that think, and pictures that count
        # otherwise than is documented.
        completion_tokens = 1 + round(200 * math.exp(lots.gauss(0, 0.8)))
        prompt_tokens = 700 + round(len(text) / 4.6)
        outcome.body["usage"] = {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
        }
        return outcome

    server.behave = behave
    result = evaluate("--estimate", "--json", *PRICES, root=root)
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    count = len(server.requests)
    assert data["asked"] == count <= 40
    summary = json.loads(evaluate("--json", *PRICES, root=root).stdout)
    assert len(server.requests) == 160
    assert summary["reused"] == count
    assert data["cost"] == pytest.approx(summary["cost"], rel=0.2)
    low, high = data["interval"]
    assert low <= summary["cost"] <= high
    assert data["spent"] < summary["cost"] / 2


def test_an_estimate_asks_a_small_part_and_never_more_than_a_quarter():
    for items in (1, 8, 63, 64, 65, 1000, 100_000):
        sizes = list(sample_sizes(items))
        assert sizes == sorted(set(sizes))
        assert sizes[-1] == min(MOST, math.ceil(items / 4))


def test_an_estimate_says_what_of_its_draw_has_no_reply(
    evaluate, server, completion, problem, prompt_of, tmp_path, row, write_release
):
    rows = [row(number, image_path=f"pictures/p{number}.png") for number in range(40)]
    root = write_release(tmp_path / "many", rows)
    server.behave = lambda n, _b: problem(400, "too large") if n == 5 else completion("A")
    result = evaluate("--estimate", *PRICES, root=root)
    assert result.exit_code == 0, result.output
    assert "10 of 40 items asked" in result.stdout
    assert "1 of these have no reply" in " ".join(result.stdout.split())


def test_an_estimate_from_one_item_has_no_upper_end_and_is_plain_json(evaluate):
    def no_constant(name):
        raise AssertionError(name)

    output = evaluate("--estimate", *PRICES, "--limit", "4", "--json").stdout
    data = json.loads(output, parse_constant=no_constant)
    assert (data["sample"], data["interval"][1], data["within"]) == (1, None, None)
    words = " ".join(evaluate("--estimate", *PRICES, "--limit", "4").stdout.split())
    assert "at least 4.5e-05: one item gives no estimate of the spread" in words


@pytest.mark.parametrize(
    ("amount", "words"), [(0.0, "0.00"), (0.00123, "0.0012"), (0.0999, "0.1"), (12.345, "12.35")]
)
def test_small_amounts_keep_two_digits(amount, words):
    assert dollars(amount) == words


def test_an_estimate_is_refused_where_no_tokens_are_counted(evaluate):
    message = str(evaluate("--estimate", model="baseline/first").exception)
    assert "no reply reports its tokens" in message
    assert "--dry-run" in message


@pytest.mark.parametrize(
    "options",
    [
        ("--dry-run", "--estimate"),
        ("--dry-run", "--again", "cut"),
        ("--estimate", "--again", "cut"),
    ],
)
def test_what_does_not_go_together_is_refused(evaluate, server, options):
    assert isinstance(evaluate(*options).exception, WorkspaceError)
    assert not server.requests
