"""Survey of an unknown raw tree, without personal data.

Only the elements ``TAGS`` of DICOM files are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from medrcube.errors import MedrcubeError, SourceError
from medrcube.sources._formats.dicom.headers import read_header
from medrcube.sources._framework.raw_tree.globs import compile_glob
from medrcube.sources._framework.raw_tree.pixel_files import (
    DICOMS,
    RASTERS,
    VIDEOS,
    VOLUMES,
    stem_of,
    suffix_of,
)
from medrcube.sources._framework.raw_tree.raw_tree import RawTree
from medrcube.sources._framework.raw_tree.survey_documents import survey_documents
from medrcube.sources._framework.raw_tree.survey_masks import is_mask, mask_patterns, mask_values
from medrcube.sources._framework.raw_tree.survey_tables import SHEETS, SurveyTable, survey_tables

__all__ = ["Survey", "survey"]

TAGS = (
    *("Modality", "BodyPartExamined", "ViewPosition", "ImageLaterality", "Laterality"),
    *("PhotometricInterpretation", "Rows", "Columns", "NumberOfFrames", "BitsStored"),
)
"""DICOM elements that are read; none can contain a name, a date or free text."""

_SPLIT_FOLDER = re.compile(
    r"(?:train|training|val|valid|validation|test|testing|dev|images?|set|data|tr|ts|[-_ \d])+",
    re.IGNORECASE,
)
_ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".7z", ".rar", ".bz2", ".xz")

_CODE = re.compile(
    r".*(\d{3}|[\^,])|[0-9a-f]{8}-"
    r"|(patient|pat|pt|p|subject|subj|sub|s|person|participant|volunteer|case|id|study|exam|visit"
    r"|session|ses|series|scan)?[-_ .]*\d+[a-z]?$",
    re.IGNORECASE,
)
"""Folder name of a patient, visit or series: a number, a code, or one with such a word."""
_SAMPLE = 5
_MANY = 12
_FOLDERS = 200
"""Maximum number of DICOM folders of which a header is read for the series description."""
_PLANES = {
    **dict.fromkeys("RL", "sagittal"),
    **dict.fromkeys("AP", "coronal"),
    **dict.fromkeys("SI", "axial"),
}
"""Direction of the slice normal -> nearest plane."""
_MOST_CLASSES = 100
"""Regular expression of names that recur, as below train and test; patient names do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Contents of a raw tree; all paths are relative with forward slashes.

    Attributes:
        suffixes: suffix -> number of files.
        globs: glob -> number of files, for all files with pixels, masks included.
        pictures: files with pixels that are not masks.
        masks: files that look like masks, by name or because they have two distinct values.
        mask_pattern: regular expression for the end of the stem of a mask.
        mask_folder: regular expression for the name of a folder of masks.
        mask_values: values stored in the first masks, if there are few.
        classes: names of the image folders, if there are few or the same ones recur, and none
            looks like a patient, visit, series or split.
        series: whether DICOM files in one folder share their series.
        descriptions: values of SeriesDescription that DICOM files of several patients share.
        tables: delimited tables and sheets that could be read.
        documents: lines about each kind of XML and JSON file.
        notes: facts about some of the files, as sentences.
        modalities: values of the DICOM element Modality.
    """

    suffixes: Mapping[str, int]
    globs: Mapping[str, int]
    pictures: tuple[str, ...]
    masks: tuple[str, ...]
    mask_pattern: str
    mask_folder: str
    mask_values: tuple[float, ...]
    classes: tuple[str, ...]
    series: bool
    descriptions: tuple[str, ...]
    tables: tuple[SurveyTable, ...]
    documents: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    modalities: tuple[str, ...]


def survey(root: Path) -> Survey:
    """Survey a raw tree: all file names, the tables, and the headers of a few images.

    Links that point outside the tree are not named, counted or opened.

    Raises:
        SourceError: the root is not a folder, or contains no image that medrcube can read.
    """
    if not root.is_dir():
        raise SourceError(f"{root} is not a folder; expected the unpacked raw data")
    names = [name for name in RawTree(root).names if not _hidden(name) and _within(root, name)]
    pixels = [name for name in names if suffix_of(name) in (*RASTERS, *VOLUMES, *DICOMS, *VIDEOS)]
    pixels += _bare_dicoms(root, names)
    if not pixels:
        raise SourceError(_without_image(root, names))
    mask, mask_folder = mask_patterns(root, pixels)
    masks = [name for name in pixels if is_mask(name, mask, mask_folder)]
    pictures = sorted(set(pixels) - set(masks)) or sorted(pixels)
    notes, modalities = _look_inside(root, pictures)
    return Survey(
        suffixes=dict(sorted(Counter(suffix_of(name) for name in names).items())),
        globs=_globs(pixels, names),
        pictures=tuple(pictures),
        masks=tuple(sorted(set(masks) - set(pictures))),
        mask_pattern=mask,
        mask_folder=mask_folder,
        mask_values=() if masks == pixels else mask_values(root, sorted(masks)),
        classes=_classes(pictures),
        series=_shares_series(root, pictures),
        descriptions=_descriptions(root, pictures),
        tables=tuple(survey_tables(root, names, pictures)),
        documents=survey_documents(root, names, pictures),
        notes=notes,
        modalities=modalities,
    )


def _without_image(root: Path, names: Sequence[str]) -> str:
    """Return the message for a tree without images, with advice on how to draft its source."""
    kinds = ", ".join(sorted({suffix_of(name) or "no suffix" for name in names})) or "none"
    fault = f"{root}: holds no image (suffixes found: {kinds})"
    expected = "expected DICOM, NIfTI, NRRD, MetaImage, PNG, JPEG or video"
    if any(suffix_of(name) in _ARCHIVES for name in names):
        return f"{fault}; {expected}; unpack the archives first"
    tables = [name for name in names if suffix_of(name) in (".csv", ".tsv", *SHEETS, ".xml")]
    if not tables:
        return f"{fault}; {expected}; name the folder of the unpacked raw data"
    return (
        f"{fault}; {expected} beside the tables ({len(tables)}): cases and layout are derived from "
        "images. Put a few images of the dataset where they are in a complete copy, at least two "
        "of each folder, and run this again; the tables may name more"
    )


def _hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def _within(root: Path, name: str) -> bool:
    """Whether a file lies below the root after resolving links; others must not be read."""
    file = (root / name).resolve()
    return file.is_file() and file.is_relative_to(root.resolve())


def _bare_dicoms(root: Path, names: Iterable[str]) -> list[str]:
    return [name for name in names if not suffix_of(name) and _begins_as_dicom(root / name)]


def _begins_as_dicom(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(132)[128:] == b"DICM"


def _globs(pixels: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """Return one glob per suffix and depth, keeping the path components that never change.

    An image folder that is not a patient, visit or series gets its own glob, if there are few.
    """
    groups: dict[tuple[str, int, str], list[list[str]]] = {}
    depths: dict[tuple[str, int], set[str]] = {}
    for name in pixels:
        path = PurePosixPath(name)
        depths.setdefault((path.suffix, len(path.parts)), set()).add(path.parent.name)
    for name in pixels:
        path = PurePosixPath(name)
        parents = depths[path.suffix, len(path.parts)]
        few = len(parents) <= _MANY and not any(map(_CODE.match, parents))
        own = path.parent.name if few else ""
        groups.setdefault((path.suffix, len(path.parts), own), []).append(name.split("/"))
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
    places = Counter(folder.name for folder in {PurePosixPath(name).parent for name in pictures})
    most = _MOST_CLASSES if min(places.values()) > 1 else _MANY
    few = 2 <= len(parents) <= most and min(parents.values()) > 1
    others = any(_CODE.match(name) or _SPLIT_FOLDER.fullmatch(name) for name in parents)
    return tuple(sorted(parents)) if few and not others else ()


def _shares_series(root: Path, pictures: Sequence[str]) -> bool:
    """Whether two of the first DICOM files in any of the first folders share a series."""
    folders: dict[PurePosixPath, list[str]] = {}
    for name in pictures:
        if suffix_of(name) in (*DICOMS, ""):
            folders.setdefault(PurePosixPath(name).parent, []).append(name)
    for members in list(folders.values())[:_MANY]:
        series = [uid for name in members[:_SAMPLE] if (uid := _series(root / name))]
        if len(set(series)) < len(series):
            return True
    return False


def _descriptions(root: Path, pictures: Sequence[str]) -> tuple[str, ...]:
    """Return SeriesDescription values shared by several patients, so that none is free text."""
    first: dict[PurePosixPath, str] = {}
    for name in pictures:
        if suffix_of(name) in (*DICOMS, ""):
            first.setdefault(PurePosixPath(name).parent, name)
    patients: dict[str, set[str]] = {}
    for name in list(first.values())[:_FOLDERS]:
        try:
            header = read_header(root / name, ("SeriesDescription", "PatientID"))
        except MedrcubeError:
            continue
        if {"SeriesDescription", "PatientID"} <= header.keys():
            patients.setdefault(header["SeriesDescription"], set()).add(header["PatientID"])
    return tuple(sorted(text for text, owners in patients.items() if len(owners) > 1))


def _series(path: Path) -> str | None:
    try:
        return read_header(path, ("SeriesInstanceUID",)).get("SeriesInstanceUID")
    except MedrcubeError:
        return None


def _look_inside(root: Path, pictures: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return sentences about the first files of each format, and the DICOM modalities."""
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
    facts = {
        "shape": " x ".join(map(str, image.shape)),
        "mm": " x ".join(f"{size:.3g}" for size in image.header.get_zooms()),
        "axes to": (axes := "".join(code or "?" for code in library.aff2axcodes(image.affine))),
        "stored as": str(image.get_data_dtype()),
    }
    apart = image.header.get_zooms()[:3]
    normal = axes[apart.index(max(apart))] if len(apart) == len(axes) else "?"
    if apart.count(max(apart)) == 1 and normal in _PLANES:
        facts["slices"] = _PLANES[normal]
    return facts
