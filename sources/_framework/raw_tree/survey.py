"""Survey of an unknown raw tree, without personal data.

Values of a table are listed only where few of them repeat over many rows, and never those of a
column whose name speaks of a person; of DICOM files only ``TAGS`` are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from medrcube.errors import MedrcubeError, SourceError
from medrcube.sources._formats.dicom_headers import read_header
from medrcube.sources._formats.tables.delimited import delimiter_of
from medrcube.sources._formats.tables.tables import TableRow, read_csv
from medrcube.sources._framework.raw_tree.globs import compile_glob
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

__all__ = [
    "DICOMS",
    "MASK",
    "MASK_FOLDER",
    "VIDEOS",
    "VOLUMES",
    "Survey",
    "SurveyColumn",
    "SurveyTable",
    "stem_of",
    "suffix_of",
    "survey",
]

TAGS = (
    *("Modality", "BodyPartExamined", "ViewPosition", "ImageLaterality", "Laterality"),
    *("PhotometricInterpretation", "Rows", "Columns", "NumberOfFrames", "BitsStored"),
)
"""DICOM elements that are looked at; none can hold a name, a date or free text."""

RASTERS = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff")
VOLUMES = (".nii.gz", ".nii", ".mhd", ".mha")
DICOMS = (".dcm", ".dicom", ".ima")
VIDEOS = (".avi", ".mp4", ".mov", ".mpeg", ".mpg")
MASK = re.compile(r"[_-]?(mask|seg|segmentation|label|gt)$", re.IGNORECASE)
"""End of the stem of a file that is a mask."""

MASK_FOLDER = re.compile(r"(masks?|segs?|segmentations?|labels?|gt)(Tr|Ts)?", re.IGNORECASE)
"""Name of a folder of masks."""

_PERSON = re.compile(
    r"name|birth|dob|addr|phone|mail|mrn|ssn|accession|date|time|patient|subject|operator"
    r"|physician|doctor|comment|note|report|(^|[_ ])id$",
    re.IGNORECASE,
)
_PATIENT = re.compile(r"(patient|subject)[ _]?(id|no|nr|num|number)?$|^pid$", re.IGNORECASE)
_CODE = re.compile(
    r".*(\d{3}|[\^,])|[0-9a-f]{8}-"
    r"|(patient|pat|pt|p|subject|subj|sub|s|person|participant|volunteer|case|id|study|exam|visit"
    r"|session|ses|series|scan)?[-_ .]*\d+[a-z]?$",
    re.IGNORECASE,
)
"""A name that tells patients, visits or series apart: a number, coded or with such a word."""
_SAMPLE = 5
_MANY = 12
_FLAGS = frozenset({"", "0", "1", "0.0", "1.0", "-1", "-1.0"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyColumn:
    """One column of a table.

    Attributes:
        name: as in the header.
        values: value -> number of rows, empty where they may not or need not be listed.
        flags: whether it holds only 0, 1, -1 and blanks: one column a label.
        patient: whether its name says that it tells persons apart.
    """

    name: str
    values: Mapping[str, int]
    flags: bool
    patient: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyTable:
    """A delimited table.

    Attributes:
        path: relative to the root.
        delimiter: one character.
        encoding: name for Python.
        rows: number of rows.
        columns: columns in file order.
        key: column that names pictures, or ``None``.
        suffix: what has to be added to its values to make file names.
    """

    path: str
    delimiter: str
    encoding: str
    rows: int
    columns: tuple[SurveyColumn, ...]
    key: str | None
    suffix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Contents of a raw tree; all paths are relative with forward slashes.

    Attributes:
        suffixes: suffix -> number of files.
        globs: glob -> number of files, of everything that holds pixels, masks included.
        pictures: files with pixels that are no masks.
        masks: files that look like masks.
        classes: names of the folders that hold the pictures, where there are a few and none
            looks as if it stood for a patient, a visit or a series.
        series: whether DICOM files of one folder share their series.
        tables: delimited tables that could be read.
        notes: facts about some of the files, as sentences.
        modalities: values of the DICOM element Modality.
    """

    suffixes: Mapping[str, int]
    globs: Mapping[str, int]
    pictures: tuple[str, ...]
    masks: tuple[str, ...]
    classes: tuple[str, ...]
    series: bool
    tables: tuple[SurveyTable, ...]
    notes: tuple[str, ...]
    modalities: tuple[str, ...]


