"""Domain records shared by all parts: cases, labels, images and regions, as frozen dataclasses.

An adapter turns a raw tree into ``Case`` records and opens no pixel files. Box and mask coordinates
refer to the *stored* image: the build transforms them together with the pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from pathlib import Path

from medrcube.names import escape_controls
from medrcube.regions import (
    Consensus,
    MaskFile,
    Outline,
    Polygons,
    Rectangle,
    Runs,
    Shape,
    files_of,
    relocate_shape,
)
from medrcube.taxonomy import Anatomy, Modality

__all__ = [
    "BAD_ROW",
    "Absence",
    "Basis",
    "Case",
    "Consensus",
    "Grade",
    "ImageRef",
    "Label",
    "LabelState",
    "MaskFile",
    "Outline",
    "PixelLayout",
    "Polygons",
    "Quantity",
    "QuarantineRow",
    "Rectangle",
    "Region",
    "Runs",
    "Scope",
    "Shape",
    "Skip",
    "Visibility",
    "Words",
]


class LabelState(StrEnum):
    """State of a label in the source. Unknown never becomes absent."""

    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"


class Scope(IntEnum):
    """What a fact applies to, from narrow to wide; an image shows facts up to its own scope."""

    SLICE = 1
    IMAGE = 2
    VOLUME = 3
    BREAST = 4
    STUDY = 5
    PATIENT = 6


class Absence(StrEnum):
    """Meaning of a field that says nothing about a value."""

    READER = "reader"
    IMPLIED = "implied"
    SILENT = "silent"


class Grade(StrEnum):
    """Evidence that something is absent: A read as absent, B implied, C not mentioned."""

    A = "A"
    B = "B"
    C = "C"


class Basis(StrEnum):
    """Kind of evidence that the ground truth of a field rests on."""

    IMAGE = "image"
    STUDY = "study"
    LABORATORY = "laboratory"
    HISTOLOGY = "histology"
    FOLLOW_UP = "follow-up"
    RECORD = "record"


class Visibility(IntEnum):
    """Whether a competent reader could know a fact from the displayed image; higher is better."""

    NO = 0
    PARTLY = 1
    YES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One raw value of one field with its state and provenance.

    Attributes:
        field: name of the field in the card.
        value: raw value, verbatim; the card maps it to a concept.
        state: present, absent or unknown.
        evidence: provenance, such as ``train.csv:123 Edema=-1``.
    """

    field: str
    value: str
    state: LabelState = LabelState.PRESENT
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A numeric value that a source states for a case, with unit and provenance.

    Attributes:
        field: name of the field of kind ``measure`` in the card.
        value: the source's reference value, such as the mean of its readings.
        unit: as named in the card; an adapter converts only by a factor in the card.
        evidence: provenance, such as ``FileList.csv:12 EF=55.2``.
        readings: the individual value of each reader, if the source provides them.
        image: index of the case's image it refers to.
    """

    field: str
    value: float
    unit: str
    evidence: str
    readings: tuple[float, ...] = ()
    image: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Free text of a source about one case; may contain identifiers.

    It is compared with the labels and never reaches an output; see ``build.stages.contradictions``.

    Attributes:
        name: name of the text field in the card.
        text: the text, verbatim.
        evidence: its location, such as ``metadata.csv:12 clinical_notes``, without the text.
    """

    name: str
    text: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PixelLayout:
    """Layout of headerless pixel data.

    Attributes:
        rows: number of rows.
        columns: number of columns.
        dtype: numpy dtype with byte order, such as ``>u2``.
        bits: number of bits used, from the least significant.
        inverted: whether low values are bright.
        spacing: mm between rows and columns, or ``None``.
    """

    rows: int
    columns: int
    dtype: str
    bits: int
    inverted: bool = False
    spacing: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRef:
    """One stored image or stack of images.

    Attributes:
        paths: the file, or all files of a series in any order.
        frame: 0-based frame of a multi-frame file or video; ``None`` leaves the choice to the
            slice policy of the card.
        count: number of frames that the source states for a video; in a video with a different
            number of frames, the frame index refers to a different moment.
        member: path of the array inside a container file (HDF5), or ``None``.
        parts: companion files needed to interpret the first: the ``.raw`` of an ``.mhd``, or the
            slice from which a series is numbered.
        raw: pixel layout of a headerless file, known only from the source's documentation.
    """

    paths: tuple[Path, ...]
    frame: int | None = None
    count: int | None = None
    member: str | None = None
    parts: tuple[Path, ...] = ()
    raw: PixelLayout | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A marked region of an image.

    Attributes:
        field: name of the card field that identifies what is marked.
        value: raw value of that field.
        shape: its shape and position.
        evidence: provenance of the annotation.
        image: index of the case's image it lies on.
        optional: whether an empty mask means that the image does not show it; otherwise an empty
            mask is a data error.
        rivals: alternative annotations of the same object, such as from a second file; a region
            that contradicts one of them is refused, since nothing says which is right.
    """

    field: str
    value: str
    shape: Shape
    evidence: str
    image: int = 0
    optional: bool = False
    rivals: tuple[Shape, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One image to be built, with everything that the source states about it.

    An optional attribute that is ``None`` is decided by the card.

    Attributes:
        key: unique within the source, stable and readable; names the image.
        images: one image, or several shown side by side, left to right.
        patient: the source's patient identifier, or ``None`` if the source provides none.
        unit: study, breast or lesion whose labels all its images share, for the fields of the card
            with ``per_unit``; the scan drops it once they have been compared.
        labels: every statement about the case, with its state.
        panels: one label per image, all of one field, for facts that differ between the images,
            such as the cardiac phase; or empty.
        compared: whether the case only places images side by side that also have their own cases:
            it has panels, is shown with numbered images to tasks with a rule, and no other task
            uses it.
        regions: masks and boxes.
        quantities: numeric values with units that the source states, at most one per field and
            image.
        guide: shapes on the first image used for slice selection instead of the case's regions, so
            that a companion image can show the slice chosen by another image's masks.
        unguided: fallback slice policy if the guide cannot be used; without one the guide is
            required, since the case's facts hold only on that slice.
        split: the source's own split, or ``None``.
        shows: the widest scope that the image can show.
        anatomy: anatomical region.
        modality: imaging modality.
        plane: plane to reslice from a volume: ``axial``, ``coronal`` or ``sagittal``.
        window: grey-level window, as ``[pixels] window`` of a card, if one scan shows several body
            parts that need different windows.
        licence: licence of this particular image, if the source states one.
        redistribute: whether this particular image may be redistributed.
        facts: other raw values worth keeping, verbatim, as (name, value), without identifiers.
        words: free text about the case; the scan drops it once the labels have been checked.
        sidecars: files that provide facts about this case alone, such as a text header next to its
            image; not tables that cover many cases.
        series: all files of the series that the image is a slice of, in any order, if the adapter
            knows them. Reviewers see the neighbouring slices; no image depends on them. The case
            accounts for these files.
        remarks: what is wrong with the case although it becomes an image; reported by the scan,
            which drops them. Not set by an adapter.
    """

    key: str
    images: tuple[ImageRef, ...]
    patient: str | None = None
    unit: str | None = None
    labels: tuple[Label, ...] = ()
    panels: tuple[Label, ...] = ()
    compared: bool = False
    regions: tuple[Region, ...] = ()
    quantities: tuple[Quantity, ...] = ()
    guide: tuple[Shape, ...] = ()
    unguided: str = ""
    split: str | None = None
    shows: Scope | None = None
    anatomy: Anatomy | None = None
    modality: Modality | None = None
    plane: str | None = None
    window: str | None = None
    licence: str | None = None
    redistribute: bool | None = None
    facts: tuple[tuple[str, str], ...] = ()
    words: tuple[Words, ...] = ()
    sidecars: tuple[Path, ...] = ()
    series: tuple[Path, ...] = ()
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # An adapter may give the region or modality as plain text.
        if not isinstance(self.anatomy, Anatomy | None):
            object.__setattr__(self, "anatomy", Anatomy.parse(self.anatomy))
        if not isinstance(self.modality, Modality | None):
            object.__setattr__(self, "modality", Modality.parse(self.modality))

    def files(self) -> tuple[Path, ...]:
        """Return all raw files of the case, images first, without duplicates."""
        paths = [path for image in self.images for path in (*image.paths, *image.parts)]
        for shape in self.shapes():
            paths.extend(files_of(shape))
        return tuple(dict.fromkeys(paths))

    def shapes(self) -> tuple[Shape, ...]:
        """Return all shapes of the case: those of its regions, their rivals, and its guide."""
        shapes = [shape for region in self.regions for shape in (region.shape, *region.rivals)]
        return (*shapes, *self.guide)

    def moved(self, place: Callable[[Path], Path]) -> Case:
        """Return the same case with each raw file path mapped by ``place``."""
        if all(place(path) == path for path in (*self.files(), *self.sidecars, *self.series)):
            return self
        images = tuple(
            replace(
                image, paths=tuple(map(place, image.paths)), parts=tuple(map(place, image.parts))
            )
            for image in self.images
        )
        return replace(
            self,
            images=images,
            regions=tuple(
                replace(
                    region,
                    shape=relocate_shape(region.shape, place),
                    rivals=tuple(relocate_shape(rival, place) for rival in region.rivals),
                )
                for region in self.regions
            ),
            guide=tuple(relocate_shape(shape, place) for shape in self.guide),
            sidecars=tuple(map(place, self.sidecars)),
            series=tuple(map(place, self.series)),
        )


