"""``[geometry]`` of a card: what images prove of the patient's sides and of millimetres.

Neither changes an image that is there: the table is not a part of the card's fingerprint, as its
home is none. It decides whether images with a scale bar are made beside the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from medrcube.files.toml_reader import TomlTable
from medrcube.sources._framework.card_parts.fields import CitedReason, parse_reason

__all__ = ["GeometryTrust", "parse_geometry"]

Orientation = Literal["proved", "stated", "unknown"]
Scale = Literal["object", "projection", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GeometryTrust:
    """What may be concluded from where a region lies, and from the spacing of its image.

    Attributes:
        orientation: ``proved`` where the affine of each file tells the patient's sides; ``stated``
            where files tell nothing and the source shows all images as a radiologist reads them,
            the patient's right on the left; ``unknown`` leaves every side open.
        scale: ``object`` where the stated spacing is that of the body, as in CT, MR and calibrated
            ultrasound; ``projection`` where it is that of a detector or film, on which the body is
            magnified; ``unknown`` where spacing is missing, or that of another copy.
        reasons: for each key that is not ``unknown``.
    """

    orientation: Orientation = "unknown"
    scale: Scale = "unknown"
    reasons: Mapping[str, CitedReason] = field(default_factory=dict)


def parse_geometry(table: TomlTable) -> GeometryTrust:
    """Read ``[geometry]``; each claim has a reason with its evidence."""
    claims = {
        "orientation": table.text(
            "orientation", default="unknown", choices=("proved", "stated", "unknown")
        ),
        "scale": table.text(
            "scale", default="unknown", choices=("object", "projection", "unknown")
        ),
    }
    reasons = table.table("reasons", optional=True)
    return GeometryTrust(
        orientation=claims["orientation"],  # type: ignore[arg-type]
        scale=claims["scale"],  # type: ignore[arg-type]
        reasons={
            key: parse_reason(reasons.table(key))
            for key, claim in claims.items()
            if claim != "unknown"
        },
    )
