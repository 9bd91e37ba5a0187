"""Tokens of concept names: normalization, content words, residual categories."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["content_words", "is_composite", "is_rest_class", "normalise", "tokens"]

_TOKEN = re.compile(r"[a-z0-9]+\*?")
_FILLERS = frozenset(
    "a an and at by for from in is of on or the this to with type view plane side".split()  # noqa: SIM905
)
_REST = frozenset({"other", "any", "unspecified", "miscellaneous", "undetermined"})
# British -> American spelling, as letter sequences; covers the spellings found in HPO and ICD-11.
_BRITISH = (
    ("oedema", "edema"),
    ("haem", "hem"),
    ("anaem", "anem"),
    ("tumour", "tumor"),
    ("oesoph", "esoph"),
    ("goitre", "goiter"),
    ("fibre", "fiber"),
    ("centre", "center"),
    ("ischaem", "ischem"),
    ("leukaem", "leukem"),
    ("paed", "ped"),
    ("grey", "gray"),
)
# A batch tokenizes the same few hundred names a million times.
_remembered = lru_cache(maxsize=1 << 13)


@_remembered
def tokens(text: str) -> tuple[str, ...]:
    """Return the words in order: lower case, American spelling, singular; split at hyphens."""
    text = text.casefold().replace("_", " ")
    for british, american in _BRITISH:
        text = text.replace(british, american)
    return tuple(_singular(word) for word in _TOKEN.findall(text))


@_remembered
def normalise(text: str) -> str:
    """Return a canonical form of a name for comparison."""
    return " ".join(tokens(text))


@_remembered
def content_words(text: str) -> frozenset[str]:
    """Return the words of a name that carry meaning."""
    return frozenset(word for word in tokens(text) if word not in _FILLERS)


@_remembered
def is_rest_class(text: str) -> bool:
    """Whether a name is a residual category ("something else"), which may always be true."""
    return not _REST.isdisjoint(tokens(text))


def is_composite(text: str) -> bool:
    """Whether a name combines two concepts, such as ``Nodule/Mass``."""
    return "/" in text or " or " in f" {text.casefold()} "


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
