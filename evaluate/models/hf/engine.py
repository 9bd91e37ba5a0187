"""Generate batches of replies with transformers.

Padding is on the left, so that each reply directly follows its question: with right padding, a
model would continue from padding tokens, and its answer would depend on the rest of the batch.
"""

from __future__ import annotations

import copy
import gc
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.errors import ModelError
from medrcube.evaluate.answer_parsing.thinking_blocks import strip_reasoning
from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.hf.batches import ErrorKind, Generation, GenerationJob
from medrcube.evaluate.models.hf.chat_turns import check_earlier_turns, pictures_of, turns_of
from medrcube.evaluate.models.hf.images import decode_picture, picture_size
from medrcube.evaluate.models.hf.loading import OpenedModel, load_weights
from medrcube.evaluate.models.hf.option_scoring import (
    FirstToken,
    TextScorer,
    best_option,
    continuation_tokens,
    letter_tokens,
)
from medrcube.evaluate.models.hf.processors import chat_template
from medrcube.evaluate.models.hf.settings import LocalSettings, Scoring
from medrcube.evaluate.models.protocol import Json, ModelRequest
from medrcube.evaluate.models.settings import ModelSettings

try:
    import torch
except ImportError as error:
    from medrcube.errors import MissingExtraError

    raise MissingExtraError("torch", "local") from error

__all__ = ["LONGEST_REPLY", "PADDING", "TensorBatch", "TransformersEngine", "hidden_tokens"]

PADDING = "left"
LONGEST_REPLY = 4096
"""Default limit of a reply in tokens."""

_PIXELS_A_TOKEN = 28 * 28


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorBatch:
    """A batch of jobs as tensors in main memory.

    Attributes:
        jobs: the questions.
        inputs: tensors from the processor; one entry per job if options are scored by text.
        letter_tokens: for each job the tokens of the letter of each option.
        options: for each job the tokens of each option's text; empty unless scored by text.
    """

    jobs: Sequence[GenerationJob]
    inputs: Sequence[Any]
    letter_tokens: Sequence[Mapping[str, Sequence[int]]]
    options: Sequence[Mapping[str, Sequence[int]]]


