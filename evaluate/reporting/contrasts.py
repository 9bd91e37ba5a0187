"""Report section on contrasts between the conditions of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.evaluate.questions.degradation import Degradation
from medrcube.evaluate.reporting.heat_maps import Map, contrast_map, position_map
from medrcube.evaluate.reporting.scored_runs import ScoredRun

__all__ = ["Contrast", "Row", "contrast_sections", "summaries", "summary_columns"]

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """One contrast of one run.

    Attributes:
        title: title of the section.
        lead: how to read it.
        own: the unmodified question, in words.
        other: the condition compared with it, in words; empty for option order.
        rows: (name, numbers) for all questions and for each task.
        map: the same by cell.
        left_out: number of unpaired questions.
    """

    title: str
    lead: str
    own: str
    other: str
    rows: Sequence[tuple[str, Row]]
    map: Map
    left_out: Mapping[str, int]


def contrast_sections(run: ScoredRun) -> list[Contrast]:
    """Return the contrasts of the conditions that the run asked."""
    contrasts = run.metrics.get("contrasts") or {}
    degraded = run.manifest.get("degradation")
    degradation = Degradation.of_manifest(degraded).words if degraded else ""
    sections = []
    for key, title, lead, other in _PAIRED:
        if key in contrasts:
            sections.append(
                _contrast(
                    contrasts[key],
                    title,
                    lead.format(degradation=degradation),
                    other,
                    contrast_map(contrasts[key]["voxels"], other),
                )
            )
    if "position" in contrasts:
        position = contrasts["position"]
        sections.append(
            _contrast(position, _POSITION, _ORDER, "", position_map(position["voxels"]))
        )
    return sections


def summaries(
    runs: Sequence[ScoredRun],
) -> list[tuple[int, ScoredRun, Sequence[Row | None], Row | None]]:
    """Return (number, run, paired contrasts, option order) of all questions, for runs with any."""
    rows: list[tuple[int, ScoredRun, Sequence[Row | None], Row | None]] = []
    for number, run in enumerate(runs):
        contrasts = run.metrics.get("contrasts") or {}
        *paired, order = (contrasts[key]["global"] if key in contrasts else None for key in _KEYS)
        if any(paired) or order:
            rows.append((number, run, paired, order))
    return rows


def summary_columns(
    rows: Sequence[tuple[int, ScoredRun, Sequence[Row | None], Row | None]],
) -> list[tuple[int, str]]:
    """Return (index among the paired contrasts, heading) of those that some run has."""
    return [
        (place, heading)
        for place, heading in enumerate(_HEADINGS)
        if any(paired[place] for _, _, paired, _ in rows)
    ]


def _contrast(numbers: Row, title: str, lead: str, other: str, cells: Map) -> Contrast:
    rows = [("All questions", numbers["global"]), *numbers["task"].items()]
    return Contrast(
        title=title,
        lead=lead,
        own=_OWN.get(other, "with"),
        other=other,
        rows=rows,
        map=cells,
        left_out=numbers["left_out"],
    )


_KEYS = ("image_gain", "image_swap", "reworded", "degraded", "position")
_HEADINGS = ("without the image", "with another image", "reworded", "degraded image")
_PAIRED = (
    (
        "image_gain",
        "Image gain",
        (
            "The same questions with the image and without any. An answer that is right without "
            "the image was not read from it."
        ),
        "without it",
    ),
    (
        "image_swap",
        "Image swap",
        (
            "The same questions with their own image and with another one of the same cell. A "
            "model that uses the image should do worse with another one; a model that answers from "
            "priors does not."
        ),
        "with another one",
    ),
    (
        "reworded",
        "Reworded",
        (
            "The same facts about the same images, asked as in another edition of the release: "
            "other wording, order and distractors, drawn from another seed. No edition is harder "
            "by design, so a model that knows the facts loses nothing; a model that has memorized "
            "the items of this edition does."
        ),
        "reworded",
    ),
    (
        "degraded",
        "Degraded images",
        (
            "The same questions with their image as it is and degraded by {degradation}; width and "
            "height are the same. Marks drawn on the image are degraded with it. The loss shows "
            "how much the model depends on image quality."
        ),
        "degraded",
    ),
)
_OWN = {"reworded": "as worded", "degraded": "as it is"}
_POSITION = "Order of the options"
_ORDER = (
    "Every question asked with its options in every rotation. A model that reads the options "
    "chooses the same text each time; one that prefers a letter does not."
)
