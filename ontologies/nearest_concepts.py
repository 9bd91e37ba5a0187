"""Nearest concepts to a raw value, by spelling."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches

from medrcube.ontologies.terms import Term

__all__ = ["nearest_concepts"]

_CUTOFF = 0.7
"""Share of characters that agree; below it suggestions have nothing to do with the word."""


def nearest_concepts(word: str, terms: Mapping[str, Term], count: int = 3) -> tuple[str, ...]:
    """Labels of the concepts that a word may mean, best first; spelling alone decides.

    Equal spellings come first, then concepts that hold all parts of the word, then close ones;
    a word without a letter has none.
    """
    wanted = _plain(word)
    if not re.search("[a-z]", wanted):
        return ()
    spelled: dict[str, dict[str, None]] = {}
    for label, term in terms.items():
        for text in (label, term.name):
            spelled.setdefault(_plain(text), {})[label] = None
    parts = set(wanted.split())
    holding = sorted((text for text in spelled if parts <= set(text.split())), key=len)
    close = get_close_matches(wanted, list(spelled), n=count, cutoff=_CUTOFF)
    equal = [wanted] if wanted in spelled else []
    ranked = dict.fromkeys(label for text in [*equal, *holding, *close] for label in spelled[text])
    return tuple(ranked)[:count]


def _plain(text: str) -> str:
    """Lower case, words parted by one blank: ``Pleural_Effusion``, ``PleuralEffusion`` are one."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return " ".join(re.findall(r"[a-z0-9]+", parted.lower()))
