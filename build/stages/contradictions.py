"""Contradiction check: labels that the source's own text contradicts become unknown.

Silence of the text proves nothing, and a hedged mention leaves a label open. Free text ends here:
the returned case has none, and reports contain only the location of the text and the matching
phrase of the card.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from medrcube.facts import Case, Label, LabelState, QuarantineRow, Region, Words
from medrcube.ontologies.terms import NORMALITY, Terms
from medrcube.sources._formats.report_text.negation import Assertion, find_mentions, words_of_name
from medrcube.sources._formats.report_text.phrases import FILE_NAME, FreeText
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_lookup import concept_of
from medrcube.sources._framework.card_parts.fields import CardField

__all__ = ["CONTRADICTED", "CheckedLabels", "check_labels", "count_outcomes", "describe_words"]

CONTRADICTED = "contradicted-by-words"
CONFIRMS, CONTRADICTS, SILENT, BREAKS_SILENCE = "confirmed", "contradicted", "silent", "mentioned"
OUTCOMES = (CONFIRMS, CONTRADICTS, SILENT, BREAKS_SILENCE)
"""Outcome of a label's check against the text: the text confirms it, contradicts it (or leaves it
open), or does not mention it; or the text mentions a finding that no label states, so that the
absence of a label is no evidence.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedLabels:
    """A case whose labels have been checked against its text.

    Attributes:
        case: the case without its text; labels that the text contradicts are unknown.
        problems: one for each label or region that is contradicted and for each finding that breaks
            silence.
        outcomes: field and outcome of each of these, and of each label that the text confirms or
            does not mention.
    """

    case: Case
    problems: tuple[QuarantineRow, ...] = ()
    outcomes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _TextEvidence:
    """What some text states about a concept, whether it is hedged, and where it was found."""

    state: LabelState
    sure: bool
    evidence: str


_About = tuple[str, str]
"""Field and concept."""


def check_labels(card: Card, case: Case, terms: Terms) -> CheckedLabels:
    """Check the labels of one case against its text.

    A present label becomes unknown if the text denies or hedges it; an absent label, if the text
    affirms or hedges it. A concept that no label states but the text affirms or hedges is unknown
    too, whatever the card concludes from silence.

    Raises:
        SourceError: a label or region names a field or value that the card lacks.
        TermError: a concept of the card is in no table.
    """
    mute = replace(case, words=()) if case.words else case
    if not card.texts:
        return CheckedLabels(case=mute)
    evidence_of = _text_evidence(card, case, terms)
    labelled: set[_About] = set()
    labels: list[Label] = []
    opened: list[Label] = []
    outcomes: list[tuple[str, str]] = []
    statements: Iterable[Label | Region] = (*case.labels, *case.regions)
    for statement in statements:
        concept = concept_of(card, statement)
        about = (statement.field, concept or "")
        labelled.add(about)
        state = statement.state if isinstance(statement, Label) else LabelState.PRESENT
        outcome, against = _judge(state, evidence_of.get(about, ()))
        if concept is not None and _is_checked(card, statement.field) and outcome:
            outcomes.append((statement.field, outcome))
        if against is not None:
            opened.append(_open(statement.field, statement.value, statement.evidence, against))
            labels.append(opened[-1])
        elif isinstance(statement, Label):
            labels.append(statement)
    for about, sayings in evidence_of.items():
        value = _raw_value(card.fields[about[0]], about[1])
        broken = next((saying for saying in sayings if saying.state is LabelState.PRESENT), None)
        if about not in labelled and value is not None and broken is not None:
            opened.append(_open(about[0], value, "no label", broken))
            labels.append(opened[-1])
            outcomes.append((about[0], BREAKS_SILENCE))
    return CheckedLabels(
        case=replace(mute, labels=tuple(labels)),
        problems=tuple(_problem(card, case, label) for label in opened),
        outcomes=tuple(outcomes),
    )


