"""Write a site whose pages need no server, host or network.

All links are relative and all data are scripts next to the pages, so a site works from a folder,
under any path of a web server, and offline. Untrusted text is escaped by the templates, or set as
text by the scripts; the content security policy of every page forbids inline scripts and all
requests except for its own files.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import medrcube
from medrcube.console.progress import Advance, Reporter
from medrcube.errors import WorkspaceError
from medrcube.evaluate.dataset import Benchmark, load_benchmark
from medrcube.evaluate.html_report import page_values, report_environment
from medrcube.evaluate.reporting.markup.responsive_tables import make_responsive
from medrcube.evaluate.reporting.scored_runs import ScoredRun, load_runs, require_errata_of
from medrcube.evaluate.site import images as pictures_part
from medrcube.evaluate.site import items as items_part
from medrcube.evaluate.site.cells import CellPage, cell_pages
from medrcube.evaluate.site.evidence import read_evidence
from medrcube.evaluate.site.images import count_pictures, write_pictures
from medrcube.evaluate.site.items import ItemData, write_items, write_script
from medrcube.evaluate.site.leaderboard import (
    LeaderboardRow,
    leaderboard_rows,
    population_text,
    rows_by_block,
    slice_table,
)
from medrcube.evaluate.site.page_names import model_pages
from medrcube.evaluate.statistics.intervals import SMALL
from medrcube.files.atomic import write_text
from medrcube.vocabulary.layers import using

__all__ = ["MARKER", "SiteSummary", "write_site"]

MARKER = "medrcube-site.json"
"""Marker file of a site."""

_FOLDERS = ("assets", "cells", "models", items_part.FOLDER, pictures_part.FOLDER)
_SCRIPTS = ("load.js", "tables.js", "board.js", "items.js")
_FEW_FAILURES = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSummary:
    """Summary of a written site.

    Attributes:
        index: its start page.
        models: number of models.
        people: number of groups of reviewers.
        items: number of items.
        cells: number of cells.
        reply_limit: maximum reply length in characters.
        files: number of files.
        bytes: total size.
    """

    index: Path
    models: int
    people: int
    items: int
    cells: int
    reply_limit: int
    files: int
    bytes: int


def write_site(
    folders: Sequence[Path], release: Path, out: Path, reporter: Reporter | None = None
) -> SiteSummary:
    """Write a site, replacing an earlier one.

    Args:
        folders: scored runs on the release, or on parts of it.
        release: release folder.
        out: site folder: new, empty, or holding an earlier site.
        reporter: shows the progress.

    Raises:
        WorkspaceError: a folder contains no scored run, or one on other items; or ``out`` contains
            something else, or cannot be written.
        ReleaseError: the release is invalid.
    """
    _may_write(out)
    benchmark = load_benchmark(release)
    with using(benchmark.vocabulary):
        return _write_site(folders, benchmark, out, reporter or Reporter(quiet=True))


def _write_site(
    folders: Sequence[Path], benchmark: Benchmark, out: Path, shows: Reporter
) -> SiteSummary:
    with shows.stage("runs", len(folders)) as advance:
        runs = load_runs(folders, advance)
    _of_this_release(runs, benchmark)
    require_errata_of(runs, benchmark)
    items = benchmark.standing
    pages = model_pages(run.label for run in runs)
    if len(runs) > 1:
        shows.note(f"comparing every two of {len(runs):,} runs")
    entries = leaderboard_rows(runs, pages)
    ordered = [entry.run for entry in entries]
    digests = {
        result.item.name: result.question.subject
        for run in ordered
        for result in run.results
        if result.question.subject is not None
    }
    pages_of_cells = cell_pages(entries)
    _clear(out)
    with shows.stage("pictures", count_pictures(items)) as advance:
        pictures = write_pictures(out / pictures_part.FOLDER, benchmark, digests, items, advance)
    data = ItemData(
        items=items,
        runs=ordered,
        pictures=pictures,
        evidence=read_evidence(benchmark.root, items),
    )
    models = [(entry.run.label, entry.page) for entry in entries]
    with shows.stage("items", len(items)) as advance:
        limit = write_items(out / items_part.FOLDER, data, models, advance)
    write_script(out / items_part.FOLDER / "board.js", "board", slice_table(ordered).rows)
    with shows.stage("pages", len(entries) + len(pages_of_cells)) as advance:
        _write_pages(out, entries, pages_of_cells, benchmark, advance)
    _mark(out, entries)
    files = [path for path in out.rglob("*") if path.is_file()]
    return SiteSummary(
        index=out / "index.html",
        models=sum(entry.run.reviewers is None for entry in entries),
        people=sum(entry.run.reviewers is not None for entry in entries),
        items=len(items),
        cells=len(pages_of_cells),
        reply_limit=limit,
        files=len(files),
        bytes=sum(path.stat().st_size for path in files),
    )


def _write_pages(
    out: Path,
    entries: Sequence[LeaderboardRow],
    cells: Sequence[CellPage],
    benchmark: Benchmark,
    advance: Advance,
) -> None:
    templates = report_environment("site", "cards")
    shared = {
        "entries": entries,
        "who": population_text(entries),
        "ranked": [entry for entry in entries if not entry.block],
        "blocks": rows_by_block(entries),
        "cells": cells,
        "questions": len(benchmark.standing),
        "withdrawn_items": len(benchmark.errata),
        "version": medrcube.__version__,
        "small": SMALL,
    }

    def write(path: str, template: str, **values: Any) -> None:
        root = "../" * path.count("/")
        page = templates.get_template(template).render(**shared, **values, root=root)
        write_text(out / path, make_responsive(page) if path.endswith(".html") else page)

    write("index.html", "index.html.j2", slice_names=slice_table([e.run for e in entries]).names)
    write("cells.html", "cells.html.j2")
    write("items.html", "items.html.j2")
    write("submit.html", "submit.html.j2")
    style: Mapping[str, Any] = {}
    for number, entry in enumerate(entries):
        style = page_values([entry.run], None)
        wrong = style["failures"].items[:_FEW_FAILURES]
        values = {**style, "entry": entry, "number": number, "wrong": wrong}
        write(entry.page, "model.html.j2", **{k: v for k, v in values.items() if k not in shared})
        advance()
    for cell in cells:
        write(cell.page, "cell.html.j2", cell=cell)
        advance()
    write("assets/site.css", "site.css.j2", steps=style["steps"], picture_uris=[], filter_rules=[])
    for script in _SCRIPTS:
        write(f"assets/{script}", f"{script}.j2")


def _of_this_release(runs: Sequence[ScoredRun], benchmark: Benchmark) -> None:
    """Refuse runs on other items."""
    by_name = {item.name: item for item in benchmark.items}
    for run in runs:
        other = [r.item.name for r in run.results if by_name.get(r.item.name) != r.item]
        if other:
            raise WorkspaceError(
                f"{run.folder}: {len(other):,} of its items are not in {benchmark.root} or differ "
                f"there, such as {other[0]!r}; a site shows runs on one release, and  "
                "medrcube validate-run  lists the differences"
            )


def _may_write(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise WorkspaceError(f"{out} is a file; choose a folder")
    if out.exists() and not (out.is_dir() and ((out / MARKER).exists() or not any(out.iterdir()))):
        raise WorkspaceError(f"{out} contains something that is not a site; choose another folder")


def _clear(out: Path) -> None:
    """Remove an earlier site, so that no obsolete page remains."""
    out.mkdir(parents=True, exist_ok=True)
    if not (out / MARKER).exists():
        write_text(out / MARKER, "{}\n")
        return
    for name in _FOLDERS:
        shutil.rmtree(out / name, ignore_errors=True)


def _mark(out: Path, entries: Sequence[LeaderboardRow]) -> None:
    marker = {
        "medrcube": medrcube.__version__,
        "models": [
            {
                "label": entry.run.label,
                "page": entry.page,
                "benchmark": entry.run.benchmark,
                "outcomes_sha256": entry.run.metrics["outcomes_sha256"],
            }
            for entry in entries
        ],
    }
    write_text(out / MARKER, json.dumps(marker, indent=2) + "\n")
