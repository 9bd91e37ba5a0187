"""Scored runs: tables, replies and the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from medrcube.api.arguments import listed, path_of
from medrcube.api.notebook import summary_html
from medrcube.errors import WorkspaceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.html_report import write_report as write_page
from medrcube.evaluate.reporting.data_tables import tables
from medrcube.evaluate.reporting.interval_text import accuracy_line, accuracy_text
from medrcube.evaluate.reporting.scored_runs import ScoredRun, images_seen, load_runs
from medrcube.evaluate.runner.run_folder import read_manifest
from medrcube.release_format.vocabulary_file import release_vocabulary
from medrcube.vocabulary.layers import Vocabulary, active_vocabulary, using

__all__ = ["REPLY_COLUMNS", "Run", "load_run", "write_report"]

REPLY_COLUMNS = {
    "item": "``DATASET/ID`` of the item",
    "task": "task of the item",
    "condition": "how it was asked: full, blind, circular, image-swap, reworded, chain or degraded",
    "turn": "number of places by which the options were rotated",
    "epoch": "number of the repetition, from 0",
    "outcome": "correct, wrong, unparsed, refused, cut, failed, missing-image, not-asked or "
    "not-reached",
    "answer": "letter in the reply, in the order shown; missing if there is none",
    "choice": "text of that option",
    "rule": "parsing rule that found the letter, or why there is none",
    "reply": "full text of the reply; missing if there is none",
    "cut": "whether the token limit cut the reply",
}
"""Columns of the table returned by ``Run.replies``, with their meaning."""


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """Scored answers of one model on one release, from ``load_run`` or ``Release.evaluate``.

    Attributes:
        path: folder of the run.
        vocabulary: the vocabulary the run was read under, including the words of its release.
    """

    path: Path
    _scored: ScoredRun
    vocabulary: Vocabulary

    @property
    def model(self) -> str:
        """Name of the model, ``PROVIDER/NAME``."""
        return str(self._scored.manifest["model"]["name"])

    @property
    def accuracy(self) -> float | None:
        """Fraction of all questions answered correctly, from 0 to 1.

        Unparsed answers and refusals count as incorrect. ``None`` if more than 5 % of the questions
        have no reply; only the bounds in ``metrics`` are known then.
        """
        accuracy: float | None = self._scored.total["accuracy"]
        return accuracy

    @property
    def complete(self) -> bool:
        """Whether the run finished with replies to at least 95 % of its questions."""
        return not (self._scored.incomplete or self._scored.unfinished)

    @property
    def metrics(self) -> Mapping[str, Any]:
        """Contents of ``metrics.json``: accuracies with intervals by task, region and modality."""
        return self._scored.metrics

    def replies(self) -> pd.DataFrame:
        """Return every question as asked, with its reply; the columns are ``REPLY_COLUMNS``."""
        rows = [
            (
                result.item.name,
                str(result.item.task),
                str(result.question.presentation.condition),
                result.question.presentation.turn,
                result.question.presentation.epoch,
                str(result.outcome),
                result.answer,
                result.choice,
                result.rule,
                result.reply,
                result.cut,
            )
            for result in self._scored.everything
        ]
        return pd.DataFrame(rows, columns=list(REPLY_COLUMNS))

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the report tables by name, such as ``slices``; accuracies range from 0 to 1.

        These are the tables that ``medrcube report --data`` writes.
        """
        with using(self.vocabulary):
            return {name: pd.DataFrame(rows) for name, rows in tables([self._scored]).items()}

    def report(self, out: str | Path, release: str | Path | None = None) -> Path:
        """Write the report of this run as one HTML file; see ``write_report``."""
        return write_report([self], out, release)

    def __repr__(self) -> str:
        return f"Run(model={self.model!r}, folder={self.path.name!r})"

    def _repr_html_(self) -> str:
        rows = [
            (task, group["n"], f"{accuracy_text(group)} %")
            for task, group in self.metrics["slices"]["task"].items()
        ]
        note = accuracy_line(self._scored.total)
        if not self.complete:
            note = f"INCOMPLETE. {note}"
        return summary_html(f"Run of {self.model}", ("task", "n", "accuracy"), rows, note=note)


def load_run(path: str | Path, release: str | Path | None = None) -> Run:
    """Read a scored run.

    Args:
        path: folder of the run, the ``--out`` of ``medrcube evaluate``.
        release: folder of the release the run was asked about; needed if it defines its own tasks.

    Raises:
        WorkspaceError: the folder contains no scored run, or the run was asked about another
            release.
        ReleaseError: the release is invalid.
    """
    folder = path_of("path", path)
    if release is None:
        vocabulary = active_vocabulary()
    else:
        root = path_of("release", release)
        vocabulary = release_vocabulary(root)
        _require_release_of(folder, root)
    with using(vocabulary):
        return Run(folder, load_runs([folder])[0], vocabulary)


def _require_release_of(folder: Path, root: Path) -> None:
    """Refuse a release that the run was not asked about.

    Raises:
        WorkspaceError: the folder is not a run, or one of another release.
        ReleaseError: the release is invalid.
    """
    digest = str(read_manifest(folder)["dataset"]["digest"])
    benchmark = load_benchmark(root).knowing(images_seen([folder]))
    if benchmark.digest != digest:
        raise WorkspaceError(
            f"{folder} was asked about another release ({digest[:12]}) than {root} "
            f"({benchmark.digest[:12]}); name the release it was asked about"
        )


def write_report(
    runs: Run | str | Path | Iterable[Run | str | Path],
    out: str | Path,
    release: str | Path | None = None,
) -> Path:
    """Write one self-contained HTML report on one or more runs.

    Args:
        runs: runs or run folders, in display order.
        out: file to write.
        release: folder of the release the runs were asked about, to show images of wrong answers;
            restricted images are never shown.

    Returns:
        Path of the report.

    Raises:
        WorkspaceError: there is no run, or the file cannot be written.
        ReleaseError: the release is invalid.
    """
    entries = (runs,) if isinstance(runs, Run) else listed("runs", runs, "a run or a list of runs")
    folders = [run.path if isinstance(run, Run) else path_of("runs", run) for run in entries]
    page = path_of("out", out)
    layers = (layer for run in entries if isinstance(run, Run) for layer in run.vocabulary.layers)
    with using(active_vocabulary().adding(*layers)):
        write_page(folders, page, None if release is None else path_of("release", release))
    return page
