"""Forecast the questions, requests and cost of a run; nothing is sent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from medrcube.evaluate.cost.budget import Prices
from medrcube.evaluate.cost.image_tokens import picture_tokens, rule_name
from medrcube.evaluate.image_files import read_picture
from medrcube.evaluate.models.protocol import Model, RejectedError
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.questions.downscaling import size_of, size_within
from medrcube.evaluate.questions.question_setup import QuestionSetup
from medrcube.evaluate.questions.selection import WITHDRAWN
from medrcube.evaluate.runner.attempt_log import read_attempts
from medrcube.evaluate.runner.plan import RunPlan
from medrcube.evaluate.runner.run_folder import AskedQuestion, attempts_path

__all__ = [
    "CHARACTERS_A_TOKEN",
    "CostForecast",
    "SentImage",
    "distinct_questions",
    "forecast",
    "tokens_in",
]

CHARACTERS_A_TOKEN = 4
"""English characters per token, as documented by OpenAI and Google."""

_MESSAGE = 4
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SentImage:
    """Sizes of an image to be sent.

    Attributes:
        size: width and height in pixels, as sent.
        file_size: width and height in the file.
        data: bytes of the file.
    """

    size: tuple[int, int]
    file_size: tuple[int, int]
    data: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CostForecast:
    """Forecast of a run.

    Attributes:
        model: name of the model.
        items: items asked.
        presentations: presentations of these, by condition and epoch.
        shared: of these, equal to another.
        missing: of these, without a usable image and never asked.
        reused: distinct questions that already have a reply.
        questions: distinct questions that would be sent.
        pictures: images in these requests, examples included.
        distinct_pictures: of these, distinct ones.
        shrunk: of these, downscaled ones.
        largest_side: longest side of an image as sent, in pixels.
        largest_bytes: size of the largest file.
        left_out: selected items that are left out, by reason.
        left_out_by_source: of these, items that may not be sent.
        tokens_text: text tokens of all questions, by ``CHARACTERS_A_TOKEN``.
        tokens_pictures: image tokens.
        tokens_out_each: mean tokens of the replies in the folder; ``None`` without any.
        tokens_out_most: reply limit times questions; ``None`` if the server decides.
        cost_in: US dollars for the input; ``None`` without prices.
        cost: US dollars with replies of the mean length in the folder; ``None`` without any.
        cost_most: US dollars with the longest replies; ``None`` if the server decides.
        pictures_counted: rule by which image tokens are counted.
    """

    model: str
    items: int
    presentations: int
    shared: int
    missing: int
    reused: int
    questions: int
    pictures: int
    distinct_pictures: int
    shrunk: int
    largest_side: int
    largest_bytes: int
    left_out: Mapping[str, int]
    left_out_by_source: Mapping[str, int]
    tokens_text: int
    tokens_pictures: int
    tokens_out_each: float | None
    tokens_out_most: int | None
    cost_in: float | None
    cost: float | None
    cost_most: float | None
    pictures_counted: str

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return asdict(self)


def forecast(
    out: Path, plan: RunPlan, model: Model, asking: QuestionSetup, prices: Prices | None = None
) -> CostForecast:
    """Forecast a run in ``out``; nothing is sent and nothing is written.

    Args:
        out: run folder, new or existing.
        plan: plan of the run.
        model: the model.
        asking: question setup.
        prices: token prices.
    """
    replies = [a for a in read_attempts(attempts_path(out)) if a["status"] == "reply"]
    replied = {reply["key"] for reply in replies}
    distinct = distinct_questions(plan.questions)
    todo = [question for key, question in distinct.items() if key not in replied]
    images = [image for question in todo for image in _images(question, plan)]
    sizes = _sizes(plan, asking, set(images))
    completion_tokens = [
        n for r in replies if (n := r["usage"].get("completion_tokens")) is not None
    ]
    each = sum(completion_tokens) / len(completion_tokens) if completion_tokens else None
    longest = longest_reply(model)
    text = sum(_text_tokens(question, plan, asking, model) for question in todo)
    picture_tokens = sum(_picture_tokens(model, sizes[image]) for image in images if image in sizes)
    most = None if longest is None else longest * len(todo)
    withdrawn = len(
        {question.item.name for question in plan.listed}
        - {question.item.name for question in plan.questions}
    )
    answerable = sum(question.key is not None for question in plan.questions)

    def cost(tokens_out: float | None) -> float | None:
        if prices is None or tokens_out is None:
            return None
        return (
            (text + picture_tokens) * prices.tokens_in + tokens_out * prices.tokens_out
        ) / _MILLION

    return CostForecast(
        model=model.name,
        items=len(plan.items) - withdrawn,
        presentations=len(plan.questions),
        shared=answerable - len(distinct),
        missing=len(plan.questions) - answerable,
        reused=len(distinct) - len(todo),
        questions=len(todo),
        pictures=len(images),
        distinct_pictures=len(set(images)),
        shrunk=sum(question.size != question.file_size for question in sizes.values()),
        largest_side=max((max(question.size) for question in sizes.values()), default=0),
        largest_bytes=max((question.data for question in sizes.values()), default=0),
        left_out={
            **plan.selection.left_out,
            **({WITHDRAWN: withdrawn} if withdrawn else {}),
        },
        left_out_by_source=dict(plan.selection.by_source),
        tokens_text=text,
        tokens_pictures=picture_tokens,
        tokens_out_each=each,
        tokens_out_most=most,
        cost_in=cost(0),
        cost=cost(None if each is None else each * len(todo)),
        cost_most=cost(most),
        pictures_counted=rule_name(model.name),
    )


def distinct_questions(questions: Iterable[AskedQuestion]) -> dict[str, AskedQuestion]:
    """Return the distinct questions of a run by key."""
    return {question.key: question for question in questions if question.key is not None}


def tokens_in(
    plan: RunPlan, asking: QuestionSetup, model: Model, questions: Iterable[AskedQuestion]
) -> dict[str, int]:
    """Return the input tokens of each question by key."""
    listed = list(questions)
    images = {str(question.key): _images(question, plan) for question in listed}
    sizes = _sizes(plan, asking, {image for paths in images.values() for image in paths})
    return {
        str(question.key): _text_tokens(question, plan, asking, model)
        + sum(_picture_tokens(model, sizes[i]) for i in images[str(question.key)] if i in sizes)
        for question in listed
    }


def longest_reply(model: Model) -> int | None:
    """Return the reply limit of a model in tokens; ``None`` if left to the server."""
    parameters = model.identity.get("parameters")
    if not isinstance(parameters, dict):
        return None
    names = ("max_tokens", "max_completion_tokens", "max_new_tokens")
    limits = [value for name in names if isinstance(value := parameters.get(name), int)]
    return max(limits, default=None)


def _images(question: AskedQuestion, plan: RunPlan) -> list[str]:
    """Return the image paths of a request, those of its examples first."""
    if question.presentation.condition is Condition.BLIND:
        return []
    images = [plan.examples[name].image for name, _ in question.shots]
    images += [step.presentation.image for step, is_sent in question.turns if is_sent]
    return [image for image in images if image is not None]


def _sizes(plan: RunPlan, asking: QuestionSetup, images: Iterable[str]) -> dict[str, SentImage]:
    """Return image sizes by path; unreadable images are left out, and fail when they are asked."""

    def look(image: str) -> SentImage | None:
        picture = read_picture(plan.benchmark.images, image)
        try:
            size = size_of(picture)
        except RejectedError:
            return None
        sent_size = size_within(size, asking.image_size)
        return SentImage(size=sent_size, file_size=size, data=len(picture.data))

    listed = sorted(images)
    with ThreadPoolExecutor() as pool:
        sizes = zip(listed, pool.map(look, listed), strict=True)
        return {image: sent_image for image, sent_image in sizes if sent_image is not None}


def _text_tokens(
    question: AskedQuestion, plan: RunPlan, asking: QuestionSetup, model: Model
) -> int:
    system = model.identity.get("system")
    texts = [asking.prompt.render(plan.examples[name]) for name, _ in question.shots]
    texts += [plan.examples[name].right_reply for name, _ in question.shots]
    texts += [system] if isinstance(system, str) else []
    # The model's replies to earlier steps are not known yet.
    texts += [asking.prompt.render(step.item) for step in (*question.before, question)]
    return sum(_MESSAGE + math.ceil(len(text) / CHARACTERS_A_TOKEN) for text in texts)


def _picture_tokens(model: Model, sent_image: SentImage) -> int:
    detail = model.identity.get("image_detail")
    return picture_tokens(model.name, sent_image.size, detail if isinstance(detail, str) else None)
