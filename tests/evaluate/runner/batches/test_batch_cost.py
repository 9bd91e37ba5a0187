"""Batches with solved examples, and what a run in batches costs and is foreseen to cost."""

from __future__ import annotations

import base64
import io
import json
import math
import random

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.evaluate.cost.budget import Prices
from medrcube.evaluate.cost.estimate import estimate
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.questions.few_shot import FewShotSettings
from medrcube.evaluate.questions.question_setup import QuestionSetup
from medrcube.evaluate.runner.attempt_log import read_attempts
from medrcube.evaluate.runner.plan import plan_run
from medrcube.evaluate.runner.run_folder import read_asked

PRICES = Prices(tokens_in=3.0, tokens_out=15.0, in_batches=0.5)


@pytest.fixture
def release_of(write_release, row, tmp_path):
    """A release of so many items, each with a picture like no other."""

    def make(count):
        rows = [row(n, image_path=f"pictures/p{n}.png") for n in range(count)]
        root = write_release(tmp_path / "release", rows)
        for n in range(count):
            coarse = np.random.default_rng(n).integers(0, 256, (8, 8), np.uint8)
            Image.fromarray(coarse).resize((64, 64)).save(root / f"ALPHA/pictures/p{n}.png")
        return root

    return make


def pictures_of(body):
    for turn in body["messages"]:
        for part in turn["content"] if isinstance(turn["content"], list) else ():
            if part["type"] == "image_url":
                yield base64.b64decode(part["image_url"]["url"].partition(",")[2])
            elif part["type"] == "image":
                yield base64.b64decode(part["source"]["data"])


def lengths(body):
    """Tokens as uneven as those of models that think; pictures count otherwise than documented."""
    text = json.dumps(body["messages"][-1])[-400:]
    lots = random.Random(text)
    return 700 + len(text) // 5, 1 + round(200 * math.exp(lots.gauss(0, 0.8)))


def test_a_question_in_a_batch_has_its_examples_as_turns(provider, run, tmp_path):
    summary = run(count=8, asking=QuestionSetup(shots=FewShotSettings(count=2)))
    assert (summary.answered, summary.failed) == (8, 0)
    bodies = [body for batch in provider.batches for _, body in batch.asks] + provider.singles
    assert len(bodies) == 8
    items = {item.name: item for item in load_benchmark(tmp_path / "release").items}
    shots_by_question = {entry.item.question: entry.shots for entry in read_asked(tmp_path / "run")}
    for body in bodies:
        turns = body["messages"]
        assert [turn["role"] for turn in turns] == ["user", "assistant"] * 2 + ["user"]
        shots = next(
            s for question, s in shots_by_question.items() if question in json.dumps(turns[-1])
        )
        examples = [items[name] for name, _ in shots]
        assert [turn["content"] for turn in turns[1::2]] == [item.key for item in examples]
        images = [Image.open(io.BytesIO(data)).tobytes() for data in pictures_of(body)]
        files = [Image.open(tmp_path / "release" / str(item.image)) for item in examples]
        assert images[:2] == [file.tobytes() for file in files]


def test_a_killed_run_with_examples_pays_for_nothing_twice(provider, run):
    asking = QuestionSetup(shots=FewShotSettings(count=2))
    run(count=8, asking=asking, first=3)
    summary = run(count=8, asking=asking)
    assert summary.reused == 3
    assert set(provider.paid.values()) == {1}


def test_a_reply_in_a_batch_costs_its_part_of_the_price(provider, run, tmp_path):
    summary = run(count=12, prices=PRICES)
    each = PRICES.cost({"prompt_tokens": 10, "completion_tokens": 1})
    # The first question is asked alone.
    assert summary.cost == pytest.approx(each + 11 * each / 2)
    again = run(count=12, prices=PRICES)
    assert again.cost == pytest.approx(summary.cost)
    records = list(read_attempts(tmp_path / "run/attempts.jsonl"))
    assert sum("batch" in record for record in records) == 11


@pytest.mark.thorough
def test_an_estimate_in_batches_is_within_a_fifth_of_what_the_run_then_costs(
    provider, run, tmp_path, release_of
):
    provider.usage = lengths
    shots = {"openai": None, "anthropic": FewShotSettings(count=1)}[provider.kind]
    asking, count = QuestionSetup(shots=shots), 128
    model = open_model(provider.model, ModelSettings(base_url=provider.url))
    plan = plan_run(tmp_path / "run", load_benchmark(release_of(count)), model, asking=asking)
    outcome = estimate(
        tmp_path / "run",
        plan,
        model,
        asking,
        prices=PRICES,
        ask=lambda first: run(count=count, asking=asking, prices=PRICES, first=first),
        batches=True,
    )
    assert outcome.asked <= 32
    summary = run(count=count, asking=asking, prices=PRICES)
    assert summary.reused == outcome.asked
    assert outcome.cost == pytest.approx(summary.cost, rel=0.2)
    assert outcome.interval[0] <= summary.cost <= outcome.interval[1]
    assert set(provider.paid.values()) == {1}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("part", "words"), [("0.5", "half, as documented by OpenAI"), ("0.8", "0.8 of")]
)
def test_a_dry_run_counts_what_batches_cost(provider, tmp_path, release_of, part, words):
    command = ["evaluate", str(release_of(4)), "--model", provider.model, "--out"]
    command += [str(tmp_path / "run"), "--base-url", provider.url, "--dry-run"]
    command += ["--price-in", "1000", "--price-out", "1000", "--max-tokens", "10"]

    def cost(*options):
        result = CliRunner().invoke(app, [*command, *options, "--json"])
        return json.loads(result.stdout)["cost_most"]

    assert cost("--batch", "--price-batch", part) == pytest.approx(float(part) * cost())
    output = CliRunner().invoke(app, [*command, "--batch", "--price-batch", part]).stdout
    assert words in " ".join(output.split())
    assert not provider.singles
