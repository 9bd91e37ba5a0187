"""Geometry of marked regions on displayed images, and its table ``geometry.parquet``.

Lengths in millimetres and sides of the patient are given only if the card declares that the files
of its source state them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from medrcube.build.record_columns import ColumnLayout
from medrcube.build.stages.rendering.measure_regions import Reading, RegionGeometry
from medrcube.build.stages.samples import Sample
from medrcube.facts import Case, Consensus, LabelState, Polygons, Rectangle, Shape
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_lookup import concept_of, field_of
from medrcube.sources._framework.card_parts.geometry import GeometryTrust

__all__ = [
    "AREA",
    "BOX",
    "GEOMETRY",
    "Geometry",
    "geometry_of_case",
    "view_of_case",
]

BOX, AREA = "box", "area"
"""Shape of a region: a box drawn around it, or an area whose outline or pixels are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """One marked region on one clean image; coordinates as in ``regions.measure``.

    Attributes:
        sample: id of the clean image.
        source: id of the source.
        case: key of the case.
        patient: keyed hash of the patient identifier; empty if the source has none.
        view: plane or view of the image, as the source states it; empty if it states none.
        region: number among the regions of the case.
        field: card field of the region.
        concept: concept of the region.
        shape: ``box`` if a box was drawn, whose lengths are not those of its content, and whose
            corners may lie outside the content; else ``area``.
        width: of the image, in pixels.
        height: of the image, in pixels.
        x0: left edge of the smallest box around it.
        y0: top edge.
        x1: right edge, excluded.
        y1: bottom edge, excluded.
        pixels: number of its pixels.
        pieces: number of its connected components.
        largest: number of pixels of its largest component.
        cut: whether it reaches the border of the image.
        partial: whether its name implies more parts than the slice shows.
        centroid_x: mean x coordinate of its pixels.
        centroid_y: mean y coordinate of its pixels.
        inside_x: column of one of its pixels, the one at the centroid if that belongs to the
            region.
        inside_y: row of that pixel.
        longest: longest diameter, in pixels.
        longest_x0: x coordinate of its first end point.
        longest_y0: see ``longest_x0``.
        longest_x1: x coordinate of its second end point.
        longest_y1: see ``longest_x1``.
        across: extent at right angles to it.
        hull: perimeter of the convex hull.
        major: major axis of the ellipse with the same area and second moments.
        minor: minor axis of that ellipse.
        degrees: angle of the major axis from the x axis downwards, from 0 to below 180.
        circumference: of that ellipse.
        mm_per_pixel: side of a pixel in mm; missing if it is unknown or not trusted, or if pixels
            are not square.
        scale: where millimetres are measured: ``object``, ``projection`` (the detector or film, on
            which the body is magnified), or empty if there is no scale.
        orientation: how the patient's sides are known: ``proved`` by the affine, ``stated`` by the
            card, or empty.
        right_at: side of the image on which the patient's right lies; empty if unknown.
        midline: column between the patient's sides.
        midline_from: ``body`` or ``picture``; empty if ``right_at`` is.
        side: the patient's side on which the centroid lies: ``left``, ``right`` or empty.
        whole_side: the side on which all of it lies, ``both`` if it crosses the midline.
        from_midline: distance of the centroid from the midline, as a share of the width.
        readings: longest diameter of each reader's own mark, in pixels, joined by spaces.
        reading_boxes: boxes of these marks, ``x0 y0 x1 y1``, joined by ``, ``.
        mask: its pixels as run lengths (``regions.run_lengths``), joined by spaces; empty if a box
            was drawn, which its corners define.
    """

    sample: str
    source: str
    case: str
    patient: str
    view: str
    region: int
    field: str
    concept: str
    shape: str
    width: int
    height: int
    x0: int
    y0: int
    x1: int
    y1: int
    pixels: int
    pieces: int
    largest: int
    cut: bool
    partial: bool
    centroid_x: float
    centroid_y: float
    inside_x: int
    inside_y: int
    longest: float
    longest_x0: float
    longest_y0: float
    longest_x1: float
    longest_y1: float
    across: float
    hull: float
    major: float
    minor: float
    degrees: float
    circumference: float
    mm_per_pixel: float | None
    scale: str
    orientation: str
    right_at: str
    midline: float
    midline_from: str
    side: str
    whole_side: str
    from_midline: float
    readings: str
    reading_boxes: str
    mask: str


