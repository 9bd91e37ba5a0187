"""Sample record of a rendered image, and its table ``samples.parquet``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from medrcube.build.record_columns import ColumnLayout
from medrcube.build.record_tables import column_types, records_to_frame, require_columns, typed

__all__ = [
    "COLUMNS",
    "NUMBERED",
    "SAMPLES",
    "Sample",
    "samples_from_frame",
    "samples_to_frame",
]

NUMBERED = ("boxes", "numbered", "compared")
"""Kinds of image whose questions have numbers as options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One image in the workspace, with its marks and its origin.

    Attributes:
        id: hash of source, case and artefact.
        source: id of the source.
        case: key of the case.
        artefact: ``clean``, ``outline`` (one region outlined in red), ``boxes`` (numbered red
            boxes, one of which holds the region), ``numbered`` (the images of the case side by side
            in random order, one of which shows the fact), ``scale-bar`` (one region outlined, above
            a scale bar), ``mirrored`` (the clean image, left and right exchanged) or ``compared``
            (as ``numbered``, of a case made only for comparison).
        field: card field of what is marked; empty for a clean image.
        marked: concept of what is marked; empty for a clean image.
        truth: the right number, from 1, if boxes or images are numbered; else empty.
        choices: number of numbered boxes or images.
        area: share of the image that the region covers, 0 to 1.
        regions: number of separate regions of that concept that were marked.
        image: path relative to the workspace.
        pixel_sha256: pixel hash of the image.
        perceptual_hash: hash of a clean image (``medrcube.perceptual_hash``); empty if marked.
        graphics: marks burnt into the image and where they lie (``burnt_in``), such as ``caliper:on
            text:apart``; empty if none was found or the card requests no search.
        width: in pixels.
        height: in pixels.
        anatomy: region of the body, a value of ``Anatomy``.
        modality: imaging modality, a value of ``Modality``.
        patient: keyed hash of the patient identifier; empty if the source has none.
        split: the source's own split, or empty.
        scope: widest scope that the image shows, the name of a ``Scope`` in lower case.
        licence: licence of the image.
        redistribute: whether the image may be redistributed.
        frames: slices shown, joined by ``+``.
        reason: why that slice was selected.
        recipe: hash of the recipe from which the image can be recreated.
        file_bytes: size of the file in bytes.
        grey: mean grey value of the clean image, 0 to 255.
        colour: whether any pixel of the clean image is not grey.
        boxes: corners ``x0 y0 x1 y1`` of each box in pixels of this image, in the order of the
            numbers, joined by ``, ``; empty if none is drawn.
    """

    id: str
    source: str
    case: str
    artefact: str
    field: str
    marked: str
    truth: str
    choices: int
    area: float
    regions: int
    image: str
    pixel_sha256: str
    perceptual_hash: str
    graphics: str = ""
    width: int
    height: int
    anatomy: str
    modality: str
    patient: str
    split: str
    scope: str
    licence: str
    redistribute: bool
    frames: str
    reason: str
    recipe: str
    file_bytes: int = 0
    grey: float = 0.0
    colour: bool = False
    boxes: str = ""


COLUMNS = column_types(Sample)
"""Column -> pandas type, in the order of ``samples.parquet``."""

SAMPLES = ColumnLayout(
    Sample,
    distinct=(
        "id",
        "case",
        "image",
        "pixel_sha256",
        "perceptual_hash",
        "patient",
        "recipe",
        "boxes",
    ),
)
"""Column layout of the samples table."""


def samples_to_frame(samples: Iterable[Sample]) -> pd.DataFrame:
    """One row per sample, with columns in fixed order and type even if there are no samples."""
    return records_to_frame(samples, COLUMNS)


def samples_from_frame(frame: pd.DataFrame) -> list[Sample]:
    """Inverse of ``samples_to_frame``.

    Raises:
        WorkspaceError: a column is missing.
    """
    table = require_columns(frame, COLUMNS, "samples table")
    # Most columns have few distinct values; equal strings share one object in memory.
    same: dict[object, object] = {}
    columns = [
        [
            same.setdefault(value, value) if isinstance(value, str) else value
            for value in typed(table[name], kind).tolist()
        ]
        for name, kind in COLUMNS.items()
    ]
    rows: Iterable[tuple[Any, ...]] = zip(*columns, strict=True)
    return [Sample(**dict(zip(COLUMNS, row, strict=True))) for row in rows]
