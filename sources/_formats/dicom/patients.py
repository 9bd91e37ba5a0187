"""DICOM files by patient, and the age limit for adults.

The home's own client makes a folder for each patient; downloads by series make one for each
series, and then the header alone names the patient.
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
"""From this age on a film is held to what the adapters know of adults; of younger patients, whose
normal anatomy and diseases are others, nothing is asked."""


def files_by_patient(root: RawTree, name: re.Pattern[str]) -> Iterator[tuple[str, list[Path]]]:
    """Yield each patient with all files of its folder, then those whom only headers name.

    A file whose header names nobody who fits is left out; one that cannot be read goes under the
    name of its folder, so that whoever reads it next says why it is set aside.

    Args:
        root: the raw tree.
        name: what patients are called, both as a folder and as PatientID.
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
    named: dict[str, list[Path]] = {}
    for path in loose:
        patient = _named(path)
        if patient is None or name.fullmatch(patient):
            named.setdefault(patient or path.parent.name, []).append(path)
    yield from sorted(named.items())


def skip_unreadable_slices(patient: str, files: Iterable[Path]) -> Iterator[Skip]:
    """Why files that are named as slices are none: a row for each folder and reason.

    Args:
        patient: whose files they are.
        files: of any kind, also those that are named otherwise.
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
    """The outermost folder that bears the name of a patient."""
    folders = file.split("/")[:-1]
    for depth, folder in enumerate(folders, 1):
        if name.fullmatch(folder):
            return "/".join(folders[:depth])
    return ""


def _named(path: Path) -> str | None:
    """The PatientID, empty where there is none; ``None`` for a file that cannot be read."""
    try:
        return read_header(path, ("PatientID",)).get("PatientID", "")
    except ReadError:
        return None
