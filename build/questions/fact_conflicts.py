"""Statements of one case that cannot all be true, by the relations between their concepts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, product

from medrcube.facts import Scope
from medrcube.ontologies.relations import Relations
from medrcube.ontologies.terms import NORMALITY, Terms

__all__ = ["ConceptStatement", "conflicting_concepts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptStatement:
    """A concept that a case states as present or absent.

    Attributes:
        concept: the concept.
        scope: what the statement is about.
        marked: whether it is about a marked region and not about the whole.
        compound: field whose values are true together although they exclude each other; empty if
            the concept is of no such field.
    """

    concept: str
    scope: Scope
    marked: bool = False
    compound: str = ""


def conflicting_concepts(
    present: Iterable[ConceptStatement],
    absent: Iterable[ConceptStatement],
    terms: Terms,
    relations: Relations,
) -> set[str]:
    """Return all concepts that take part in a contradiction; which of them is wrong is unknown.

    Two present concepts contradict each other if they, or what they imply, are exclusive and both
    are about one thing. Two marked regions are two things, and so are a slice and its patient; a
    statement of normality, however, denies whatever lies within its scope.

    A concept that is denied although a present one implies it is unknown, unless the denial is
    about something narrower: a disease of the patient may be absent from a slice. The present one
    stays true: tables deny a general name where they use a specific one, as reports call the
    mediastinum normal beside an enlarged heart.

    Raises:
        TermError: a concept is in no table.
    """
    stated = tuple(dict.fromkeys(present))
    disputed: set[str] = set()
    for statement, denial in product(stated, dict.fromkeys(absent)):
        implied = denial.concept in relations.closure(statement.concept)
        if implied and statement.scope <= denial.scope:
            disputed.add(denial.concept)
    for first, second in combinations(stated, 2):
        if _about_one_thing(first, second, terms) and relations.excludes(
            first.concept, second.concept
        ):
            disputed |= {first.concept, second.concept}
    return disputed


def _about_one_thing(first: ConceptStatement, second: ConceptStatement, terms: Terms) -> bool:
    normal = [terms[statement.concept].kind == NORMALITY for statement in (first, second)]
    if normal == [True, False]:
        return second.scope <= first.scope
    if normal == [False, True]:
        return first.scope <= second.scope
    if first.marked or second.marked or first.scope is not second.scope:
        return False
    return not first.compound or first.compound != second.compound
