"""Limitations of a release, for the dataset card and Croissant."""

from __future__ import annotations

from medrcube.build.release.metadata.release_facts import ReleaseFacts
from medrcube.console.counts import counted
from medrcube.sources._framework.card import Card

__all__ = ["faults_of", "limits_of"]

_GRADES = {
    "A": "read as absent",
    "B": "implied absent",
    "C": "not mentioned",
}


def limits_of(facts: ReleaseFacts) -> list[str]:
    """Return the limitations of the whole release, one sentence or two each."""
    evidence = ", ".join(
        f"{count} {_GRADES[grade]} ({grade})"
        for grade, count in facts.grades.items()
        if grade in _GRADES
    )
    limits = [
        "For benchmarking models only: nothing here may inform a clinical decision.",
        (
            "A reader of the whole study sees more: each image is a single 8-bit view, after "
            "windowing, of what may have been a volume, a 12-bit film or a video."
        ),
        (
            "The keys are only as good as the labels of the sources, which were derived by people "
            "or software from images, masks or reports; known faults of a source are listed below."
        ),
        (
            "Age, sex, ethnicity, site and scanner model are not balanced, and most sources do not "
            "state them: these items support no claim about subgroups of patients."
        ),
        "Public images and their labels may have been part of a model's training.",
        "All texts are English.",
    ]
    if evidence:
        limits.insert(3, f"Items by the weakest evidence that a distractor is false: {evidence}.")
    if facts.open_tasks:
        count = sum(task.items for task in facts.open_tasks)
        limits.append(
            f"{_items(count)} of tasks beyond the published benchmark: the right answers are "
            "derived from labels, annotations and measurements of the sources and inherit their "
            "errors; with few patients, an answer given without the image often passes."
        )
        limits += [f"{task.task}, {_items(task.items)}: {task.words}." for task in facts.open_tasks]
    mirrored = sum(sample.artefact == "mirrored" for sample in facts.places.values())
    if mirrored:
        limits.append(
            f"{counted(mirrored, 'image')} {'is' if mirrored == 1 else 'are'} shown with left and "
            "right exchanged, on purpose: the questions ask where a structure lies in the image as "
            "displayed, so that anatomy alone does not tell."
        )
    if facts.is_synthetic:
        limits.insert(0, "All images are synthetic: no figure says anything about a model.")
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
        "regions": "kept; a copy with fewer regions gives no questions about their location",
        "note": "known",
    }
    faults = [f"{wording[quirk.action]}: {' '.join(quirk.reason.split())}" for quirk in card.quirks]
    shared = [
        f"shares images with {overlap.source}: {' '.join(overlap.note.split())}"
        for overlap in card.overlaps
    ]
    return faults + shared
