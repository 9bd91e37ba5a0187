"""Concepts whose spelling is nearest to a raw value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches

from medrcube.ontologies.terms import Term

__all__ = ["nearest_concepts"]

_CUTOFF = 0.7
"""Minimum fraction of matching characters; suggestions below it are unrelated to the word."""


def nearest_concepts(word: str, terms: Mapping[str, Term], count: int = 3) -> tuple[str, ...]:
    """Return labels of concepts that a word may mean, best first, by spelling alone.

    Exact matches come first, then concepts that contain all parts of the word, then similar ones; a
    word without letters has none.
    """
    query = _plain(word)
    if not re.search("[a-z]", query):
        return ()
    spelled: dict[str, dict[str, None]] = {}
    for label, term in terms.items():
        for text in (label, term.name):
            spelled.setdefault(_plain(text), {})[label] = None
    parts = set(query.split())
    holding = sorted((text for text in spelled if parts <= set(text.split())), key=len)
    close = get_close_matches(query, list(spelled), n=count, cutoff=_CUTOFF)
    equal = [query] if query in spelled else []
    ranked = dict.fromkeys(label for text in [*equal, *holding, *close] for label in spelled[text])
    return tuple(ranked)[:count]


def _plain(text: str) -> str:
    """Return lower-case words: ``Pleural_Effusion`` and ``PleuralEffusion`` give the same."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return " ".join(re.findall(r"[a-z0-9]+", parted.lower()))
