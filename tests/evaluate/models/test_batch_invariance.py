"""The self-check lets a sound model pass and refuses one whose answer depends on its neighbours."""

from __future__ import annotations

import asyncio
import json

import pytest

from medrcube.errors import ModelError
from medrcube.evaluate.batch_invariance import draw_requests, selfcheck
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.models.protocol import RejectedError, Reply, TransientError


class ScriptedModel:
    """A model that answers as a function of the question and of how many ever were under way."""

    name = "scripted/1"

    def __init__(self, say, **identity):
        self.say, self.running, self.most = say, 0, 0
        self.identity = {"adapter": "scripted/1", "name": self.name, **identity}

    async def answer(self, request):
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.005)
        try:
            text, scores = self.say(request, self.most)
        finally:
            self.running -= 1
        return Reply(
            text=text, finish_reason="stop", usage={}, scores=scores, model="x", latency=0.0
        )

    async def close(self):
        pass


@pytest.fixture
def varied(tmp_path, write_release, row):
    """Forty items whose prompts differ in length."""
    rows = [row(n, question=f"What {'really ' * (n % 9)}does picture {n} show?") for n in range(40)]
    return load_benchmark(write_release(tmp_path / "release", rows))


def test_a_sound_model_passes_with_its_largest_difference(varied):
    model = ScriptedModel(lambda _r, running: ("A", {"A": -1.0 - 0.1 * (running > 1), "B": -2.0}))
    invariance = selfcheck(varied, model, together=4)
    assert (invariance.questions, invariance.together, invariance.disagreements) == (16, 4, ())
    assert invariance.largest_difference == pytest.approx(0.1)
    assert model.most == 4
    assert json.loads(json.dumps(invariance.to_json()))["tolerance"] == invariance.tolerance


def test_another_answer_in_company_is_refused_with_the_items(varied):
    def say(request, running):
        odd = running > 1 and "picture 7 " in request.prompt
        return ("B because of my neighbours" if odd else "A", {})

    requests = draw_requests(varied, 40)
    assert any("picture 7 " in request.prompt for request in requests)
    with pytest.raises(ModelError, match=r"1 of 40 questions differently") as excinfo:
        selfcheck(varied, ScriptedModel(say), questions=40)
    assert "ALPHA/q007" in str(excinfo.value)
    assert "'A'" in str(excinfo.value)
    assert "'B because of my neighbours'" in str(excinfo.value)


def test_scores_that_drift_are_refused_beyond_the_tolerance_of_the_number_format(varied):
    def say(_request, running):
        return "A", {"A": -1.0 - 0.1 * (running > 1)}

    assert selfcheck(varied, ScriptedModel(say, dtype="bfloat16")).largest_difference > 0
    with pytest.raises(ModelError, match=r"0\.1 nats apart"):
        selfcheck(varied, ScriptedModel(say, dtype="float32"))
    assert selfcheck(varied, ScriptedModel(say, dtype="float32"), tolerance=0.2).disagreements == ()


def test_many_disagreements_are_counted_and_few_shown(varied):
    with pytest.raises(ModelError, match="and 11 more"):
        selfcheck(varied, ScriptedModel(lambda _r, running: (str(running > 1), {})))


def test_a_question_that_is_always_refused_is_no_disagreement(varied):
    def say(request, _running):
        if "picture 3 " in request.prompt:
            raise RejectedError("too large", code="out-of-memory")
        return "A", {}

    assert selfcheck(varied, ScriptedModel(say), questions=40).disagreements == ()


def test_a_question_refused_in_company_only_is_a_disagreement(varied):
    def say(_request, running):
        if running > 1:
            raise RejectedError("too large", code="out-of-memory")
        return "A", {}

    with pytest.raises(ModelError, match="refused: out-of-memory"):
        selfcheck(varied, ScriptedModel(say))


def test_a_model_that_is_away_is_named(varied):
    def say(_request, _running):
        raise TransientError("connection failed", code="connection")

    with pytest.raises(ModelError, match="did not answer ALPHA/q"):
        selfcheck(varied, ScriptedModel(say))


def test_a_release_without_pictures_cannot_be_checked(tmp_path, write_release, row):
    release = write_release(tmp_path / "bare", [row(0), row(1)], pictures=False)
    with pytest.raises(ModelError, match="0 questions with an image"):
        selfcheck(load_benchmark(release), ScriptedModel(lambda *_: ("A", {})))


def test_the_draw_is_fixed_and_spans_the_lengths(varied):
    requests = draw_requests(varied, 8)
    assert requests == draw_requests(varied, 8)
    assert len({request.item for request in requests}) == 8
    lengths = [len(request.prompt) for request in requests]
    assert max(lengths) - min(lengths) >= 7 * len("really ")


@pytest.fixture
def shapes(tmp_path, write_release, row, picture):
    """A release whose pictures have many shapes."""
    rows = [row(n, question=f"What {'really ' * (n % 5)}is {n}?") for n in range(24)]
    root = write_release(tmp_path / "shapes", rows)
    for number in range(12):
        file = picture(40 + 20 * (number % 4), 40 + 30 * (number % 3), seed=number)
        (root / f"ALPHA/pictures/p{number}.png").write_bytes(file.data)
    return load_benchmark(root)


@pytest.mark.thorough
@pytest.mark.parametrize("scoring", ["generate", "likelihood"])
def test_a_local_model_passes(family, shapes, open_tiny, scoring):
    invariance = selfcheck(shapes, open_tiny(family, batch_size=6, scoring=scoring), blind=True)
    assert (invariance.questions, invariance.blind, invariance.together) == (20, 4, 6)
    assert invariance.largest_difference is not None
    assert invariance.largest_difference < 1e-4


def test_a_model_that_is_padded_on_the_wrong_side_is_refused(family, shapes, open_tiny):
    model = open_tiny(family, batch_size=6)
    model._engine._tokenizer.padding_side = "right"
    with pytest.raises(ModelError, match="questions differently when 6 are asked together"):
        selfcheck(shapes, model)


def test_a_model_that_does_not_hide_its_padding_is_refused(
    family, shapes, open_tiny, monkeypatch, hf_engine
):
    real = hf_engine.TransformersEngine.prepare

    def unmasked(self, jobs):
        batch = real(self, jobs)
        for inputs in batch.inputs:
            inputs["attention_mask"] = inputs["attention_mask"].new_ones(
                inputs["attention_mask"].shape
            )
        return batch

    monkeypatch.setattr(hf_engine.TransformersEngine, "prepare", unmasked)
    with pytest.raises(ModelError, match="questions differently"):
        selfcheck(shapes, open_tiny(family, batch_size=6))
