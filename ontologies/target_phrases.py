"""Noun phrases for what a box or a frame shows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from medrcube.ontologies.name_grammar import with_article
from medrcube.ontologies.terms import Term, TermError, load_terms, read_table

__all__ = ["is_paired", "target_phrase"]

COLUMNS = ("label", "text")
PAIRED_COLUMNS = ("label", "reason")
_SINGLE = frozenset({"anatomy", "structure", "tumor region"})
"""Kinds of which an image shows one: a sentence speaks of "the left atrium", but "a nodule"."""

_UNCOUNTED = frozenset({"cardiac phase"})
"""Kinds that take no article."""

_LIMITED = frozenset({"finding", "disease"})
"""Kinds whose names may say in brackets which of their kind are meant."""

_BRACKETS = re.compile(r"\s*\([^)]*\)")


def target_phrase(term: Term) -> str:
    """What can be pointed at, with its article: ``a nodule``, ``the enlarged heart``, ``edema``.

    A state (cardiomegaly) has no place of its own, so ``targets.csv`` names the thing that is in
    it. What stands in brackets is left out, but for a finding or disease, of which it limits what
    is marked: a cyst is a mass, and yet none of those of BI-RADS 3 to 5.
    """
    own = load_targets().get(term.label)
    if own:
        return own
    name = term.name if term.kind in _LIMITED else _BRACKETS.sub("", term.name)
    if term.kind in _SINGLE:
        return f"the {name}"
    return name if term.kind in _UNCOUNTED else with_article(name)


def is_paired(label: str) -> bool:
    """Whether the body has two of a structure, so that its name without a side tells neither.

    Such are those of ``paired.csv``; what lies on one side has a name and label of its own.

    Raises:
        TermError: a label of the table is in no term table.
    """
    return label in load_paired()


@cache
def load_paired() -> frozenset[str]:
    """Labels of structures of which there are two.

    Raises:
        TermError: a label is in no term table.
    """
    rows = read_table("paired.csv", PAIRED_COLUMNS)
    return frozenset(load_terms()[row["label"]].label for row in rows)


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
