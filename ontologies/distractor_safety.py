"""Distractor safety: the conditions under which a wrong option is certainly wrong.

The facts of one image are a ``CaseFacts``: concepts that are present, absent with an evidence
grade, or unknown. "Not asserted" is not "false" (Vinu and Kumar on open-world questions), so a
candidate is allowed only if its falsity can be derived; see ``SafetyCondition``.

The conditions are deliberately conservative in one way: conditions 1 to 4 treat unknown concepts as
true. Conditions 1, 2, 3, 9 and 10 query the relation table and the user's ontologies; an
entailment in either rejects a candidate, and none ever allows one. Silence (grade C) is not
evidence for condition 5 if the relation table says that candidate and truth often co-occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from medrcube.facts import Grade, Scope
from medrcube.ontologies.entailment import Entailment
from medrcube.ontologies.knowledge_protocol import Knowledge, NoKnowledge
from medrcube.ontologies.label_words import is_composite, is_rest_class
from medrcube.ontologies.relations import Relations, load_relations
from medrcube.ontologies.terms import NORMALITY, Terms, load_terms
from medrcube.ontologies.visibility import VisibilityTable, load_visibility
from medrcube.taxonomy import Anatomy, Modality, Task

__all__ = [
    "CaseFacts",
    "DistractorRequest",
    "Evidence",
    "SafetyCondition",
    "SafetyRules",
    "SafetyVerdict",
    "judge_absence",
    "judge_distractor",
    "judge_key",
    "option_conflict",
]


class SafetyCondition(IntEnum):
    """Conditions on a distractor; their numbers are stored with each option."""

    IDENTITY = 1
    NOT_IMPLIED = 2
    """Nothing that is true implies the candidate."""
    IMPLIES_NOTHING_TRUE = 3
    NO_LOOK_ALIKE = 4
    EVIDENCE = 5
    """The candidate is absent, with evidence of an accepted grade."""
    LEVEL = 6
    """The evidence has at least the scope of the question."""
    OTHER_READERS = 7
    """Holds by construction: disputed concepts are unknown in ``CaseFacts``."""
    VISIBLE = 8
    WORDS = 9
    OPTIONS = 10
    """The distractors are compatible with each other; see ``option_conflict``."""
    NO_FINDING = 11
    ONE_TRUE = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Evidence for one statement.

    Attributes:
        field: card field that states it; one field represents one reader.
        scope: scope of the statement.
        grade: for an absence, its evidence grade; for a presence, how exhaustively the field was
            read.
    """

    field: str
    scope: Scope
    grade: Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFacts:
    """Facts of one image, or of one marked region in it.

    Attributes:
        present: concepts that are true.
        absent: concepts that are false.
        unknown: uncertain or disputed concepts, used neither as key nor as option.
        anatomy: anatomical region.
        modality: imaging modality.
        region: whether the facts are about a marked region rather than the whole image.
    """

    present: Mapping[str, Evidence]
    absent: Mapping[str, Evidence]
    unknown: frozenset[str]
    anatomy: Anatomy
    modality: Modality
    region: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DistractorRequest:
    """A key that needs distractors.

    Attributes:
        key: concept of the right answer; empty if a candidate is judged without a key.
        ground: facts of the image.
        scope: scope of the question.
        group: exclusive group whose members are the options, or ``None``.
        pool: concepts of the source's label table for this task.
        task: the task, for candidate sources that serve only some tasks.
        apart: label -> P(label absent | key present) over the source's images that state the
            label; omits labels stated for too few images. It ranks safe candidates and never
            makes a candidate safe.
    """

    key: str
    ground: CaseFacts
    scope: Scope
    group: str | None = None
    pool: tuple[str, ...] = ()
    task: Task | None = None
    apart: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyRules:
    """Tables, the user's ontologies, and the weakest accepted evidence of absence.

    ``entailment`` is derived from the others, and so is ``unreviewed``: concepts that a layer
    outside the package adds and that occur in no reviewed relation. What they imply is not known,
    so they may be keys, but distractors only within their exclusive group or if they were read as
    absent.
    """

    terms: Terms = field(default_factory=load_terms)
    relations: Relations = field(default_factory=load_relations)
    visible: VisibilityTable = field(default_factory=load_visibility)
    evidence: Grade = Grade.B
    knowledge: Knowledge = field(default_factory=NoKnowledge)
    entailment: Entailment = field(init=False, repr=False, compare=False)
    unreviewed: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Derive ``entailment`` and ``unreviewed``."""
        joined = Entailment(self.terms, self.relations, self.knowledge)
        object.__setattr__(self, "entailment", joined)
        related = {
            label
            for row in self.relations.rows
            if row.reviewed
            for label in (row.label_a, row.label_b)
        }
        object.__setattr__(self, "unreviewed", self.terms.added - related)


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyVerdict:
    """Whether a concept may be an option, and why.

    Attributes:
        allowed: whether it may be an option.
        grade: evidence that a distractor is false; ``None`` if rejected.
        passed: conditions that were checked and hold.
        reason: short code of the first condition that fails; empty if allowed.
    """

    allowed: bool
    grade: Grade | None = None
    passed: tuple[int, ...] = ()
    reason: str = ""


def judge_distractor(
    candidate: str, request: DistractorRequest, rules: SafetyRules
) -> SafetyVerdict:
    """Check conditions 1 to 9 and 11 for one distractor.

    Raises:
        TermError: the candidate or key is not in any table.
    """
    passed: list[int] = []
    for condition, reason in _checks(candidate, request, rules):
        if reason:
            return SafetyVerdict(allowed=False, passed=tuple(passed), reason=reason)
        passed.append(condition)
    grade = _grade(candidate, request, rules)
    return SafetyVerdict(allowed=True, grade=grade, passed=tuple(passed))


def judge_absence(
    candidate: str, ground: CaseFacts, scope: Scope, rules: SafetyRules, *, group: str | None = None
) -> SafetyVerdict:
    """Check that an image does not show a concept, by the conditions for a single distractor.

    If a present concept and the candidate are both in ``group``, that concept serves as the key.
    Otherwise there is no key, so that "no finding" alone, which denies everything by definition,
    proves nothing about the candidate.

    Args:
        candidate: the concept.
        ground: facts of the image.
        scope: scope of the question.
        rules: tables, ontologies and the weakest accepted evidence.
        group: exclusive group of the field that states it, or ``None``.

    Raises:
        TermError: the concept or the group is not in any table.
    """
    keys = (
        label
        for label in ground.present
        if group is not None and rules.relations.parted_by(group, candidate, label)
    )
    key = next(keys, "")
    request = DistractorRequest(key=key, ground=ground, scope=scope, group=group if key else None)
    return judge_distractor(candidate, request, rules)


def judge_key(request: DistractorRequest, rules: SafetyRules) -> SafetyVerdict:
    """Check that the key is true and, for "no finding", that every label of the pool is absent.

    Raises:
        TermError: the key or a label of the pool is not in any table.
    """
    ground, key = request.ground, request.key
    if key not in ground.present or key in ground.unknown:
        return SafetyVerdict(allowed=False, reason="key-not-true")
    if rules.visible.shows(key, ground.anatomy, ground.modality) is False:
        return SafetyVerdict(allowed=False, reason="key-not-visible")
    if request.group is not None or rules.terms[key].kind != NORMALITY:
        return SafetyVerdict(allowed=True, passed=(SafetyCondition.ONE_TRUE,))
    for label in request.pool:
        beside = rules.terms[label].kind in (NORMALITY, "device")
        if not beside and not _evidence_accepted(ground.absent.get(label), rules):
            return SafetyVerdict(allowed=False, reason="no-finding-not-exhaustive")
    return SafetyVerdict(
        allowed=True, passed=(SafetyCondition.NO_FINDING, SafetyCondition.ONE_TRUE)
    )


def option_conflict(
    label_a: str, label_b: str, request: DistractorRequest, rules: SafetyRules
) -> str:
    """Condition 10 for two distractors: return why they cannot be combined, or an empty string."""
    entailment = rules.entailment
    if entailment.same(label_a, label_b):
        return "same"
    if entailment.implied(label_a, label_b):
        return "implied"
    if request.group is not None and rules.relations.excludes(label_a, label_b):
        return ""
    kinds = {rules.terms[label].kind for label in (label_a, label_b)} - {NORMALITY}
    if request.group is None and len(kinds) > 1:
        return "kind"
    if entailment.alike(label_a, label_b):
        return "look-alike"
    return "words" if entailment.nested(label_a, label_b) else ""


def _checks(
    candidate: str, request: DistractorRequest, rules: SafetyRules
) -> Iterator[tuple[SafetyCondition, str]]:
    """Yield the conditions in order, each with a reason if it fails."""
    ground, entailment = request.ground, rules.entailment
    true = (*ground.present, *sorted(ground.unknown))
    mark = ground.absent.get(candidate)
    exclusive = _exclusive(candidate, request, rules)
    same = (entailment.same(candidate, label) for label in true)
    yield SafetyCondition.IDENTITY, _first("identity", same)
    implied = (candidate in entailment.closure(label) for label in true)
    yield SafetyCondition.NOT_IMPLIED, _first("implied", implied)
    surely_absent = exclusive or (mark is not None and mark.grade is Grade.A)
    above = entailment.closure(candidate)
    # Even if read as absent, or separated by a group where an ontology disagrees, a candidate must
    # not appear with a key that implies it (condition 10): whoever sees both knows without the
    # image that it is not the one right answer.
    implies_true = request.key in above or (not surely_absent and not above.isdisjoint(true))
    yield SafetyCondition.IMPLIES_NOTHING_TRUE, "implies-true" if implies_true else ""
    yield (
        SafetyCondition.NO_LOOK_ALIKE,
        _first(
            "look-alike",
            (
                not exclusive
                and entailment.alike(candidate, label)
                and not _same_reader(mark, ground.present.get(label))
                for label in true
            ),
        ),
    )
    yield SafetyCondition.EVIDENCE, _evidence_reason(candidate, request, rules)
    wide = exclusive or mark is None or mark.scope >= request.scope
    yield SafetyCondition.LEVEL, "" if wide else "level"
    yield SafetyCondition.OTHER_READERS, ""
    yield SafetyCondition.VISIBLE, _unseen(candidate, request, rules)
    yield SafetyCondition.WORDS, "" if exclusive else _word_reason(candidate, ground, rules)
    yield SafetyCondition.NO_FINDING, _no_finding(candidate, request, rules)


def _first(reason: str, failures: Iterator[bool]) -> str:
    return reason if any(failures) else ""


def _same_reader(absent: Evidence | None, present: Evidence | None) -> bool:
    """Whether one reader saw one concept and read the other as absent."""
    return (
        absent is not None
        and present is not None
        and absent.grade is Grade.A
        and absent.field == present.field
    )


def _exclusive(candidate: str, request: DistractorRequest, rules: SafetyRules) -> bool:
    """Whether the card declares an exclusive group that separates key and candidate."""
    group = request.group
    return group is not None and rules.relations.parted_by(group, candidate, request.key)


def _grade(candidate: str, request: DistractorRequest, rules: SafetyRules) -> Grade | None:
    """Return the best evidence that the candidate is false."""
    if _exclusive(candidate, request, rules):
        return Grade.A
    mark = request.ground.absent.get(candidate)
    kinds = {rules.terms[label].kind for label in (candidate, request.key) if label}
    by_definition = NORMALITY in kinds and rules.relations.excludes(candidate, request.key)
    grades = ([mark.grade] if mark else []) + ([Grade.B] if by_definition else [])
    return min(grades, default=None)


def _evidence_reason(candidate: str, request: DistractorRequest, rules: SafetyRules) -> str:
    grade = _grade(candidate, request, rules)
    if grade is None:
        return "no-evidence"
    if grade > Grade.A and candidate in rules.unreviewed:
        return "relations-unreviewed"
    if grade > rules.evidence:
        return f"evidence-{grade}"
    if grade is Grade.C and any(
        rules.relations.accompanies(candidate, label) for label in request.ground.present
    ):
        return "accompanies"
    return ""


def _evidence_accepted(mark: Evidence | None, rules: SafetyRules) -> bool:
    return mark is not None and mark.grade <= rules.evidence


def _unseen(candidate: str, request: DistractorRequest, rules: SafetyRules) -> str:
    ground = request.ground
    visible = rules.visible.shows(candidate, ground.anatomy, ground.modality)
    if visible is None:
        return ""
    if not visible:
        return "not-visible"
    return "" if ground.region else "also-shown"


def _word_reason(candidate: str, ground: CaseFacts, rules: SafetyRules) -> str:
    term = rules.terms[candidate]
    if is_rest_class(term.name) or is_rest_class(term.label):
        return "rest-class"
    if is_composite(term.name) or is_composite(term.label):
        return "composite"
    if any(rules.entailment.nested(candidate, label) for label in ground.present):
        return "words"
    return ""


def _no_finding(candidate: str, request: DistractorRequest, rules: SafetyRules) -> str:
    """Condition 11: "no finding" needs a key read as present, or must itself be read as absent."""
    if rules.terms[candidate].kind != NORMALITY or _exclusive(candidate, request, rules):
        return ""
    key, mark = request.ground.present.get(request.key), request.ground.absent.get(candidate)
    graded = (mark, key)
    return "" if any(m is not None and m.grade is Grade.A for m in graded) else "no-finding"
