"""Pictures that a provider would refuse for their size are named before any is sent."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.models.image_limits import limits_of, too_large
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings

LARGEST = 5 * 2**20 // 4 * 3
"""Bytes of a file whose base64 Anthropic just takes."""


def opened(name, url=None):
    return open_model(name, ModelSettings(base_url=url, needs_key=False))


def grow(release, picture, size):
    path = release / picture
    path.write_bytes(path.read_bytes().ljust(size, b"\0"))


@pytest.mark.parametrize(
    ("name", "url", "provider"),
    [
        ("anthropic/claude-sonnet-4-5", None, "Anthropic"),
        ("anthropic/claude-sonnet-4-5", "http://127.0.0.1:9/v1", "Anthropic"),
        ("openai/gpt-4.1", "https://api.openai.com/v1", "OpenAI"),
        ("openai/mine", "https://name.openai.azure.com/openai/v1", "OpenAI"),
        (
            "openai/gemini-2.5-flash",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "Gemini",
        ),
        ("openai/mine", "http://127.0.0.1:9/v1", None),
        ("baseline/random", None, None),
    ],
)
def test_a_provider_has_the_limits_that_it_is_known_for(name, url, provider):
    limits = limits_of(opened(name, url))
    assert (limits.provider if limits else None) == provider


def test_a_picture_is_too_large_only_beyond_the_limit(release):
    benchmark, model = load_benchmark(release), opened("anthropic/claude-sonnet-4-5")
    grow(release, "ALPHA/pictures/p1.png", LARGEST)
    assert too_large(benchmark, benchmark.items, model) is None
    grow(release, "ALPHA/pictures/p1.png", LARGEST + 1)
    outcome = too_large(benchmark, benchmark.items, model)
    assert (outcome.pictures, outcome.items) == (("ALPHA/pictures/p1.png",), 2)


@pytest.mark.parametrize(
    ("options", "warned"),
    [((), True), (("--image-size", "64"), False), (("--condition", "blind"), False)],
)
def test_what_would_be_refused_is_told_before_anything_is_sent(
    release, tmp_path, monkeypatch, options, warned
):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    grow(release, "ALPHA/pictures/p1.png", LARGEST + 1)
    command = ["evaluate", str(release), "--model", "anthropic/claude-sonnet-4-5", "--dry-run"]
    result = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "run"), *options])
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert ("1 image of 2 items would be refused by Anthropic" in text) == warned
    assert ("ALPHA/pictures/p1.png" in text) == warned


def test_a_run_tells_it_too(release, tmp_path, server):
    grow(release, "ALPHA/pictures/p1.png", LARGEST + 1)
    command = ["evaluate", str(release), "--model", "anthropic/claude-sonnet-4-5"]
    command += ["--base-url", server.url, "--out", str(tmp_path / "run"), "--max-retries", "0"]
    text = " ".join(CliRunner().invoke(app, command).stdout.split())
    assert "would be refused by Anthropic" in text