BAD_ROW = "bad-row"
"""Code of a case skipped because of an unusable table row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """A raw file or row that an adapter skips on purpose, with the reason.

    Attributes:
        key: the key that the case would have had.
        reason: why it is skipped.
        paths: files that this skip accounts for.
        code: ``BAD_ROW`` if a table contains something that neither card nor adapter knows.
        opens: fields for which the row might concern any case, so that no absence is certain.
        opens_value: the only raw value of those fields that the row might concern, if known.
    """

    key: str
    reason: str
    paths: tuple[Path, ...] = ()
    code: str = "set-aside"
    opens: tuple[str, ...] = ()
    opens_value: str = ""

    def moved(self, place: Callable[[Path], Path]) -> Skip:
        """Return the same skip with each raw file path mapped by ``place``."""
        return replace(self, paths=tuple(map(place, self.paths)))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineRow:
    """One row of the quarantine: something that did not become an image or an item, and why.

    Attributes:
        source: id of the source.
        case: key of the case, or the path of a file under the raw root.
        stage: scan, select, render or compose; only render errors count as failures.
        code: short machine-readable reason.
        message: what was found, what was expected, what to do.
    """

    source: str
    case: str
    stage: str
    code: str
    message: str

    def __post_init__(self) -> None:
        """Escape control characters from raw cells and file names before people read them."""
        for name in ("case", "message"):
            object.__setattr__(self, name, escape_controls(getattr(self, name)))
