"""``[drawn_in]`` of a card: size of the images whose pixels boxes and outlines refer to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from medrcube.facts import Case
from medrcube.files.toml_reader import TomlTable
from medrcube.regions import Consensus, Polygons, Rectangle, Shape

__all__ = ["DrawnIn", "parse_drawn_in", "with_frame"]


Kind = TypeVar("Kind", bound=Shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnIn:
    """Size of the images on which boxes and outlines were drawn.

    Attributes:
        width: in pixels.
        height: in pixels.
        reason: explanation for people.
        evidence: URL, DOI or title that shows it.
    """

    width: int
    height: int
    reason: str
    evidence: str


def parse_drawn_in(table: TomlTable) -> DrawnIn:
    """Parse ``[drawn_in]``."""
    width, height = table.integer("width"), table.integer("height")
    if not width or not height:
        table.fail("width and height", "pixels, one or more", (width, height))
    return DrawnIn(
        width=width,
        height=height,
        reason=table.text("reason"),
        evidence=table.text("evidence"),
    )


def with_frame(drawn_in: DrawnIn, case: Case) -> Case:
    """Return the case with this size set on all boxes and outlines that have none of their own."""
    return replace(
        case,
        regions=tuple(
            replace(
                region,
                shape=_framed(drawn_in, region.shape),
                rivals=tuple(_framed(drawn_in, rival) for rival in region.rivals),
            )
            for region in case.regions
        ),
        guide=tuple(_framed(drawn_in, shape) for shape in case.guide),
    )


def _framed(drawn_in: DrawnIn, shape: Kind) -> Kind:
    if isinstance(shape, (Rectangle, Polygons)) and shape.frame is None:
        return replace(shape, frame=(drawn_in.width, drawn_in.height))
    if isinstance(shape, Consensus):
        return replace(
            shape, readings=tuple(_framed(drawn_in, reading) for reading in shape.readings)
        )
    return shape
