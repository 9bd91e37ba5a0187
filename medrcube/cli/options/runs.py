"""The runs given to a command: deduplicated, and checked against the errata of their release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from medrcube.errors import WorkspaceError

if TYPE_CHECKING:
    from medrcube.console.progress import Reporter
    from medrcube.evaluate.dataset import Benchmark
    from medrcube.evaluate.reporting.scored_runs import ScoredRun

__all__ = ["each_once", "look_at_errata"]


def each_once(runs: Sequence[Path], reporter: Reporter) -> list[Path]:
    """The folders without repetitions and copies, each of which is reported."""
    from medrcube.evaluate.reporting.scored_runs import same_runs

    pairs = same_runs(runs)
    distinct = [run for run, same in pairs if same is None]
    for run in distinct:
        again = [other for other, same in pairs if same == run]
        times = sum(other.resolve() == run.resolve() for other in again)
        if times:
            reporter.note(f"{run} was given {times + 1} times and is used once")
        for other in again:
            if other.resolve() != run.resolve():
                reporter.note(f"{other} is a copy of {run}; the run is used once")
    return distinct


def look_at_errata(
    runs: Sequence[Path], release: Path | None, reporter: Reporter
) -> tuple[Benchmark, list[ScoredRun]] | None:
    """Refuse runs that count items withdrawn from their release; note if no release was given.

    Returns:
        The release and the runs as read for the check; ``None`` without a release.

    Raises:
        WorkspaceError: the items that a run leaves out differ from the errata of its release, no
            run was evaluated on that release, or a folder contains no run.
    """
    from medrcube.cli.options.releases import read_release
    from medrcube.evaluate.reporting.scored_runs import images_seen, load_runs, require_errata_of
    from medrcube.evaluate.runner.run_folder import read_manifest

    if release is None:
        for run in runs:
            read_manifest(run)
        reporter.note("errata of the release were not checked; add --release RELEASE to check them")
        return None
    benchmark, loaded = read_release(release).knowing(images_seen(runs)), load_runs(runs)
    if all(run.manifest["dataset"]["digest"] != benchmark.digest for run in loaded):
        raise WorkspaceError(
            f"{release} is the release {benchmark.digest[:12]}, on which no run was evaluated; "
            f"give the release that the runs used"
        )
    require_errata_of(loaded, benchmark)
    return benchmark, loaded
