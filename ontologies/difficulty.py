"""Distractor difficulty: similarity to the key, ranked among the safe options.

Rules (Alsubait, Parsia, Sattler 2014: difficulty rises with the similarity of key and distractor):

- hard: shares a direct parent with the key, or is in the top quarter of the allowed pool, or is a
  pair that readers confuse (``overlaps`` or ``suggests`` in the relation table, or the next step
  of a scale) and was read as absent (grade A). Grade C is never hard.
- easy: nothing in common with the key (another region or organ system), or nothing known.
- medium: all others.

The pool is ranked by the mean rank under two measures, as far as they are known: similarity, and
P(label absent | key present) in the source. A label that the source often shows together with the
key is expected there, so ruling it out requires the image; one hardly ever seen with the key can be
ruled out without it.

Similarity is Lin's, from the user's ontologies. If no ontology contains both labels, it comes from
our own tables: on a scale 1 - distance / (steps - 1); otherwise the Jaccard index of what is known
of the two labels, i.e. the concepts they imply and the exclusive groups that contain them. If our
tables know nothing about one of them, it is unknown, ``None``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from medrcube.facts import Grade
from medrcube.ontologies.distractor_safety import DistractorRequest, SafetyRules
from medrcube.ontologies.relations import Relations
from medrcube.taxonomy import Task

__all__ = ["Difficulty", "hardest", "is_scale", "level_distance", "rate_difficulty"]

NOTHING_IN_COMMON = 0.05
"""Lin similarity of concepts that share only the root of all abnormalities."""


class Difficulty(StrEnum):
    """Difficulty of a distractor; for an item, that of its hardest distractor."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


_ORDER = {level: place for place, level in enumerate(Difficulty)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """Similarity to the key in [0, 1], ``None`` if unknown, and the difficulty within its pool."""

    similarity: float | None
    difficulty: Difficulty


def rate_difficulty(
    request: DistractorRequest, grades: Mapping[str, Grade], rules: SafetyRules
) -> dict[str, Rating]:
    """Rate every allowed candidate for a key; ``grades`` is the evidence against each.

    Raises:
        TermError: a label or the group is in no table.
    """
    alike = {label: similarity(label, request, rules) for label in grades}
    top = _top_quarter(alike, {label: request.apart.get(label) for label in grades})
    rated = {}
    for label, grade in grades.items():
        value = alike[label]
        near = label in top or rules.knowledge.siblings(
            rules.terms[request.key], rules.terms[label]
        )
        confused = grade is Grade.A and _confused(request, label, rules)
        if grade is not Grade.C and (near or confused):
            level = Difficulty.HARD
        elif value is None or value < NOTHING_IN_COMMON:
            level = Difficulty.EASY
        else:
            level = Difficulty.MEDIUM
        rated[label] = Rating(similarity=value, difficulty=level)
    return rated


def hardest(levels: Iterable[Difficulty]) -> Difficulty | None:
    """Return the difficulty of an item from that of its distractors; ``None`` without any."""
    return max(levels, key=_ORDER.__getitem__, default=None)


def level_distance(a: Difficulty, b: Difficulty) -> int:
    """Return the number of steps between two levels."""
    return abs(_ORDER[a] - _ORDER[b])


def is_scale(request: DistractorRequest, relations: Relations) -> bool:
    """Whether the options are ordered: severity grades, or groups that are scales."""
    group = request.group
    return group is not None and keeps_order(group, request.task, relations)


def keeps_order(group: str, task: Task | None, relations: Relations) -> bool:
    """Whether the labels of a group are ordered where a task asks for one of them."""
    return (task is not None and task.declaration.ordered) or relations.scale(group).ordered


def similarity(label: str, request: DistractorRequest, rules: SafetyRules) -> float | None:
    """Return the similarity of a label to the key from the ontologies, or else from our tables."""
    relations, terms, key, group = rules.relations, rules.terms, request.key, request.group
    if group is not None and is_scale(request, relations):
        steps = len(relations.group_members(group))
        return 1 - abs(relations.rank(group, key) - relations.rank(group, label)) / (steps - 1)
    likeness = rules.knowledge.similarity(terms[key], terms[label])
    if likeness is not None:
        return likeness
    above, beside = _known_of(key, relations), _known_of(label, relations)
    if not above or not beside:
        return None
    return len(above & beside) / len(above | beside)


def _top_quarter(
    alike: Mapping[str, float | None], apart: Mapping[str, float | None]
) -> frozenset[str]:
    """Return the labels in the nearest quarter of a pool, by mean rank under both measures."""
    likeness = _places({label: -value for label, value in alike.items() if value is not None})
    company = _places({label: value for label, value in apart.items() if value is not None})
    means = {}
    for label in alike:
        ranks = [places[label] for places in (likeness, company) if label in places]
        if ranks:
            means[label] = sum(ranks) / len(ranks)
    return frozenset(
        label
        for label, place in _places(means).items()
        if 4 * place <= 1 and (label in company or alike[label])
    )


def _places(values: Mapping[str, float]) -> dict[str, float]:
    """Map each label to the share of the pool with at most its value; the nearest has the least."""
    ordered = sorted(values.values())
    return {label: bisect_right(ordered, own) / len(ordered) for label, own in values.items()}


def _known_of(label: str, relations: Relations) -> frozenset[str]:
    """Return what a label implies beyond its own names, and the exclusive groups with it."""
    closure = relations.closure(label)
    groups = (
        f"group {group}"
        for group in relations.groups()
        if not closure.isdisjoint(relations.group_members(group))
    )
    return (closure - relations.synonyms(label)).union(groups)


def _confused(request: DistractorRequest, label: str, rules: SafetyRules) -> bool:
    group, relations = request.group, rules.relations
    if group is not None and is_scale(request, relations):
        return abs(relations.rank(group, request.key) - relations.rank(group, label)) == 1
    return rules.entailment.alike(request.key, label)
