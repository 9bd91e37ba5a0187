"""Globs of cards, and names of files: which extensions and formats stand for the same content."""

from __future__ import annotations

import re
from functools import cache
from itertools import groupby

__all__ = [
    "EQUAL_EXTENSIONS",
    "compile_glob",
    "expand_braces",
    "extension",
    "longest_text",
    "lower_extension",
    "other_format",
    "plain_name",
    "undouble",
    "without_extension",
]

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_EXTENSION = re.compile(r"\.[^./]*(?:\.(?:gz|zip))?$", re.IGNORECASE)

EQUAL_EXTENSIONS = {
    ".jpeg": ".jpg",
    ".tiff": ".tif",
    ".dicom": ".dcm",
    ".nii.gz": ".nii",
    ".csv.gz": ".csv",
    ".csv.zip": ".csv",
}
"""Extension -> the one that stands for the same content."""

_RESAVED = {".png": ".jpg", ".jpg": ".png", ".xlsx": ".csv"}
"""Extension -> the one under which whole copies are stored again; it counts only where no file has
the first, since ``0.jpg`` beside ``0.png`` may be another image."""


@cache
def compile_glob(glob: str) -> re.Pattern[str]:
    """A glob as a pattern over relative paths: ``*`` and ``?`` stay in a folder, ``**/`` does not.

    ``{a,b}`` is either of two or more texts. Brackets are letters, not classes: real file names
    hold them. An extension fits in any case, and so does one that stands for the same content.
    """
    return re.compile("|".join(map(_pattern, expand_braces(glob))))


def expand_braces(glob: str) -> list[str]:
    """The globs without braces that a glob with braces stands for, in order."""
    braces = _BRACES.search(glob)
    if braces is None:
        return [glob]
    start, end = braces.span()
    texts = braces[1].split(",")
    return [
        expanded
        for text in texts
        for expanded in expand_braces(f"{glob[:start]}{text}{glob[end:]}")
    ]


def other_format(glob: str) -> tuple[str, ...]:
    """The glob or name under which a copy in another format has its files; none where none is."""
    own = extension(glob)
    other = _RESAVED.get(EQUAL_EXTENSIONS.get(own, own))
    return () if other is None else (f"{glob[: len(glob) - len(own)]}{other}",)


def extension(name: str) -> str:
    """What a name or glob ends in, in small letters: ``.png``, ``.nii.gz``; or nothing."""
    match = _EXTENSION.search(name)
    return "" if match is None else match[0].lower()


def longest_text(glob: str) -> str:
    """The longest plain text in one part of a glob; an extension may be another one."""
    stem = glob[: len(glob) - len(extension(glob))]
    return max(re.split(r"[/*?]", stem), key=len)


def _pattern(glob: str) -> str:
    own = extension(glob)
    start = len(glob) - len(own)
    plain = EQUAL_EXTENSIONS.get(own, own)
    same = {
        glob[start:],
        plain,
        *(other for other, published in EQUAL_EXTENSIONS.items() if published == plain and own),
    }
    return f"{_translate(glob[:start])}(?i:{'|'.join(map(_translate, sorted(same)))})"


def _translate(glob: str) -> str:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(wild.get(part, re.escape(part)) for part in parts)


def plain_name(name: str) -> str:
    """A name as a card would write it: no doubled folder, the usual extension of its content."""
    short = undouble(name)
    own = extension(short)
    return f"{short[: len(short) - len(own)]}{EQUAL_EXTENSIONS.get(own, own)}"


def lower_extension(name: str) -> str:
    """A file name as datasets publish it, where a copy has its extension in capitals."""
    return _EXTENSION.sub(lambda match: match[0].lower(), name)


def undouble(name: str) -> str:
    """A path without the folders, or the file, that repeat the folder above."""
    return "/".join(part for part, _ in groupby(name.split("/")))


def without_extension(name: str) -> str:
    """A name without what ``extension`` gives."""
    return _EXTENSION.sub("", name)
