"""Form ``point``: one point, passed inside a region or within its margin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from medrcube.forms.coordinates import CONVENTION, SCALE, to_pixels
from medrcube.forms.protocol import AnswerScore, Json
from medrcube.forms.regions import TargetRegion, read_region
from medrcube.forms.strict_fields import read_fields, read_number, read_size

__all__ = ["PointAsk", "PointForm", "PointTarget"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PointAsk:
    """The part a model sees: empty, since the question says it all."""

    form: ClassVar[str] = "point"


@dataclass(frozen=True, slots=True, kw_only=True)
class PointTarget:
    """A target region.

    Attributes:
        ask: empty.
        size: width and height of the image in pixels.
        region: region in which a point passes.
        margin: tolerance around the region in pixels.
    """

    form: ClassVar[str] = "point"

    ask: PointAsk
    size: tuple[int, int]
    region: TargetRegion
    margin: float


class PointForm:
    """Passed within ``margin`` pixels of the region; the credit is 1 or 0."""

    name = "point"

    def read_target(self, ask: object, truth: object) -> PointTarget:
        """Parse the target from ``{}`` and ``{"size", "region", "margin"}``.

        Raises:
            TargetError: a field is missing or invalid.
        """
        read_fields("ask", ask, ())
        fields = read_fields("truth", truth, ("size", "region", "margin"))
        size = read_size("truth size", fields["size"])
        return PointTarget(
            ask=PointAsk(),
            size=size,
            region=read_region("truth region", fields["region"], size),
            margin=read_number("truth margin", fields["margin"], least=0, most=max(size)),
        )

    def write_target(self, target: PointTarget) -> tuple[Json, Json]:
        """Return ``{}`` and ``{"size", "region", "margin"}``."""
        region = target.region.to_json()
        return {}, {"size": list(target.size), "region": region, "margin": target.margin}

    def instruction(self, ask: PointAsk) -> str:  # noqa: ARG002 - of the protocol
        """Return the instruction to reply with one point."""
        return f"{CONVENTION} Reply with one point as (x, y)."

    def blind_reply(self, ask: PointAsk, draw: Random | None) -> str:
        """Return the centre of the image, or a uniformly random point."""
        x, y = (
            (SCALE / 2, SCALE / 2)
            if draw is None
            else (
                float(draw.randint(0, SCALE)),
                float(draw.randint(0, SCALE)),
            )
        )
        return self.show((x, y), ask)

    def right_reply(self, target: PointTarget) -> str:
        """Return a point inside the region."""
        (x, y), (width, height) = target.region.centre(), target.size
        return self.show((SCALE * x / width, SCALE * y / height), target.ask)

    def show(self, answer: Sequence[float], ask: PointAsk) -> str:  # noqa: ARG002 - of the protocol
        """``(x, y)``."""
        return f"({answer[0]:.4g}, {answer[1]:.4g})"

    def score(self, answer: Sequence[float], target: PointTarget) -> AnswerScore:
        """Score a point; ``errors`` contains its ``distance`` from the region in pixels.

        A point outside the image has no distance and fails.
        """
        x, y = answer
        if not (0 <= x <= SCALE and 0 <= y <= SCALE):
            return AnswerScore(passed=False, credit=0.0)
        distance = target.region.distance(*to_pixels(x, y, target.size))
        passed = distance <= target.margin
        return AnswerScore(passed=passed, credit=float(passed), errors={"distance": distance})

    def slips(self, answer: Sequence[float], target: PointTarget) -> tuple[str, ...]:
        """Return the coordinate conventions under which a failed point would pass."""
        if self.score(answer, target).passed:
            return ()
        x, y = answer
        width, height = target.size
        return tuple(
            name
            for name, convert in _CONVENTIONS.items()
            if self.score(convert(x, y, width, height), target).passed
        )


_CONVENTIONS: Mapping[str, Callable[[float, float, int, int], tuple[float, float]]] = {
    "x and y exchanged": lambda x, y, _w, _h: (y, x),
    "origin at the lower left": lambda x, y, _w, _h: (x, SCALE - y),
    "shares from 0 to 1": lambda x, y, _w, _h: (SCALE * x, SCALE * y),
    "per cent": lambda x, y, _w, _h: (SCALE * x / 100, SCALE * y / 100),
    "pixels": lambda x, y, w, h: (SCALE * x / w, SCALE * y / h),
}
