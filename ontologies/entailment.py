"""Entailment between labels, from the relation table and the user's ontologies combined.

Ontologies miss entailments that matter (HPO makes a malignant pleural effusion a sibling of
pleural effusion), and the table contains only what somebody wrote down, so chains may mix both.
Ontologies only ever add entailments, and each entailment rejects a distractor.
"""

from __future__ import annotations

from medrcube.ontologies.knowledge_protocol import Knowledge
from medrcube.ontologies.label_words import content_words, normalise
from medrcube.ontologies.relations import Relations
from medrcube.ontologies.terms import Term, Terms

__all__ = ["Entailment"]

_IMAGING_KINDS = frozenset({"anatomy", "structure", "modality", "view", "plane", "MRI sequence"})


class Entailment:
    """Entailment queries on pairs of labels, cached because a batch repeats few pairs."""

    def __init__(self, terms: Terms, relations: Relations, knowledge: Knowledge) -> None:
        self._terms = terms
        self._relations = relations
        self._knowledge = knowledge
        self._informed = bool(knowledge.editions())
        self._closures: dict[str, frozenset[str]] = {}
        self._nested: dict[tuple[str, str], bool] = {}
        self._alike: dict[tuple[str, str], bool] = {}
        self._words: dict[str, tuple[frozenset[str], ...]] = {}
        self._normal: dict[str, tuple[str, str]] = {}

    def closure(self, label: str) -> frozenset[str]:
        """Return all labels that are true if this one is, including itself.

        Raises:
            TermError: the label is not in any table.
        """
        closure = self._closures.get(label)
        if closure is None:
            closure = self._closures[label] = self._close(label)
        return closure

    def same(self, label_a: str, label_b: str) -> bool:
        """Whether two labels are the same concept: by ids, synonyms, or equivalent names."""
        if label_b in self._relations.synonyms(label_a):
            return True
        if self._name(label_a) == self._name(label_b):
            return True
        return self._informed and self._knowledge.same(self._terms[label_a], self._terms[label_b])

    def implied(self, label_a: str, label_b: str) -> bool:
        """Whether one of the two implies the other."""
        return label_b in self.closure(label_a) or label_a in self.closure(label_b)

    def alike(self, label_a: str, label_b: str) -> bool:
        """Whether one may well be true, or be read, where the other is (relation table)."""
        pair = (label_a, label_b)
        alike = self._alike.get(pair)
        if alike is None:
            alike = self._alike[pair] = self._relations.alike(label_a, label_b)
        return alike

    def nested(self, label_a: str, label_b: str) -> bool:
        """Whether a name of one contains all content words of a name of the other.

        Our names are compared with ours and preferred names with preferred names; imaging terms are
        only compared with imaging terms.
        """
        pair = (label_a, label_b)
        nested = self._nested.get(pair)
        if nested is None:
            nested = self._nested[pair] = self._nest(label_a, label_b)
        return nested

    def _close(self, label: str) -> frozenset[str]:
        reached = set(self._relations.closure(label))
        todo = sorted(reached) if self._informed else []
        while todo:
            here = self._terms[todo.pop()]
            for other in self._terms.values():
                if other.label not in reached and self._leads(here, other):
                    more = self._relations.closure(other.label) - reached
                    reached |= more
                    todo.extend(sorted(more))
        return frozenset(reached)

    def _leads(self, a: Term, b: Term) -> bool:
        return self._knowledge.same(a, b) or self._knowledge.implies(a, b)

    def _nest(self, label_a: str, label_b: str) -> bool:
        kinds = [self._terms[label].kind in _IMAGING_KINDS for label in (label_a, label_b)]
        if kinds[0] != kinds[1]:
            return False
        names = zip(self._content(label_a), self._content(label_b), strict=False)
        return any(a <= b or b <= a for a, b in names)

    def _content(self, label: str) -> tuple[frozenset[str], ...]:
        """Return the content words of our name, and of the preferred name if there is one."""
        words = self._words.get(label)
        if words is None:
            term = self._terms[label]
            preferred = self._knowledge.preferred(term)
            texts = (term.name, *((preferred.text,) if preferred else ()))
            words = self._words[label] = tuple(content_words(text) for text in texts)
        return words

    def _name(self, label: str) -> tuple[str, str]:
        """Return the name and the scale it belongs to; the same grade of two zones is two facts."""
        key = self._normal.get(label)
        if key is None:
            name = normalise(self._terms[label].name)
            key = self._normal[label] = (name, self._relations.measured(label))
        return key
