"""Chat turns of a question and its earlier turns, for a chat template."""

from __future__ import annotations

from typing import Any

from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.protocol import ModelRequest

__all__ = ["check_earlier_turns", "pictures_of", "turns_of"]


def turns_of(request: ModelRequest) -> list[dict[str, Any]]:
    """Return the turns for the chat template: examples, conversation so far, question."""
    turns: list[dict[str, Any]] = []
    for earlier in request.earlier_turns:
        turns.append(_user(earlier.prompt, earlier.picture))
        turns.append({"role": "assistant", "content": [_text_part(earlier.reply)]})
    return [*turns, _user(request.prompt, request.picture)]


def check_earlier_turns(text: str, request: ModelRequest) -> None:
    """Refuse a rendered text that lacks examples or earlier questions.

    Some templates drop earlier turns, which would be lost silently.

    Raises:
        ValueError: an earlier question or its reply is not where it belongs.
    """
    rest = text
    prompts = [*(earlier.prompt for earlier in request.earlier_turns), request.prompt]
    for earlier, following in zip(request.earlier_turns, prompts[1:], strict=True):
        _, separator, rest = rest.partition(earlier.prompt)
        reply = rest.partition(following)[0]
        if not separator or earlier.reply not in reply:
            lost = "examples" if earlier in request.shots else "earlier questions and replies"
            raise ValueError(f"the chat template of the model drops {lost}")


def _user(prompt: str, picture: ImageFile | None) -> dict[str, Any]:
    image = [] if picture is None else [{"type": "image"}]
    return {"role": "user", "content": [*image, _text_part(prompt)]}


def _text_part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def pictures_of(request: ModelRequest) -> list[ImageFile]:
    """Return images of the earlier turns, then that of the question, in text order."""
    pictures = [*(earlier.picture for earlier in request.earlier_turns), request.picture]
    return [picture for picture in pictures if picture is not None]
