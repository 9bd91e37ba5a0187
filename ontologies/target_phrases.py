"""Noun phrases for what a box or a frame shows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from medrcube.ontologies.name_grammar import with_article
from medrcube.ontologies.terms import Term, TermError, load_terms, read_table

__all__ = ["target_phrase"]

COLUMNS = ("label", "text")
_SINGLE = frozenset({"anatomy", "structure", "tumor region"})
"""Kinds of which a picture shows one: a sentence speaks of "the left atrium", but "a nodule"."""

_UNCOUNTED = frozenset({"cardiac phase"})
"""Kinds that take no article."""

_BRACKETS = re.compile(r"\s*\([^)]*\)")


def target_phrase(term: Term) -> str:
    """What can be pointed at, with its article: ``a nodule``, ``the enlarged heart``, ``edema``.

    A state (cardiomegaly) has no place of its own, so ``targets.csv`` names the thing that is in
    it. What stands in brackets, such as a category, is left out.
    """
    own = load_targets().get(term.label)
    if own:
        return own
    name = _BRACKETS.sub("", term.name)
    if term.kind in _SINGLE:
        return f"the {name}"
    return name if term.kind in _UNCOUNTED else with_article(name)


@cache
def load_targets() -> Mapping[str, str]:
    """Label -> text, where the name with its article will not do.

    Raises:
        TermError: a label is in no term table, or stands in two rows.
    """
    targets: dict[str, str] = {}
    for row in read_table("targets.csv", COLUMNS):
        if load_terms()[row["label"]].label in targets:
            raise TermError(f"targets: label {row['label']!r} stands in two rows; keep one")
        targets[row["label"]] = row["text"]
    return targets
