"""Look up the batch API of a model."""

from __future__ import annotations

from medrcube.errors import ModelError
from medrcube.evaluate.models.batch_api.protocol import BatchInterface
from medrcube.evaluate.models.protocol import Model

__all__ = ["batches_of"]


def batches_of(model: Model) -> BatchInterface:
    """Return the batch API of a model.

    Raises:
        ModelError: it has none.
    """
    provider = model.name.partition("/")[0]
    if provider == "openai":
        from medrcube.evaluate.models.openai_api.batches import OpenAIBatches  # noqa: PLC0415
        from medrcube.evaluate.models.openai_api.model import OpenAIModel  # noqa: PLC0415 - needs an extra

        if isinstance(model, OpenAIModel):
            return OpenAIBatches(model)
    if provider == "anthropic":
        from medrcube.evaluate.models.anthropic_api.batches import AnthropicBatches  # noqa: PLC0415
        from medrcube.evaluate.models.anthropic_api.model import AnthropicModel  # noqa: PLC0415 - an extra

        if isinstance(model, AnthropicModel):
            return AnthropicBatches(model)
    raise ModelError(
        f"--batch: {model.name} has no batch interface; it is for openai/NAME and anthropic/NAME"
    )
