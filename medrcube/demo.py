"""Demo on generated raw data: build, release, evaluation of the baselines, report.

The images are synthetic, so none is restricted and items need no clinical review; the figures show
only that the pipeline works. The workspace is marked (``workspace.DEMO_MARK``), and what is
made from it says so.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from medrcube.build.execution.local import LocalEngine
from medrcube.build.execution.progress import usable_cores
from medrcube.build.pipeline import build
from medrcube.build.release.write import release
from medrcube.console.progress import Reporter
from medrcube.errors import MedrcubeError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.questions.chains import make_chains, scenes_of
from medrcube.evaluate.questions.conditions import OF_ONE_EDITION, Condition
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.sources.registry import find_sources, get_source
from medrcube.workspace import (
    CONFIG,
    DEMO_MARK,
    DEMO_RAW,
    add_sources,
    init_workspace,
    open_workspace,
)

__all__ = ["BASELINES", "run_demo"]

BASELINES = {
    "baseline/random": (*OF_ONE_EDITION, Condition.CHAIN),
    "baseline/first": (Condition.FULL,),
    "baseline/longest": (Condition.FULL,),
}
"""Baseline -> conditions. One of them runs every condition that needs no other edition."""


def run_demo(
    directory: Path, reporter: Reporter, *, only: Sequence[str] | None = None, workers: int = 0
) -> Path:
    """Build the demo in ``directory`` and return the path of its report.

    A repeated call reuses the existing raw data and images, and recreates the release and the runs.

    Raises:
        MedrcubeError: the folder contains something else, or the build fails.
    """
    if directory.exists() and any(directory.iterdir()) and not (directory / DEMO_MARK).exists():
        raise MedrcubeError(f"{directory}: contains other files; choose a new folder")
    sources = find_sources()
    names = list(only or sources)
    roots = {name: directory.resolve() / DEMO_RAW / name for name in names}
    directory.mkdir(parents=True, exist_ok=True)
    (directory / DEMO_MARK).touch()
    with reporter.stage("generate", len(names)) as advance:
        for name, root in roots.items():
            source = get_source(sources, name)
            if not root.exists():
                partial = root.with_name(f".{name}.partial")
                shutil.rmtree(partial, ignore_errors=True)
                source.build_fixture(partial, source.card.layouts[0].name)
                partial.rename(root)
            advance()
    if not (directory / CONFIG).exists():
        init_workspace(directory)
    add_sources(directory, {name: Path(DEMO_RAW) / name for name in names})
    workspace = replace(open_workspace(directory), sources=roots)
    result = build(workspace, sources, LocalEngine(workers or usable_cores()), reporter)
    if result.failures:
        raise MedrcubeError(f"the demo build failed: {result.failures[0]}")
    rows = [(entry.source, entry.pictures, entry.items) for entry in result.sources]
    reporter.table(("source", "images", "items"), rows)
    for part in ("release", "runs"):
        shutil.rmtree(directory / part, ignore_errors=True)
    tree = directory / "release"
    release(workspace, sources, tree, name="demo", allow_unreviewed=True, private=True)
    runs = [
        _evaluate(tree, model, conditions, directory / "runs", reporter)
        for model, conditions in BASELINES.items()
    ]
    page = directory / "report.html"
    write_report(runs, page, tree)
    return page


def _evaluate(
    tree: Path, model: str, conditions: Sequence[Condition], runs: Path, reporter: Reporter
) -> Path:
    benchmark = load_benchmark(tree)
    if not make_chains(benchmark.items, scenes_of(benchmark, benchmark.items)).chains:
        conditions = [each for each in conditions if each is not Condition.CHAIN]
    out = runs / model.partition("/")[2]
    with reporter.stage(f"evaluate {model}", len(benchmark.items)) as advance:
        run_evaluation(benchmark, open_model(model), out, conditions=conditions)
        advance(len(benchmark.items))
    return out
