"""Chat turns of a question and its examples, for a chat template."""

from __future__ import annotations

from typing import Any

from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.protocol import ModelRequest

__all__ = ["check_examples", "pictures_of", "turns_of"]


def turns_of(request: ModelRequest) -> list[dict[str, Any]]:
    """Turns for the chat template; the question comes last."""
    turns: list[dict[str, Any]] = []
    for shot in request.shots:
        turns.append(_user(shot.prompt, shot.picture))
        turns.append({"role": "assistant", "content": [_text_part(shot.reply)]})
    return [*turns, _user(request.prompt, request.picture)]


def check_examples(text: str, request: ModelRequest) -> None:
    """Refuse a rendered text that lacks examples.

    Some templates drop earlier turns, and the examples would be lost silently.

    Raises:
        ValueError: a question or a reply of an example is not where it belongs.
    """
    rest = text
    prompts = [*(shot.prompt for shot in request.shots), request.prompt]
    for shot, following in zip(request.shots, prompts[1:], strict=True):
        _, separator, rest = rest.partition(shot.prompt)
        reply = rest.partition(following)[0]
        if not separator or shot.reply not in reply:
            raise ValueError("the chat template of the model leaves out examples")


def _user(prompt: str, picture: ImageFile | None) -> dict[str, Any]:
    image = [] if picture is None else [{"type": "image"}]
    return {"role": "user", "content": [*image, _text_part(prompt)]}


def _text_part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def pictures_of(request: ModelRequest) -> list[ImageFile]:
    """Images of the examples, then that of the question, in the order of the text."""
    pictures = [*(shot.picture for shot in request.shots), request.picture]
    return [picture for picture in pictures if picture is not None]
