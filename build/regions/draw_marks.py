"""Marked images of a render job: outlines, numbered boxes, numbered panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.panels import enlarge_panels, number_panels, panel_order
from medrcube.build.questions.roi_boxes import candidate_boxes
from medrcube.build.regions.box_labels import Box
from medrcube.build.regions.draw_shapes import draw_boxes, draw_outline
from medrcube.build.stages.plan import Artefact, RenderJob

__all__ = ["MarkedImage", "draw_artefact", "draw_numbers"]

_COLUMNS = 2
"""Images in a row of compared images."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedImage:
    """One artefact before it is written.

    Attributes:
        artefact: artefact that it shows.
        pixels: ``(rows, columns)`` or ``(rows, columns, 3)``, 8 bit.
        area: share of the image that the marked region covers.
        regions: number of separate regions of the concept that are marked.
        truth: number of the box that encloses the region, or of the panel that shows the fact; 0 if
            nothing is numbered.
        boxes: boxes drawn, in the order of their numbers, in pixels of the artefact.
        window: visible part of the clean image; empty for all of it.
        order: index of the image under each number, if images are numbered.
    """

    artefact: Artefact
    pixels: NDArray[np.uint8]
    area: float = 0.0
    regions: int = 0
    truth: int = 0
    boxes: tuple[Box, ...] = ()
    window: tuple[int, ...] = ()
    order: tuple[int, ...] = ()


def draw_numbers(
    job: RenderJob, artefact: Artefact, pictures: Sequence[NDArray[np.uint8]]
) -> MarkedImage:
    """Number the images of a case in random order.

    Frames are placed in one row at their own size. Compared images are placed two in a row, none
    too small.
    """
    order = panel_order(job.source, job.case.key, len(pictures))
    truth = 1 + next(n for n, index in enumerate(order) if job.panels[index] == artefact.concept)
    if artefact.kind == "compared":
        pixels = number_panels(enlarge_panels(pictures), order, columns=_COLUMNS)
    else:
        pixels = number_panels(pictures, order, columns=len(pictures))
    return MarkedImage(artefact=artefact, pixels=pixels, truth=truth, order=order)


def draw_artefact(
    job: RenderJob,
    artefact: Artefact,
    clean: NDArray[np.uint8],
    masks: Mapping[int, NDArray[np.bool_]],
    untrue: AbstractSet[int] = frozenset(),
) -> MarkedImage | str | None:
    """Draw one artefact into a copy of the clean image.

    Args:
        job: the case.
        artefact: what to draw.
        clean: ``(rows, columns)`` or ``(rows, columns, 3)``, 8 bit.
        masks: number of a region -> its mask on the image.
        untrue: numbers of regions whose names imply more than the slice shows.

    Returns:
        The artefact; a reason if its region cannot be asked about; ``None`` if the region is not on
        this slice.
    """
    if artefact.kind == "clean":
        return MarkedImage(artefact=artefact, pixels=clean)
    target = (artefact.concept, artefact.field)
    mine = [n for n in masks if (job.concepts[n], job.case.regions[n].field) == target]
    if not mine:
        return None
    if not untrue.isdisjoint(mine):
        return f"the slice does not show every part that {artefact.concept!r} names"
    region = masks[mine[0]]
    for number in mine[1:]:
        region |= masks[number]
    if artefact.kind in ("outline", "scale-bar"):
        pixels = draw_outline(clean, region)
        return MarkedImage(
            artefact=artefact, pixels=pixels, area=float(region.mean()), regions=len(mine)
        )
    if len(mine) > 1:
        return f"{len(mine)} regions are marked as {artefact.concept!r}"
    seed = f"{job.source}/{job.case.key}/{artefact.field}/{artefact.concept}"
    # No part of another structure can be the one in question, which is marked completely; a finding
    # with another name may be the same disease.
    others = [number for number in masks if number not in mine]
    inside = [] if mine[0] in job.structures else [n for n in others if n in job.structures]
    layout = candidate_boxes(
        clean,
        region,
        [masks[number] for number in others if number not in job.structures],
        ground=_ground(region, [masks[number] for number in inside]),
        seed=seed,
    )
    if layout is None:
        return f"{artefact.concept!r} leaves no room for a second box that is equally hard to tell"
    left, top, right, bottom = layout.window
    area = float(region[top:bottom, left:right].mean())
    del region  # as large as the image; a colour copy of that size follows
    return MarkedImage(
        artefact=artefact,
        pixels=draw_boxes(clean[top:bottom, left:right], layout.boxes),
        area=area,
        regions=1,
        truth=layout.truth,
        boxes=layout.boxes,
        window=layout.window,
    )


def _ground(
    region: NDArray[np.bool_], structures: Sequence[NDArray[np.bool_]]
) -> NDArray[np.bool_] | None:
    """Return the structures in which a region lies, such as the lungs of a nodule, or ``None``."""
    if not structures:
        return None
    whole = np.zeros_like(region)
    for mask in structures:
        whole |= mask
    return whole if (region & whole).sum() * 10 >= region.sum() * 9 else None
