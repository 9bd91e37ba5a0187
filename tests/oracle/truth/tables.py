"""The relation and term tables, read straight from their files: what follows from what.

Nothing of the package's own reading of these tables is used, so that a mistake there shows here.
"""

import csv
import re
from collections import defaultdict
from dataclasses import dataclass
from importlib.resources import files
from itertools import combinations

ONTOLOGY_COLUMNS = (
    ("hpo_id", "hpo_match"),
    ("radlex_id", "radlex_match"),
    ("icd11_code", "icd11_match"),
)
ONE_LABEL_A_PIXEL = frozenset({"heart structure", "tumor region", "mammogram structure", "organ"})
"""Groups whose members exclude each other as answers to "what is this part", nowhere else: a heart
has a left and a right ventricle."""
_REST = {"other", "any", "unspecified", "miscellaneous", "undetermined"}
_FILLERS = set("a an and at by for from in is of on or the this to with".split())  # noqa: SIM905
_SPELLINGS = (("oedema", "edema"), ("haem", "hem"), ("tumour", "tumor"), ("oesoph", "esoph"))


@dataclass(frozen=True)
class Tables:
    """What the two tables say of pairs of concepts.

    ``targets`` is how a question on a box or frame speaks of a concept.
    ``up`` holds for each concept everything that is true when it is, itself included; ``alike``
    unordered pairs of look-alikes; ``rivals`` unordered pairs -> the groups in which they exclude
    each other; ``cliques`` the groups of which all members exclude all others.
    """

    names: dict[str, str]
    structures: frozenset[str]  # parts of the body
    targets: dict[str, str]
    ids: dict[str, frozenset[str]]
    up: dict[str, frozenset[str]]
    alike: frozenset[frozenset[str]]
    rivals: dict[frozenset[str], frozenset[str]]
    cliques: frozenset[str]
    hidden: frozenset[tuple[str, str, str]]
    shown_places: frozenset[tuple[str, str, str]]

    def above(self, concept):
        return self.up.get(concept, frozenset({concept}))

    def same(self, first, second):
        return first in self.above(second) and second in self.above(first)

    def look_alike(self, first, second):
        """Whether any name of the one looks like any name of the other."""
        ones, others = self._names(first), self._names(second)
        return any(frozenset({a, b}) in self.alike for a in ones for b in others)

    def groups_between(self, first, second):
        ones, others = self._names(first), self._names(second)
        values = [self.rivals.get(frozenset({a, b}), frozenset()) for a in ones for b in others]
        return frozenset().union(*values)

    def words(self, concept):
        return words_of(self.names.get(concept, concept))

    def is_rest_or_joined(self, concept):
        """Whether a label may stand for something else, or joins two."""
        name = f" {self.names.get(concept, concept).casefold()} "
        return bool(set(name.split()) & _REST) or "/" in concept or " or " in name

    def is_listed(self, table, concept, anatomy, modality):
        """Whether ``shown`` or ``hidden`` names the concept for such pictures, or a namesake."""
        return any(
            (name, anatomy, kind) in table
            for name in self._names(concept)
            for kind in ("*", modality)
        )

    def _names(self, concept):
        return [other for other in self.above(concept) if concept in self.above(other)]


def words_of(text):
    """Words of a name that carry meaning: lower case, American, singular."""
    text = text.casefold().replace("_", " ")
    for british, american in _SPELLINGS:
        text = text.replace(british, american)
    matches = re.findall(r"[a-z0-9]+\*?", text)
    return frozenset(re.sub(r"(?<=[a-z]{3})(?<![sui])s$", "", word) for word in matches) - _FILLERS


def read_tables():
    """Read the tables that the package ships."""
    terms = _rows("terms.csv")
    relations = _rows("relations.csv")
    ids, exact = _ids(terms)
    edges = defaultdict(set)
    alike, rivals, members = set(), defaultdict(set), defaultdict(set)
    for row in relations:
        first, second = row["label_a"], row["label_b"]
        pair = frozenset({first, second})
        match row["relation"]:
            case "implies":
                edges[first].add(second)
            case "same as":
                edges[first].add(second)
                edges[second].add(first)
            case "overlaps" | "suggests":
                alike.add(pair)
            case "accompanies":
                continue  # weighs silence, which is no evidence here
            case "excludes":
                rivals[pair].add(row["group"])
                members[row["group"]] |= pair
            case word:
                raise AssertionError(f"relations.csv: {word!r} is no relation that is known here")
    for first, second in combinations([row["label"] for row in terms], 2):
        if exact[first] & exact[second]:
            edges[first].add(second)
            edges[second].add(first)
        elif ids[first] & ids[second]:
            alike.add(frozenset({first, second}))
    visible = _rows("visible.csv")
    return Tables(
        names={row["label"]: row["name"] for row in terms},
        structures=frozenset(row["label"] for row in terms if row["kind"] == "anatomy"),
        targets={row["label"]: row["name"].partition(" (")[0] for row in terms}
        | {row["label"]: row["text"] for row in _rows("targets.csv")},
        ids=ids,
        up={label: _reach(label, edges) for label in {*edges, *(row["label"] for row in terms)}},
        alike=frozenset(alike),
        rivals={pair: frozenset(groups) for pair, groups in rivals.items()},
        cliques=frozenset(
            group
            for group, own in members.items()
            if all(group in rivals.get(frozenset(pair), ()) for pair in combinations(own, 2))
        ),
        hidden=_places(visible, "no"),
        shown_places=_places(visible, "yes"),
    )


def _ids(terms):
    every, exact = {}, {}
    for row in terms:
        ids = [(row[column], row[match]) for column, match in ONTOLOGY_COLUMNS if row[column]]
        every[row["label"]] = frozenset(identity for identity, _ in ids)
        exact[row["label"]] = frozenset(identity for identity, match in ids if match == "exact")
    return every, exact


def _reach(start, edges):
    members, ahead = {start}, [start]
    while ahead:
        new = edges.get(ahead.pop(), set()) - members
        members |= new
        ahead.extend(new)
    return frozenset(members)


def _places(rows, value):
    return frozenset(
        (row["concept"], row["anatomy"], row["modality"]) for row in rows if row["shown"] == value
    )


def _rows(name):
    text = (files("medrcube.ontologies") / name).read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))
