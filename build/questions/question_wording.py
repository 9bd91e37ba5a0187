"""Question wording: template values, option names, the dataset's own words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.stages.samples import NUMBERED, Sample
from medrcube.facts import Scope
from medrcube.ontologies.knowledge_protocol import ConceptName, Knowledge
from medrcube.ontologies.label_words import is_composite, is_rest_class, normalise
from medrcube.ontologies.name_grammar import pluralize, same_head
from medrcube.ontologies.relations import Relations
from medrcube.ontologies.target_phrases import target_phrase
from medrcube.ontologies.terms import NORMALITY, Term, Terms
from medrcube.sources._framework.card import Card
from medrcube.taxonomy import Anatomy, Modality
from medrcube.vocabulary.image_names import image_name

__all__ = [
    "OptionName",
    "denies",
    "own_names",
    "own_words",
    "preferred_names",
    "wording_context",
    "wording_values",
]

_WHOLE = {
    Scope.VOLUME: "the scan from which {shown} {was} taken",
    Scope.BREAST: "the breast in {shown}",
    Scope.STUDY: "the study from which {shown} {was} taken",
    Scope.PATIENT: "the patient imaged in {shown}",
}
"""Phrase for the subject of a fact that is wider than the image."""

_DENIES = re.compile(r"(?:no|not|normal|healthy)\b", re.IGNORECASE)
_RESIDUAL = re.compile(r"unspecified|not elsewhere|other specified|\bNOS\b", re.IGNORECASE)
_BRITISH = re.compile(r"oedem|aemi?|tumour|oesoph|fibre|centre|paed|grey|diarrhoea", re.IGNORECASE)

_OWN_NAMES = frozenset({"modality", "view", "plane", "MRI sequence"})
"""Kinds of terms that keep our own names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionName:
    """Text of an option, and the preferred name it was taken from, if any."""

    text: str
    name: ConceptName | None = None


def own_names(labels: Iterable[str], terms: Terms) -> dict[str, OptionName]:
    """Return option texts in this project's own wording, capitalised."""
    return {label: OptionName(text=_capital(terms[label].name)) for label in labels}


def preferred_names(
    labels: Iterable[str], terms: Terms, knowledge: Knowledge
) -> dict[str, OptionName] | None:
    """Return option texts from the user's ontologies, chosen for all options together.

    One ontology names them all; only a name that denies a finding is our own if the ontology has
    none. Each name has the head noun of our own name, in the same number, so that the set is
    uniform in form: "Irregular", "Gliomas of brain" and "Legionnaires disease" are not used.
    Returns ``None`` if no ontology qualifies, if two names read alike, or if one stands out among
    the others: a residual category ("unspecified"), two concepts in one ("bronchus or lung"),
    British spelling among American. All options start with a capital letter; no other letter is
    changed.
    Modalities, views and sequences keep our names, with the abbreviation that readers know.
    """
    labels = list(labels)
    if any(terms[label].kind in _OWN_NAMES for label in labels):
        return None
    can_name = (name.ontology for label in labels for name in knowledge.names(terms[label]))
    for ontology in dict.fromkeys(can_name):
        names = {label: _name_in(ontology, terms[label], knowledge) for label in labels}
        wanting = [label for label, name in names.items() if name is None]
        if len(wanting) == len(labels) or not all(denies(terms[label]) for label in wanting):
            continue
        texts = {label: name.text if name else terms[label].name for label, name in names.items()}
        if len({normalise(text) for text in texts.values()}) == len(texts):
            return {
                label: OptionName(text=_capital(text), name=names[label])
                for label, text in texts.items()
            }
    return None


def denies(term: Term) -> bool:
    """Whether a term states that nothing, or one thing, is absent."""
    return term.kind == NORMALITY or bool(_DENIES.match(term.name))