class TransformersEngine:
    """Computes answers; see ``GenerationEngine`` for the contract.

    Args:
        opened: the model's files.
        settings: generation settings.
        model: the loaded model; if omitted, the weights are loaded at the first answer.
    """

    def __init__(self, opened: OpenedModel, settings: ModelSettings, model: Any = None) -> None:
        self._opened = opened
        self._settings = settings
        self._local: LocalSettings = settings.local
        self._processor = opened.processor
        self._tokenizer = opened.processor.tokenizer
        self._tokenizer.padding_side = PADDING
        _ensure_padding(self._tokenizer)
        self._hidden = hidden_tokens(self._tokenizer)
        self._model = model
        self._scorer: TextScorer | None = None
        # A tokenizer stores its padding settings, so two threads must not use it at once.
        self._turn = threading.Lock()
        self._stopped = threading.Event()

    def job(self, request: ModelRequest) -> GenerationJob:
        """Render a question by the model's chat template, and predict its length in tokens.

        Raises:
            Exception: any error of the template or of the image decoder.
        """
        if request.ask is not None and self._local.scoring != Scoring.GENERATE:
            raise ValueError("it has no options to score; use scoring 'generate'")
        with self._turn:
            text = self._processor.apply_chat_template(
                turns_of(request),
                chat_template=chat_template(self._processor),
                add_generation_prompt=True,
                tokenize=False,
            )
            check_earlier_turns(text, request)
            length = len(self._tokenizer(text, add_special_tokens=False)["input_ids"])
            length += sum(map(self._visual_tokens, pictures_of(request)))
        return GenerationJob(request=request, text=text, length=length)

    def prepare(self, jobs: Sequence[GenerationJob]) -> TensorBatch:
        """Decode images and create padded tensors."""
        pictures: dict[str, Any] = {}
        for picture in (picture for job in jobs for picture in pictures_of(job.request)):
            if picture.sha256 not in pictures:
                pictures[picture.sha256] = decode_picture(picture)
        by_text = self._local.scoring == Scoring.TEXT
        groups = [[job] for job in jobs] if by_text else [list(jobs)]
        with self._turn:
            return TensorBatch(
                jobs=jobs,
                inputs=[self._tensors(group, pictures) for group in groups],
                letter_tokens=[
                    letter_tokens(self._tokenizer, j.text, j.request.options) for j in jobs
                ],
                options=[self._option_tokens(job) for job in jobs] if by_text else (),
            )

    def answer(self, prepared: TensorBatch) -> Sequence[Generation]:
        """Compute a batch.

        Raises:
            ModelError: the weights cannot be loaded, or the model has no letters to score.
        """
        if self._model is None:
            self._model = load_weights(self._opened, self._local)
            if self._settings.seed is not None:
                torch.manual_seed(self._settings.seed)
        with torch.inference_mode():
            if self._local.scoring == Scoring.TEXT:
                return list(self._by_text(prepared))
            return list(self._by_token(prepared))

    def judge(self, error: Exception) -> ErrorKind:
        """Distinguish out of memory, a failed device and an invalid question."""
        text = str(error).lower()
        if isinstance(error, torch.OutOfMemoryError | MemoryError):
            return ErrorKind.MEMORY
        if isinstance(error, RuntimeError):
            if "out of memory" in text or "not enough memory" in text:
                return ErrorKind.MEMORY
            if "cuda error" in text or "device-side assert" in text:
                return ErrorKind.DEVICE
        return ErrorKind.QUESTION

    def free(self) -> None:
        """Free the memory of failed batches."""
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if torch.backends.mps.is_available():
            torch.mps.empty_cache()

    def stop(self) -> None:
        """Stop after the current token."""
        self._stopped.set()

    def go(self) -> None:
        """Allow computation again."""
        self._stopped.clear()

    def parameters(self) -> dict[str, Json]:
        """The generation parameters: the model's defaults overridden by the user's settings."""
        generation = self._generation().to_diff_dict()
        dropped = ("transformers_version", "_from_model_config")
        facts = {key: value for key, value in generation.items() if key not in dropped}
        return {**facts, "scoring": str(self._local.scoring)}

    def _visual_tokens(self, picture: ImageFile) -> int:
        height, width = picture_size(picture)
        try:
            foreseen = self._processor._get_num_multimodal_tokens(  # noqa: SLF001 - nothing public
                image_sizes=[(height, width)]
            )
            return int(foreseen["num_image_tokens"][0])
        except Exception:  # noqa: BLE001 - not every processor tells; a rough order will do
            return math.ceil(height * width / _PIXELS_A_TOKEN)

    def _tensors(self, jobs: Sequence[GenerationJob], pictures: Mapping[str, Any]) -> Any:
        texts = [job.text for job in jobs]
        pictures_by_job = [pictures_of(job.request) for job in jobs]
        images = [
            [pictures[picture.sha256] for picture in each] for each in pictures_by_job if each
        ]
        begin = self._tokenizer.bos_token
        return self._processor(
            text=texts,
            **({"images": images} if images else {}),
            padding=True,
            return_tensors="pt",
            # A template that writes the BOS token itself must not get a second one.
            add_special_tokens=not (begin and texts[0].startswith(begin)),
        )

    def _option_tokens(self, job: GenerationJob) -> dict[str, list[int]]:
        tokens_by_letter = {
            letter: continuation_tokens(self._tokenizer, job.text, text)
            for letter, text in job.request.options
        }
        if not all(tokens_by_letter.values()):
            raise ValueError("an option has no text of its own to score")
        return tokens_by_letter

    def _by_token(self, batch: TensorBatch) -> Iterator[Generation]:
        inputs = batch.inputs[0].to(self._opened.device, dtype=self._opened.dtype)
        generation = self._generation()
        first = FirstToken()
        output = self._model.generate(
            **inputs,
            generation_config=generation,
            logits_processor=[first],
            stopping_criteria=[self._interrupt],
        )
        # Most models return the prompt before the reply, some the reply alone.
        start = inputs["input_ids"].shape[1]
        start *= torch.equal(output[:, :start], inputs["input_ids"])
        ends = set(_as_list(generation.eos_token_id))
        prompt_lengths = inputs["attention_mask"].sum(dim=1).tolist()
        rows = zip(
            output[:, start:].tolist(), prompt_lengths, batch.letter_tokens, batch.jobs, strict=True
        )
        for number, (tokens, prompt, spelling, job) in enumerate(rows):
            scores = first.scores(number, spelling)
            if self._local.scoring == Scoring.LIKELIHOOD:
                yield _choice(scores, prompt, 0, job)
                continue
            end = next((n for n, token in enumerate(tokens) if token in ends), None)
            reply_tokens = tokens if end is None else tokens[:end]
            yield Generation(
                text=self._text(reply_tokens),
                finish_reason="length" if end is None else "stop",
                usage=_usage(prompt, len(reply_tokens) + (end is not None)),
                scores=scores,
            )

    def _text(self, tokens: Sequence[int]) -> str:
        visible = [token for token in tokens if token not in self._hidden]
        return str(self._tokenizer.decode(visible)).strip()

    def _by_text(self, batch: TensorBatch) -> Iterator[Generation]:
        if self._scorer is None:
            self._scorer = TextScorer(model=self._model, dtype=self._opened.dtype)
        for job, tensors, options in zip(batch.jobs, batch.inputs, batch.options, strict=True):
            inputs = tensors.to(self._opened.device, dtype=self._opened.dtype)
            scores = self._scorer.scores(inputs, options)
            computed = sum(len(tokens) for tokens in options.values())
            yield _choice(scores, inputs["input_ids"].shape[1], computed, job)

    def _interrupt(self, ids: Any, _scores: Any, **_others: Any) -> Any:
        return torch.full((ids.shape[0],), self._stopped.is_set(), device=ids.device)

    def _generation(self) -> Any:
        """Return the model's generation config, greedy unless a temperature is set."""
        config = copy.deepcopy(self._opened.generation)
        if self._local.scoring == Scoring.GENERATE:
            temperature = self._settings.temperature or 0.0
            limit = self._settings.max_tokens or config.max_new_tokens or LONGEST_REPLY
        else:
            temperature, limit = 0.0, 1
            config.repetition_penalty = 1.0
        config.do_sample = temperature > 0
        config.temperature = temperature if config.do_sample else None
        if not config.do_sample:
            config.top_p = config.top_k = None
        config.num_beams = config.num_return_sequences = 1
        config.max_length = None
        config.max_new_tokens = limit
        config.pad_token_id = self._tokenizer.pad_token_id
        ends = {*_as_list(config.eos_token_id), *_as_list(self._tokenizer.eos_token_id)}
        config.eos_token_id = sorted(ends) or None
        return config


