"""Names of files that no case uses, in a form that is safe in an output.

The publisher's names are public, because recipes name files. A file that no case uses may have been
put there by anyone and be named after a patient. Each part of its path is therefore shown only if
it is made of what the published names are made of; otherwise its shape is shown, with its number
among its neighbours, so that the file can be found:
``images/(like Xxxxx_Xxxx_99999999, no. 3 of 120).jpg`` is the third of the 120 ``.jpg`` files that
``ls images`` lists in the order of ``LC_ALL=C``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import PurePosixPath

from medrcube.sources._formats.tables.redaction import cell_shape, words_in
from medrcube.sources._framework.raw_tree.globs import expand_braces

__all__ = ["PublicNames"]

_SUFFIXES = frozenset(
    {
        *(".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".svg"),
        *(".dcm", ".dicom", ".ima", ".nii", ".mhd", ".mha", ".raw", ".img", ".hdr", ".mat"),
        *(".nrrd", ".nhdr", ".npy", ".npz", ".h5", ".pkl", ".zraw", ".bin", ".dat"),
        *(".avi", ".mp4", ".mov", ".mpeg", ".mpg", ".wmv", ".mkv"),
        *(".txt", ".csv", ".tsv", ".xls", ".xlsx", ".ods", ".json", ".jsonl", ".xml", ".yaml"),
        *(".pdf", ".doc", ".docx", ".odt", ".rtf", ".htm", ".html", ".md", ".ppt", ".pptx"),
        *(".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".bak", ".log", ".tmp"),
        *(".py", ".ipynb", ".sh", ".toml", ".db", ".sqlite", ".roi", ".part", ".ini", ".lnk"),
    }
)
"""Suffixes that are shown; any other may be a part of a name."""
_TECHNICAL = frozenset(
    {
        *(
            "ct",
            "mr",
            "mri",
            "us",
            "xr",
            "dicom",
            "nifti",
            "image",
            "images",
            "picture",
            "pictures",
        ),
        *("mask", "masks", "label", "labels", "annotation", "annotations", "series", "study"),
        *("train", "training", "test", "testing", "val", "validation", "data", "dataset", "copy"),
        *("archive", "download", "part", "readme", "metadata", "my", "master", "main"),
    }
)
"""Words that are shown in any name."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"\d+")
_MOST_DIGITS = 4
"""Most digits, outside numbers of published names, of a name that is shown; dates of birth have
more.
"""
_DIGEST = re.compile(r"(?=.*[0-9])(?=.*[a-f])[0-9a-f]{8}[0-9a-f-]{8,}")
_FEWEST_RUNS = 5
"""Fewest numbers of an identifier, such as those of DICOM, whose numbers vary in length."""


class PublicNames:
    """The names in a raw tree that are the publisher's, and a safe form of all others."""

    def __init__(
        self, names: Iterable[str], used: Iterable[str], globs: Iterable[str], texts: Iterable[str]
    ) -> None:
        """Learn what the published names are made of.

        Args:
            names: all files of the tree, relative to the root.
            used: those of them that cases use.
            globs: globs of the layout.
            texts: further texts whose words are no names of people, such as the adapter.
        """
        used = [name for name in used if "^" not in name]  # separates the names of a person
        globs = [plain for glob in globs for plain in expand_braces(glob)]
        parts = {part for name in used for part in name.split("/")}
        literal = {part for glob in globs for part in glob.split("/") if not {*"*?"} & {*part}}
        self._names = tuple(names)
        self._words = words_in((*used, *globs, *texts)) | _TECHNICAL
        self._numbers = {number for name in used for number in _NUMBER.findall(name)}
        self._literal = {part.casefold() for part in literal}
        self._patterns = {
            pattern
            for part in (*parts, *(_stem(part) for part in parts))
            for pattern in _patterns_of(part)
        }

    def describe_file(self, name: str) -> str:
        """Return a safe form of the path of a file."""
        folder, slash, file = name.rpartition("/")
        return f"{self.describe_folder(folder)}{slash}{self._part(folder, file, is_file=True)}"

    def describe_folder(self, name: str) -> str:
        """Return a safe form of the path of a folder."""
        if not name:
            return ""
        parts = name.split("/")
        above = ["", *accumulate(parts[:-1], "{}/{}".format)]
        described = (
            self._part(folder, part, is_file=False)
            for folder, part in zip(above, parts, strict=True)
        )
        return "/".join(described)

    def replace_names(self, text: str, files: Iterable[str]) -> str:
        """Replace the paths, names and stems of some files in a text by their safe forms."""
        for name in files:
            file = name.rpartition("/")[2]
            safe = self.describe_file(name)
            if safe == name:
                continue
            own, stem = safe.rpartition("/")[2], _stem(file)
            safe_stem = own if own.endswith(")") else own.removesuffix(file[len(stem) :])
            for plain, form in ((name, safe), (file, own), (stem, safe_stem)):
                text = text.replace(plain, form)
        return text

    def _part(self, folder: str, part: str, *, is_file: bool) -> str:
        stem = _stem(part) if is_file else part
        if part.casefold() in self._literal or self._is_public(stem):
            return part
        kind = part[len(stem) :] if is_file else "/"
        return f"({cell_shape(stem)[1:-1]}{self._number(folder, part, kind)}){part[len(stem) :]}"

    def _is_public(self, part: str) -> bool:
        if _DIGEST.fullmatch(part.casefold()):
            return True
        if "^" in part or any(word.casefold() not in self._words for word in _WORD.findall(part)):
            return False
        numbers = [number for number in _NUMBER.findall(part) if number not in self._numbers]
        few = sum(map(len, numbers)) <= _MOST_DIGITS
        return few or not self._patterns.isdisjoint(_patterns_of(part))

    def _number(self, folder: str, part: str, kind: str) -> str:
        beside = self._siblings.get((folder, kind), ())
        place = bisect_left(beside, part)
        is_listed = place < len(beside) and beside[place] == part
        return f", no. {place + 1:,} of {len(beside):,}" if is_listed else ""

    @cached_property
    def _siblings(self) -> Mapping[tuple[str, str], Sequence[str]]:
        """Return the sorted entries of each folder by kind: the suffix, or ``/`` for folders."""
        entries: dict[tuple[str, str], set[str]] = {}
        for name in self._names:
            folder, _, file = name.rpartition("/")
            kind = file[len(_stem(file)) :]
            beside = entries.setdefault((folder, kind), set())
            beside.add(file)
            while folder:
                folder, _, last = folder.rpartition("/")
                folders = entries.setdefault((folder, "/"), set())
                if last in folders:
                    break
                folders.add(last)
        return {place: sorted(files) for place, files in entries.items()}


def _stem(part: str) -> str:
    """Return a file name without its known suffixes."""
    suffix = PurePosixPath(part).suffix
    while suffix and suffix.lower() in _SUFFIXES:
        part = part.removesuffix(suffix)
        suffix = PurePosixPath(part).suffix
    return part


def _patterns_of(part: str) -> set[str]:
    """Return the patterns of a name: of letters and digits, and, for a long one, of their runs."""
    exact = re.sub(r"[^\W\d_]+", "a", re.sub(r"\d", "9", part))
    runs = re.sub("9+", "9", exact)
    return {exact, runs} if runs.count("9") >= _FEWEST_RUNS else {exact}
