"""Normalization of names and ids, shared by index compiler and queries."""

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
    """Remove accents; Greek letters are spelt out, so that alpha and beta stay distinct."""
    if text.isascii():
        return text
    return "".join(
        _letter(char)
        for char in unicodedata.normalize("NFKD", text)
        if not unicodedata.combining(char)
    )


def spelling(text: str) -> str:
    """Return the canonical spelling of a name: ``label_words.normalise`` without accents."""
    return normalise(strip_accents(text))


def canonical(identity: str) -> str:
    """Convert any common form of an id to its publisher's notation.

    RadLex ids occur as three forms of IRI (notes of RSNA's readers), HPO ids as PURLs, and ICD-11
    foundation ids as CURIEs in SSSOM tables.
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
    """Build an FTS5 query from all words; the last one also matches as a prefix.

    Empty if the text contains no word.
    """
    words = tokens(strip_accents(text))
    if not words:
        return ""
    first = [f'"{word}"' for word in words[:-1]]
    # No plural ends in x, so the last word is returned as typed: "fibros" is not a plural here.
    typed = tokens(f"{strip_accents(text).rstrip()}x")
    begun = typed[-1][:-1] if len(typed) == len(words) else words[-1]
    return " AND ".join([*first, f'("{words[-1]}" OR "{begun}" *)'])


def is_abbreviation(text: str, kind: str = "") -> bool:
    """Whether a name is ambiguous: the publisher calls it an abbreviation, or it is a few capitals.

    Args:
        text: the name.
        kind: the publisher's synonym type.
    """
    return kind == "abbreviation" or (
        len(text) <= _SHORT and text.isalnum() and text == text.upper()
    )


def _letter(char: str) -> str:
    if char.isascii() or not char.isalpha():
        return char
    name = unicodedata.name(char, "")
    return f"{name.rpartition(' ')[2].lower()}" if name.startswith("GREEK") else char
