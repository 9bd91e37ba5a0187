"""Limitations of a release, for the dataset card and Croissant."""

from __future__ import annotations

from medrcube.build.release.metadata.release_facts import ReleaseFacts
from medrcube.sources._framework.card import Card

__all__ = ["faults_of", "limits_of"]

_GRADES = {
    "A": "read as absent",
    "B": "implied absent",
    "C": "merely not mentioned",
}


def limits_of(facts: ReleaseFacts) -> list[str]:
    """Return the limitations of the whole release, one sentence or two each."""
    evidence = ", ".join(
        f"{count} on a concept that is {_GRADES[grade]} ({grade})"
        for grade, count in facts.grades.items()
        if grade in _GRADES
    )
    limits = [
        "For measuring models only: nothing here is fit to support a decision about a patient.",
        (
            "A reader of the whole study sees more: each image is one still view, windowed to 8 "
            "bits, of what may have been a volume, a film of 12 bits or a video."
        ),
        (
            "The keys are as good as the labels of the sources, which people or programs took from "
            "images, masks or reports; a source's own faults are listed below as far as known."
        ),
        (
            "Age, sex, ethnicity, place and make of scanner are not balanced, and most sources do "
            "not state them: no claim about groups of patients can rest on these items."
        ),
        "Public images and their labels may have been part of a model's training.",
        "All texts are English.",
    ]
    if evidence:
        limits.insert(3, f"The weakest evidence that a wrong option is wrong: {evidence}.")
    if facts.open_tasks:
        count = sum(task.items for task in facts.open_tasks)
        limits.append(
            f"{_items(count)} of further tasks lie beyond the published benchmark. What is "
            "right of them follows from labels, marks and numbers of the sources, and carries "
            "their errors; where patients are few, an answer without a look at the image often "
            "passes."
        )
        limits += [f"{task.task}, {_items(task.items)}: {task.words}." for task in facts.open_tasks]
    if facts.unreviewed:
        limits.insert(
            1, f"{facts.unreviewed} of {facts.items} items have not been accepted by a clinician."
        )
    return limits


def _items(number: int) -> str:
    return f"{number} item" if number == 1 else f"{number} items"


def faults_of(card: Card) -> list[str]:
    """Return known faults of one source and how they are handled, and its overlaps."""
    wording = {
        "drop": "left out",
        "marked": "kept without questions about findings, diseases and places",
        "undiagnosed": "kept without questions about diagnoses and lesions",
        "unseen": "kept without questions about what the images do not show",
        "regions": "kept; not asked where they lie by a copy with fewer marks",
        "note": "known",
    }
    faults = [f"{wording[quirk.action]}: {' '.join(quirk.reason.split())}" for quirk in card.quirks]
    shared = [
        f"shares images with {overlap.source}: {' '.join(overlap.note.split())}"
        for overlap in card.overlaps
    ]
    return faults + shared
