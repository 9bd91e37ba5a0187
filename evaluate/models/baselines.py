"""Baselines that never look at the image, as a reference for every score.

For questions without options, ``random`` draws an answer of the form, and the others return the
form's constant, such as the centre of the image.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from medrcube.errors import ModelError
from medrcube.evaluate.models.protocol import Json, ModelRequest, Reply
from medrcube.forms import form_of

__all__ = ["Baseline", "open_baseline"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Deterministic rule: the same question always gets the same answer."""

    rule: str
    seed: int = 0

    @property
    def name(self) -> str:
        """``baseline/`` and the rule."""
        return f"baseline/{self.rule}"

    @property
    def takes_shots(self) -> bool:
        """Accepts examples, and ignores them."""
        return True

    @property
    def takes_history(self) -> bool:
        """Accepts earlier questions, and ignores them."""
        return True

    @property
    def identity(self) -> Mapping[str, Json]:
        """The rule and, for ``random``, the seed."""
        seed: dict[str, Json] = {"seed": self.seed} if self.rule == "random" else {}
        return {"adapter": "baseline/1", "name": self.name, **seed}

    async def answer(self, request: ModelRequest) -> Reply:
        """Reply with a letter, or with the form's blind answer to a question without options."""
        if request.ask is None:
            text = _RULES[self.rule](request, self.seed)
        else:
            seeded = Random(_digest(request, self.seed))  # noqa: S311 - a baseline, no secret
            draw = seeded if self.rule == "random" else None
            text = form_of(request.ask).blind_reply(request.ask, draw)
        return Reply(text=text, finish_reason="stop", usage={}, model=self.name, latency=0.0)

    async def close(self) -> None:
        """Nothing to close."""


def open_baseline(rule: str, *, seed: int = 0) -> Baseline:
    """Return the baseline with that name.

    Raises:
        ModelError: there is none with that name.
    """
    if rule not in _RULES:
        raise ModelError(f"no baseline {rule!r}; expected one of: {', '.join(_RULES)}")
    return Baseline(rule=rule, seed=seed)


def _random(request: ModelRequest, seed: int) -> str:
    return request.options[_digest(request, seed) % len(request.options)][0]


def _digest(request: ModelRequest, seed: int) -> int:
    # Hash the question instead of using a random stream, so that the order of asking does not
    # matter.
    picture = request.picture.sha256 if request.picture else ""
    digest = hashlib.sha256(f"{seed}:{picture}:{request.prompt}".encode()).digest()
    return int.from_bytes(digest[:8])


def _first(request: ModelRequest, _seed: int) -> str:
    return request.options[0][0]


def _longest(request: ModelRequest, _seed: int) -> str:
    return max(request.options, key=lambda option: len(option[1]))[0]


_RULES: dict[str, Callable[[ModelRequest, int], str]] = {
    "random": _random,
    "first": _first,
    "longest": _longest,
}
