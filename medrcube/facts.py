"""Domain records shared by all parts: cases, labels, images and regions, as frozen dataclasses.

An adapter turns a raw tree into ``Case`` records and opens no pixel file. Coordinates of boxes and
masks are those of the *stored* image: the build transforms them together with the pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from pathlib import Path

from medrcube.files.toml_reader import TomlTable
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
from medrcube.vocabulary.word import Word

__all__ = [
    "BAD_ROW",
    "Absence",
    "Basis",
    "Case",
    "Consensus",
    "FactKind",
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
    """State of a label in the source. Unknown is never turned into absent."""

    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"


class FactKind(Word):
    """What kind of fact a field states; decides the task that may ask it.

    An attribute, such as the density of a breast, is a fact that no task asks: it is no finding,
    and more of it is no worse.

    Attributes:
        view: whether it says how one image was taken, which differs between images of a patient.
        structure: whether it names a part of the body, which exists once.
        abnormal: whether it says that something is wrong, and what.
        several: whether an image may show several facts of the kind.
    """

    axis = "kind"
    view: bool
    structure: bool
    abnormal: bool
    several: bool

    @classmethod
    def read(cls, table: TomlTable) -> dict[str, object]:
        """What else a layer declares of a kind."""
        names = ("view", "structure", "abnormal", "several")
        return {name: table.flag(name, default=False) for name in names}


class Scope(IntEnum):
    """What a fact is about, from narrow to wide; an image shows facts up to its own scope."""

    SLICE = 1
    IMAGE = 2
    VOLUME = 3
    BREAST = 4
    STUDY = 5
    PATIENT = 6


class Absence(StrEnum):
    """What silence of a field about a value means."""

    READER = "reader"
    IMPLIED = "implied"
    SILENT = "silent"


class Grade(StrEnum):
    """Evidence that something is absent: A read as absent, B implied, C not mentioned."""

    A = "A"
    B = "B"
    C = "C"


class Basis(StrEnum):
    """Evidence that the truth of a field rests on."""

    IMAGE = "image"
    STUDY = "study"
    LABORATORY = "laboratory"
    HISTOLOGY = "histology"
    FOLLOW_UP = "follow-up"
    RECORD = "record"


class Visibility(IntEnum):
    """Whether a competent reader of the one image shown could know a fact; more is better."""

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
    """One number that a source states of a case, with its unit and provenance.

    Attributes:
        field: name of the field of kind ``measure`` in the card.
        value: the number that the source takes as true, such as the mean of its readings.
        unit: as the card names it; an adapter converts nothing without a factor in the card.
        evidence: provenance, such as ``FileList.csv:12 EF=55.2``.
        readings: the number of each of several readers, where the source gives them.
        image: which of the case's images it is about.
    """

    field: str
    value: float
    unit: str
    evidence: str
    readings: tuple[float, ...] = ()
    image: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Free text of a source about one case, which may hold identifiers.

    It is compared with the labels and reaches no output; see ``build.stages.contradictions``.

    Attributes:
        name: what the card calls it.
        text: the text, verbatim.
        evidence: where it stands, such as ``metadata.csv:12 clinical_notes``, without the text.
    """

    name: str
    text: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PixelLayout:
    """Layout of headerless pixels.

    Attributes:
        rows: number of rows.
        columns: number of columns.
        dtype: numpy type with byte order, such as ``>u2``.
        bits: bits in use, from the lowest.
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
        count: number of frames that the source states of a video; in one with another number a
            frame is another moment.
        member: path of the array inside a container file (HDF5), or ``None``.
        parts: further files without which the first is not understood: the ``.raw`` of an
            ``.mhd``, or the slice from which the numbers of a series count.
        raw: layout of a file without a header, which only the source's documentation tells.
    """

    paths: tuple[Path, ...]
    frame: int | None = None
    count: int | None = None
    member: str | None = None
    parts: tuple[Path, ...] = ()
    raw: PixelLayout | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A marked part of an image.

    Attributes:
        field: name of the field in the card that says what is marked.
        value: raw value of that field.
        shape: where it is.
        evidence: where that stands.
        image: which of the case's images it lies on.
        optional: whether an empty mask means that the image does not show it; otherwise a mask
            that marks nothing is a fault of the data.
        rivals: other drawings of the very same thing, as in a second file; a region that one of
            them contradicts is refused, since nothing says which of them is right.
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

    ``None`` in an optional attribute means that the card decides.

    Attributes:
        key: unique within the source, stable and readable; names the image.
        images: one image, or several that are shown side by side, left to right.
        patient: the source's patient identifier, or ``None`` when the source does not say.
        labels: every statement about the case, with its state.
        panels: what each of several images shows that not all of them do, such as its cardiac
            phase: one label for each image, all of one field; or none.
        compared: whether the case only puts images beside each other that have cases of their own:
            it has panels, shows them under numbers to tasks with a rule, and no other task asks it.
        regions: masks and boxes.
        quantities: numbers with a unit that the source states, at most one per field and image.
        guide: shapes on the first image that choose its slice in place of the case's regions,
            so that a companion image can show the slice that another one's masks chose.
        unguided: slice policy where the guide cannot be used; without one the case needs it, since
            what it states holds on that slice alone.
        split: the source's own split, or ``None``.
        shows: the widest scope that the image can show.
        anatomy: region of the body.
        modality: imaging modality.
        plane: plane to cut from a volume: ``axial``, ``coronal`` or ``sagittal``.
        window: how stored values become grey, as ``[pixels] window`` of a card, where one scan
            shows several parts of the body that need windows of their own.
        licence: licence of this very image, where the source states one.
        redistribute: whether this very image may be redistributed.
        facts: other raw values worth keeping, verbatim, as (name, value), without identifiers.
        words: free text about the case; dropped by the scan when the labels have been checked.
        sidecars: files that only facts of this case come from, such as a header in text beside
            its image; a table that speaks of many cases is none.
        series: all files of the series that the one image is a slice of, in any order, where the
            adapter knows them. Reviewers are shown the neighbours; no image rests on them. The
            case accounts for them.
    """

    key: str
    images: tuple[ImageRef, ...]
    patient: str | None = None
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

    def __post_init__(self) -> None:
        # An adapter may write a region or a modality as plain text.
        if not isinstance(self.anatomy, Anatomy | None):
            object.__setattr__(self, "anatomy", Anatomy.parse(self.anatomy))
        if not isinstance(self.modality, Modality | None):
            object.__setattr__(self, "modality", Modality.parse(self.modality))

    def files(self) -> tuple[Path, ...]:
        """All raw files of the case, images first, without repeats."""
        paths = [path for image in self.images for path in (*image.paths, *image.parts)]
        for shape in self.shapes():
            paths.extend(files_of(shape))
        return tuple(dict.fromkeys(paths))

    def shapes(self) -> tuple[Shape, ...]:
        """All shapes of the case: of its regions, their rivals, and its guide."""
        shapes = [shape for region in self.regions for shape in (region.shape, *region.rivals)]
        return (*shapes, *self.guide)

    def moved(self, place: Callable[[Path], Path]) -> Case:
        """The same case with each raw file path mapped by ``place``."""
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
"""Code of a case set aside because of an unusable table row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """A raw file or row that an adapter sets aside on purpose, with its reason.

    Attributes:
        key: what the case would have been called.
        reason: why it is left out.
        paths: files that are accounted for by this.
        code: ``BAD_ROW`` where a table holds what the card and the adapter do not know.
        opens: fields in which the row could speak of any case: no absence there is certain.
        opens_value: the only raw value of those fields that it could be about, where it says so.
    """

    key: str
    reason: str
    paths: tuple[Path, ...] = ()
    code: str = "set-aside"
    opens: tuple[str, ...] = ()
    opens_value: str = ""

    def moved(self, place: Callable[[Path], Path]) -> Skip:
        """The same skip with each raw file path mapped by ``place``."""
        return replace(self, paths=tuple(map(place, self.paths)))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineRow:
    """One row of the quarantine: what did not become an image or an item, and why.

    Attributes:
        source: id of the source.
        case: key of the case, or the path of a file under the raw root.
        stage: scan, select, render or compose; only what fails to render is a failure.
        code: short machine-readable reason.
        message: what was found, what was expected, what to do.
    """

    source: str
    case: str
    stage: str
    code: str
    message: str

    def __post_init__(self) -> None:
        """Let no control character of a raw cell or file name into what people read."""
        for name in ("case", "message"):
            object.__setattr__(self, name, escape_controls(getattr(self, name)))
