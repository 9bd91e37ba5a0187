"""``[geometry]`` of a card: whether images establish the patient's sides and physical lengths.

Neither changes an existing image, so this table is not part of the card's fingerprint (neither is
``[home]``). It decides whether additional images with a scale bar are made.
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
    """What may be concluded from the position of a region and from the spacing of its image.

    Attributes:
        orientation: ``proved`` if the affine of each file determines the patient's sides;
            ``stated`` if files do not, but the source displays all images in radiological
            convention, the patient's right on the left; else ``unknown``.
        scale: ``object`` if the stated spacing is that of the body, as in CT, MR and calibrated
            ultrasound; ``projection`` if it is that of a detector or film, on which the body is
            magnified; ``unknown`` if spacing is missing or belongs to another copy.
        reasons: reason for each key that is not ``unknown``.
    """

    orientation: Orientation = "unknown"
    scale: Scale = "unknown"
    reasons: Mapping[str, CitedReason] = field(default_factory=dict)


def parse_geometry(table: TomlTable) -> GeometryTrust:
    """Parse ``[geometry]``; each claim has a reason with evidence."""
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
