"""Globs of cards, file names, and equivalent extensions and formats."""

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
"""Extension -> canonical extension of the same file type."""

_RESAVED = {".png": ".jpg", ".jpg": ".png", ".xlsx": ".csv"}
"""Extension -> extension of the format that whole copies are converted to. It is used only if no
file has the former, because ``0.jpg`` next to ``0.png`` may be another image."""


@cache
def compile_glob(glob: str) -> re.Pattern[str]:
    """Compile a glob over relative paths; ``*`` and ``?`` do not match ``/``, ``**/`` does.

    ``{a,b}`` matches either of two or more strings. Brackets are literal, not character classes,
    because real file names contain them. Extensions are case-insensitive; equivalent ones match.
    """
    return re.compile("|".join(map(_pattern, expand_braces(glob))))


def expand_braces(glob: str) -> list[str]:
    """Expand braces: return the globs without braces, in order."""
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
    """Return the glob or name of the same files in a converted copy; empty if there is none."""
    own = extension(glob)
    other = _RESAVED.get(EQUAL_EXTENSIONS.get(own, own))
    return () if other is None else (f"{glob[: len(glob) - len(own)]}{other}",)


def extension(name: str) -> str:
    """Return the extension of a name or glob in lower case (``.png``, ``.nii.gz``), or empty."""
    match = _EXTENSION.search(name)
    return "" if match is None else match[0].lower()


def longest_text(glob: str) -> str:
    """Return the longest literal in one part of a glob, without the extension, which may differ."""
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
    """Normalise a name as in a card: no doubled folders, canonical extension."""
    short = undouble(name)
    own = extension(short)
    return f"{short[: len(short) - len(own)]}{EQUAL_EXTENSIONS.get(own, own)}"


def lower_extension(name: str) -> str:
    """Return a file name with its extension in lower case, as datasets publish it."""
    return _EXTENSION.sub(lambda match: match[0].lower(), name)


def undouble(name: str) -> str:
    """Return a path without components that repeat the folder above them."""
    return "/".join(part for part, _ in groupby(name.split("/")))


def without_extension(name: str) -> str:
    """Return a name without its ``extension``."""
    return _EXTENSION.sub("", name)
