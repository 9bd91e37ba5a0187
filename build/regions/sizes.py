"""Size comparison across panels: on which image a structure is largest."""

from __future__ import annotations

from collections.abc import Sequence

from medrcube.build.pixels.case_image import CaseImage
from medrcube.build.stages.plan import RenderJob
from medrcube.sources._framework.card_parts.fields import Larger

__all__ = ["panel_doubt", "size_contradiction"]


def panel_doubt(job: RenderJob, case_images: Sequence[CaseImage], index: int) -> str:
    """Return why the masks do not confirm what the panels of a case state; empty if they do.

    A reader must be able to distinguish the images by the displayed slice, and the marked volume
    must not contradict it.

    Args:
        job: the case.
        case_images: one for each image.
        index: displayed slice.
    """
    if job.larger is None:
        return ""
    areas, volumes = _sizes(job, job.larger, case_images, index)
    return size_contradiction(job.larger, job.panels, areas) or size_contradiction(
        job.larger, job.panels, volumes
    )


def size_contradiction(larger: Larger, panels: Sequence[str | None], sizes: Sequence[float]) -> str:
    """Return why sizes contradict the card's statement on which is largest; empty if they do not.

    Args:
        larger: statement of the card.
        panels: concept of each image.
        sizes: area or volume of the part on each image, in one unit; 0 if it is not marked.
    """
    if not all(sizes):
        return f"{larger.part!r} is not marked on every image, so {larger.panel!r} is unconfirmed"
    here = sum(size for name, size in zip(panels, sizes, strict=True) if name == larger.panel)
    other = max(size for name, size in zip(panels, sizes, strict=True) if name != larger.panel)
    if here >= (1 + larger.by) * other:
        return ""
    return (
        f"{larger.part!r} of {larger.panel!r} has {here / other:.2f} times the size that it has "
        f"beside it; expected at least {1 + larger.by:.2f}"
    )


def _sizes(
    job: RenderJob, larger: Larger, case_images: Sequence[CaseImage], index: int
) -> tuple[list[float], list[float]]:
    """Return area on one slice and volume of the part per image, in mm if all state a spacing."""
    spacings = [case_image.volume.spacing for case_image in case_images]
    areas, volumes = [], []
    for case_image, spacing in zip(case_images, spacings, strict=True):
        slices, rows, columns = spacing if spacing and all(spacings) else (1.0, 1.0, 1.0)
        mine = [mask for n, mask in case_image.masks.items() if job.concepts[n] == larger.part]
        areas.append(rows * columns * sum(int(mask.areas()[index]) for mask in mine))
        volumes.append(slices * rows * columns * sum(int(mask.areas().sum()) for mask in mine))
    return areas, volumes
