"""Vocabulary check: concepts and groups of a card, and the tables in its source folder.

The tables of a source folder follow the rules of the shipped ones; all violations are reported at
once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path

from medrcube.errors import MedrcubeError, VocabularyError
from medrcube.ontologies.relations import COLUMNS as RELATION_COLUMNS
from medrcube.ontologies.relations import GROUP_COLUMNS, KINDS, Relations, load_relations
from medrcube.ontologies.terms import COLUMNS, MATCHES, NO_TERM, Terms, load_terms, read_own
from medrcube.sources._framework.contract import Source
from medrcube.vocabulary.layers import Vocabulary, active_vocabulary, adding_vocabulary, using

__all__ = ["check_layers", "missing_words"]

Rows = Sequence[Mapping[str, str]]

_IDS = (("hpo_id", "hpo_match"), ("radlex_id", "radlex_match"), ("icd11_code", "icd11_match"))


def missing_words(source: Source) -> Iterator[str]:
    """Yield what is missing before the card and its tables can be used, one sentence each."""
    try:
        with using(Vocabulary()):
            shipped, related = load_terms(), load_relations()
        faults = list(_faults(source.folder, shipped, related))
        yield from faults
        if faults:
            return
        with adding_vocabulary([source.folder]):
            terms, relations = load_terms(), load_relations()
    except MedrcubeError as error:
        yield str(error)
        return
    for field in source.card.fields.values():
        for concept in field.concepts():
            if concept not in terms:
                yield (
                    f"field {field.name!r}: no table has the concept {concept!r}"
                    f"{_nearest(concept, terms)}; name one that it has, or add a row to "
                    f"{source.folder / 'terms.csv'} ({','.join(COLUMNS)})"
                )
        if field.group and field.group not in relations.groups():
            yield (
                f"field {field.name!r}: {field.group!r} is not an exclusive group"
                f"{_nearest(field.group, relations.groups())}; in such a group every two labels "
                f"exclude each other: add rows to {source.folder / 'relations.csv'} "
                f"({','.join(RELATION_COLUMNS)})"
            )


def check_layers() -> None:
    """Check the tables of the active layers against the rules of those of the package.

    Raises:
        TermError: two layers have different rows for one concept.
        VocabularyError: a row breaks a rule; names the first of all such rows.
    """
    known_terms = load_terms()
    with using(Vocabulary()):
        shipped, related = load_terms(), load_relations()
    faults = [
        fault
        for folder in active_vocabulary().folders
        for fault in _faults(folder, shipped, related, known_terms)
    ]
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise VocabularyError(f"{faults[0]}{more}")


def _faults(
    folder: Path, shipped: Terms, related: Relations, known_terms: Collection[str] = ()
) -> Iterator[str]:
    """Yield every row in the tables of a source folder that breaks a rule of the shipped ones."""
    terms = read_own(folder, "terms.csv", COLUMNS)
    yield from _term_faults(terms, folder / "terms.csv", shipped)
    labels = {*shipped, *known_terms, *(row["label"] for row in terms)}
    rows = read_own(folder, "relations.csv", RELATION_COLUMNS)
    for row in rows:
        label = f"{row['label_a']!r} {row['relation']} {row['label_b']!r}"
        for fault in _relation_faults(row, labels, shipped, related):
            yield f"{folder / 'relations.csv'}: {label}: {fault}"
    for name in sorted({row["group"] for row in rows} & set(related.groups())):
        for label, others in _unparted(name, rows, shipped, related):
            yield (
                f"{folder / 'relations.csv'}: {label!r} joins the group {name!r} of the package "
                f"without excluding {', '.join(map(repr, others))}: add these rows"
            )
    for group in read_own(folder, "groups.csv", GROUP_COLUMNS):
        if not _is_exclusive(group["group"], rows):
            yield (
                f"{folder / 'groups.csv'}: {group['group']!r} is not an exclusive group of "
                "relations.csv beside it: every two of its labels have to exclude each other"
            )


def _term_faults(rows: Rows, where: Path, shipped: Terms) -> Iterator[str]:
    kinds = sorted({term.kind for term in shipped.values()})
    for row in rows:
        label = f"{where}: {row['label']!r}"
        if row["label"] in shipped:
            yield f"{label}: is a concept of the package already; remove the row"
        if row["kind"] not in kinds:
            yield f"{label}: no concept has the kind {row['kind']!r}{_nearest(row['kind'], kinds)}"
        ids = [(row[name], row[match]) for name, match in _IDS]
        if any((match not in MATCHES) if identity else match for identity, match in ids):
            yield f"{label}: each id has a match, one of {', '.join(MATCHES)}, and nothing else has"
        if any(identity for identity, _ in ids) == row["note"].startswith(NO_TERM):
            yield f'{label}: the note of a term without any id begins with "{NO_TERM}" and why'


def _relation_faults(
    row: Mapping[str, str], labels: Collection[str], shipped: Terms, related: Relations
) -> Iterator[str]:
    pair = (row["label_a"], row["label_b"])
    if row["relation"] not in KINDS:
        yield f"relation must be one of {', '.join(KINDS)}"
    for name in pair:
        if name not in labels:
            yield f"no table has {name!r}{_nearest(name, labels)}"
    if not row["reason"].strip():
        yield "needs a reason"
    if row["group"] in related.groups() and (
        row["relation"] != "excludes"
        or all(name in shipped for name in pair)
        or related.scale(row["group"]).ordered
    ):
        yield (
            f"{row['group']!r} is a group of the package, to which a layer may only add a member "
            "that excludes all others, and none where the group is a scale; use a name of your own"
        )
    if all(name in shipped for name in pair) and not (
        row["relation"] == "excludes" and related.excludes(*pair)
    ):
        yield "says something new of two concepts of the package, whose tables alone may"


def _unparted(
    group: str, rows: Rows, shipped: Terms, related: Relations
) -> Iterator[tuple[str, list[str]]]:
    """Yield each label that joins a group of the package, and the members it does not exclude."""
    own = [(row["label_a"], row["label_b"]) for row in rows if row["group"] == group]
    parted = {frozenset(pair) for pair in own}
    new = sorted({label for pair in own for label in pair} - set(shipped))
    for label in new:
        others = (*related.group_members(group), *new)
        lacking = [
            other for other in others if other != label and frozenset((label, other)) not in parted
        ]
        if lacking:
            yield label, lacking


def _is_exclusive(group: str, rows: Rows) -> bool:
    own = [row for row in rows if row["group"] == group and row["relation"] == "excludes"]
    pairs = {frozenset((row["label_a"], row["label_b"])) for row in own}
    members = sorted({name for pair in pairs for name in pair})
    return bool(own) and all(frozenset(pair) in pairs for pair in combinations(members, 2))


def _nearest(name: str, names: Collection[str]) -> str:
    near = get_close_matches(name, list(names), n=3)
    return f" (nearest: {', '.join(map(repr, near))})" if near else ""
