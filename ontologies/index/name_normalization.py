"""Normalization of names and ids, shared by compiler and queries of the index."""

from __future__ import annotations

import re
import unicodedata

from medrcube.ontologies.label_words import normalise, tokens

__all__ = ["canonical", "is_abbreviation", "match_expression", "spelling"]

_RADLEX = re.compile(r"(?:^|[/#:])(RID\d+)$", re.IGNORECASE)
_HPO = re.compile(r"(?:^|[/#])HP[:_](\d{7})$", re.IGNORECASE)
_ICD_FOUNDATION = re.compile(r"^icd11\.foundation:(\d+)$", re.IGNORECASE)
_SHORT = 5
_ICD_ENTITY = "http://id.who.int/icd/entity/"


def strip_accents(text: str) -> str:
    """Letters without accents; Greek ones by name, so that alpha and beta stay apart."""
    if text.isascii():
        return text
    return "".join(
        _letter(char)
        for char in unicodedata.normalize("NFKD", text)
        if not unicodedata.combining(char)
    )


def spelling(text: str) -> str:
    """One spelling of a name: ``label_words.normalise`` without accents."""
    return normalise(strip_accents(text))


def canonical(identity: str) -> str:
    """An id as its owner writes it, from the forms that go round.

    RadLex is named by IRIs of three forms (notes of RSNA's readers), HPO by PURL, and ICD-11's
    foundation by CURIE in SSSOM tables.
    """
    text = identity.strip()
    if match := _RADLEX.search(text):
        return match[1].upper()
    if match := _HPO.search(text):
        return f"HP:{match[1]}"
    if match := _ICD_FOUNDATION.match(text):
        return _ICD_ENTITY + match[1]
    return text


def match_expression(text: str) -> str:
    """An FTS5 query: every word, the last one also as the beginning of a longer one.

    Empty when the text holds no word.
    """
    words = tokens(strip_accents(text))
    if not words:
        return ""
    first = [f'"{word}"' for word in words[:-1]]
    # No plural ends in x, so the last word comes back as typed: "fibros" is not a plural here.
    typed = tokens(f"{strip_accents(text).rstrip()}x")
    begun = typed[-1][:-1] if len(typed) == len(words) else words[-1]
    return " AND ".join([*first, f'("{words[-1]}" OR "{begun}" *)'])


def is_abbreviation(text: str, kind: str = "") -> bool:
    """Whether a name may mean many things: its owner says so, or it is a few capitals.

    Args:
        text: the name.
        kind: type of the synonym, as its owner has it.
    """
    return kind == "abbreviation" or (
        len(text) <= _SHORT and text.isalnum() and text == text.upper()
    )


def _letter(char: str) -> str:
    if char.isascii() or not char.isalpha():
        return char
    name = unicodedata.name(char, "")
    return f"{name.rpartition(' ')[2].lower()}" if name.startswith("GREEK") else char
