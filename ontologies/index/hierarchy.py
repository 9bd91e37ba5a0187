"""Concept hierarchy of one ontology: redirects, edges, ancestors, information content.

Broken hierarchy entries (parents without a row, parents in another ontology, is_a cycles) are kept
without the broken edge, or with the cycle, and reported as remarks: no input causes an endless
loop, and nothing is dropped silently.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from medrcube.ontologies.concept_records import IS_A, Concept, Edge

__all__ = ["ConceptHierarchy"]

_LIST_LIMIT = 3
"""Number of ids listed in a remark."""


@dataclass(slots=True)
class ConceptHierarchy:
    """One ontology with integer keys, and the repairs it needed.

    Attributes:
        rows: concepts as the reader returned them.
        ontology_of_key: ids of the preceding ontologies, with their ontology.
        start: key of the first concept.
        concepts: concept by key; if two share an id, the first one.
        keys: key by id.
        redirects: key of the current concept for a redirected id.
        edges: child, relation and target, both in this ontology; no is_a edge to a withdrawn one.
        closures: all is_a ancestors, without itself, of every concept that is not withdrawn.
    """

    rows: Sequence[Concept]
    ontology_of_key: Mapping[str, str]
    start: int = 1
    concepts: dict[int, Concept] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    redirects: dict[str, int] = field(default_factory=dict)
    edges: list[tuple[int, str, int]] = field(default_factory=list)
    closures: dict[int, frozenset[int]] = field(default_factory=dict)
    _repairs: dict[str, dict[str, None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._number()
        self._redirect()
        self._join()
        self._close()

    def contents(self) -> dict[int, float]:
        """Intrinsic information content: 1 - log(descendants + 1) / log(N), Seco et al. 2004.

        Withdrawn concepts are not in the hierarchy; their content is 0.
        """
        below = Counter(above for ancestors in self.closures.values() for above in ancestors)
        size = math.log(max(2, len(self.closures)))
        return {
            key: max(0.0, 1 - math.log(below[key] + 1) / size) if key in self.closures else 0.0
            for key in self.concepts
        }

    def remarks(self) -> list[str]:
        """Return the repairs, one sentence for each kind."""
        lines = []
        for kind, ids in self._repairs.items():
            listing = ", ".join([*ids][:_LIST_LIMIT]) + (", ..." if len(ids) > _LIST_LIMIT else "")
            lines.append(f"{len(ids):,} {kind} ({listing})")
        return lines

    def _note(self, kind: str, identity: str) -> None:
        self._repairs.setdefault(kind, {})[identity] = None

    def _number(self) -> None:
        for concept in self.rows:
            if concept.id in self.keys or concept.id in self.ontology_of_key:
                self._note("ids stand twice; the first row counts", concept.id)
                continue
            key = self.start + len(self.keys)
            self.keys[concept.id] = key
            self.concepts[key] = concept

    def _redirect(self) -> None:
        to: dict[str, str] = {}
        for concept in self.concepts.values():
            heirs = [
                heir for heir in concept.replaced_by if heir in self.keys and heir != concept.id
            ]
            if concept.obsolete and heirs:
                to[concept.id] = heirs[0]
            if concept.obsolete and len(heirs) > 1:
                self._note("withdrawn concepts have several heirs; the first counts", concept.id)
        for concept in self.concepts.values():
            for other in concept.alt_ids:
                key = self.keys.get(other)
                if key is not None and not self.concepts[key].obsolete:
                    self._note("alternative ids are concepts of their own", other)
                elif other != concept.id:
                    to.setdefault(other, concept.id)
        for identity in to:
            end = self._last(identity, to)
            if end:
                self.redirects[identity] = self.keys[end]

    def _last(self, identity: str, to: Mapping[str, str]) -> str:
        """Return the end of a chain of redirects; empty if it is circular."""
        visited: set[str] = set()
        while identity in to:
            if identity in visited:
                self._note("redirects run in a circle", identity)
                return ""
            visited.add(identity)
            identity = to[identity]
        return identity

    def _join(self) -> None:
        for key, concept in self.concepts.items():
            for edge in concept.edges:
                target = self.redirects.get(edge.target) or self.keys.get(edge.target)
                if target is None:
                    kind = "parents" if edge.relation == IS_A else "related concepts"
                    where = "another ontology" if edge.target in self.ontology_of_key else "no row"
                    self._note(f"{kind} have {where} and are left out", edge.target)
                elif self._gone(edge, concept, target):
                    self._note("parents are withdrawn and are left out", edge.target)
                elif target != key:
                    self.edges.append((key, edge.relation, target))

    def _gone(self, edge: Edge, child: Concept, target: int) -> bool:
        """Whether an active concept is below a withdrawn one; withdrawn children are allowed."""
        withdrawn = self.concepts[target].obsolete and not child.obsolete
        return edge.relation == IS_A and withdrawn

    def _close(self) -> None:
        """Compute the ancestors of every concept that is not withdrawn, without itself."""
        up: dict[int, list[int]] = {}
        for child, relation, parent in self.edges:
            if relation == IS_A and not self.concepts[child].obsolete:
                up.setdefault(child, []).append(parent)
        for key, concept in self.concepts.items():
            if concept.obsolete:
                continue
            reached: set[int] = set()
            todo = list(up.get(key, ()))
            while todo:
                here = todo.pop()
                if here not in reached:
                    reached.add(here)
                    todo.extend(up.get(here, ()))
            if key in reached:
                self._note("concepts are their own ancestors by is_a", concept.id)
                reached.discard(key)
            self.closures[key] = frozenset(reached)