def survey(root: Path) -> Survey:
    """Survey a raw tree: names of all files, tables, and the headers of a few pictures.

    Targets of links outside the tree are neither named, counted nor opened.

    Raises:
        SourceError: the root is no folder, or holds no picture that medrcube reads.
    """
    if not root.is_dir():
        raise SourceError(f"{root}: is no folder; expected the unpacked raw data")
    names = [name for name in RawTree(root).names if not _hidden(name) and _within(root, name)]
    pixels = [name for name in names if suffix_of(name) in (*RASTERS, *VOLUMES, *DICOMS, *VIDEOS)]
    pixels += _bare_dicoms(root, names)
    masks = [name for name in pixels if is_mask(name)]
    pictures = sorted(set(pixels) - set(masks)) or sorted(pixels)
    if not pictures:
        kinds = ", ".join(sorted({suffix_of(name) or "no suffix" for name in names})) or "none"
        raise SourceError(
            f"{root}: holds no image (suffixes found: {kinds}); expected DICOM, NIfTI, "
            "MetaImage, PNG, JPEG or video; unpack archives first"
        )
    notes, modalities = _look_inside(root, pictures)
    return Survey(
        suffixes=dict(sorted(Counter(suffix_of(name) for name in names).items())),
        globs=_globs(pixels, names),
        pictures=tuple(pictures),
        masks=tuple(sorted(set(masks) - set(pictures))),
        classes=_classes(pictures),
        series=_shares_series(root, pictures),
        tables=tuple(_tables(root, names, pictures)),
        notes=notes,
        modalities=modalities,
    )


def suffix_of(name: str) -> str:
    """Suffix in lower case; ``.nii.gz`` is one."""
    file = PurePosixPath(name.lower())
    return ".nii.gz" if file.name.endswith(".nii.gz") else file.suffix


def stem_of(name: str) -> str:
    """File name without folder and suffix."""
    file = PurePosixPath(name).name
    suffix = suffix_of(name)
    return file[: len(file) - len(suffix)] if suffix else file


def is_mask(name: str) -> bool:
    """Whether a file is called a mask, or lies in a folder of masks."""
    parent = PurePosixPath(name).parent.name
    return bool(MASK.search(stem_of(name)) or MASK_FOLDER.fullmatch(parent))


def _hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def _within(root: Path, name: str) -> bool:
    """Whether a file lies below the root with all links resolved; others must not be read."""
    file = (root / name).resolve()
    return file.is_file() and file.is_relative_to(root.resolve())


def _bare_dicoms(root: Path, names: Iterable[str]) -> list[str]:
    return [name for name in names if not suffix_of(name) and _begins_as_dicom(root / name)]


