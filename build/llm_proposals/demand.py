"""Safety of proposed distractors: whether any underfilled question can use a concept.

A concept that nobody mentioned counts as absent by silence (grade C), but only if silence is
evidence: not if the source could have stated it for this image but left it open, and not if no
ontology can relate it to the true concepts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from medrcube.build.questions.eligibility import request_of
from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.questions.question_wording import wording_values
from medrcube.facts import Grade
from medrcube.ontologies.distractor_safety import Evidence, SafetyRules, judge_distractor
from medrcube.ontologies.item_rules import ERROR, ItemText, lint
from medrcube.ontologies.llm import LLM
from medrcube.ontologies.llm.name_resolution import KINDS
from medrcube.ontologies.terms import Term
from medrcube.templates import render_question, wording_names

__all__ = ["UnderfilledQuestions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderfilledQuestions:
    """The underfilled questions of one place; ``made`` are the concepts outside our own table."""

    queries: Sequence[QuestionCandidate]
    rules: SafetyRules
    stated: Mapping[str, frozenset[str]]
    new_terms: frozenset[str]

    def refuse(self, term: Term) -> str:
        """Return the most frequent reason why no question can use a proposal; empty if one can."""
        return self._unsafe(term) or self._lint(term)

    def opened(self, query: QuestionCandidate, labels: Iterable[str]) -> QuestionCandidate:
        """Return the query with unmentioned proposals as absent by silence."""
        silent = Evidence(field=LLM, scope=query.scope, grade=Grade.C)
        ground = query.ground
        spoken = {*ground.present, *ground.absent, *ground.unknown}
        unspoken = {
            label: silent
            for label in labels
            if label not in spoken and not self._doubt(label, query)
        }
        return replace(query, ground=replace(ground, absent={**ground.absent, **unspoken}))

    def _lint(self, term: Term) -> str:
        """Return the item-writing rule that the option breaks with the key in any wording."""
        key = self.rules.terms[self.queries[0].key]
        values = {
            (
                query.task,
                tuple(wording_values(query, self.rules.terms, self.rules.relations).items()),
                query.group,
            )
            for query in self.queries
        }
        for task, stem, group in sorted(values, key=repr):
            for name in wording_names(task):
                draft = ItemText(
                    question=render_question(task, name, **dict(stem)),
                    options=(key.name, term.name),
                    key=0,
                    kinds=(key.kind, term.kind),
                    grouped=group is not None,
                    concepts=(key.label, term.label),
                )
                broken = [flaw.rule for flaw in lint(draft) if flaw.level == ERROR]
                if broken:
                    return f"lint {broken[0]}"
        return ""

    def _unsafe(self, term: Term) -> str:
        """Return the most frequent reason against the option; empty if a question may use it."""
        reasons: Counter[str] = Counter()
        reason_of: dict[object, str] = {}
        for query in self.queries:
            ground, label = query.ground, term.label
            mark = ground.absent.get(label)
            true = (tuple(ground.present.items()), ground.unknown)
            alike = (*true, mark, self._open(query), query.scope, query.group, ground.region)
            if alike not in reason_of:
                reason_of[alike] = self._judge(term, query)
            if not reason_of[alike]:
                return ""
            reasons[reason_of[alike]] += 1
        return min(reasons, key=lambda reason: (-reasons[reason], reason))

    def _judge(self, term: Term, query: QuestionCandidate) -> str:
        opened = self.opened(query, (term.label,))
        reason = judge_distractor(term.label, request_of(opened), self.rules).reason
        return (self._doubt(term.label, query) if reason == "no-evidence" else "") or reason

    def _doubt(self, label: str, query: QuestionCandidate) -> str:
        """Return why silence about a concept is no evidence here; empty if it is."""
        if self._incomparable(self.rules.terms[label], query):
            return "incomparable"
        entailment = self.rules.entailment
        for other in sorted(self._open(query)):
            if entailment.same(label, other) or entailment.implied(label, other):
                return "left-open"
        for true in (*query.ground.present, *sorted(query.ground.unknown)):
            # A parent of the concept in an ontology may be a look-alike of a true concept in our
            # table.
            kin = product(entailment.closure(label), entailment.closure(true))
            if any(entailment.alike(mine, theirs) for mine, theirs in kin):
                return "look-alike"
        return ""

    def _open(self, query: QuestionCandidate) -> frozenset[str]:
        """Return the concepts that the source could have stated for the image, but did not."""
        ground = query.ground
        mentioned = {*ground.present, *ground.absent, *ground.unknown}
        return self.stated.get(query.sample.source, frozenset()) - mentioned

    def _incomparable(self, term: Term, query: QuestionCandidate) -> bool:
        """Whether a concept outside our table is unknown to the ontologies of the true concepts.

        Only an ontology that contains both exactly can tell whether one implies the other, as
        headings do.
        """
        terms, knowledge = self.rules.terms, self.rules.knowledge
        return term.label in self.new_terms and any(
            knowledge.similarity(term, _exactly(terms[label])) is None
            for label in (*query.ground.present, *sorted(query.ground.unknown))
            if terms[label].kind in KINDS
        )


def _exactly(term: Term) -> Term:
    """Return the term with its exact ids only."""
    exact = term.exact_ids()
    return replace(
        term,
        hpo_id=term.hpo_id if term.hpo_id in exact else "",
        radlex_id=term.radlex_id if term.radlex_id in exact else "",
        icd11_code=term.icd11_code if term.icd11_code in exact else "",
    )
