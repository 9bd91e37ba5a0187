"""Rejection of volumes with unknown orientation in the body, and of oblique ones."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels import geometry
from medrcube.build.pixels.volume import Volume
from medrcube.errors import ReadError, RefusedError
from medrcube.facts import ImageRef
from medrcube.sources._framework.card_parts.pixels import PixelPolicy

__all__ = ["check_placed", "check_tilt"]

_LEAST_COSINE = 0.8
"""Least cosine of the angle between a slice and the plane of the body that it is named after: 36.9
degrees. It is the bound of D. Clunie's DICOM tools, beyond which an image is oblique and no main
axis applies: https://public.kitware.com/pipermail/insight-users/2005-March/012246.html. A gantry
tilts by 30.
"""

_FAR = 1e6
"""Largest plausible length in mm; nothing that is scanned is a kilometre long, nor its pixels a
nanometre.
"""


def check_placed(volume: Volume, image: ImageRef, policy: PixelPolicy) -> None:
    """Reject a volume whose orientation is unknown; films and single images are upright."""
    if volume.affine is not None and not _is_sane(volume.affine):
        raise ReadError(
            f"{image.paths[0].name}: its affine is not one of a scan; expected finite millimetres "
            "and three independent axes",
            code="singular-affine",
        )
    least = {"affine": 2, "in-plane": 1}.get(policy.orient, math.inf)
    if volume.solid and volume.affine is None and volume.slices.shape[0] >= least:
        raise ReadError(
            f"{image.paths[0].name}: does not say how its {volume.slices.shape[0]} slice(s) lie in "
            "the patient (no sform, no qform); showing them as stored would assume that the file "
            'is oriented as a radiologist expects: the card may state that with orient = "stored"',
            code="no-orientation",
        )


def check_tilt(volume: Volume, image: ImageRef, policy: PixelPolicy) -> None:
    """Reject an oblique volume: no plane describes such an image."""
    if volume.affine is None or not volume.solid or policy.orient != "affine":
        return
    tilt, most = geometry.tilt_of(volume), math.degrees(math.acos(_LEAST_COSINE))
    if tilt > most:
        raise RefusedError(
            f"{image.paths[0].name}: its slices are tilted by {tilt:.0f} degrees against the "
            f"nearest plane of the body; expected at most {most:.0f}: beyond that an image is "
            "oblique and belongs to no plane; where slices are oblique by intent, as in the short "
            'axis of the heart, the card may turn each in its own plane with orient = "in-plane", '
            'or show them as they are stored with orient = "stored"',
            code="oblique",
        )


def _is_sane(affine: NDArray[np.float64]) -> bool:
    steps = np.abs(affine[:3, :3]).max(axis=0)
    return bool(np.abs(affine).max() < _FAR and steps.min() > 1 / _FAR)
