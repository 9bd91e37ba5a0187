"""Any vision-language model that transformers can load, run locally in batches.

The runner asks many single questions concurrently; here they are batched.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from medrcube.evaluate.models.hf.batches import WINDOW, Batcher, GenerationJob
from medrcube.evaluate.models.hf.engine import TransformersEngine
from medrcube.evaluate.models.hf.images import PIXELS
from medrcube.evaluate.models.hf.loading import model_facts, open_files
from medrcube.evaluate.models.protocol import Json, ModelRequest, RejectedError, Reply
from medrcube.evaluate.models.settings import ModelSettings

__all__ = ["ADAPTER", "HFModel", "open_hf"]

ADAPTER = "hf/1"
"""Changed whenever the same question would reach the model in a different form."""


def open_hf(path: str, settings: ModelSettings) -> HFModel:
    """Open a local folder or a hub model; the weights are loaded at the first question.

    Raises:
        ModelError: it cannot be opened, or is not a chat model that takes images.
        MissingExtraError: torch, transformers or Pillow is not installed.
    """
    opened = open_files(path, settings.local)
    engine = TransformersEngine(opened, settings)
    identity: dict[str, Json] = {
        "adapter": ADAPTER,
        "name": f"hf/{opened.name}",
        **model_facts(opened, settings.local),
        "pixels": PIXELS,
        "parameters": {**engine.parameters(), "seed": settings.seed},
    }
    return HFModel(engine, identity=identity, batch_size=settings.local.batch_size)


class HFModel:
    """One local model; see ``Model`` for the contract.

    The batch size is not part of the identity: it should affect only rounding, which ``selfcheck``
    verifies.
    """

    def __init__(
        self, engine: TransformersEngine, *, identity: Mapping[str, Json], batch_size: int
    ) -> None:
        self._engine = engine
        self._identity = identity
        self._batch_size = batch_size
        self._batcher: Batcher | None = None

    @property
    def name(self) -> str:
        """``hf/`` and the hub name, or the last part of the folder's path."""
        return str(self._identity["name"])

    @property
    def takes_shots(self) -> bool:
        """Examples are turns of the conversation before the question."""
        return True

    @property
    def takes_history(self) -> bool:
        """Earlier questions and replies are turns of the conversation too."""
        return True

    @property
    def identity(self) -> Mapping[str, Json]:
        """Files, device, libraries, processor and parameters."""
        return self._identity

    @property
    def suggested_connections(self) -> int:
        """Number of concurrent questions that keeps batches full and of similar length."""
        return WINDOW * self._batch_size

    @property
    def batch_size(self) -> int:
        """Maximum number of questions in a batch."""
        return self._batch_size

    async def answer(self, request: ModelRequest) -> Reply:
        """Answer a question, batched with other waiting ones."""
        started = time.monotonic()
        if self._batcher is None:
            self._batcher = Batcher(self._engine, batch_size=self._batch_size)
        answer = await self._batcher.submit(lambda: self._job(request))
        return Reply(
            text=answer.text,
            finish_reason=answer.finish_reason,
            usage=answer.usage,
            scores=answer.scores,
            model=f"{self.name}@{self._identity['revision']}",
            latency=time.monotonic() - started,
        )

    async def close(self) -> None:
        """Stop computing; the weights stay loaded, so that the model may be used again."""
        batcher, self._batcher = self._batcher, None
        if batcher is not None:
            await batcher.close()

    def _job(self, request: ModelRequest) -> GenerationJob:
        try:
            return self._engine.job(request)
        except Exception as error:  # noqa: BLE001 - whatever a template or decoder raises
            short = " ".join(f"{type(error).__name__}: {error}".split())[:500]
            raise RejectedError(
                f"cannot be passed to the model: {short}", code="model-error"
            ) from None