def own_words(cards: Iterable[Card]) -> dict[str, dict[str, str]]:
    """Source -> concept -> the dataset's own words for it, such as ``Finding Labels: Effusion``.

    Several raw values of one concept are joined by ``|``; a constant that the card states for every
    case has no word in the data.
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


def _name_in(ontology: str, term: Term, knowledge: Knowledge) -> ConceptName | None:
    """Return the name of a term in one ontology, if it can replace our own among others."""
    for name in knowledge.names(term):
        if name.ontology == ontology:
            fits = same_head(name.text, term.name) and not _stands_out(name.text)
            return name if fits else None
    return None


def _stands_out(text: str) -> bool:
    return bool(
        _RESIDUAL.search(text) or _BRITISH.search(text) or is_rest_class(text) or is_composite(text)
    )


def _capital(text: str) -> str:
    """Capitalise the first letter, unless the first word contains capitals or digits of its own."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return text[0].upper() + text[1:] if first.replace("-", "").islower() else text


def wording_values(
    query: QuestionCandidate, terms: Terms, relations: Relations, labels: Iterable[str] = ()
) -> dict[str, str | bool]:
    """Return the template values of a query's task; no value gives the answer away.

    Args:
        query: the question candidate.
        terms: term table.
        relations: relation table, for what the options of a group are called.
        labels: concepts of all options.
    """
    declared = query.task.declaration
    values: dict[str, str | bool] = {
        "shown": _picture_phrase(query),
        "about": _subject_phrase(query),
        "subject": "this patient" if query.scope is Scope.PATIENT else "",
        "normal": any(denies(terms[label]) for label in labels),
        "marked": query.sample.artefact in ("outline", "scale-bar"),
        "numbered": query.sample.artefact == "numbered",
    }
    if declared.scale:
        scale = relations.scale(query.group) if query.group else None
        phrase = scale.phrase if scale else declared.scale
        values["scale"] = pluralize(phrase)
        pair = query.group is not None and len(relations.group_members(query.group)) == 2
        values["one_of"] = phrase if pair else f"of the following {pluralize(phrase)}"
        if scale and scale.of:
            within = "of" if query.scope is Scope.PATIENT else "in"
            values["about"] = f"{scale.of} {within} {values['about']}"
    if query.sample.artefact in NUMBERED:
        values["target"] = target_phrase(terms[query.key])
    return {name: value for name, value in values.items() if name in declared.values}


def wording_context(query: QuestionCandidate) -> str:
    """Return what the wording of a question reveals about its image, in any of its wordings.

    A reader without the image learns this much: "mammogram", "these CT images", "the red outline",
    "this patient". Empty for a task whose wordings use no value.
    """
    values = query.task.declaration.values
    if not values:
        return ""
    phrase = _subject_phrase(query) if "about" in values else _picture_phrase(query)
    return f"{phrase} {query.sample.artefact}".strip()


def _subject_phrase(query: QuestionCandidate) -> str:
    """Return the subject of the fact: the image, or the whole it belongs to.

    A radiograph represents its study, whose other films a reader does not see; and some tasks never
    mention a scan or study.
    """
    whole = _WHOLE.get(query.scope, "{shown}")
    film = query.scope is Scope.STUDY and Modality(query.sample.modality).projection
    if film or query.scope.name.lower() not in query.task.declaration.wholes:
        whole = "{shown}"
    was = "was" if _count(query.sample) == 1 else "were"
    return whole.format(shown=_picture_phrase(query), was=was)


def _picture_phrase(query: QuestionCandidate) -> str:
    """Return a phrase for the image; it names no body part if the question asks for the organ."""
    sample = query.sample
    modality = Modality(sample.modality)
    picture = modality.image
    if query.task.declaration.names_region:
        picture = image_name(modality, Anatomy(sample.anatomy))
    if _count(sample) == 1:
        return f"this {picture}"
    # The number is not stated: "two" would hint at a two-chamber view.
    if sample.artefact == "numbered":
        return f"these {pluralize(picture)}"
    # "left" and "right" would hint at options that contain them.
    phases = ", then ".join(query.panels) if "about" in query.task.declaration.values else ""
    return f"these side-by-side {pluralize(picture)}{f' ({phases})' if phases else ''}"


def _count(sample: Sample) -> int:
    return len(sample.frames.split("+"))
