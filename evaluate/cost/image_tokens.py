"""Image token counts, according to the providers' documentation.

- OpenAI, "Images and vision" (API guide): tile-based models scale an image to fit 2,048 x 2,048,
  then to a shorter side of 768, and count 85 tokens plus 170 per tile of 512 x 512; with low detail
  85. Patch-based models (``-mini``, ``-nano``) count squares of 32 x 32, at most 1,536, times a
  factor. gpt-4o-mini counts 2,833 and 5,667 in place of 85 and 170. The sources, and deviations
  that users were billed for, are in ``docs/how-to/choose-how-it-is-asked.md``.
- Anthropic, "Vision": width x height / 750, after scaling to a longer side of 1,568 and about
  1,600 tokens. Later models take larger images.
- Google, Gemini API, "Understand and count tokens": 258 up to 384 x 384, else 258 per tile of
  768 x 768.
- Everything else is counted like Qwen2.5-VL: one token per 28 x 28 pixels, at least 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["picture_tokens", "rule_name"]


def picture_tokens(model: str, size: tuple[int, int], detail: str | None = None) -> int:
    """Return the token count of an image.

    Args:
        model: ``PROVIDER/NAME``.
        size: width and height as sent.
        detail: detail level; high if omitted.
    """
    _, count = _rule(model)
    return count(*size, detail == "low")


def rule_name(model: str) -> str:
    """Name of the rule that applies to a model."""
    return _rule(model)[0]


Count = Callable[[int, int, bool], int]


def _rule(model: str) -> tuple[str, Count]:
    name = model.casefold()
    for parts, name_text, count in _RULES:
        if all(part in name for part in parts):
            return name_text, count
    return "as Qwen2.5-VL does, a token for 28 x 28 pixels", _squares


def _tiles(base: int, tile: int) -> Count:
    def count(width: int, height: int, low: bool) -> int:  # noqa: FBT001 - one of a table
        if low:
            return base
        fit = min(1.0, 2048 / max(width, height))
        fit *= min(1.0, 768 / (min(width, height) * fit))
        # A side that is an exact multiple except for rounding does not start another tile.
        across, down = (math.ceil(round(side * fit, 6) / 512) for side in (width, height))
        return base + tile * across * down

    return count


def _patches(factor: float) -> Count:
    def count(width: int, height: int, _low: bool) -> int:  # noqa: FBT001 - one of a table
        most = 1536
        squares = math.ceil(width / 32) * math.ceil(height / 32)
        return math.ceil(min(squares, most) * factor)

    return count


def _anthropic(width: int, height: int, _low: bool) -> int:  # noqa: FBT001 - one of a table
    fit = min(1.0, 1568 / max(width, height))
    return min(1600, math.ceil(width * fit * height * fit / 750))


def _gemini(width: int, height: int, _low: bool) -> int:  # noqa: FBT001 - one of a table
    if max(width, height) <= 384:
        return 258
    return 258 * math.ceil(width / 768) * math.ceil(height / 768)


def _squares(width: int, height: int, _low: bool) -> int:  # noqa: FBT001 - one of a table
    return max(4, round(width / 28) * round(height / 28))


_OPENAI = "as OpenAI documents it"
_RULES: tuple[tuple[tuple[str, ...], str, Count], ...] = (
    (("gpt-4o-mini",), _OPENAI, _tiles(2833, 5667)),
    (("gpt-", "-mini"), _OPENAI, _patches(1.62)),
    (("gpt-", "-nano"), _OPENAI, _patches(2.46)),
    (("o4-mini",), _OPENAI, _patches(1.72)),
    (("gpt-5",), _OPENAI, _tiles(70, 140)),
    (("gpt-",), _OPENAI, _tiles(85, 170)),
    (("openai/o1",), _OPENAI, _tiles(75, 150)),
    (("openai/o3",), _OPENAI, _tiles(75, 150)),
    (("claude",), "as Anthropic documents it", _anthropic),
    (("gemini",), "as Google documents it", _gemini),
)
"""Parts of the model name, name of the rule, and the rule; the first match applies."""
