"""Scored runs prepared for comparison: results on the same items, and other differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from medrcube.console.counts import counted
from medrcube.errors import WorkspaceError
from medrcube.evaluate.outcomes import (
    LOST,
    AnswerOutcome,
    Result,
    accuracy_bounds,
    main_results,
    too_many_lost,
)
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.questions.degradation import Degradation
from medrcube.evaluate.questions.settings import selection_text, side_by_side
from medrcube.evaluate.runner.run_folder import question_set_digest, read_manifest
from medrcube.evaluate.statistics.comparison.verdict_text import points
from medrcube.evaluate.stored_scores import read_results, withdrawn_items

__all__ = [
    "ComparedRun",
    "degradation_notes",
    "differences_of_runs",
    "incomplete_sentences",
    "labels_of",
    "load_compared",
    "refuse_other_questions",
    "require_same_items",
    "same_item",
    "shown_alike",
    "uncompared_conditions",
]

_QUESTION_SETTINGS = ("system prompt", "examples", "image size", "image detail")
"""Settings that change a question, besides the prompt."""

_COMPARABLE = (
    (Condition.FULL, Condition.CIRCULAR),
    (Condition.BLIND,),
    (Condition.IMAGE_SWAP,),
    (Condition.REWORDED,),
    (Condition.CHAIN,),
    (Condition.DEGRADED, Condition.FULL, Condition.CIRCULAR),
)
"""Conditions that are compared with one another, first choice first.

Degraded images are compared with original ones only if the runs share no other condition.
"""


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A scored run, for comparison."""

    folder: Path
    manifest: Mapping[str, Any]
    results: Sequence[Result]
    withdrawn: frozenset[str]

    @property
    def dataset(self) -> str:
        """Digest of the question set."""
        return question_set_digest(self.manifest)

    @property
    def model(self) -> str:
        """Name of the model."""
        return str(self.manifest["model"]["name"])

    def results_of(self, *conditions: Condition) -> dict[str, Result]:
        """Return results of the first of these conditions that the run asked, by item name."""
        for condition in conditions:
            results = {
                result.item.name: result
                for result in self.results
                if (presentation := result.question.presentation).condition is condition
                and presentation.turn == presentation.epoch == 0
            }
            if results:
                return results
        return {}

    def summary(self, label: str) -> dict[str, Any]:
        """Return the summary of the run for the result of a comparison."""
        items = {result.item.name for result in self.results}
        return {
            "label": label,
            "folder": str(self.folder),
            "model": self.model,
            "dataset": self.dataset,
            "items": len(items),
            "incomplete": self.incomplete,
            "bounds": accuracy_bounds(self._correct(), self._main()),
        }

    @property
    def incomplete(self) -> str | None:
        """Why the run has no accuracy; ``None`` if enough questions have a reply."""
        main = self._main()
        if not too_many_lost(main):
            return None
        replied = sum(result.outcome not in LOST for result in main)
        return f"{replied:,} of {counted(len(main), 'question')} have a reply"

    def _main(self) -> list[Result]:
        return main_results(self.results)

    def _correct(self) -> int:
        return sum(result.outcome is AnswerOutcome.CORRECT for result in self._main())


def load_compared(folders: Sequence[Path]) -> list[ComparedRun]:
    """Load scored runs; items withdrawn in one of them are left out of all.

    Raises:
        WorkspaceError: a folder is not a scored run.
    """
    withdrawn = frozenset(name for folder in folders for name in withdrawn_items(folder))
    return [
        ComparedRun(
            folder=folder,
            manifest=read_manifest(folder),
            results=[r for r in read_results(folder) if r.item.name not in withdrawn],
            withdrawn=withdrawn,
        )
        for folder in folders
    ]


def labels_of(runs: Sequence[ComparedRun]) -> list[str]:
    """Return a unique label of each run: its model, with its folder or number if ambiguous."""
    labels = [run.model for run in runs]
    for more in (lambda run, _: run.folder.name, lambda _, number: f"run {number}"):
        labels = [
            label if labels.count(label) == 1 else f"{run.model} ({more(run, number)})"
            for number, (run, label) in enumerate(zip(runs, labels, strict=True), start=1)
        ]
    return labels


