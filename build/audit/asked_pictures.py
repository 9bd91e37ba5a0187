"""Images needed by an audit: those of the items, and all related to them.

Rules on a batch keep items of one patient, case or image together (``leakage_tests.groups_of``),
even if two are linked only by images without an item. They therefore need the images of the items
and all that are related to these.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.build.record_columns import RecordTable
from medrcube.build.stages.sample_codes import Codes, codes_of
from medrcube.build.stages.samples import Sample

__all__ = ["PictureTotals", "picture_totals", "related_pictures"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureTotals:
    """Counts over all images of a build, with or without items.

    Attributes:
        pictures: number of images.
        patients: number of patients named by sources.
        repeated: number of clean images whose pixels equal those of another clean one.
    """

    pictures: int
    patients: int
    repeated: tuple[Sample, ...]


def picture_totals(samples: RecordTable[Sample]) -> PictureTotals:
    """Count all images of a build."""
    codes = codes_of(samples)
    clean = np.flatnonzero(codes.is_one_of("artefact", ("clean",)))
    pixels = codes.pixels[clean]
    often = np.bincount(pixels, minlength=1)[pixels] > 1
    return PictureTotals(
        pictures=len(samples),
        patients=len(np.unique(codes.named_patients[codes.names_patient])),
        repeated=tuple(samples.rows(clean[often])),
    )


def related_pictures(samples: RecordTable[Sample], ids: Collection[str]) -> list[Sample]:
    """Return these images, and all that share a case, a patient or their pixels with one.

    The relation is transitive.
    """
    codes = codes_of(samples)
    mask = codes.is_one_of("id", ids)
    while True:
        wider = _alike(codes.cases, mask) | _alike(codes.pixels, mask)
        wider |= codes.names_patient & _alike(codes.named_patients, mask & codes.names_patient)
        if wider.sum() == mask.sum():
            return samples.rows(np.flatnonzero(mask))
        mask = wider


def _alike(codes: Codes, mask: NDArray[Any]) -> NDArray[np.bool_]:
    """Mask of the images whose code equals that of a chosen one."""
    values = np.zeros(int(codes.max(initial=0)) + 1, np.bool_)
    values[codes[mask]] = True
    return values[codes]
