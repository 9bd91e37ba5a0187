"""The values that question templates put into words."""

from __future__ import annotations

from medrcube.build.derive import Query
from medrcube.build.samples import Sample
from medrcube.ontologies.relations import Relations
from medrcube.ontologies.terms import Terms
from medrcube.records import Scope
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
        "scale": scale,
    }
    if query.task is Task.ROI_GROUNDING:
        values["target"] = terms[query.key].name
    return values


def _shown(sample: Sample, *, neutral: bool) -> str:
    """The picture in words; ``neutral`` names no part of the body."""
    picture = _PICTURE[Modality(sample.modality)]
    if not neutral and sample.modality == Modality.XRAY:
        picture = "mammogram" if sample.anatomy == Anatomy.BREAST else "chest X-ray"
    count = len(sample.frames.split("+"))
    if count == 1:
        return f"this {picture}"
    return f"the {_NUMBERS.get(count, count)} {picture}s shown side by side"
