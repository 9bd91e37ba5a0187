"""Scored runs as a report needs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from medrcube.errors import WorkspaceError
from medrcube.evaluate.outcomes import Outcome, Result
from medrcube.evaluate.running.run_folder import benchmark_of, read_manifest
from medrcube.evaluate.running.summary import FAILURE_GATE
from medrcube.evaluate.scoring import main_results, read_metrics, read_results


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A scored run.

    Attributes:
        label: model, and the folder where two runs have one model.
        folder: name of the run's folder.
        manifest: what the run was begun with.
        metrics: content of ``metrics.json``.
        everything: every scored presentation.
        results: one result an item, those that the accuracies are of.
    """

    label: str
    folder: str
    manifest: Mapping[str, Any]
    metrics: Mapping[str, Any]
    everything: Sequence[Result]
    results: Sequence[Result]

    @property
    def total(self) -> Mapping[str, Any]:
        """The numbers of all questions together."""
        group: Mapping[str, Any] = self.metrics["global"]
        return group

    @property
    def benchmark(self) -> str:
        """Digest that names what was asked."""
        return benchmark_of(self.manifest)

    @property
    def incomplete(self) -> bool:
        """Whether too many questions have no reply."""
        return lost(self.total) > FAILURE_GATE * int(self.total["n"])

    @property
    def cut(self) -> int:
        """Replies that the limit of tokens cut."""
        return sum(result.cut for result in self.everything)

    @property
    def cut_unanswered(self) -> int:
        """Of these, cut before they gave an answer."""
        return sum(result.outcome is Outcome.TRUNCATED for result in self.everything)

    @property
    def selection(self) -> Mapping[str, Any] | None:
        """Which items of the release were asked; ``None`` for all."""
        found: Mapping[str, Any] | None = self.manifest.get("selection")
        return found

    @property
    def unfinished(self) -> bool:
        """Whether the run was broken off or stopped, so that more may come."""
        return not self.manifest["ended"] or self.stopped is not None

    @property
    def stopped(self) -> str | None:
        """Why the last session was stopped before its end."""
        sessions = self.manifest.get("sessions") or [{}]
        why: str | None = sessions[-1].get("stopped")
        return why

    @property
    def versions(self) -> str:
        """What the replies went through, by package."""
        return ", ".join(f"{name} {of}" for name, of in self.manifest["versions"].items())


def load_runs(folders: Sequence[Path]) -> list[Run]:
    """Read scored runs and give each a name of its own.

    Raises:
        WorkspaceError: there is none, or a folder holds no scored run.
    """
    if not folders:
        raise WorkspaceError("no run to report; expected at least one --out folder of evaluate")
    runs = [_load(folder) for folder in folders]
    for name in (_with_folder, _with_number):
        labels = [run.label for run in runs]
        runs = [
            run if labels.count(run.label) == 1 else replace(run, label=name(run, number))
            for number, run in enumerate(runs, start=1)
        ]
    return runs


def lost(group: Mapping[str, Any]) -> int:
    """Questions of a group that got no reply."""
    return int(group["outcomes"][Outcome.FAILED] + group["outcomes"][Outcome.MISSING_IMAGE])


def _load(folder: Path) -> Run:
    manifest = read_manifest(folder)
    everything = read_results(folder)
    return Run(
        label=str(manifest["model"]["name"]),
        folder=folder.resolve().name,
        manifest=manifest,
        metrics=read_metrics(folder),
        everything=everything,
        results=main_results(everything),
    )


def _with_folder(run: Run, _number: int) -> str:
    return f"{run.label} ({run.folder})"


def _with_number(run: Run, number: int) -> str:
    return f"{run.label} (run {number})"
