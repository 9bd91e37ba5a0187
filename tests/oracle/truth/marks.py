"""What is marked in a picture, against the masks of its case.

Masks come from the raw regions and the geometry of the picture; what was drawn is read back from
the pixels of the PNG. Nothing that chose or placed a mark is asked.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from PIL import Image

from medrcube.build.pixels.case_image import open_case_images
from medrcube.build.stages.plan import plan_jobs

RED = (255, 0, 0)
SIDED = {"left": 1, "right": -1}
"""On a radiological picture the left of the body is on the right."""


@dataclass(frozen=True)
class ShownRegion:
    """One region on the shown slice: what it is, and its pixels in the picture."""

    concept: str
    field: str
    mask: np.ndarray


class Marks:
    """Masks of all cases of the same images, on the slice that is shown."""

    def __init__(self, witness, key, frame):
        self._witness, self._key, self._frame = witness, key, frame

    @cached_property
    def regions(self):
        """Every region on the shown slice, of whatever case of these images."""
        cases = self._witness.of_same_images(self._key)
        if len(cases[0].images) > 1:
            return ()  # nothing is drawn into pictures side by side
        return tuple(region for case in cases for region in self._of(case))

    def of(self, concept, field):
        """The joined mask of one concept; ``None`` where the slice does not show it."""
        masks = [
            region.mask
            for region in self.regions
            if (region.concept, region.field) == (concept, field)
        ]
        return np.logical_or.reduce(masks) if masks else None

    def _of(self, case):
        if not case.regions:
            return
        (job,) = plan_jobs(self._witness.source, self._witness.root, [case])
        (tile,) = open_case_images(job)
        index = 0 if tile.volume.slices.shape[0] == 1 else int(self._frame)
        for number, mask in tile.masks_on(index).items():
            region = case.regions[number]
            concept = self._witness.concept(region.field, region.value)
            yield ShownRegion(concept, region.field, np.asarray(mask))


def outline_faults(clean, marked, mask):
    """What is wrong with a red outline around a mask.

    Args:
        clean: path of the picture without it.
        marked: path of the picture with it.
        mask: pixels that it should enclose.
    """
    before, after = _pixels(clean), _pixels(marked)
    outline = (after != before).any(axis=2)
    near = mask
    for _ in range(_width(mask) + 1):
        near = _grown(near)
    if (outline & mask).any():
        yield "the outline covers pixels of what it marks"
    if (outline & ~near).any():
        yield "red lies away from the region"
    if not (after[_grown(mask) & ~mask] == RED).all():
        yield "the outline does not close around the region"


def box_faults(tables, marks, sample, boxes, window):
    """What is wrong with numbered boxes, of which one should hold the marked concept.

    Args:
        tables: what follows from what.
        marks: masks of the picture.
        sample: its row of the table of samples.
        boxes: corners of each box, in the order of their numbers.
        window: corners of the part of the whole picture in which they lie.
    """
    left, top, *_ = window
    boxes = [(x0 + left, y0 + top, x1 + left, y1 + top) for x0, y0, x1, y1 in boxes]
    target = marks.of(sample.marked, sample.field)
    if target is None:
        yield f"the slice does not show {sample.marked!r}"
        return
    holding = [number for number, box in enumerate(boxes, 1) if _all_of(target, box)]
    if holding != [int(sample.truth)]:
        yield f"{sample.marked!r} lies in the boxes {holding}, the right one is {sample.truth}"
    for number, box in enumerate(boxes, 1):
        if number == int(sample.truth):
            continue
        for region in marks.regions:
            if _touches(region.mask, box) and _could_be(tables, region.concept, sample.marked):
                yield f"box {number} touches {region.concept!r} ({region.field})"
        if any(_overlap(box, other) for other in boxes if other is not box):
            yield f"box {number} overlaps another"


def side_faults(concept, mask, anatomy, modality):
    """Whether a part of one side lies on the other side of a chest film."""
    side = SIDED.get(concept.split()[0])
    if side is None or (anatomy, modality) != ("Chest", "X-ray"):
        return
    middle = np.nonzero(mask)[1].mean() / mask.shape[1] - 0.5
    if middle * side < 0:
        yield f"{concept!r} lies on the wrong side of the picture"


def share_inside(inner, outer):
    """Share of a mask that lies in another."""
    return float((inner & outer).sum() / inner.sum())


def _could_be(tables, concept, target):
    if target in tables.above(concept) or concept in tables.above(target):
        return True
    # Structures that overlap in projection, such as clavicle and lung, are two things all the same.
    structures = (tables.above(label) & tables.structures for label in (concept, target))
    return tables.look_alike(concept, target) and not all(structures)


def _all_of(mask, box):
    x0, y0, x1, y1 = box
    return int(mask[y0:y1, x0:x1].sum()) == int(mask.sum())


def _touches(mask, box):
    x0, y0, x1, y1 = box
    return bool(mask[y0:y1, x0:x1].any())


def _overlap(first, second):
    return (
        first[0] < second[2]
        and second[0] < first[2]
        and first[1] < second[3]
        and second[1] < first[3]
    )


def _pixels(path):
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def _width(mask):
    return max(1, round(max(mask.shape) / 256))


def _grown(mask):
    padded = np.pad(mask, 1)
    return (
        padded[1:-1, 1:-1] | padded[:-2, 1:-1] | padded[2:, 1:-1] | padded[1:-1, :-2]
        | padded[1:-1, 2:]
    )  # fmt: skip