def shown_alike(runs: Sequence[ComparedRun]) -> tuple[Condition, list[dict[str, Result]]]:
    """Return the first condition that all runs asked, and the results of each run by item name.

    Raises:
        WorkspaceError: no condition was asked by all.
    """
    for conditions in _COMPARABLE:
        results = [run.results_of(*conditions) for run in runs]
        if all(results):
            return conditions[0], results
    conditions_text = [
        f"{run.folder} asked {', '.join(run.manifest['conditions'])}" for run in runs
    ]
    raise WorkspaceError(
        f"{', '.join(conditions_text)}; expected a condition that {_all_of(runs)} asked"
    )


def uncompared_conditions(runs: Sequence[ComparedRun], compared: Condition) -> list[list[str]]:
    """Return the conditions of each run that are not compared."""
    alike = next(set(kinds) for kinds in _COMPARABLE if compared in kinds)
    return [[name for name in run.manifest["conditions"] if name not in alike] for run in runs]


def refuse_other_questions(runs: Sequence[ComparedRun]) -> NoReturn:
    """Refuse runs of different releases, or of different selections of one release.

    Raises:
        WorkspaceError: always; names the releases, or what each run was asked and left out.
    """
    releases = [str(run.manifest["dataset"]["digest"]) for run in runs]
    everyone = _all_of(runs)
    if len(set(releases)) > 1:
        digests = ", ".join(
            f"{run.folder} {digest[:12]}" for run, digest in zip(runs, releases, strict=True)
        )
        raise WorkspaceError(
            f"the runs were evaluated on different releases ({digests}); compare runs of one "
            f"release, or add  --common  to compare on the items that are the same in {everyone}"
        )
    selections = "; ".join(f"{run.folder}: {selection_text(run.manifest)}" for run in runs)
    raise WorkspaceError(
        f"the runs were asked different selections of one release ({selections}); add  --common  "
        f"(in Python common=True) to compare on the items that {everyone} were asked, or evaluate "
        "again with the same selection"
    )


def require_same_items(
    runs: Sequence[ComparedRun], results: Sequence[Mapping[str, Result]]
) -> None:
    """Refuse runs of one release with different items.

    Raises:
        WorkspaceError: they were not asked the same items.
    """
    if any(by_item.keys() != results[0].keys() for by_item in results):
        counts = ", ".join(
            f"{run.folder} {counted(len(by_item), 'item')}"
            for run, by_item in zip(runs, results, strict=True)
        )
        raise WorkspaceError(
            f"the runs were asked different items of the release ({counts}); add  --common  to "
            "compare on the items that all of them were asked"
        )


def _all_of(runs: Sequence[ComparedRun]) -> str:
    return "both" if len(runs) == 2 else "all"


def same_item(first: Result, *others: Result) -> bool:
    """Whether all results have the same question, options, key and image."""
    # An imported run may not know the image, so the others are compared with one another too.
    pictures = {result.question.subject for result in (first, *others)} - {None}
    return len(pictures) < 2 and all(result.item == first.item for result in others)


def degradation_notes(
    runs: Sequence[ComparedRun], compared: Condition, described: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return a sentence on the images of each run, if degraded ones are compared."""
    if compared is not Condition.DEGRADED:
        return []
    return [
        f"{about['label']}: "
        + (
            Degradation.of_manifest(run.manifest["degradation"]).words
            if run.results_of(Condition.DEGRADED)
            else "images as they are"
        )
        for run, about in zip(runs, described, strict=True)
    ]


def incomplete_sentences(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence on each incomplete run, from its ``summary``."""
    return [
        f"INCOMPLETE {run['label']}: {run['incomplete']}, so the accuracy lies between "
        f"{points(run['bounds'][0])} and {points(run['bounds'][1])} %; no group, interval or "
        "verdict"
        for run in runs
        if run["incomplete"]
    ]


def differences_of_runs(runs: Sequence[ComparedRun]) -> list[str]:
    """Return other differences between runs, in sentences."""
    notes = []
    prompts = [run.manifest["prompt"] for run in runs]
    if any(prompt != prompts[0] for prompt in prompts):
        notes.append("the runs used different prompts: a difference may be due to them")
    settings = [
        name
        for name, *_ in side_by_side([run.manifest for run in runs])
        if name in _QUESTION_SETTINGS
    ]
    if settings:
        notes.append(f"the runs differ in {', '.join(settings)}: a difference may be due to them")
    versions = [str(run.manifest.get("versions", {}).get("medrcube")) for run in runs]
    if len(set(versions)) > 1:
        names = list(versions if len(runs) == 2 else dict.fromkeys(versions))
        notes.append(f"started with versions {', '.join(names[:-1])} and {names[-1]} of medrcube")
    return notes
