"""Options of ``medrcube evaluate`` for prompt, few-shot examples and image size."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from medrcube.evaluate.questions.question_setup import QuestionSetup

__all__ = [
    "ImageDetail",
    "ImageSize",
    "PromptFile",
    "ShotCount",
    "ShotSeed",
    "asking_of",
]

_option = partial(typer.Option, rich_help_panel="Prompt and images")

PromptFile = Annotated[
    Path | None,
    _option(
        "--prompt",
        metavar="FILE",
        help="Jinja template; variables: question, options, letters, instruction, task, modality, "
        "anatomy.",
    ),
]
ShotCount = Annotated[
    int | None,
    _option(
        "--shots",
        metavar="N",
        help="Number of solved examples before each question, taken from other patients.",
    ),
]
ShotSeed = Annotated[
    int,
    _option("--shots-seed", metavar="N", help="Seed for choosing the examples."),
]
ImageSize = Annotated[
    int | None,
    _option(
        metavar="PIXELS", help="Maximum side length of an image; larger images are scaled down."
    ),
]
ImageDetail = Annotated[
    str | None,
    _option(
        metavar="low|high|auto",
        help="Value of the request field 'detail', for endpoints that support it.",
    ),
]


def asking_of(
    prompt: Path | None, shots: int | None, shots_seed: int, image_size: int | None
) -> QuestionSetup:
    """The question setup that the options describe.

    Raises:
        WorkspaceError: the prompt is not a template, or a number is out of its range.
    """
    from medrcube.evaluate.questions.prompts import default_prompt, read_prompt
    from medrcube.evaluate.questions.question_setup import QuestionSetup

    few_shot = None
    if shots is not None:
        from medrcube.evaluate.questions.few_shot import FewShotSettings

        few_shot = FewShotSettings(count=shots, seed=shots_seed)
    return QuestionSetup(
        prompt=default_prompt() if prompt is None else read_prompt(prompt),
        shots=few_shot,
        image_size=image_size,
    )
