"""Local models: a question's answer must not depend on what stands beside it in a batch."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import subprocess
import sys

import pytest

from medrcube.errors import ModelError
from medrcube.evaluate.models.conformance import check_model
from medrcube.evaluate.models.hf.batches import Batcher
from medrcube.evaluate.models.hf.settings import LocalSettings
from medrcube.evaluate.models.protocol import RejectedError

KINDS = ("generate", "likelihood", "text")


def ask_together(model, requests):
    async def session():
        try:
            return await asyncio.gather(
                *(model.answer(request) for request in requests), return_exceptions=True
            )
        finally:
            await model.close()

    return asyncio.run(session())


def ask_alone(model, requests):
    async def session():
        try:
            return [await model.answer(request) for request in requests]
        finally:
            await model.close()

    return asyncio.run(session())


@pytest.fixture
def mixed(question):
    """Pictures of several sizes, prompts of several lengths, and some asked blind."""
    return [question(number, blind=number % 4 == 3) for number in range(10)]


@pytest.fixture
def batches(monkeypatch, hf_engine):
    """The jobs of each batch that was computed."""
    requests = []
    real = hf_engine.TransformersEngine.answer

    def watched(self, prepared):
        requests.append([job.request for job in prepared.jobs])
        return real(self, prepared)

    monkeypatch.setattr(hf_engine.TransformersEngine, "answer", watched)
    return requests


@pytest.mark.few(1)
@pytest.mark.parametrize("scoring", KINDS)
def test_batched_answers_are_those_of_single_questions(family, open_tiny, mixed, scoring):
    model = open_tiny(family, scoring=scoring)
    alone, together = ask_alone(model, mixed), ask_together(model, mixed)
    assert [reply.text for reply in together] == [reply.text for reply in alone]
    assert [reply.finish_reason for reply in together] == [reply.finish_reason for reply in alone]
    assert [reply.usage for reply in together] == [reply.usage for reply in alone]
    for first, second in zip(alone, together, strict=True):
        assert first.scores == pytest.approx(second.scores, abs=1e-4)
        assert set(first.scores) == set("ABCD")


def test_different_questions_get_different_replies(family, open_tiny, mixed):
    replies = ask_together(open_tiny(family), mixed)
    assert len({reply.text for reply in replies}) > len(mixed) // 2


def test_the_picture_matters(family, open_tiny, question, picture):
    request = question(1)
    other = type(request)(
        item=request.item,
        prompt=request.prompt,
        options=request.options,
        picture=picture(70, 90, seed=4),
    )
    first, second = ask_together(open_tiny(family, scoring="likelihood"), [request, other])
    assert first.scores != second.scores


def test_padding_on_the_right_changes_answers(family, open_tiny, mixed):
    model = open_tiny(family)
    right = ask_together(model, mixed)
    model._engine._tokenizer.padding_side = "right"
    wrong = ask_together(model, mixed)
    assert [reply.text for reply in right] != [reply.text for reply in wrong]


def test_a_batch_holds_questions_of_like_length(tiny, open_tiny, question, batches):
    small = [question(n, size=(30, 30), prompt="What?") for n in range(8)]
    large = [question(n, size=(200, 200), prompt="What?") for n in range(8, 16)]
    shuffled = [entry for pair in zip(small, large, strict=True) for entry in pair]
    ask_together(open_tiny(tiny("qwen2-vl")), shuffled)
    assert [len(batch) for batch in batches] == [4, 4, 4, 4]
    for batch in batches:
        assert len({(len(request.picture.data) > 2000) for request in batch}) == 1


def test_blind_questions_have_batches_of_their_own(family, open_tiny, mixed, batches):
    ask_together(open_tiny(family), mixed)
    assert all(len({request.picture is None for request in batch}) == 1 for batch in batches)
    assert sum(map(len, batches)) == len(mixed)


def test_one_question_does_not_wait_for_more(tiny, open_tiny, question, batches):
    ask_alone(open_tiny(tiny("llava")), [question(0), question(1)])
    assert [len(batch) for batch in batches] == [1, 1]


def test_a_cut_reply_says_so_and_a_whole_one_too(tiny, open_tiny, question, torch):
    requests = [question(number) for number in range(6)]
    cut = ask_together(open_tiny(tiny("qwen2-vl"), max_tokens=3), requests)
    assert {reply.finish_reason for reply in cut} == {"length"}
    assert {reply.usage["completion_tokens"] for reply in cut} == {3}
    # Whatever the first token of some reply is, let it end replies.
    model = open_tiny(tiny("qwen2-vl"), max_tokens=3)
    ending = first_tokens(model, requests[:1], torch)[0]
    model._engine._opened.generation.eos_token_id = ending
    ended = ask_together(model, requests)
    assert (ended[0].finish_reason, ended[0].text) == ("stop", "")
    assert ended[0].usage["completion_tokens"] == 1
    assert "length" in {reply.finish_reason for reply in ended}


def first_tokens(model, requests, torch):
    engine = model._engine
    batch = engine.prepare([engine.job(request) for request in requests])
    engine.answer(batch)
    with torch.inference_mode():
        logits = engine._model(**batch.inputs[0]).logits
    return logits[:, -1].argmax(dim=-1).tolist()


def plain_forward(model, request, torch):
    """Log-probabilities of the token after the question, by nothing but the model itself."""

    processor, engine = model._engine._processor, model._engine
    job = engine.job(request)
    images = {} if request.picture is None else {"images": [[decode(request.picture)]]}
    inputs = processor(text=[job.text], return_tensors="pt", **images)
    with torch.inference_mode():
        return torch.log_softmax(engine._model(**inputs).logits[0, -1].float(), dim=-1)


def decode(picture):
    return pytest.importorskip("PIL.Image").open(io.BytesIO(picture.data)).convert("RGB")


def test_likelihood_is_that_of_a_plain_forward_pass(family, open_tiny, mixed, torch):
    model = open_tiny(family, scoring="likelihood")
    replies = ask_together(model, mixed)
    tokens = model._engine._tokenizer
    for request, reply in zip(mixed, replies, strict=True):
        outcome = plain_forward(model, request, torch)
        for letter in "ABCD":
            spellings = [tokens.encode(letter), tokens.encode(f" {letter}")]
            assert all(len(spelling) == 1 for spelling in spellings)
            expected = torch.logsumexp(outcome[[spelling[0] for spelling in spellings]], dim=0)
            assert reply.scores[letter] == pytest.approx(float(expected), abs=1e-4)
        assert reply.text == max(reply.scores, key=reply.scores.get)


def test_the_text_of_an_option_is_scored_by_the_mean_of_its_tokens(
    family, open_tiny, question, torch
):
    model = open_tiny(family, scoring="text")
    request = question(2)
    (reply,) = ask_together(model, [request])
    engine = model._engine
    job = engine.job(request)
    for letter, text in request.options:
        images = [[decode(request.picture)]]
        whole = engine._processor(text=[job.text + text], images=images, return_tensors="pt")
        count = len(engine._tokenizer.encode(text))
        with torch.inference_mode():
            logits = engine._model(**whole).logits[0, -count - 1 : -1].float()
        records = torch.log_softmax(logits, -1).gather(1, whole["input_ids"][0, -count:, None])
        assert reply.scores[letter] == pytest.approx(float(records.mean()), abs=1e-4)


def test_question_and_picture_are_computed_once_for_all_options(family, open_tiny, question):
    model = open_tiny(family, scoring="text")
    ask_alone(model, [question(0)])
    assert model._engine._scorer._keeps_prefix is True


def test_a_cache_that_lies_is_not_used(tiny, open_tiny, question, monkeypatch, hf_scoring):
    model = open_tiny(tiny("llava"), scoring="text")
    requests = [question(0), question(1)]
    honest = ask_alone(open_tiny(tiny("llava"), scoring="text"), requests)
    monkeypatch.setattr(hf_scoring, "_after_prefix", lambda *_: [-1.0] * 4)
    alones = ask_alone(model, requests)
    assert [reply.scores for reply in alones] == [
        pytest.approx(reply.scores, abs=1e-4) for reply in honest
    ]


class FullMemory:
    """Stands before a model and refuses batches that are larger than a limit."""

    def __init__(self, model, most, error):
        self._model, self._most, self._error = model, most, error
        self.sizes = []

    def __getattr__(self, name):
        return getattr(self._model, name)

    def generate(self, **inputs):
        self.sizes.append(len(inputs["input_ids"]))
        if self.sizes[-1] > self._most:
            raise self._error
        return self._model.generate(**inputs)


@pytest.fixture
def cramped(tiny, open_tiny, monkeypatch, hf_engine, torch):
    """A model whose memory is full above so many questions."""

    full = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")

    def opened(most, error=None, **settings):
        real, models = hf_engine.load_weights, []

        def load(*arguments):
            models.append(FullMemory(real(*arguments), most, error or full))
            return models[-1]

        monkeypatch.setattr(hf_engine, "load_weights", load)
        return open_tiny(tiny("qwen2-vl"), **settings), models

    return opened


@pytest.mark.thorough
@pytest.mark.parametrize(
    "error",
    [None, RuntimeError("CUDA error: out of memory"), RuntimeError("MPS backend out of memory")],
)
def test_a_full_memory_halves_the_batch_and_loses_nothing(
    cramped, tiny, open_tiny, question, error, caplog
):
    requests = [question(n, size=(56, 56), prompt="What?") for n in range(16)]
    model, models = cramped(2, error, batch_size=8)
    replies = ask_together(model, requests)
    expected = ask_alone(open_tiny(tiny("qwen2-vl")), requests)
    assert [reply.text for reply in replies] == [reply.text for reply in expected]
    assert "out of memory with 8 questions" in caplog.text
    # Once the limit is known, even the batch that was prepared meanwhile does not run into it.
    assert [size for size in models[0].sizes if size > 2] == [8, 4]
    assert sorted(models[0].sizes, reverse=True)[2:] == [2] * 8


def test_a_question_that_never_fits_is_rejected_alone(cramped, question):
    model, _ = cramped(0)
    (error,) = ask_together(model, [question(0)])
    assert isinstance(error, RejectedError)
    assert error.code == "out-of-memory"


def test_a_broken_device_stops_the_run(cramped, question):
    broken = RuntimeError("CUDA error: device-side assert triggered")
    model, _ = cramped(0, broken)
    errors = ask_together(model, [question(n) for n in range(6)])
    assert {type(error) for error in errors} == {ModelError}
    assert "device-side assert" in str(errors[0])


def test_a_question_at_fault_is_rejected_and_the_others_answered(
    tiny, open_tiny, question, monkeypatch
):
    requests = [question(number) for number in range(6)]
    requests[3] = question(3, prompt="What is <|image_pad|> this?")
    replies = ask_together(open_tiny(tiny("qwen2-vl"), batch_size=6), requests)
    assert isinstance(replies[3], RejectedError)
    assert all(isinstance(reply.text, str) for n, reply in enumerate(replies) if n != 3)


def test_a_file_that_is_no_picture_is_rejected(tiny, open_tiny, question):
    whole, broken = question(0), question(1)
    data = broken.picture.data[:60]
    cut = type(broken.picture)(data=data, media_type="image/png", sha256="cut")
    broken = type(broken)(
        item=broken.item, prompt=broken.prompt, options=broken.options, picture=cut
    )
    replies = ask_together(open_tiny(tiny("llava")), [whole, broken])
    assert replies[0].text is not None
    assert isinstance(replies[1], RejectedError)


def test_a_cancelled_question_leaves_the_others(tiny, open_tiny, question):
    model = open_tiny(tiny("llava"))

    async def session():
        tasks = [asyncio.create_task(model.answer(question(number))) for number in range(5)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        try:
            return await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            await model.close()

    replies = asyncio.run(session())
    assert isinstance(replies[1], asyncio.CancelledError)
    assert sum(hasattr(reply, "text") for reply in replies) == 4


def test_closing_stops_a_long_reply(tiny, open_tiny, question):
    model = open_tiny(tiny("llava"), max_tokens=4000)
    ask_alone(open_tiny(tiny("llava")), [question(0)])

    async def session():
        task = asyncio.create_task(model.answer(question(0)))
        await asyncio.sleep(1.0)
        async with asyncio.timeout(120):
            await model.close()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(session())
    model._engine._settings = type(model._engine._settings)(max_tokens=4)
    assert len(ask_alone(model, [question(1)])) == 1


def test_marks_that_part_thinking_from_answer_stay_in_the_reply(tiny, open_tiny, hf_engine):
    tokens = open_tiny(tiny("llava"))._engine._tokenizer
    tokens.add_special_tokens({"extra_special_tokens": ["<think>", "</think>"]})
    ids = tokens("<|im_start|><think>Mass?</think>B<|im_end|>", add_special_tokens=False)
    hidden = hf_engine.hidden_tokens(tokens)
    visible_tokens = [token for token in ids["input_ids"] if token not in hidden]
    assert tokens.decode(visible_tokens) == "<think>Mass?</think>B"


def test_a_model_that_gives_back_the_reply_alone_is_read_whole(
    tiny, open_tiny, question, hf_engine, monkeypatch
):
    requests = [question(number) for number in range(3)]
    expected = ask_together(open_tiny(tiny("qwen2-vl")), requests)
    real = hf_engine.load_weights

    class ReplyAlone(FullMemory):
        def generate(self, **inputs):
            return self._model.generate(**inputs)[:, inputs["input_ids"].shape[1] :]

    monkeypatch.setattr(hf_engine, "load_weights", lambda *a: ReplyAlone(real(*a), 99, None))
    replies = ask_together(open_tiny(tiny("qwen2-vl")), requests)
    assert [reply.text for reply in replies] == [reply.text for reply in expected]


def test_a_broken_queue_is_heard_by_everybody_who_waits(tiny, open_tiny, question, monkeypatch):
    def broken(_self):
        raise ZeroDivisionError("a fault of the code")

    monkeypatch.setattr(Batcher, "_pick", broken)
    errors = ask_together(open_tiny(tiny("llava")), [question(0), question(1)])
    assert {type(error) for error in errors} == {ZeroDivisionError}


def test_likelihood_takes_options_as_they_are(tiny, open_tiny, question):
    (reply,) = ask_together(
        open_tiny(tiny("llava"), scoring="likelihood"), [question(0, options=2)]
    )
    assert set(reply.scores) == {"A", "B"}


def test_identity_names_what_may_change_a_reply(family, open_tiny):
    identity = open_tiny(family).identity
    assert identity == json.loads(json.dumps(identity))
    assert (identity["device"], identity["dtype"]) == ("cpu", "float32")
    assert identity["revision"].startswith("files:")
    assert identity["parameters"]["do_sample"] is False
    assert str(family.parent) not in json.dumps(identity)
    for change in ({"dtype": "bfloat16"}, {"scoring": "text"}, {"attention": "eager"}):
        assert open_tiny(family, **change).identity != identity
    assert open_tiny(family, max_tokens=5).identity != identity
    assert open_tiny(family, batch_size=2).identity == identity


def test_other_weights_are_another_revision(tiny, open_tiny, tmp_path):
    folder = tmp_path / "llava"
    shutil.copytree(tiny("llava"), folder)
    before = open_tiny(folder).identity
    assert before == open_tiny(tiny("llava")).identity
    path = folder / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1000:] = bytes(1000)
    path.write_bytes(data)
    assert open_tiny(folder).identity["revision"] != before["revision"]


def test_bfloat16_runs(tiny, open_tiny, question):
    (reply,) = ask_together(open_tiny(tiny("llava"), dtype="bfloat16"), [question(0)])
    assert reply.finish_reason in {"stop", "length"}


def test_a_temperature_draws_and_a_seed_repeats(tiny, open_tiny, question):
    requests = [question(0)]
    replies = [
        ask_alone(open_tiny(tiny("llava"), temperature=2.0, seed=seed), requests)[0].text
        for seed in (1, 1, 2)
    ]
    assert replies[0] == replies[1] != replies[2]


def test_the_window_that_fills_batches_is_suggested(tiny, open_tiny):
    assert open_tiny(tiny("llava"), batch_size=6).suggested_connections == 24


def test_a_folder_that_is_no_model_is_refused(tmp_path, open_tiny, torch):
    with pytest.raises(ModelError, match="cannot be opened"):
        open_tiny(tmp_path)


def test_a_model_without_a_chat_template_is_refused(tiny, open_tiny, tmp_path):
    folder = tmp_path / "llava"
    shutil.copytree(tiny("llava"), folder)
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(ModelError, match="chat template"):
        open_tiny(folder)


def test_a_model_that_only_reads_is_refused(tiny, open_tiny, tmp_path):
    folder = tmp_path / "text"
    shutil.copytree(tiny("llava"), folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config["text_config"]))
    with pytest.raises(ModelError, match="llama"):
        open_tiny(folder)


def test_code_that_comes_with_a_model_is_not_run_unasked(tiny, open_tiny, tmp_path):
    folder = tmp_path / "remote"
    shutil.copytree(tiny("llava"), folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "novel", "auto_map": {"AutoConfig": "novel.NovelConfig"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "novel.py").write_text("open('ran', 'w'); raise SystemExit('code was run')\n")
    with pytest.raises(ModelError, match="trust_remote_code"):
        open_tiny(folder)
    assert not (folder / "ran").exists()


def test_missing_weights_stop_the_run(tiny, open_tiny, tmp_path, question):
    folder = tmp_path / "llava"
    shutil.copytree(tiny("llava"), folder)
    (folder / "model.safetensors").unlink()
    (error,) = ask_together(open_tiny(folder), [question(0)])
    assert isinstance(error, ModelError)
    assert "weights cannot be loaded" in str(error)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("dtype", "int4"), ("scoring", "luck"), ("batch_size", 0)],
)
def test_a_setting_that_nobody_knows_is_refused(setting, value):
    with pytest.raises(ModelError, match="expected"):
        LocalSettings(**{setting: value})


def test_a_device_that_is_not_there_is_refused(tiny, open_tiny):
    with pytest.raises(ModelError, match="cannot be used"):
        open_tiny(tiny("llava"), device="meteor")


PROBE = """
import sys
from medrcube.cli.app import main
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings
open_model("openai/x", ModelSettings(base_url="http://127.0.0.1:9/v1"))
open_model("baseline/first")
sys.argv = ["medrcube", "evaluate", "--help"]
try:
    main()
except SystemExit:
    pass
sys.exit(bool({"torch", "transformers", "PIL"} & set(sys.modules)))
"""


@pytest.mark.thorough
def test_neither_help_nor_an_endpoint_brings_torch_in():
    process = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr


@pytest.mark.few(1)
@pytest.mark.parametrize("scoring", KINDS)
def test_a_local_model_keeps_the_contract(family, open_tiny, scoring):
    assert check_model(open_tiny(family, scoring=scoring, batch_size=3)) == []