def count_outcomes(outcomes: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    """Field -> outcome -> number of labels, ready for JSON.

    Args:
        outcomes: field and outcome -> number of labels.
    """
    return {
        field: {outcome: outcomes.get((field, outcome), 0) for outcome in OUTCOMES}
        for field in sorted({field for field, _ in outcomes})
    }


def describe_words(audit: Mapping[str, Any]) -> list[str]:
    """Lines for display: outcomes of the text check, by source."""
    lines = []
    for source, fields in audit.get("words", {}).items():
        total = {outcome: sum(field[outcome] for field in fields.values()) for outcome in OUTCOMES}
        if total[CONFIRMS] or total[CONTRADICTS] or total[BREAKS_SILENCE]:
            lines.append(
                f"words of {source}: {total[CONFIRMS]:,} labels confirmed, "
                f"{total[CONTRADICTS]:,} contradicted (set to unknown), {total[SILENT]:,} not "
                f"mentioned; {total[BREAKS_SILENCE]:,} facts mentioned without a label"
            )
    return lines


def _text_evidence(card: Card, case: Case, terms: Terms) -> dict[_About, list[_TextEvidence]]:
    """Return what the text of a case states, by field and concept."""
    evidence_of: dict[_About, list[_TextEvidence]] = defaultdict(list)
    for text in card.texts:
        for words in _words(case, text.sources):
            for about, saying in _read(card, text, words, terms):
                evidence_of[about].append(saying)
    return evidence_of


def _words(case: Case, sources: Sequence[str]) -> Iterator[Words]:
    if FILE_NAME in sources:
        name = case.images[0].paths[0]
        yield Words(name=FILE_NAME, text=words_of_name(name.stem), evidence=f"file {name.name}")
    yield from (words for words in case.words if words.name in sources)


def _read(
    card: Card, text: FreeText, words: Words, terms: Terms
) -> Iterator[tuple[_About, _TextEvidence]]:
    for concept, phrases in text.terms.items():
        for saying in _mentioned(words, phrases):
            yield (text.field, concept), saying
            if saying.sure and saying.state is LabelState.PRESENT:
                yield from _of_rivals(card.fields[text.field], concept, saying)
    for concept, phrases in text.against.items():
        for saying in _mentioned(words, phrases):
            if saying.state is LabelState.PRESENT:
                yield (text.field, concept), replace(saying, state=LabelState.ABSENT)
    for saying in _mentioned(words, text.normal):
        yield from _of_normal(card, text, terms, saying)


def _of_rivals(
    field: CardField, concept: str, saying: _TextEvidence
) -> Iterator[tuple[_About, _TextEvidence]]:
    """Yield what follows for the other members of an exclusive group if one is present."""
    for rival in field.concepts() if field.group is not None else ():
        if rival != concept:
            yield (field.name, rival), replace(saying, state=LabelState.ABSENT)


def _of_normal(
    card: Card, text: FreeText, terms: Terms, saying: _TextEvidence
) -> Iterator[tuple[_About, _TextEvidence]]:
    """Yield what follows from "normal"; "not normal" says nothing about any finding."""
    for field in card.fields.values():
        for concept in field.concepts() if field.kind.abnormal else ():
            if terms[concept].kind == NORMALITY:
                yield (field.name, concept), saying
            elif concept not in text.spares and saying.state is LabelState.PRESENT:
                yield (field.name, concept), replace(saying, state=LabelState.ABSENT)


def _mentioned(words: Words, phrases: Iterable[re.Pattern[str]]) -> Iterator[_TextEvidence]:
    for phrase in phrases:
        for mention in find_mentions(words.text, phrase):
            how = "" if mention.stance is Assertion.AFFIRMED else f" ({mention.stance})"
            yield _TextEvidence(
                LabelState.ABSENT if mention.stance is Assertion.DENIED else LabelState.PRESENT,
                mention.stance is not Assertion.OPEN,
                f"{words.evidence}: {mention.words!r}{how}",
            )


def _judge(state: LabelState, sayings: Sequence[_TextEvidence]) -> tuple[str, _TextEvidence | None]:
    """Return the outcome for a statement (empty if unknown) and the text that contradicts it."""
    if state is LabelState.UNKNOWN:
        return "", None
    against = [saying for saying in sayings if saying.state is not state]
    doubts = [saying for saying in sayings if saying.state is state and not saying.sure]
    confirmed = any(saying.state is state and saying.sure for saying in sayings)
    if against or (doubts and not confirmed):
        return CONTRADICTS, [*against, *doubts][0]
    return (CONFIRMS if confirmed else SILENT), None


def _is_checked(card: Card, field: str) -> bool:
    """Whether any text of the card is checked against a field."""
    return any(
        text.field == field or (text.normal and card.fields[field].kind.abnormal)
        for text in card.texts
    )


def _raw_value(field: CardField, concept: str) -> str | None:
    """Return a raw value of a concept; ``None`` for the constant of a field."""
    for raw, name in field.values.items():
        if name == concept:
            return raw
    return next((str(band.low) for band in field.bands if band.concept == concept), None)


def _open(field: str, value: str, place: str, against: _TextEvidence) -> Label:
    evidence = f"{place}; against {against.evidence}"
    return Label(field=field, value=value, state=LabelState.UNKNOWN, evidence=evidence)


def _problem(card: Card, case: Case, label: Label) -> QuarantineRow:
    return QuarantineRow(
        source=card.id,
        case=case.key,
        stage="scan",
        code=CONTRADICTED,
        message=f"{label.field}: {label.evidence}; taken as unknown",
    )
