"""Relations between labels (``relations.csv``): closure and consistency checks.

``implies`` points from the specific to the general, ``same as`` joins two names of one finding,
``excludes`` says that both cannot be true of the same thing, ``overlaps`` and ``suggests`` say that
both may well be, and ``accompanies`` that they often occur in one patient without being confused:
that only one is mentioned proves nothing about the other. The first table is common radiology
knowledge around the CheXpert label tree (arXiv 1901.07031), and co-occurrence counted in the
tables of NIH ChestX-ray14 and PadChest; no clinician has checked it yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from medrcube.ontologies.terms import TermError, Terms, check_reviewed, load_terms, read_table
from medrcube.vocabulary.layers import Vocabulary, active_vocabulary

__all__ = ["COLUMNS", "GROUP_COLUMNS", "KINDS", "Relation", "Relations", "load_relations"]

COLUMNS = ("group", "label_a", "relation", "label_b", "reason", "reviewed")
GROUP_COLUMNS = ("group", "ordered", "phrase", "of")
KINDS = ("implies", "suggests", "overlaps", "accompanies", "excludes", "same as")


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """One row of the table; ``reviewed`` names the clinician who reviewed it, and the date."""

    group: str
    label_a: str
    relation: str
    label_b: str
    reason: str
    reviewed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Presentation of a group of values: scale order, display name, and what is measured."""

    ordered: bool
    phrase: str
    of: str = ""


class Relations:
    """The relation table with its closure.

    Raises:
        TermError: on construction, if a row names an unknown label or relation, if a pair is both
            implied and excluded, or if two labels imply each other.
    """

    def __init__(
        self,
        rows: Iterable[Relation],
        terms: Terms,
        scales: Mapping[str, Scale] | None = None,
    ) -> None:
        self.rows = rows = tuple(rows)
        _check_rows(rows, terms)
        self._terms = terms
        self._scales = dict(scales or {})
        self._synonyms = _synonyms(rows, terms)
        self._closure = _closures(rows, self._synonyms)
        self._excluded = _pairs(rows, self._synonyms, "excludes")
        self._alike = _pairs(rows, self._synonyms, "overlaps", "suggests")
        self._accompanied = _pairs(rows, self._synonyms, "accompanies")
        self._may = _may_be_true(self._alike, self._closure)
        self._groups = _exclusive_groups(rows)
        self._group_sets = {group: frozenset(names) for group, names in self._groups.items()}
        self._of = {
            label: self.scale(group).of for group, names in self._groups.items() for label in names
        }
        self._check()

    def over(self, terms: Terms) -> Relations:
        """Return the same relations over a larger term table; its new terms have none yet."""
        wider = copy(self)
        wider._terms = terms  # noqa: SLF001 -- its own class
        return wider

    def closure(self, label: str) -> frozenset[str]:
        """Return what is true if the label is: itself, its synonyms, and what they imply."""
        self._terms[label]
        return self._closure.get(label, frozenset({label}))

    def synonyms(self, label: str) -> frozenset[str]:
        """Return the label and its other names."""
        self._terms[label]
        return self._synonyms.get(label, frozenset({label}))

    def implied(self, label_a: str, label_b: str) -> bool:
        """Whether one of the two implies the other."""
        return label_b in self.closure(label_a) or label_a in self.closure(label_b)

    def excludes(self, label_a: str, label_b: str) -> bool:
        """Whether both cannot be true of the same thing; inherited from what each implies."""
        if self.implied(label_a, label_b):
            return False
        return any(
            b in self._excluded.get(a, ())
            for a in self.closure(label_a)
            for b in self.closure(label_b)
        )

    def parted_by(self, group: str, label_a: str, label_b: str) -> bool:
        """Whether an exclusive group separates the two, as members directly or by implication.

        A label is never separated from what it implies: both are then the same member.
        """
        members = self._group_sets.get(group, frozenset())
        held_a, held_b = self.closure(label_a) & members, self.closure(label_b) & members
        return bool(held_a and held_b) and held_a.isdisjoint(held_b)

    def alike(self, label_a: str, label_b: str) -> bool:
        """Whether one may well be true, or be read, where the other is, though neither implies it.

        What a label implies is true with it, so the specific label inherits its look-alikes; and
        what a look-alike implies may be true as well. That two labels imply the two ends of one
        pair means nothing, since this holds for any two kinds of the same thing.
        """
        if self.implied(label_a, label_b):
            return False
        if label_b in self._may.get(label_a, ()) or label_a in self._may.get(label_b, ()):
            return True
        above_a, above_b = self.closure(label_a), self.closure(label_b)
        shared = above_a & above_b
        return any(
            b in self._alike.get(a, ()) and not (a in shared and b in shared)
            for a in above_a
            for b in above_b
        )

    def accompanies(self, label_a: str, label_b: str) -> bool:
        """Whether the two often occur together; specific labels inherit it from general ones."""
        above_a, above_b = self.closure(label_a), self.closure(label_b)
        return any(
            b in self._accompanied.get(a, ()) for a in above_a - above_b for b in above_b - above_a
        )

    def groups(self) -> tuple[str, ...]:
        """Return the names of the exclusive groups: those whose labels all exclude each other."""
        return tuple(self._groups)

    def group_members(self, group: str) -> tuple[str, ...]:
        """Return the labels of an exclusive group in table order, which is scale order for scales.

        Raises:
            TermError: there is no exclusive group with that name.
        """
        try:
            return self._groups[group]
        except KeyError:
            raise TermError(
                f"{group!r} is not an exclusive group of ontologies/relations.csv (a group is one "
                "when every two of its labels exclude each other); known: "
                f"{', '.join(self._groups)}"
            ) from None

    def rank(self, group: str, label: str) -> int:
        """Return the rank of a label on its group's scale; a sub-grade has the rank it implies.

        Raises:
            TermError: the label is neither a member nor implies one.
        """
        closure = self.closure(label)
        for place, member in enumerate(self.group_members(group)):
            if member in closure:
                return place
        raise TermError(
            f"{label!r} is not a member of the group {group!r} "
            f"({', '.join(self.group_members(group))}) and implies none"
        )

    def scale(self, group: str) -> Scale:
        """Return order and wording of a group; an unlisted one is unordered under its own name."""
        return self._scales.get(group, Scale(ordered=False, phrase=group))

    def measured(self, label: str) -> str:
        """Return what a value measures (``Scale.of``), which the stem names, not the label."""
        return self._of.get(label, "")

    def _check(self) -> None:
        for label, reached in self._closure.items():
            for other in reached:
                if other in self._excluded.get(label, ()):
                    raise TermError(f"relations: {label!r} both implies and excludes {other!r}")
                if label in self.closure(other) and other not in self.synonyms(label):
                    raise TermError(
                        f"relations: {label!r} and {other!r} imply each other; write 'same as'"
                    )


