"""Batch invariance check: the other questions in a batch must not change an answer.

A model that pads on the wrong side, or does not mask its padding, still answers fluently; only a
comparison reveals it. Questions of different lengths with images of different sizes are asked
individually and then in batches, and every reply must be the same.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from medrcube.errors import ModelError
from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.dataset import Benchmark
from medrcube.evaluate.image_files import ImageFile, UnusablePictureError, read_picture
from medrcube.evaluate.models.protocol import (
    AnswerError,
    Json,
    Model,
    ModelRequest,
    RejectedError,
    Reply,
)
from medrcube.evaluate.models.single_request import send_request
from medrcube.evaluate.questions.question_setup import QuestionSetup

__all__ = [
    "LIST_LIMIT",
    "ROUGH_TOLERANCE",
    "TOLERANCE",
    "Disagreement",
    "SelfCheck",
    "draw_requests",
    "selfcheck",
]

TOLERANCE = {"float32": 0.001}
"""Maximum difference between two log-probabilities of one letter, in nats, by number format."""

ROUGH_TOLERANCE = 0.25
"""The same for 16-bit formats, whose rounding depends on the batch shape."""

LIST_LIMIT = 5
"""Number of disagreements listed in a message."""

_POOL = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """One question with two different answers.

    Attributes:
        item: dataset and id, and whether it was asked blind.
        alone: reply to this question alone.
        together: reply to it in a batch.
        difference: largest difference in a letter's log-probability, if both replies have them.
    """

    item: str
    alone: str
    together: str
    difference: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCheck:
    """Result of the check, for the manifest of a run.

    Attributes:
        questions: number of questions compared.
        blind: of these, asked without an image.
        together: concurrent questions.
        largest_difference: of a letter's log-probability, in nats; ``None`` without any.
        tolerance: difference that counts as rounding.
        disagreements: questions with two answers.
    """

    questions: int
    blind: int
    together: int
    largest_difference: float | None
    tolerance: float
    disagreements: tuple[Disagreement, ...]

    def to_json(self) -> dict[str, Json]:
        """Plain data for the manifest."""
        data: dict[str, Json] = asdict(self)
        return {
            **data,
            "disagreements": [asdict(disagreement) for disagreement in self.disagreements],
        }


def selfcheck(
    benchmark: Benchmark,
    model: Model,
    *,
    together: int | None = None,
    questions: int | None = None,
    blind: bool = False,
    asking: QuestionSetup | None = None,
    tolerance: float | None = None,
) -> SelfCheck:
    """Ask a sample of questions alone and then together.

    Args:
        benchmark: release to draw the questions from; deterministic.
        model: the model; remains usable afterwards.
        together: number of concurrent questions; the model's batch size by default.
        questions: number of questions; 16, or one batch if that is more.
        blind: also ask some of them without their image.
        asking: question setup; few-shot examples are left out.
        tolerance: allowed difference of log-probabilities; chosen by the model's number format.

    Raises:
        ModelError: the answers do not agree, or the model does not answer at all.
        ReleaseError: no item of the release has a usable image.
    """
    together = together or getattr(model, "batch_size", None) or 8
    sample = draw_requests(benchmark, questions or max(16, min(together, 64)), asking)
    requests = [*sample, *(replace(request, picture=None) for request in sample[::4] if blind)]
    if len(requests) < 2:
        raise ModelError(
            f"selfcheck: {benchmark.root} has {len(requests)} questions with an image; a batch "
            "cannot be compared with fewer than 2"
        )
    alone, mixed = asyncio.run(_ask_twice(model, requests, together))
    pairs = list(zip(requests, alone, mixed, strict=True))
    allowed = tolerance if tolerance is not None else _tolerance(model)
    differences = [d for _, a, b in pairs if (d := _difference(a, b)) is not None]
    check = SelfCheck(
        questions=len(requests),
        blind=sum(request.picture is None for request in requests),
        together=together,
        largest_difference=max(differences, default=None),
        tolerance=allowed,
        disagreements=tuple(
            Disagreement(
                item=_name(request),
                alone=_answer_text(a),
                together=_answer_text(b),
                difference=_difference(a, b),
            )
            for request, a, b in pairs
            if not _agree(a, b, allowed)
        ),
    )
    if check.disagreements:
        raise ModelError(_complaint(model, check))
    return check


def draw_requests(
    benchmark: Benchmark, count: int, asking: QuestionSetup | None = None
) -> list[ModelRequest]:
    """Draw requests of different lengths with images of different sizes, deterministically.

    Half of them are spread evenly over prompt lengths, half over file sizes.
    """
    usable = [item for item in benchmark.items if item.image is not None]
    usable.sort(key=lambda item: hashlib.sha256(item.name.encode()).digest())
    candidates = (
        _request(benchmark, item, asking or QuestionSetup()) for item in usable[: count * _POOL]
    )
    pool = [request for request in candidates if request is not None]
    by_size = sorted(pool, key=lambda r: len(r.picture.data) if r.picture else 0)
    by_length = sorted(pool, key=lambda r: len(r.prompt))
    requests_by_item = {r.item: r for r in _spread(by_size, (count + 1) // 2)}
    others = [request for request in by_length if request.item not in requests_by_item]
    requests_by_item |= {r.item: r for r in _spread(others, count - len(requests_by_item))}
    return sorted(requests_by_item.values(), key=lambda r: hashlib.sha256(r.item.encode()).digest())


async def _ask_twice(
    model: Model, requests: Sequence[ModelRequest], together: int
) -> tuple[list[Reply | RejectedError], list[Reply | RejectedError]]:
    slots = asyncio.Semaphore(together)

    async def one_of_many(request: ModelRequest) -> Reply | RejectedError:
        async with slots:
            return await _ask(model, request)

    try:
        alone = [await _ask(model, request) for request in requests]
        mixed = await asyncio.gather(*(one_of_many(request) for request in requests))
    finally:
        await model.close()
    return alone, list(mixed)


async def _ask(model: Model, request: ModelRequest) -> Reply | RejectedError:
    try:
        return await send_request(model, request)
    except RejectedError as error:
        return error
    except AnswerError as error:
        raise ModelError(
            f"selfcheck: {model.name} did not answer {request.item}: {error}"
        ) from error


def _agree(alone: Reply | RejectedError, together: Reply | RejectedError, tolerance: float) -> bool:
    difference = _difference(alone, together)
    return _answer_text(alone) == _answer_text(together) and (
        difference is None or difference <= tolerance
    )


def _answer_text(answer: Reply | RejectedError) -> str:
    if isinstance(answer, RejectedError):
        return f"(refused: {answer.code})"
    cut = " (cut)" if answer.finish_reason == "length" else ""
    return answer.text + cut


def _difference(alone: Reply | RejectedError, together: Reply | RejectedError) -> float | None:
    if isinstance(alone, RejectedError) or isinstance(together, RejectedError):
        return None
    shared = alone.scores.keys() & together.scores.keys()
    return max((abs(alone.scores[key] - together.scores[key]) for key in shared), default=None)


def _tolerance(model: Model) -> float:
    dtype = model.identity.get("dtype")
    return TOLERANCE.get(dtype, ROUGH_TOLERANCE) if isinstance(dtype, str) else ROUGH_TOLERANCE


def _complaint(model: Model, check: SelfCheck) -> str:
    wrong = check.disagreements
    head = (
        f"selfcheck: {model.name} answers {len(wrong)} of {check.questions} questions differently "
        f"when {check.together} are asked together; no run was started"
    )
    lines = [head, *(line for disagreement in wrong[:LIST_LIMIT] for line in _lines(disagreement))]
    if len(wrong) > LIST_LIMIT:
        lines.append(f"  and {len(wrong) - LIST_LIMIT} more")
    lines.append(
        f"differences up to {check.tolerance:g} nats count as rounding. Repeat with --dtype "
        "float32: if the answers still differ, the model or its processor pads incorrectly, and "
        "only --batch-size 1 gives correct answers; if they agree, it was rounding"
    )
    return "\n".join(lines)


def _lines(disagreement: Disagreement) -> list[str]:
    apart = (
        "" if disagreement.difference is None else f"  ({disagreement.difference:.3g} nats apart)"
    )
    return [
        f"  {disagreement.item}{apart}",
        f"    alone:    {disagreement.alone[:100]!r}",
        f"    together: {disagreement.together[:100]!r}",
    ]


def _name(request: ModelRequest) -> str:
    return request.item if request.picture is not None else f"{request.item} (blind)"


def _request(
    benchmark: Benchmark, item: BenchmarkItem, asking: QuestionSetup
) -> ModelRequest | None:
    picture = _picture(benchmark, item)
    if picture is None:
        return None
    return ModelRequest(
        item=item.name,
        prompt=asking.prompt.render(item),
        options=item.options,
        picture=asking.prepare(picture),
        ask=item.target and item.target.ask,
    )


def _picture(benchmark: Benchmark, item: BenchmarkItem) -> ImageFile | None:
    try:
        return None if item.image is None else read_picture(benchmark.images, item.image)
    except UnusablePictureError:
        return None


def _spread(requests: Sequence[ModelRequest], count: int) -> list[ModelRequest]:
    """Return ``count`` entries of a sorted list: the first, the last, and evenly between them."""
    if count >= len(requests):
        return list(requests)
    if count < 2:
        return list(requests[-1:]) * count
    step: Any = (len(requests) - 1) / (count - 1)
    return [requests[round(number * step)] for number in range(count)]
