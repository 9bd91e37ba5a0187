"""DICOM files by patient, and the age limit for adults.

The host's own client creates one folder per patient; downloads by series create one per series, in
which case only the header identifies the patient.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from medrcube.errors import ReadError
from medrcube.facts import Skip
from medrcube.sources._formats.dicom.headers import is_dicom, read_header
from medrcube.sources._framework.raw_tree.globs import extension
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

__all__ = ["ADULT_YEARS", "files_by_patient", "skip_unreadable_slices"]

ADULT_YEARS = 18
"""Minimum age in years: labels apply to adults; nothing is asked about younger patients, whose
normal anatomy and diseases differ."""


def files_by_patient(root: RawTree, name: re.Pattern[str]) -> Iterator[tuple[str, list[Path]]]:
    """Yield each patient with all files of their folder, then patients known only from headers.

    A file without a matching PatientID is omitted; an unreadable one is yielded under the name of
    its folder, so that its reader reports why it is skipped.

    Args:
        root: the raw tree.
        name: pattern of patient names, both as folder and as PatientID.
    """
    homes: dict[str, list[Path]] = {}
    loose: list[Path] = []
    for file in sorted(root.names):
        home = _home(file, name)
        if home:
            homes.setdefault(home, []).append(root.path / file)
        elif extension(file) == ".dcm":
            loose.append(root.path / file)
    for home, files in homes.items():
        yield home.rpartition("/")[2], files
    by_patient: dict[str, list[Path]] = {}
    for path in loose:
        patient = _patient_id(path)
        if patient is None or name.fullmatch(patient):
            by_patient.setdefault(patient or path.parent.name, []).append(path)
    yield from sorted(by_patient.items())


def skip_unreadable_slices(patient: str, files: Iterable[Path]) -> Iterator[Skip]:
    """Yield skips for unreadable files that are named like slices, one per folder and reason.

    Args:
        patient: patient of the files.
        files: files of any kind, including those with other names.
    """
    by_folder: dict[tuple[Path, str], list[Path]] = {}
    for path in sorted(files):
        if extension(path.name) == ".dcm" and not is_dicom(path):
            empty = not path.stat().st_size
            what = "is empty (0 bytes)" if empty else "holds no DICOM"
            by_folder.setdefault((path.parent, what), []).append(path)
    for (_, what), paths in by_folder.items():
        several = f" and {len(paths) - 1:,} more beside it" if len(paths) > 1 else ""
        reason = f"{paths[0].name}{several}: {what}; get the file again"
        yield Skip(
            key=f"{patient}/{paths[0].parent.name}/{paths[0].name} unreadable",
            reason=reason,
            paths=tuple(paths),
        )


def _home(file: str, name: re.Pattern[str]) -> str:
    """Return the outermost folder with the name of a patient."""
    folders = file.split("/")[:-1]
    for depth, folder in enumerate(folders, 1):
        if name.fullmatch(folder):
            return "/".join(folders[:depth])
    return ""


def _patient_id(path: Path) -> str | None:
    """Return the PatientID, or empty; ``None`` for an unreadable file."""
    try:
        return read_header(path, ("PatientID",)).get("PatientID", "")
    except ReadError:
        return None
