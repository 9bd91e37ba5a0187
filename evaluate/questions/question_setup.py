"""How questions are presented: prompt, few-shot examples, image size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from medrcube.errors import WorkspaceError
from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.dataset import Benchmark
from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.protocol import Json
from medrcube.evaluate.questions.degradation import Degradation
from medrcube.evaluate.questions.prompts import Prompt, default_prompt
from medrcube.evaluate.runner.example_store import read_examples

if TYPE_CHECKING:
    from medrcube.evaluate.questions.few_shot import ExamplePool, FewShotSettings

__all__ = ["SMALLEST", "QuestionSetup"]

SMALLEST = 32
"""Smallest allowed longest side of an image; below it no medical content is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSetup:
    """How every question of a run is presented; part of the run's identity.

    Attributes:
        prompt: prompt template.
        shots: few-shot examples; ``None`` if there are none.
        image_size: longest side of an image in pixels; larger ones are downscaled. ``None`` sends
            the file's own bytes.
        degradation: degradation of the images in the condition ``degraded``, applied before
            downscaling; ``None`` without that condition.
    """

    prompt: Prompt = field(default_factory=default_prompt)
    shots: FewShotSettings | None = None
    image_size: int | None = None
    degradation: Degradation | None = None

    def __post_init__(self) -> None:
        if self.image_size is not None and self.image_size < SMALLEST:
            raise WorkspaceError(
                f"--image-size {self.image_size}: expected at least {SMALLEST} pixels"
            )

    def examples(
        self,
        benchmark: Benchmark,
        items_to_ask: Iterable[BenchmarkItem],
        withheld: Iterable[str],
        run: Path,
    ) -> ExamplePool | None:
        """Return the examples of a run in the folder ``run``; see ``few_shot.example_pool``."""
        if self.shots is None:
            return None
        from medrcube.evaluate.questions.few_shot import example_pool  # noqa: PLC0415 - numpy and Pillow

        return example_pool(benchmark, self.shots, items_to_ask, withheld, read_examples(run))

    def identity(self, examples: ExamplePool | None) -> dict[str, Json]:
        """Return the manifest entries of the question setup.

        Args:
            examples: the few-shot examples.
        """
        parts: dict[str, Json] = {"prompt": self.prompt.identity}
        if examples is not None:
            parts["shots"] = examples.identity
        if (pixels := self.pixels) is not None:
            parts["pictures"] = pixels
        return parts

    @property
    def pixels(self) -> dict[str, Json] | None:
        """Manifest entry of the downscaling; ``None`` if there is none."""
        if self.image_size is None:
            return None
        from medrcube.evaluate.questions.downscaling import RULE  # noqa: PLC0415 - Pillow

        return {"longest_side": self.image_size, "rule": RULE}

    def prepare(self, picture: ImageFile, *, degraded: bool = False) -> ImageFile:
        """Return the image as sent to a model; call it in a thread.

        Args:
            picture: the image as in the release.
            degraded: whether to degrade it first.

        Raises:
            RejectedError: it must be converted and cannot be decoded.
        """
        if degraded and self.degradation is not None:
            from medrcube.evaluate.questions.degraded_images import degrade  # noqa: PLC0415 - Pillow

            picture = degrade(picture, self.degradation)
        if self.image_size is None:
            return picture
        from medrcube.evaluate.questions.downscaling import shrink  # noqa: PLC0415 - Pillow

        return shrink(picture, self.image_size)
