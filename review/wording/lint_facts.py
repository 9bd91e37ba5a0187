"""Facts of an item that the item rules need besides its wording, as the build has them.

Built items, wordings at import, edits and proposals are checked by the same rules on the same
facts, so that no built item is refused. Only the name of the image file is unknown here: it may
identify a patient, so the queue does not keep it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.questions.item_text import item_text
from medrcube.facts import Grade
from medrcube.forms import OPTION
from medrcube.ontologies.difficulty import keeps_order
from medrcube.ontologies.distractor_safety import SafetyRules
from medrcube.ontologies.item_rules import ERROR, STEM_RULES, Flaw, ItemText, lint
from medrcube.ontologies.label_words import normalise
from medrcube.ontologies.target_phrases import target_phrase
from medrcube.ontologies.terms import TermError
from medrcube.review.models import ItemVersion
from medrcube.taxonomy import Task

__all__ = ["LintFacts", "concept_of_text", "facts_of_row", "facts_of_version", "safety_rules"]

_NUMBERED = ("box", "frame")
"""Strategies whose options are numbers of boxes or images, in ascending order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFacts:
    """Facts of an item besides its wording.

    Attributes:
        texts: texts of the options before a change.
        concepts: label of each option in the term table; empty if it has none there, and for items
            beyond the cube, whose options are no concepts to the rules.
        group: exclusive group of the options, or empty.
        about: label of the concept that the item asks about; empty if it has none in the table.
        ordered: whether the options keep a natural order.
        is_open: whether it is an item beyond the cube, which only the rules on stems concern.
    """

    texts: tuple[str, ...]
    concepts: tuple[str, ...]
    group: str
    about: str
    ordered: bool
    is_open: bool

    def concepts_of(self, texts: Sequence[str]) -> list[str]:
        """Return the label of each option in a new wording; empty if a text names none."""
        if self.is_open:
            return [""] * len(texts)
        return [
            concept if text == old else self._label_of(text)
            for concept, text, old in zip(self.concepts, texts, self.texts, strict=True)
        ]

    def draft(
        self, question: str, texts: Sequence[str], key: int, concepts: Sequence[str]
    ) -> ItemText:
        """Return a wording of the item in the form that the item rules check.

        Args:
            question: the stem.
            texts: texts of the options.
            key: index of the right option.
            concepts: label of each option, or empty.
        """
        rules = safety_rules()
        about = "" if any(self.concepts) else self.about
        draft = item_text(
            question,
            texts,
            concepts,
            key,
            rules,
            group=self.group,
            target=target_phrase(rules.terms[about]) if about else "",
        )
        return replace(draft, ranks=self._ranks(concepts))

    def flaws(self, question: str, texts: Sequence[str], key: int) -> tuple[Flaw, ...]:
        """Return the item rules that a wording violates and the build enforces, errors first."""
        draft = self.draft(question, texts, key, self.concepts_of(texts))
        flaws = lint(draft)
        if not self.is_open:
            return flaws
        stem_rules = {rule.id for rule in STEM_RULES if rule.level == ERROR}
        return tuple(flaw for flaw in flaws if flaw.rule in stem_rules)

    def _label_of(self, text: str) -> str:
        """Return the label that a text names, in the group of the item if it is there."""
        if self.group:
            terms = safety_rules().terms
            for label in safety_rules().relations.group_members(self.group):
                if normalise(text) in (normalise(terms[label].name), normalise(label)):
                    return label
        return concept_of_text(text)

    def _ranks(self, concepts: Sequence[str]) -> tuple[int, ...]:
        """Return the place of each option on its scale; one in other words keeps its place."""
        if not self.ordered:
            return ()
        if not self.group:
            return tuple(range(len(concepts)))
        pairs = zip(concepts, self.concepts, strict=True)
        ranks = tuple(rank for pair in pairs if (rank := self._rank(*pair)) is not None)
        return ranks if len(ranks) == len(concepts) else ()

    def _rank(self, *labels: str) -> int | None:
        """Return the rank of the first label that is on the scale."""
        for label in filter(None, labels):
            try:
                return safety_rules().relations.rank(self.group, label)
            except TermError:
                continue
        return None


def facts_of_version(version: ItemVersion) -> LintFacts:
    """Return the facts of a version in the queue."""
    return _facts(
        texts=[str(option["text"]) for option in version.options],
        concepts=[str(option.get("concept") or "") for option in version.options],
        task=version.item.task,
        **{
            name: str(version.provenance.get(name) or "")
            for name in ("group", "concept", "strategy")
        },
    )


def facts_of_row(item: ChoiceItem) -> LintFacts:
    """Return the facts of an item in the table of a workspace."""
    return _facts(
        texts=[option.text for option in item.options],
        concepts=[option.concept for option in item.options],
        task=item.task,
        group=item.group,
        concept=item.concept,
        strategy=item.strategy,
    )


def concept_of_text(text: str) -> str:
    """Return the term-table label that a text names, or empty."""
    return _by_name().get(normalise(text), "")


@cache
def safety_rules() -> SafetyRules:
    """Return the tables of terms and relations."""
    return SafetyRules(evidence=Grade.C)


def _facts(
    *,
    texts: Sequence[str],
    concepts: Sequence[str],
    task: str,
    group: str,
    concept: str,
    strategy: str,
) -> LintFacts:
    rules = safety_rules()
    known_group = group if group in rules.relations.groups() else ""
    on_scale = bool(known_group) and keeps_order(
        known_group, Task(task) if task in Task else None, rules.relations
    )
    return LintFacts(
        texts=tuple(texts),
        concepts=tuple(
            label if label in rules.terms and strategy != OPTION else "" for label in concepts
        ),
        group=known_group,
        about=concept if concept in rules.terms else "",
        ordered=on_scale or strategy in _NUMBERED,
        is_open=strategy == OPTION,
    )


@cache
def _by_name() -> Mapping[str, str]:
    """Map each name in the term table to its label; the first of equal names is kept."""
    labels: dict[str, str] = {}
    for label, term in safety_rules().terms.items():
        for name in (term.name, label):
            labels.setdefault(normalise(name), label)
    return labels
