"""Rule of the task Which Image: which of several numbered images of a patient shows a protocol.

The images are panels of one case that was made for comparison. What moves between frames of one
recording is asked in Imaging Protocols Recognition already, and is left to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from medrcube.build.open_items.question import CaseView, OpenQuestion
from medrcube.build.questions.fact_rules import bar_of, only_one, visible_of
from medrcube.forms.option import OptionTarget
from medrcube.release_format.rows import LETTERS
from medrcube.sources._framework.contract import concept_of

_PRODUCTS = {"imaging": "image", "mapping": "map", "angiography": "angiogram", "CT": "CT image"}
"""Last word of how an image is taken -> of what it is then called."""


class Rule:
    """Asks for the panel that alone shows the concept drawn by lot."""

    def questions(self, view: CaseView) -> Iterator[OpenQuestion]:
        """One question for each image with numbered panels."""
        for sample in view.samples:
            if sample.artefact != "compared":
                continue
            field = view.card.fields[sample.field]
            if field.kind not in view.task.declaration.kinds:
                continue
            letters = LETTERS[: sample.choices]
            yield OpenQuestion(
                task=view.task,
                sample=sample,
                field=field.name,
                concept=sample.marked,
                target=OptionTarget(
                    options=tuple(
                        (letter, f"Image {number}") for number, letter in enumerate(letters, 1)
                    ),
                    key=letters[int(sample.truth) - 1],
                ),
                values={"target": _as_image(view.terms[sample.marked].name)},
                prior=(f"{sample.choices} images",),  # whatever they show, their order is by lot
                lot=sample.truth,
                grade=only_one(field),
                visible=visible_of(view.card, view.case, field),
                barred=bar_of(
                    view.card,
                    view.case,
                    sample,
                    field,
                    told_by=view.task.declaration.told_by,
                    confirmed=(),
                )
                or _bar(view, sample.marked),
            )


def _as_image(name: str) -> str:
    """What an image of a kind is called: ``the T2-weighted image`` of ``T2-weighted imaging``."""
    for process, product in _PRODUCTS.items():
        if process in name.split():
            return f"the {name.replace(process, product)}"
    return f"the one that shows {name}"


def _bar(view: CaseView, concept: str) -> str:
    """Contrast-enhanced T1-weighted imaging is T1-weighted imaging as well."""
    shown = {concept_of(view.card, label) for label in view.case.panels} - {None, concept}
    kinds = (view.relations.closure(other) for other in shown if other)
    return "another-image-too" if any(concept in kind for kind in kinds) else ""


rule = Rule()
