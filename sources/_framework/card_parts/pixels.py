"""``[pixels]`` of a card: how stored values become an image."""

from __future__ import annotations

from dataclasses import dataclass

from medrcube.files.toml_reader import TomlTable

__all__ = ["WINDOWS", "PixelPolicy", "pixel_policy"]

PLANES = ("axial", "coronal", "sagittal")


WINDOWS = r"none|header|bits|ct:(lung|brain|mediastinum)|percentile:[\d.]+-[\d.]+"
"""Window names in ``[pixels] window`` and ``Case.window``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PixelPolicy:
    """How stored values are rendered as an image.

    Attributes:
        window: ``none`` (already 8 bit), ``header`` (DICOM VOI), ``ct:lung``, ``ct:brain``,
            ``ct:mediastinum``, ``percentile:LOW-HIGH`` of the whole volume, or ``bits``.
        slice: ``largest-mask``, ``middle-of-mask``, ``middle``, ``key-frame``, ``stride:N``
            or ``all``.
        plane: plane to cut from a volume.
        orient: ``affine``; ``in-plane`` for intentionally oblique slices, each rotated in its own
            plane by the affine; or ``stored`` if the affine is known to be a dummy: columns along
            the fastest stored axis, rows along the next, no flip.
        spacing: ``header``, or ``square`` if the header's spacing is known to be meaningless.
        colour: ``keep``, ``grey`` (colour is only text or a storage format), or ``refuse`` if an
            image with real colour cannot be what the source claims.
        repair: ``none``, or ``wrap-12-bit`` for CT whose 12-bit values lost their offset and
            wrapped around.
        burnt_in: ``none``, ``ultrasound`` or ``film``: the detector that looks for marks burnt
            into the images.
    """

    window: str
    slice: str
    plane: str
    orient: str
    spacing: str
    colour: str
    repair: str = "none"
    burnt_in: str = "none"


def pixel_policy(table: TomlTable) -> PixelPolicy:
    """Parse the pixel policy of a card or recipe."""
    return PixelPolicy(
        window=table.text(
            "window",
            default="none",
            pattern=WINDOWS,
        ),
        slice=table.text(
            "slice",
            default="middle",
            pattern=r"largest-mask|middle-of-mask|middle|key-frame|stride:[1-9]\d*|all",
        ),
        plane=table.text("plane", default="axial", choices=PLANES),
        orient=table.text("orient", default="affine", choices=("affine", "in-plane", "stored")),
        spacing=table.text("spacing", default="header", choices=("header", "square")),
        colour=table.text("colour", default="keep", choices=("keep", "grey", "refuse")),
        repair=table.text("repair", default="none", choices=("none", "wrap-12-bit")),
        burnt_in=table.text("burnt_in", default="none", choices=("none", "ultrasound", "film")),
    )
