"""The words of a question: values for its template, names of its options, the data set's own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from medrcube.build.questions.derive import Query
from medrcube.build.samples import NUMBERED, Sample
from medrcube.ontologies.knowledge import Knowledge, Name
from medrcube.ontologies.relations import Relations
from medrcube.ontologies.terms import Terms
from medrcube.ontologies.words import is_composite, is_rest_class, normalise
from medrcube.records import Scope
from medrcube.sources.card import Card
from medrcube.taxonomy import Anatomy, Modality, Task

_BODY = {
    Anatomy.BRAIN: "the brain",
    Anatomy.BREAST: "the breast",
    Anatomy.CHEST: "the chest",
    Anatomy.HEART: "the heart",
    Anatomy.LUNGS: "the lungs",
}
_PICTURE = {
    Modality.XRAY: "X-ray image",
    Modality.CT: "CT image",
    Modality.MRI: "MRI image",
    Modality.ULTRASOUND: "ultrasound image",
}
_SUBJECT = {
    Scope.VOLUME: "this scan",
    Scope.BREAST: "this breast",
    Scope.STUDY: "this study",
    Scope.PATIENT: "this patient",
}
_NUMBERS = {2: "two", 3: "three", 4: "four"}
_RESIDUAL = re.compile(r"unspecified|not elsewhere|other specified|\bNOS\b", re.IGNORECASE)
_BRITISH = re.compile(r"oedem|aemi?|tumour|oesoph|fibre|centre|paed|grey|diarrhoea", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Text of an option, and the preferred name that it is, if it is one."""

    text: str
    name: Name | None = None


def own_names(labels: Iterable[str], terms: Terms) -> dict[str, Shown]:
    """Option texts in this project's own wording."""
    return {label: Shown(text=terms[label].name) for label in labels}


def preferred_names(
    labels: Iterable[str], terms: Terms, knowledge: Knowledge
) -> dict[str, Shown] | None:
    """Option texts by the user's ontologies, our own where they have none.

    ``None`` when no option has a preferred name, when two read alike, or when the wording marks
    one among the others: a rest class ("unspecified"), two concepts in one ("bronchus or lung"),
    British spelling beside our American. All options start with a capital letter, as titles in HPO
    and ICD-11 do; no other letter is changed.
    """
    named = {label: knowledge.preferred(terms[label]) for label in labels}
    texts = {label: name.text if name else terms[label].name for label, name in named.items()}
    if not any(named.values()):
        return None
    if len({normalise(text) for text in texts.values()}) < len(texts):
        return None
    if any(_stands_out(name.text) for name in named.values() if name):
        return None
    return {label: Shown(text=_capital(text), name=named[label]) for label, text in texts.items()}


def own_words(cards: Iterable[Card]) -> dict[str, dict[str, str]]:
    """Source -> concept -> the data set's own words for it, such as ``Finding Labels: Effusion``.

    Several raw values of one concept are joined by ``|``; what a card states of every case by
    itself has no word in the data.
    """
    words: dict[str, dict[str, str]] = {}
    for card in cards:
        raw: dict[str, dict[str, list[str]]] = {}
        for field in card.fields.values():
            pairs = [*field.values.items()]
            pairs += [(f"{band.low} to {band.high}", band.concept) for band in field.bands]
            for value, concept in pairs:
                if concept:
                    raw.setdefault(concept, {}).setdefault(field.name, []).append(value)
        words[card.id] = {
            concept: "; ".join(f"{name}: {' | '.join(values)}" for name, values in by.items())
            for concept, by in raw.items()
        }
    return words


def _stands_out(text: str) -> bool:
    return bool(
        _RESIDUAL.search(text) or _BRITISH.search(text) or is_rest_class(text) or is_composite(text)
    )


def _capital(text: str) -> str:
    """A capital at the start, unless the first word has capitals or digits of its own."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return text[0].upper() + text[1:] if first.replace("-", "").islower() else text


def wording(query: Query, terms: Terms, relations: Relations) -> dict[str, str | bool]:
    """Values for the templates of a query's task; no value gives the answer away."""
    sample = query.sample
    scale = "imaging protocol"
    if query.group is not None:
        scale = relations.scale(query.group).phrase
    values: dict[str, str | bool] = {
        "shown": _shown(sample, neutral=query.task is Task.ORGAN_RECOGNITION),
        "subject": _SUBJECT.get(query.scope, ""),
        "modality": sample.modality,
        "body": _BODY[Anatomy(sample.anatomy)],
        "marked": sample.artefact == "outline",
        "numbered": sample.artefact == "numbered",
        "scale": scale,
    }
    if sample.artefact in NUMBERED:
        values["target"] = terms[query.key].name
    return values


def context(query: Query) -> str:
    """What the words of a question tell of its picture, in any wording of its template.

    A reader who has no picture learns this much: "mammogram", "the two CT images", "the red
    outline", "this patient". Nothing for Modality Recognition, which names none of it.
    """
    if query.task is Task.MODALITY_RECOGNITION:
        return ""
    sample = query.sample
    shown = _shown(sample, neutral=query.task is Task.ORGAN_RECOGNITION)
    return " ".join((shown, sample.artefact, _SUBJECT.get(query.scope, ""))).strip()


def _shown(sample: Sample, *, neutral: bool) -> str:
    """The picture in words; ``neutral`` names no part of the body."""
    picture = _PICTURE[Modality(sample.modality)]
    if not neutral and sample.modality == Modality.XRAY:
        picture = "mammogram" if sample.anatomy == Anatomy.BREAST else "chest X-ray"
    count = len(sample.frames.split("+"))
    if count == 1:
        return f"this {picture}"
    return f"the {_NUMBERS.get(count, count)} {picture}s shown side by side"