def load_relations() -> Relations:
    """Load the relations of the package and of the active layers.

    Raises:
        TermError: a row breaks the rules.
    """
    return _load_relations(active_vocabulary())


@cache
def _load_relations(vocabulary: Vocabulary) -> Relations:
    rows = (Relation(**row) for row in read_table("relations.csv", COLUMNS))
    scales = {
        row["group"]: Scale(ordered=row["ordered"] == "yes", phrase=row["phrase"], of=row["of"])
        for row in read_table("groups.csv", GROUP_COLUMNS)
    }
    relations = Relations(rows, load_terms(), scales)
    if vocabulary != (shipped := Vocabulary()):
        for group in _load_relations(shipped).groups():
            relations.group_members(group)
    return relations


def _check_rows(rows: tuple[Relation, ...], terms: Terms) -> None:
    for row in rows:
        where = f"relations: {row.label_a!r} {row.relation} {row.label_b!r}"
        if row.relation not in KINDS:
            raise TermError(f"{where}: relation must be one of {', '.join(KINDS)}")
        for label in (row.label_a, row.label_b):
            if label not in terms:
                raise TermError(f"{where}: {label!r} is not a label of ontologies/terms.csv")
        if row.label_a == row.label_b:
            raise TermError(f"{where}: a label cannot stand in relation to itself")
        check_reviewed(row.reviewed, where)


def _synonyms(rows: tuple[Relation, ...], terms: Terms) -> dict[str, frozenset[str]]:
    """Join ``same as`` rows, and labels that share an exactly matching ontology id."""
    by_id: dict[str, str] = {}
    pairs = [
        (by_id.setdefault(identity, term.label), term.label)
        for term in terms.values()
        for identity in sorted(term.exact_ids())
    ]
    pairs += [(row.label_a, row.label_b) for row in rows if row.relation == "same as"]
    joined: dict[str, frozenset[str]] = {}
    for a, b in pairs:
        both = joined.get(a, frozenset({a})) | joined.get(b, frozenset({b}))
        for label in both:
            joined[label] = both
    return joined


def _closures(
    rows: tuple[Relation, ...], synonyms: Mapping[str, frozenset[str]]
) -> dict[str, frozenset[str]]:
    up: dict[str, set[str]] = {}
    for row in rows:
        if row.relation == "implies":
            up.setdefault(row.label_a, set()).add(row.label_b)
    closures: dict[str, frozenset[str]] = {}
    for label in {*up, *synonyms}:
        reached: set[str] = set()
        todo = [label]
        while todo:
            here = todo.pop()
            if here not in reached:
                reached.add(here)
                todo.extend(synonyms.get(here, ()))
                todo.extend(up.get(here, ()))
        closures[label] = frozenset(reached)
    return closures


def _pairs(
    rows: tuple[Relation, ...], synonyms: Mapping[str, frozenset[str]], *kinds: str
) -> dict[str, set[str]]:
    """Return the unordered pairs stated by rows of these kinds, including synonyms."""
    pairs: dict[str, set[str]] = {}
    for row in rows:
        if row.relation in kinds:
            for a in synonyms.get(row.label_a, (row.label_a,)):
                for b in synonyms.get(row.label_b, (row.label_b,)):
                    pairs.setdefault(a, set()).add(b)
                    pairs.setdefault(b, set()).add(a)
    return pairs


def _may_be_true(
    alike: Mapping[str, set[str]], closures: Mapping[str, frozenset[str]]
) -> dict[str, frozenset[str]]:
    """Return what may be true with a label through the look-alikes of everything it implies."""
    may: dict[str, frozenset[str]] = {}
    for label in {*alike, *closures}:
        near = {
            other for general in closures.get(label, (label,)) for other in alike.get(general, ())
        }
        may[label] = frozenset().union(*(closures.get(other, frozenset({other})) for other in near))
    return may


def _exclusive_groups(rows: tuple[Relation, ...]) -> dict[str, tuple[str, ...]]:
    members: dict[str, dict[str, None]] = {}
    pairs: dict[str, set[frozenset[str]]] = {}
    for row in rows:
        if row.relation == "excludes":
            members.setdefault(row.group, {}).update({row.label_a: None, row.label_b: None})
            pairs.setdefault(row.group, set()).add(frozenset((row.label_a, row.label_b)))
    return {
        group: tuple(labels)
        for group, labels in members.items()
        if all(frozenset(pair) in pairs[group] for pair in combinations(labels, 2))
    }