def hidden_tokens(tokenizer: Any) -> frozenset[int]:
    """Return special tokens, except those around reasoning, which is parsed later."""
    added = tokenizer.added_tokens_decoder.items()
    special = {*tokenizer.all_special_ids, *(n for n, token in added if token.special)}
    return frozenset(n for n in special if not _parts_thinking(tokenizer.decode([n])))


def _parts_thinking(text: str) -> bool:
    visible = strip_reasoning(text)
    return not visible.closed or visible.text != text


def _choice(
    scores: Mapping[str, float], prompt: int, computed: int, job: GenerationJob
) -> Generation:
    if not scores:
        raise ModelError(
            f"{job.request.item}: the letters of its options share their first token, so they "
            "cannot be distinguished by likelihood; use scoring 'generate' or 'text'"
        )
    return Generation(
        text=best_option(scores),
        finish_reason="stop",
        usage=_usage(prompt, computed),
        scores=dict(scores),
    )


def _usage(prompt: int, reply_tokens: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": reply_tokens,
        "total_tokens": prompt + reply_tokens,
    }


def _ensure_padding(tokenizer: Any) -> None:
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token or tokenizer.bos_token
    if tokenizer.pad_token_id is None:
        raise ModelError("the tokenizer has no token to pad with; expected a pad or end token")


def _as_list(ids: Any) -> list[int]:
    return [] if ids is None else list(ids) if isinstance(ids, list | tuple) else [int(ids)]
