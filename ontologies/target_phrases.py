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
"""Kinds that occur once per image: a sentence says "the left atrium", but "a nodule"."""

_UNCOUNTED = frozenset({"cardiac phase"})
"""Kinds that take no article."""

_LIMITED = frozenset({"finding", "disease"})
"""Kinds whose names may restrict their meaning in parentheses."""

_BRACKETS = re.compile(r"\s*\([^)]*\)")


def target_phrase(term: Term) -> str:
    """Return what can be pointed at, with article: ``a nodule``, ``the enlarged heart``.

    Uncountable terms take none: ``edema``. A state (cardiomegaly) has no location of its own, so
    ``targets.csv`` names the structure affected. Parentheses are dropped except for a finding or
    disease, where they restrict what is marked: a cyst is a mass, but not a mass of BI-RADS 3 to 5.
    """
    own = load_targets().get(term.label)
    if own:
        return own
    name = term.name if term.kind in _LIMITED else _BRACKETS.sub("", term.name)
    if term.kind in _SINGLE:
        return f"the {name}"
    return name if term.kind in _UNCOUNTED else with_article(name)


def is_paired(label: str) -> bool:
    """Whether a structure is paired, so that its name without a side is ambiguous.

    Paired structures are listed in ``paired.csv``; each side has a name and label of its own.

    Raises:
        TermError: a label in the table is not in any term table.
    """
    return label in load_paired()


@cache
def load_paired() -> frozenset[str]:
    """Load the labels of paired structures.

    Raises:
        TermError: a label is not in any term table.
    """
    rows = read_table("paired.csv", PAIRED_COLUMNS)
    return frozenset(load_terms()[row["label"]].label for row in rows)


@cache
def load_targets() -> Mapping[str, str]:
    """Load label -> text, for labels whose name with an article would not do.

    Raises:
        TermError: a label is not in any term table, or is in two rows.
    """
    targets: dict[str, str] = {}
    for row in read_table("targets.csv", COLUMNS):
        if load_terms()[row["label"]].label in targets:
            raise TermError(f"targets: label {row['label']!r} stands in two rows; keep one")
        targets[row["label"]] = row["text"]
    return targets
