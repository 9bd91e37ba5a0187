"""Degradations of images: an operation of stated size that keeps the image geometry.

The image that a model sees keeps its width and height, so an answer that is a location, a size or a
side remains correct. Marks drawn on the image, such as boxes and a scale bar, are degraded with it.
How pixels change is defined in ``degraded_images``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from medrcube.errors import WorkspaceError
from medrcube.evaluate.models.protocol import Json

__all__ = ["OPERATIONS", "RULE", "Degradation", "Operation"]

RULE = "degraded/1"
"""Changed whenever the same image and size would give different pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A kind of degradation.

    Attributes:
        unit: unit of its size.
        least: smallest size.
        most: largest size.
        whole: whether the size is an integer.
        words: description of the resulting images, with ``{size}`` for the size.
    """

    unit: str
    least: float
    most: float
    whole: bool = False
    words: str


OPERATIONS: Mapping[str, Operation] = {
    "noise": Operation(
        unit="standard deviation as a share of the range of grey values",
        least=0.001,
        most=1.0,
        words="Gaussian noise of SD {size} of the grey range",
    ),
    "jpeg": Operation(
        unit="quality of the JPEG encoder",
        least=1,
        most=95,
        whole=True,
        words="JPEG quality {size}",
    ),
    "blur": Operation(
        unit="sigma in pixels", least=0.1, most=100.0, words="Gaussian blur of sigma {size} pixels"
    ),
    "downscale": Operation(
        unit="factor of width and height",
        least=1.1,
        most=64.0,
        words="resolution reduced by a factor of {size}",
    ),
}


@dataclass(frozen=True, slots=True)
class Degradation:
    """An operation and its size.

    Attributes:
        operation: name in ``OPERATIONS``.
        size: in the unit of the operation.
    """

    operation: str
    size: float

    def __post_init__(self) -> None:
        kind = OPERATIONS.get(self.operation)
        if kind is None:
            raise WorkspaceError(
                f"no degradation {self.operation!r}; expected one of: {', '.join(OPERATIONS)}"
            )
        fits = math.isfinite(self.size) and kind.least <= self.size <= kind.most
        if not fits or (kind.whole and self.size != round(self.size)):
            number = "a whole number" if kind.whole else "a number"
            raise WorkspaceError(
                f"degraded:{self.operation}={self.size:g}: expected {number} from {kind.least:g} "
                f"to {kind.most:g}, the {kind.unit}"
            )

    @classmethod
    def parse(cls, text: str) -> Degradation:
        """Parse ``OPERATION=SIZE``, such as ``noise=0.1``.

        Raises:
            WorkspaceError: there is no such operation, or the size is out of range.
        """
        operation, _, size = text.partition("=")
        try:
            number = float(size)
        except ValueError:
            examples = "degraded:noise=0.1, degraded:jpeg=20, degraded:blur=2, degraded:downscale=4"
            raise WorkspaceError(
                f"degraded:{text}: expected an operation and its size, as in {examples}"
            ) from None
        return cls(operation, number)

    @classmethod
    def of_manifest(cls, entry: Mapping[str, Json]) -> Degradation:
        """Read the degradation from a run's manifest.

        Raises:
            WorkspaceError: this version would produce different pixels.
        """
        if entry.get("rule") != RULE:
            raise WorkspaceError(
                f"the run degraded its images by the rule {entry.get('rule')!r}, and "
                f"this version has {RULE!r}; choose another run folder"
            )
        return cls(str(entry["operation"]), float(str(entry["size"])))

    @property
    def identity(self) -> dict[str, Json]:
        """Entry ``degradation`` of a run's manifest."""
        unit = OPERATIONS[self.operation].unit
        return {"operation": self.operation, "size": self.size, "unit": unit, "rule": RULE}

    @property
    def words(self) -> str:
        """The degradation in words."""
        return OPERATIONS[self.operation].words.format(size=f"{self.size:g}")

    def __str__(self) -> str:
        """As written on the command line."""
        return f"degraded:{self.operation}={self.size:g}"
