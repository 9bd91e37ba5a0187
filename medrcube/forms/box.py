"""Form ``box``: one bounding box, passed by its overlap with the reference box."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from medrcube.forms.coordinates import CONVENTION, SCALE
from medrcube.forms.protocol import AnswerScore, Json
from medrcube.forms.strict_fields import read_box, read_fields, read_number, read_size

__all__ = ["BoxAsk", "BoxForm", "BoxTarget", "overlap"]

_Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxAsk:
    """The part a model sees: empty, since the question says it all."""

    form: ClassVar[str] = "box"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxTarget:
    """A target box.

    Attributes:
        ask: empty.
        size: width and height of the image in pixels.
        box: left, top, right and bottom edge in pixels.
        iou: minimum intersection over union to pass, above 0.
    """

    form: ClassVar[str] = "box"

    ask: BoxAsk
    size: tuple[int, int]
    box: _Box
    iou: float


class BoxForm:
    """Passed if the intersection over union is at least ``iou``; the credit is the IoU itself."""

    name = "box"

    def read_target(self, ask: object, truth: object) -> BoxTarget:
        """Parse the target from ``{}`` and ``{"size", "box", "iou"}``.

        Raises:
            TargetError: a field is missing or invalid.
        """
        read_fields("ask", ask, ())
        fields = read_fields("truth", truth, ("size", "box", "iou"))
        size = read_size("truth size", fields["size"])
        return BoxTarget(
            ask=BoxAsk(),
            size=size,
            box=read_box("truth box", fields["box"], size),
            iou=read_number("truth iou", fields["iou"], least=0.01, most=1),
        )

    def write_target(self, target: BoxTarget) -> tuple[Json, Json]:
        """Return ``{}`` and ``{"size", "box", "iou"}``."""
        return {}, {"size": list(target.size), "box": list(target.box), "iou": target.iou}

    def instruction(self, ask: BoxAsk) -> str:  # noqa: ARG002 - of the protocol
        """Return the instruction to reply with one box."""
        return f"{CONVENTION} Reply with one box as [left, top, right, bottom]."

    def blind_reply(self, ask: BoxAsk, draw: Random | None) -> str:
        """Return the central box, or a box between two random corners."""
        if draw is None:
            return self.show((250, 250, 750, 750), ask)
        left, right = sorted(draw.sample(range(SCALE + 1), 2))
        top, bottom = sorted(draw.sample(range(SCALE + 1), 2))
        return self.show((left, top, right, bottom), ask)

    def right_reply(self, target: BoxTarget) -> str:
        """Return the reference box."""
        return self.show(_in_thousandths(target), target.ask)

    def show(self, answer: Sequence[float], ask: BoxAsk) -> str:  # noqa: ARG002 - of the protocol
        """``[left, top, right, bottom]``."""
        return f"[{', '.join(f'{side:.4g}' for side in answer)}]"

    def score(self, answer: Sequence[float], target: BoxTarget) -> AnswerScore:
        """Score a box; ``errors`` contains its ``iou``. A box that leaves the image fails."""
        if not all(0 <= side <= SCALE for side in answer):
            return AnswerScore(passed=False, credit=0.0)
        iou = overlap(answer, _in_thousandths(target))
        return AnswerScore(passed=iou >= target.iou, credit=iou, errors={"iou": iou})

    def slips(self, answer: Sequence[float], target: BoxTarget) -> tuple[str, ...]:
        """Return the coordinate conventions under which a failed box would pass."""
        if self.score(answer, target).passed:
            return ()
        left, top, right, bottom = answer
        return tuple(
            name
            for name, convert in _CONVENTIONS.items()
            if self.score(convert((left, top, right, bottom), target.size), target).passed
        )


def overlap(box: Sequence[float], other: Sequence[float]) -> float:
    """Intersection over union of two boxes ``[left, top, right, bottom]``, from 0 to 1."""
    width = min(box[2], other[2]) - max(box[0], other[0])
    height = min(box[3], other[3]) - max(box[1], other[1])
    shared = max(0.0, width) * max(0.0, height)
    total = _area(box) + _area(other) - shared
    return min(1.0, shared / total) if total > 0 else 0.0


def _area(box: Sequence[float]) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def _in_thousandths(target: BoxTarget) -> _Box:
    width, height = target.size
    left, top, right, bottom = target.box
    return (
        SCALE * left / width,
        SCALE * top / height,
        SCALE * right / width,
        SCALE * bottom / height,
    )


def _scaled(box: _Box, across: float, down: float) -> _Box:
    return box[0] * across, box[1] * down, box[2] * across, box[3] * down


_CONVENTIONS: Mapping[str, Callable[[_Box, tuple[int, int]], _Box]] = {
    "x and y exchanged": lambda box, _size: (box[1], box[0], box[3], box[2]),
    "origin at the lower left": lambda box, _size: (
        box[0],
        SCALE - box[3],
        box[2],
        SCALE - box[1],
    ),
    "shares from 0 to 1": lambda box, _size: _scaled(box, SCALE, SCALE),
    "per cent": lambda box, _size: _scaled(box, SCALE / 100, SCALE / 100),
    "pixels": lambda box, size: _scaled(box, SCALE / size[0], SCALE / size[1]),
    "width and height": lambda box, _size: (
        box[0],
        box[1],
        box[0] + box[2],
        box[1] + box[3],
    ),
}
