"""Applies the rules of all open tasks to the cases of one source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from medrcube.build.open_items.question import CaseView, OpenQuestion, OpenRule
from medrcube.build.open_items.rule_files import RuleError, load_rule, open_questions, open_tasks
from medrcube.build.stages.geometry_table import Geometry
from medrcube.build.stages.samples import Sample
from medrcube.facts import Case, QuarantineRow
from medrcube.ontologies.distractor_safety import CaseFacts
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.card import Card
from medrcube.taxonomy import Task

__all__ = ["OpenAsked"]

STAGE, FAILED = "rule", "rule-failed"


def _rules() -> Mapping[Task, OpenRule]:
    return {task: load_rule(task) for task in open_tasks()}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAsked:
    """Questions about the cases of a source, accumulated case by case.

    Attributes:
        rules: rules of all open tasks.
        questions: questions that may be asked.
        bar_counts: ``task: reason`` -> number of the others.
        problems: cases on which a rule failed.
    """

    rules: Mapping[Task, OpenRule] = field(default_factory=_rules)
    questions: list[OpenQuestion] = field(default_factory=list)
    bar_counts: Counter[str] = field(default_factory=Counter)
    problems: list[QuarantineRow] = field(default_factory=list)

    def ask(
        self,
        card: Card,
        case: Case,
        facts: CaseFacts,
        samples: Sequence[Sample],
        geometry: tuple[Geometry, ...],
    ) -> None:
        """Apply every rule to one case; a rule that fails on it is recorded and yields nothing."""
        if not self.rules or not samples:
            return
        in_order = tuple(sorted(samples, key=lambda sample: sample.id))
        terms, relations = load_terms(), load_relations()
        for task, rule in self.rules.items():
            view = CaseView(
                task=task,
                card=card,
                case=case,
                facts=facts,
                samples=in_order,
                geometry=geometry,
                terms=terms,
                relations=relations,
            )
            try:
                questions = list(open_questions(view, rule))
            except RuleError as error:
                self.problems.append(_problem(task, case, card, error))
                continue
            self.questions.extend(question for question in questions if not question.bar_reason)
            self.bar_counts.update(f"{task}: {q.bar_reason}" for q in questions if q.bar_reason)


def _problem(task: Task, case: Case, card: Card, error: RuleError) -> QuarantineRow:
    return QuarantineRow(
        source=card.id,
        case=case.key,
        stage=STAGE,
        code=FAILED,
        message=f"the rule of {task.value!r} fails: {error.short}",
    )