GEOMETRY = ColumnLayout(
    Geometry, distinct=("sample", "case", "patient", "readings", "reading_boxes", "mask")
)
"""Column layout of the regions, in the order of ``geometry.parquet``."""


def geometry_of_case(
    card: Card, case: Case, samples: Sequence[Sample], measured: Iterable[RegionGeometry]
) -> Iterator[Geometry]:
    """Yield the rows of the regions of a case on its clean images.

    Args:
        card: card of the source.
        case: case with the measured regions.
        samples: samples of the case.
        measured: measurements made by the worker.
    """
    clean = {sample.frames: sample for sample in samples if sample.artefact == "clean"}
    for row in measured:
        if row.frames in clean:
            yield _geometry(card, case, clean[row.frames], row)


def view_of_case(card: Card, case: Case) -> str:
    """Return the concepts of the fields that state a view, joined by ``; ``."""
    views = [field for field in card.fields.values() if field.kind.view]
    label_concepts = [
        concept_of(card, label)
        for label in case.labels
        if label.state is LabelState.PRESENT and field_of(card, label) in views
    ]
    names = {*label_concepts, *(field.constant for field in views)}
    return "; ".join(sorted(name for name in names if name))


def _geometry(card: Card, case: Case, sample: Sample, row: RegionGeometry) -> Geometry:
    region, measured, trust = case.regions[row.region], row.measured, card.geometry
    mm_per_pixel = row.mm_per_pixel if trust.scale != "unknown" else None
    right_at = _right_at(trust, row)
    side, whole_side = _sides(right_at, row)
    return Geometry(
        sample=sample.id,
        source=card.id,
        case=case.key,
        patient=sample.patient,
        view=view_of_case(card, case),
        region=row.region,
        field=region.field,
        concept=concept_of(card, region) or "",
        shape=BOX if _is_box(region.shape) else AREA,
        width=row.width,
        height=row.height,
        x0=measured.box[0],
        y0=measured.box[1],
        x1=measured.box[2],
        y1=measured.box[3],
        pixels=measured.pixels,
        pieces=measured.pieces,
        largest=measured.largest,
        cut=measured.cut,
        partial=row.partial,
        centroid_x=measured.centroid[0],
        centroid_y=measured.centroid[1],
        inside_x=measured.inside[0],
        inside_y=measured.inside[1],
        longest=measured.diameter,
        longest_x0=measured.longest[0],
        longest_y0=measured.longest[1],
        longest_x1=measured.longest[2],
        longest_y1=measured.longest[3],
        across=measured.across,
        hull=measured.hull,
        major=measured.ellipse.major,
        minor=measured.ellipse.minor,
        degrees=measured.ellipse.degrees,
        circumference=round(measured.ellipse.circumference, 4),
        mm_per_pixel=mm_per_pixel,
        scale=trust.scale if mm_per_pixel is not None else "",
        orientation=trust.orientation if right_at else "",
        right_at=right_at,
        midline=row.midline,
        midline_from=row.midline_from if right_at else "",
        side=side,
        whole_side=whole_side,
        from_midline=round(abs(measured.centroid[0] - row.midline) / row.width, 6),
        readings=" ".join(f"{reading.longest:g}" for reading in row.readings),
        reading_boxes=", ".join(map(_corners, row.readings)),
        mask="" if _is_box(region.shape) else row.mask,
    )


def _right_at(trust: GeometryTrust, row: RegionGeometry) -> str:
    if trust.orientation == "stated":
        return "left"
    return row.right_at if trust.orientation == "proved" else ""


def _sides(right_at: str, row: RegionGeometry) -> tuple[str, str]:
    """Return the patient's side of the centroid and of the whole region; empty if unknown."""
    if not right_at:
        return "", ""
    at_left, at_right = ("right", "left") if right_at == "left" else ("left", "right")
    x, (x0, _, x1, _) = row.measured.centroid[0], row.measured.box
    side = "" if x == row.midline else at_left if x < row.midline else at_right
    whole = x1 <= row.midline or x0 >= row.midline
    return side, side if whole else "both"


def _is_box(shape: Shape) -> bool:
    if isinstance(shape, Consensus):
        return any(map(_is_box, shape.readings))
    return isinstance(shape, Rectangle) or (isinstance(shape, Polygons) and shape.boxes)


def _corners(reading: Reading) -> str:
    return " ".join(map(str, reading.box))
