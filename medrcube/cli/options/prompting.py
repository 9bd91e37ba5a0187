"""Options of ``medrcube evaluate`` for prompt, few-shot examples and image size."""

from __future__ import annotations

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

_PANEL = "Prompt and images"

PromptFile = Annotated[
    Path | None,
    typer.Option(
        "--prompt",
        metavar="FILE",
        help="Jinja template; variables: question, options, letters, instruction, task, modality, "
        "anatomy.",
        rich_help_panel=_PANEL,
    ),
]
ShotCount = Annotated[
    int | None,
    typer.Option(
        "--shots",
        metavar="N",
        help="Number of solved examples before each question, taken from other patients.",
        rich_help_panel=_PANEL,
    ),
]
ShotSeed = Annotated[
    int,
    typer.Option(
        "--shots-seed", metavar="N", help="Seed for choosing the examples.", rich_help_panel=_PANEL
    ),
]
ImageSize = Annotated[
    int | None,
    typer.Option(
        metavar="PIXELS",
        help="Maximum side length of an image; larger images are scaled down.",
        rich_help_panel=_PANEL,
    ),
]
ImageDetail = Annotated[
    str | None,
    typer.Option(
        metavar="low|high|auto",
        help="Value of the request field 'detail', for endpoints that support it.",
        rich_help_panel=_PANEL,
    ),
]


def asking_of(
    prompt: Path | None, shots: int | None, shots_seed: int, image_size: int | None
) -> QuestionSetup:
    """How the options ask a question.

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
