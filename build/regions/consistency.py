"""Anatomical consistency of masks: enclosure, and side of the patient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.volume import Volume
from medrcube.build.regions.region_mask import Mask
from medrcube.errors import RefusedError
from medrcube.sources._framework.card_parts.self_checks import Enclosed, Side

__all__ = ["check_enclosed", "check_side"]


def check_enclosed(rule: Enclosed, masks: Mapping[str, Sequence[Mask]]) -> None:
    """Reject masks in which a part does not lie within the one that encloses it.

    Args:
        rule: rule of the card.
        masks: concept -> its masks on one image; nothing is checked if one is missing.

    Raises:
        RefusedError: code ``label-order``.
    """
    inner, outer = masks.get(rule.part, ()), masks.get(rule.by, ())
    if not inner or not outer:
        return
    touched = edge = 0
    for k in range(inner[0].shape[0]):
        part = _joined(inner, k)
        if part.any():
            beside = _grown(part) & ~part
            edge += int(beside.sum())
            touched += int((beside & _joined(outer, k)).sum())
    share = touched / edge if edge else 0.0
    if share < rule.share:
        raise RefusedError(
            f"{rule.by} lies at {100 * share:.0f} % of the edge of {rule.part}; expected at least "
            f"{100 * rule.share:.0f} %, since {rule.reason}: are the labels numbered as in another "
            "dataset?",
            code="label-order",
        )


def check_side(rule: Side, facts: Mapping[str, str], masks: Sequence[Mask], volume: Volume) -> None:
    """Reject marks on the opposite side of the patient from the one stated.

    Args:
        rule: rule of the card.
        facts: facts of the case.
        masks: masks of all regions on one image.
        volume: that image, on whose grid the masks lie.

    Raises:
        RefusedError: code ``wrong-side``.
    """
    side = {rule.left: -1, rule.right: 1}.get(facts.get(rule.fact, ""), 0)
    if not side or volume.affine is None:
        return
    middle = (np.asarray(volume.slices.shape[:3]) - 1) / 2
    for mask in masks:
        apart = float(volume.affine[0, :3] @ (mask.centre() - middle))
        if apart * side < 0:
            lies, says = ("right", "left") if apart > 0 else ("left", "right")
            raise RefusedError(
                f"the mark lies {abs(apart):.0f} mm to the patient's {lies} of the middle of the "
                f"image, but {rule.fact} is {facts[rule.fact]!r} ({says}); expected them to "
                f"agree, since {rule.reason}",
                code="wrong-side",
            )


def _joined(masks: Sequence[Mask], k: int) -> NDArray[np.bool_]:
    return np.asarray(np.logical_or.reduce([mask[k] for mask in masks]), np.bool_)


def _grown(part: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Dilate the part by the pixels that share an edge with it."""
    wide = np.pad(part, 1)
    return np.asarray(
        part | wide[:-2, 1:-1] | wide[2:, 1:-1] | wide[1:-1, :-2] | wide[1:-1, 2:], np.bool_
    )