def _begins_as_dicom(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(132)[128:] == b"DICM"


def _globs(pixels: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """One glob for each suffix and depth, with the parts of the path that never change."""
    groups: dict[tuple[str, int], list[list[str]]] = {}
    for name in pixels:
        parts = name.split("/")
        groups.setdefault((PurePosixPath(name).suffix, len(parts)), []).append(parts)
    counts: dict[str, int] = {}
    for members in groups.values():
        first = "/".join(members[0])
        folders = [
            options.pop() if len(options := set(level)) == 1 else "*"
            for level in list(zip(*members, strict=True))[:-1]
        ]
        suffix = PurePosixPath(first).name[len(stem_of(first)) :]
        glob = "/".join([*folders, f"*{suffix}"])
        counts[glob] = sum(compile_glob(glob).fullmatch(name) is not None for name in names)
    return dict(sorted(counts.items()))


def _classes(pictures: Sequence[str]) -> tuple[str, ...]:
    parents = Counter(PurePosixPath(name).parent.name for name in pictures)
    few = 2 <= len(parents) <= _MANY and min(parents.values()) > 1
    coded = any(_CODE.match(name) for name in parents)
    return tuple(sorted(parents)) if few and not coded else ()


def _shares_series(root: Path, pictures: Sequence[str]) -> bool:
    """Whether two of the first DICOM files of any of the first folders are of one series."""
    folders: dict[PurePosixPath, list[str]] = {}
    for name in pictures:
        if suffix_of(name) in (*DICOMS, ""):
            folders.setdefault(PurePosixPath(name).parent, []).append(name)
    for members in list(folders.values())[:_MANY]:
        series = [uid for name in members[:_SAMPLE] if (uid := _series(root / name))]
        if len(set(series)) < len(series):
            return True
    return False


def _series(path: Path) -> str | None:
    try:
        return read_header(path, ("SeriesInstanceUID",)).get("SeriesInstanceUID")
    except MedrcubeError:
        return None


def _tables(root: Path, names: Iterable[str], pictures: Sequence[str]) -> Iterable[SurveyTable]:
    for name in names:
        if suffix_of(name) in {".csv", ".tsv"}:
            try:
                yield _table(root / name, name, pictures)
            except MedrcubeError:
                continue  # a file that is no table is counted by its suffix all the same


def _table(path: Path, name: str, pictures: Sequence[str]) -> SurveyTable:
    encoding = _encoding(path)
    with path.open(encoding=encoding, newline="") as file:
        delimiter = delimiter_of(file.readline())
    rows = read_csv(path, columns=(), encoding=encoding)
    header = [column for column in (rows[0] if rows else ()) if column]
    columns = tuple(_column(column, rows) for column in header)
    key, suffix = _key(header, rows, pictures)
    return SurveyTable(
        path=name,
        delimiter=delimiter,
        encoding=encoding,
        rows=len(rows),
        columns=columns,
        key=key,
        suffix=suffix,
    )


def _encoding(path: Path) -> str:
    try:
        path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"


def _column(name: str, rows: Sequence[TableRow]) -> SurveyColumn:
    counts = Counter(row[name] for row in rows)
    person = _PERSON.search(name) is not None
    listed = not person and len(counts) <= _MANY and 2 * len(counts) <= len(rows)
    return SurveyColumn(
        name=name,
        values=dict(sorted(counts.items())) if listed else {},
        flags=listed and set(counts) <= _FLAGS and any(counts[value] for value in ("1", "1.0")),
        patient=_PATIENT.search(name) is not None,
    )


def _key(
    columns: Iterable[str], rows: Sequence[TableRow], pictures: Sequence[str]
) -> tuple[str | None, str]:
    """The column whose values name pictures, with or without the suffix.

    Most of its values do; or, where the copy holds a part of the dataset, most pictures are named
    and nearly every row has a value of its own.
    """
    files = {PurePosixPath(name).name for name in pictures}
    stems = {stem_of(name): PurePosixPath(name).name[len(stem_of(name)) :] for name in pictures}
    best: tuple[float, str | None, str] = (0.8, None, "")
    for column in columns:
        values = {PurePosixPath(row[column]).name for row in rows if row[column]}
        for names, added in ((files, False), (stems.keys(), True)):
            hits = values & names
            share = len(hits) / max(len(values), 1)
            if 2 * len(values) >= len(rows):
                share = max(share, len(hits) / len(names))
            if len(values) > 1 and share > best[0]:
                best = (share, column, stems[min(hits)] if added else "")
    return best[1], best[2]


def _look_inside(root: Path, pictures: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Sentences about the first files of each format, and the modalities that DICOM names."""
    notes: list[str] = []
    modalities: set[str] = set()
    by_format: dict[str, list[str]] = {}
    for name in pictures:
        by_format.setdefault(suffix_of(name), []).append(name)
    for suffix, members in sorted(by_format.items()):
        for name in members[:_SAMPLE]:
            try:
                facts = _facts(root / name, suffix)
            except (MedrcubeError, OSError, ValueError) as error:
                facts = {"cannot be read": type(error).__name__}
            modalities.update(facts.get("Modality", "").split())
            if facts:
                notes.append(
                    f"{suffix or 'DICOM'}: {', '.join(f'{k} {v}' for k, v in facts.items())}"
                )
    return tuple(dict.fromkeys(notes)), tuple(sorted(modalities))


def _facts(path: Path, suffix: str) -> Mapping[str, str]:
    if suffix in (*DICOMS, ""):
        return read_header(path, TAGS)
    if suffix in (".nii", ".nii.gz"):
        return _nifti(path)
    if suffix in RASTERS:
        from PIL import Image  # noqa: PLC0415

        with Image.open(path) as image:
            return {"size": f"{image.width} x {image.height}", "mode": image.mode}
    return {}


def _nifti(path: Path) -> Mapping[str, str]:
    import nibabel  # noqa: PLC0415

    library: Any = nibabel
    try:
        image = library.load(path)
    except library.filebasedimages.ImageFileError as error:
        raise ValueError(str(error)) from error
    return {
        "shape": " x ".join(map(str, image.shape)),
        "mm": " x ".join(f"{size:.3g}" for size in image.header.get_zooms()),
        "axes to": "".join(library.aff2axcodes(image.affine)),
        "stored as": str(image.get_data_dtype()),
    }
