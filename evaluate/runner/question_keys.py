"""Key of a question: the digest of everything that may change its reply."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.dataset import Benchmark
from medrcube.evaluate.item_encoding import encode_text
from medrcube.evaluate.models.protocol import Json
from medrcube.evaluate.questions.chains import RULE as CHAINS
from medrcube.evaluate.questions.conditions import Condition, Presentation
from medrcube.evaluate.questions.prompts import render_prompt
from medrcube.evaluate.questions.question_setup import QuestionSetup
from medrcube.evaluate.runner.run_folder import AskedQuestion

if TYPE_CHECKING:
    from medrcube.evaluate.questions.few_shot import ExamplePool

__all__ = ["QuestionKeys"]

_ENCODER = json.JSONEncoder(sort_keys=True)
_MOST_PROMPTS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionKeys:
    """Computes the keys of the questions of a run.

    Attributes:
        benchmark: the release.
        model: digest of the model's identity.
        asking: question setup.
        examples: source of the few-shot examples; ``None`` if there are none.
        elsewhere: the questions were answered elsewhere and need no image here.
        examples_used: items that are an example of some question, by name; filled by
            ``question_of``.
    """

    benchmark: Benchmark
    model: str
    asking: QuestionSetup
    examples: ExamplePool | None
    elsewhere: bool = False
    examples_used: dict[str, BenchmarkItem] = field(default_factory=dict)
    _prompts: dict[tuple[object, ...], str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        benchmark: Benchmark,
        model: Mapping[str, Json],
        asking: QuestionSetup,
        examples: ExamplePool | None,
        *,
        elsewhere: bool,
    ) -> QuestionKeys:
        """Return the keys for a model, by its identity, on a release."""
        identity = json.dumps(model, sort_keys=True)
        digest = hashlib.sha256(identity.encode()).hexdigest()
        return cls(
            benchmark=benchmark,
            model=digest,
            asking=asking,
            examples=examples,
            elsewhere=elsewhere,
        )

    def question_of(
        self, presentation: Presentation, before: tuple[AskedQuestion, ...] = ()
    ) -> AskedQuestion:
        """Return the question of a presentation, with its key.

        Args:
            presentation: the presentation.
            before: the earlier steps of its chain.

        Raises:
            WorkspaceError: the prompt cannot be rendered, or there are too few examples.
        """
        image = presentation.image
        digest = None if image is None else self.benchmark.image_digests[image]
        usable = digest is not None or self.elsewhere or not presentation.wants_image
        if before:
            usable &= all(step.key is not None for step in before)
        shots = self.examples.of(presentation) if self.examples and usable else ()
        if shots:
            self.examples_used.update({item.name: item for item in shots})
        return AskedQuestion(
            presentation=presentation,
            subject=digest if presentation.item.image == image else self._image(presentation.item),
            image_sha256=digest,
            key=self._key(presentation, digest, shots, before) if usable else None,
            shots=tuple((item.name, self._image(item) or "") for item in shots),
            before=before,
        )

    def _image(self, item: BenchmarkItem) -> str | None:
        return None if item.image is None else self.benchmark.image_digests[item.image]

    def _key(
        self,
        presentation: Presentation,
        image_sha256: str | None,
        shots: tuple[BenchmarkItem, ...],
        before: tuple[AskedQuestion, ...],
    ) -> str:
        # Item and condition are excluded, so the same question in two conditions is asked once.
        blind = presentation.condition is Condition.BLIND
        settings: dict[str, Json] = {}
        if self.elsewhere:
            # Without their images two questions would have the same key.
            settings["item"] = presentation.item.name
        # Without examples the keys equal those of earlier versions.
        if shots:
            settings["shots"] = [
                [self._prompt(item), item.right_reply, None if blind else self._image(item)]
                for item in shots
            ]
        if self.asking.pixels and not blind:
            settings["pixels"] = self.asking.pixels
        # The first step of a chain is just the question. The replies to the steps are not known
        # yet; a reply records which ones it was given after.
        if before:
            settings["history"] = [CHAINS, *(step.key for step in before)]
        if presentation.condition is Condition.DEGRADED and self.asking.degradation:
            settings["degraded"] = self.asking.degradation.identity
        request = self._request(presentation, image_sha256, settings)
        return hashlib.sha256(request.encode()).hexdigest()

    def _request(
        self, presentation: Presentation, image_sha256: str | None, settings: Mapping[str, Json]
    ) -> str:
        """Return the question as JSON with sorted keys."""
        prompt = self._prompt(presentation.item)
        if not settings and image_sha256 is not None:
            return (
                f'{{"epoch": {presentation.epoch}, "image_sha256": {encode_text(image_sha256)}, '
                f'"model": {encode_text(self.model)}, "prompt": {encode_text(prompt)}}}'
            )
        return _ENCODER.encode(
            {
                **settings,
                "model": self.model,
                "prompt": prompt,
                "image_sha256": image_sha256,
                "epoch": presentation.epoch,
            }
        )

    def _prompt(self, item: BenchmarkItem) -> str:
        if not self.asking.prompt.own:  # its parts are joined, which is faster than a look-up
            return render_prompt(item)
        words = (
            item.question,
            item.options,
            item.target and item.target.ask,
            item.task,
            item.modality,
            item.parts,
        )
        prompt = self._prompts.get(words)
        if prompt is None:
            prompt = self.asking.prompt.render(item)
            # Texts within one release often repeat; if they do not, memory would grow.
            if len(self._prompts) >= _MOST_PROMPTS:
                self._prompts.clear()
            self._prompts[words] = prompt
        return prompt
