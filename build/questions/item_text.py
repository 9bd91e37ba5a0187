"""Question and options in the form that the item-writing rules check.

Build and review queue both use it, so that a wording proposed by a reviewer is checked by the same
rules as the items themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from medrcube.ontologies.distractor_safety import SafetyRules
from medrcube.ontologies.item_rules import ItemText

__all__ = ["item_text"]


def item_text(
    question: str,
    texts: Sequence[str],
    concepts: Sequence[str],
    key: int,
    rules: SafetyRules,
    *,
    group: str = "",
    ordered: bool = False,
    target: str = "",
    file: str = "",
) -> ItemText:
    """Combine the text of each option with its concept.

    Args:
        question: the stem.
        texts: texts of the options, in display order.
        concepts: label of each option in the term table; empty if it is not a term.
        key: index of the right option.
        rules: tables and the user's ontologies.
        group: exclusive group of the options, or empty.
        ordered: whether the options keep a natural order.
        target: name of the concept that the stem itself names.
        file: name of the image file.

    Raises:
        TermError: a concept is not in the term table.
    """
    terms, relations = rules.terms, rules.relations
    has_concepts = all(concepts)
    ranks: Iterable[int] = range(len(texts)) if ordered else ()
    if ordered and group:
        ranks = [relations.rank(group, concept) for concept in concepts]
    return ItemText(
        question=question,
        options=tuple(texts),
        key=key,
        kinds=tuple(terms[concept].kind for concept in concepts) if has_concepts else (),
        grouped=bool(group),
        concepts=tuple(concepts),
        content=rules.knowledge.contents([terms[concept] for concept in concepts])
        if has_concepts
        else (),
        ranks=tuple(ranks),
        above=tuple(
            relations.closure(concept) - relations.synonyms(concept) for concept in concepts
        )
        if has_concepts
        else (),
        target=target,
        file=file,
    )
