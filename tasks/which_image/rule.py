"""Rule of the task Which Image: which of several numbered images of a patient has a protocol.

The images are panels of one comparison case. Differences between frames of one recording are
already asked in Imaging Protocols Recognition and are left to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from medrcube.build.open_items.question import CaseView, OpenQuestion
from medrcube.build.questions.fact_rules import bar_of, only_one, visible_of
from medrcube.forms.option import OptionTarget
from medrcube.release_format.rows import LETTERS
from medrcube.sources._framework.card_lookup import concept_of

_PRODUCTS = {"imaging": "image", "mapping": "map", "angiography": "angiogram", "CT": "CT image"}
"""Last word of the name of a protocol -> last word of the name of its image."""


class Rule:
    """Asks for the only panel with a randomly drawn concept."""

    def questions(self, view: CaseView) -> Iterator[OpenQuestion]:
        """Yield one question per image with numbered panels."""
        told_by = view.task.declaration.told_by
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
                prior=(f"{sample.choices} images",),  # their order is random, whatever they show
                lot=sample.truth,
                grade=only_one(field),
                visible=visible_of(view.card, view.case, field),
                bar_reason=bar_of(view.card, view.case, sample, field, told_by=told_by)
                or _bar(view, sample.marked),
            )


def _as_image(name: str) -> str:
    """Return the name of an image: ``the T2-weighted image`` for ``T2-weighted imaging``."""
    for process, product in _PRODUCTS.items():
        if process in name.split():
            return f"the {name.replace(process, product)}"
    return f"the one that shows {name}"


def _bar(view: CaseView, concept: str) -> str:
    """Return why a panel is not asked: contrast-enhanced T1 imaging is T1-weighted as well."""
    others = {concept_of(view.card, label) for label in view.case.panels} - {None, concept}
    kinds = (view.relations.closure(other) for other in others if other)
    return "another-image-too" if any(concept in kind for kind in kinds) else ""


rule = Rule()
