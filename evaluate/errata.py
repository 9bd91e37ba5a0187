"""Withdrawn items of a run: its own copy of the release's ``errata.csv``.

A run is scored without its release, so it keeps the list it was last given. Withdrawn items stay in
``items.jsonl`` and their replies in ``attempts.jsonl``; every reader of a run skips them.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from medrcube.errors import WorkspaceError
from medrcube.evaluate.dataset import Benchmark, load_benchmark
from medrcube.evaluate.runner.run_folder import read_manifest
from medrcube.evaluate.withdrawn_items import withdrawn_of
from medrcube.files.atomic import write_text
from medrcube.release_format.errata import FILE, errata_text

__all__ = ["require_current", "take_errata", "withdraw_from_run"]

_LIST_LIMIT = 3


def withdraw_from_run(run: Path, benchmark: Benchmark) -> None:
    """Copy the errata of the release to a run, which must be rescored afterwards."""
    if dict(withdrawn_of(run)) == dict(benchmark.errata):
        return
    if benchmark.errata:
        write_text(run / FILE, errata_text(benchmark.errata.values()))
    else:
        (run / FILE).unlink()


def take_errata(run: Path, release: Path) -> Collection[str]:
    """Copy the errata of its release to a run.

    Returns:
        Items that the run left out before and that this copy of the release does not withdraw.

    Raises:
        ReleaseError: the release is invalid.
        WorkspaceError: the folder is not a run, or one of another release.
    """
    benchmark = load_benchmark(release)
    digest = read_manifest(run)["dataset"]["digest"]
    if digest != benchmark.digest:
        raise WorkspaceError(
            f"{run}: was run on release {digest[:12]}, but {release} is "
            f"{benchmark.digest[:12]}; give the release of the run"
        )
    before = withdrawn_of(run).keys()
    withdraw_from_run(run, benchmark)
    return before - benchmark.errata.keys()


def require_current(run: str, here: Collection[str], expected: Collection[str]) -> None:
    """Refuse a run that was scored with errata other than the current ones.

    Args:
        run: folder of the run, for the message.
        here: withdrawn items that the run leaves out.
        expected: withdrawn items that it should leave out.

    Raises:
        WorkspaceError: they differ.
    """
    if set(here) == set(expected):
        return
    lacking, more = sorted(set(expected) - set(here)), sorted(set(here) - set(expected))
    parts = [
        f"{len(names):,} {words}: {', '.join(names[:_LIST_LIMIT])}"
        for names, words in (
            (lacking, "withdrawn from the release but scored"),
            (more, "not withdrawn from the release but left out"),
        )
        if names
    ]
    raise WorkspaceError(
        f"{run}: items differ from the errata of the release: {'; '.join(parts)}; "
        "score that run again with  medrcube score RUN --release RELEASE"
    )
