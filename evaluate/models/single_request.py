"""Send one request to a model; a fault of its code becomes one line."""

from __future__ import annotations

from medrcube.errors import MedrcubeError, ModelError
from medrcube.evaluate.models.protocol import AnswerError, Model, ModelRequest, Reply

__all__ = ["send_request"]

_LONGEST = 200


async def send_request(model: Model, request: ModelRequest) -> Reply:
    """Send one request once.

    Raises:
        AnswerError: this question was not answered.
        MedrcubeError: the model cannot be used.
        ModelError: the model raised an exception that its protocol does not allow; names the
            model, the item and the exception, which is the cause.
        TimeoutError: as the model or the caller's timeout raised it.
    """
    try:
        return await model.answer(request)
    except (AnswerError, MedrcubeError, TimeoutError):
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}".partition("\n")[0][:_LONGEST]
        raise ModelError(
            f"{model.name} failed at {request.item}: {text}; this is a fault in the code of the "
            "model, not a reply (traceback: medrcube -v evaluate). Replies so far are kept"
        ) from error
