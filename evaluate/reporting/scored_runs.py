"""Load scored runs for a report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from medrcube.console.progress import Advance, ignored
from medrcube.errors import WorkspaceError
from medrcube.evaluate.dataset import Benchmark
from medrcube.evaluate.errata import require_current
from medrcube.evaluate.outcomes import AnswerOutcome, Result, is_incomplete, lost, main_results
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.questions.degradation import Degradation
from medrcube.evaluate.questions.settings import selection_text, settings_text
from medrcube.evaluate.runner.image_digests import FILE as IMAGE_DIGESTS
from medrcube.evaluate.runner.image_digests import ImageDigest, read_lock
from medrcube.evaluate.runner.run_folder import attempts_path, question_set_digest, read_manifest
from medrcube.evaluate.stored_scores import read_metrics, read_results

__all__ = [
    "ScoredRun",
    "distinct_folders",
    "images_seen",
    "load_runs",
    "require_errata_of",
    "same_runs",
]

_BEGUN_WITH = ("started", "model", "dataset", "prompt", "conditions", "selection", "shots")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRun:
    """A scored run.

    Attributes:
        label: model, with the folder if two runs have the same model.
        folder: name of the run folder.
        manifest: content of ``manifest.json``.
        metrics: content of ``metrics.json``.
        everything: all scored presentations.
        results: one result per item, the basis of the accuracies.
    """

    label: str
    folder: str
    manifest: Mapping[str, Any]
    metrics: Mapping[str, Any]
    everything: Sequence[Result]
    results: Sequence[Result]

    @property
    def total(self) -> Mapping[str, Any]:
        """Metrics of all questions."""
        group: Mapping[str, Any] = self.metrics["global"]
        return group

    @property
    def benchmark(self) -> str:
        """Digest of the question set."""
        return question_set_digest(self.manifest)

    @property
    def is_synthetic(self) -> bool:
        """Whether its release states that all images are generated."""
        return self.manifest["dataset"].get("synthetic") is True

    @property
    def incomplete(self) -> bool:
        """Whether too many questions have no reply."""
        return is_incomplete(self.total)

    @property
    def replied(self) -> int:
        """Number of questions with a reply."""
        return int(self.total["n"]) - lost(self.total)

    @property
    def cut(self) -> int:
        """Number of replies truncated by the token limit."""
        return sum(result.cut for result in self.everything)

    @property
    def cut_unanswered(self) -> int:
        """Of these, truncated before an answer."""
        return sum(result.outcome is AnswerOutcome.CUT for result in self.everything)

    @property
    def selection(self) -> Mapping[str, Any] | None:
        """Selection of the items; ``None`` for all."""
        selection: Mapping[str, Any] | None = self.manifest.get("selection")
        return selection

    @property
    def selection_text(self) -> str:
        """How many items it was asked, and what was left out, in words."""
        return selection_text(self.manifest)

    @property
    def withdrawn(self) -> Sequence[str]:
        """Withdrawn items, which are left out of every number."""
        names: Sequence[str] = self.metrics.get("withdrawn", ())
        return names

    @property
    def reviewers(self) -> Mapping[str, Any] | None:
        """Group, number and agreement of the reviewers who answered; ``None`` for a model."""
        reviewers: Mapping[str, Any] | None = self.manifest.get("reviewers")
        return reviewers

    @property
    def asked_how(self) -> Mapping[str, str]:
        """Settings of the run, in words."""
        return settings_text(self.manifest)

    @property
    def put_differently(self) -> list[str]:
        """Settings that make its questions differ from a default run."""
        settings = self.asked_how
        names = {
            "template": "a custom prompt",
            "system prompt": "a system prompt",
            "examples": "solved examples before each question",
            "image size": "smaller images",
            "image detail": "another image detail",
        }
        differences = [words for name, words in names.items() if name in settings]
        return [*differences, *(["degraded images"] if self.degradation else [])]

    @property
    def condition(self) -> Condition:
        """Condition of its accuracies."""
        conditions = [result.question.presentation.condition for result in self.results[:1]]
        return conditions[0] if conditions else Condition.FULL

    @property
    def degradation(self) -> str:
        """Degradation of the images behind its accuracies, in words; empty if none."""
        if self.condition is not Condition.DEGRADED:
            return ""
        return Degradation.of_manifest(self.manifest["degradation"]).words

    @property
    def unfinished(self) -> bool:
        """Whether the run was interrupted or stopped, and can be resumed."""
        return not self.manifest["ended"] or self.stopped is not None or self.not_asked > 0

    @property
    def not_asked(self) -> int:
        """Number of questions not asked yet."""
        return sum(result.outcome is AnswerOutcome.NOT_ASKED for result in self.everything)

    @property
    def stopped(self) -> str | None:
        """Why the last session stopped early, or ``None``."""
        sessions = self.manifest.get("sessions") or [{}]
        why: str | None = sessions[-1].get("stopped")
        return why

    @property
    def versions(self) -> str:
        """Package versions of the run."""
        return ", ".join(f"{name} {of}" for name, of in self.manifest["versions"].items())


def load_runs(folders: Sequence[Path], advance: Advance = ignored) -> list[ScoredRun]:
    """Load scored runs with unique labels; duplicates and copies are loaded once.

    Args:
        folders: run folders.
        advance: called after each.

    Raises:
        WorkspaceError: there is none, a folder contains no scored run, or runs on one release
            differ in their withdrawn items.
    """
    if not folders:
        raise WorkspaceError("no run to report; expected at least one run or run folder")
    runs = []
    for folder in distinct_folders(folders):
        runs.append(_load(folder))
        advance()
    _one_list_for_a_release(runs)
    for name in (_with_folder, _with_number):
        labels = [run.label for run in runs]
        runs = [
            run if labels.count(run.label) == 1 else replace(run, label=name(run, number))
            for number, run in enumerate(runs, start=1)
        ]
    return runs


def images_seen(runs: Sequence[Path]) -> dict[str, ImageDigest]:
    """Return the image digests of some runs; a release has to read only images changed since."""
    return {
        image: digest for run in runs for image, digest in read_lock(run / IMAGE_DIGESTS).items()
    }


def distinct_folders(folders: Sequence[Path]) -> list[Path]:
    """Folders without duplicates and copies, in order."""
    return [folder for folder, same in same_runs(folders) if not same]


def same_runs(folders: Sequence[Path]) -> list[tuple[Path, Path | None]]:
    """Map each folder to the earlier folder of the same run; ``None`` for the first.

    A copy has the same identity and start time, and a byte-identical attempt log.
    """
    first: dict[object, Path] = {}
    pairs = []
    for folder in folders:
        key = _identity(folder) or folder.resolve()
        pairs.append((folder, first.get(key)))
        first.setdefault(key, folder)
    return pairs


def _identity(folder: Path) -> tuple[str, str] | None:
    try:
        manifest = read_manifest(folder)
        tries = hashlib.sha256(attempts_path(folder).read_bytes()).hexdigest()
    except (OSError, WorkspaceError):
        return None
    return json.dumps([manifest.get(name) for name in _BEGUN_WITH], sort_keys=True), tries


def require_errata_of(runs: Sequence[ScoredRun], benchmark: Benchmark) -> None:
    """Refuse runs whose withdrawn items differ from the errata of their release.

    Raises:
        WorkspaceError: one differs; says how to rescore it.
    """
    for run in runs:
        if run.manifest["dataset"]["digest"] == benchmark.digest:
            names = {result.item.name for result in run.results}.union(run.withdrawn)
            require_current(run.folder, run.withdrawn, names.intersection(benchmark.errata))


def _one_list_for_a_release(runs: Sequence[ScoredRun]) -> None:
    for digest in {run.manifest["dataset"]["digest"] for run in runs}:
        alike = [run for run in runs if run.manifest["dataset"]["digest"] == digest]
        withdrawn = {name for run in alike for name in run.withdrawn}
        for run in alike:
            names = {result.item.name for result in run.results}.union(run.withdrawn)
            require_current(run.folder, run.withdrawn, names & withdrawn)


def _load(folder: Path) -> ScoredRun:
    manifest = read_manifest(folder)
    everything = read_results(folder)
    return ScoredRun(
        label=str(manifest["model"]["name"]),
        folder=folder.resolve().name,
        manifest=manifest,
        metrics=read_metrics(folder),
        everything=everything,
        results=main_results(everything),
    )


def _with_folder(run: ScoredRun, _number: int) -> str:
    return f"{run.label} ({run.folder})"


def _with_number(run: ScoredRun, number: int) -> str:
    return f"{run.label} (run {number})"
