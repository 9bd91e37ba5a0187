"""HTML report of one or more runs: one self-contained page.

Questions and replies are untrusted text: the templates escape them and make invisible characters
visible, and the page's content security policy forbids requests and all scripts except the one that
sorts its tables, allowed by hash. A report depends only on the benchmark, the replies and the
settings, so a killed and resumed run has the same report, byte for byte; times are in
``reporting.usage_table``.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment

import medrcube
from medrcube.console.counts import counted
from medrcube.evaluate.dataset import Benchmark, load_benchmark
from medrcube.evaluate.outcomes import AnswerOutcome, lost
from medrcube.evaluate.reporting.contrasts import contrast_sections, summaries, summary_columns
from medrcube.evaluate.reporting.correlation import STEPS, correlation_section
from medrcube.evaluate.reporting.credibility import credibility_section
from medrcube.evaluate.reporting.data_tables import write_tables
from medrcube.evaluate.reporting.failures import SHOWN_OUTCOMES, failure_section, filter_rules
from medrcube.evaluate.reporting.form_panels import FormPanel, form_panels
from medrcube.evaluate.reporting.heat_maps import accuracy_map, axis_tables, signed, signed_span
from medrcube.evaluate.reporting.interval_text import (
    accuracy_text,
    interval_or_few,
    interval_text,
    lost_text,
    span,
)
from medrcube.evaluate.reporting.leaderboard import leaderboard
from medrcube.evaluate.reporting.markup import escaping
from medrcube.evaluate.reporting.markup.colour_scales import shade, signed_shade
from medrcube.evaluate.reporting.markup.responsive_tables import make_responsive
from medrcube.evaluate.reporting.parsing_summary import parsing_summary
from medrcube.evaluate.reporting.radar import radar
from medrcube.evaluate.reporting.reply_summary import reply_table
from medrcube.evaluate.reporting.run_settings import comparable_runs
from medrcube.evaluate.reporting.scored_runs import (
    ScoredRun,
    images_seen,
    load_runs,
    require_errata_of,
)
from medrcube.evaluate.runner.run_state import FAILURE_GATE
from medrcube.evaluate.statistics.clustered_inference import FEWEST_UNITS
from medrcube.evaluate.statistics.comparison.verdict_text import p_text
from medrcube.evaluate.statistics.intervals import SMALL
from medrcube.evaluate.statistics.units import units_text
from medrcube.files.atomic import write_text
from medrcube.templates import page_environment
from medrcube.vocabulary.layers import active_vocabulary, using

__all__ = [
    "page_values",
    "report_environment",
    "withdrawn_groups",
    "write_loaded_report",
    "write_report",
]


def write_report(
    runs: Sequence[Path], out: Path, release: Path | None = None, data: Path | None = None
) -> list[Path]:
    """Write the report.

    Args:
        runs: folders of scored runs, in the order to show them.
        out: the HTML file.
        release: the release, for the images of failures; restricted ones are never shown.
        data: folder for every table as CSV, JSON and, if pyarrow is installed, Parquet.

    Returns:
        The table files; none without ``data``.

    Raises:
        WorkspaceError: a folder contains no scored run, or a file cannot be written.
        ReleaseError: the release is invalid.
    """
    benchmark = load_benchmark(release).knowing(images_seen(runs)) if release else None
    with using(benchmark.vocabulary if benchmark else active_vocabulary()):
        return write_loaded_report(load_runs(runs), out, benchmark, data)


def write_loaded_report(
    runs: Sequence[ScoredRun], out: Path, benchmark: Benchmark | None, data: Path | None
) -> list[Path]:
    """Write the report on runs that are loaded, under the vocabulary of their release.

    Returns:
        The table files; none without ``data``.

    Raises:
        WorkspaceError: a run counts withdrawn items of its release, or a file cannot be written.
    """
    values = page_values(runs, benchmark)
    templates = report_environment()
    script = templates.get_template("tables.js.j2").render()
    page = templates.get_template("report.html.j2").render(
        values, script=script, script_hash=_hash_source(script)
    )
    write_text(out, make_responsive(page))
    return [] if data is None else write_tables(runs, data)


def _hash_source(script: str) -> str:
    """Return the hash source of a script for the content security policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def page_values(runs: Sequence[ScoredRun], benchmark: Benchmark | None) -> dict[str, Any]:
    """Return the template values of a page.

    Args:
        runs: one or more runs.
        benchmark: the release, for the images of wrong answers.
    """
    if benchmark is not None:
        require_errata_of(runs, benchmark)
    wrong = failure_section(runs, benchmark)
    values = {
        "runs": runs,
        "one": runs[0] if len(runs) == 1 else None,
        "one_dataset": len({run.benchmark for run in runs}) == 1,
        "one_release": len({run.manifest["dataset"]["digest"] for run in runs}) == 1,
        "samples": _samples(runs),
        "withdrawn": withdrawn_groups(runs),
        "outcomes": list(AnswerOutcome),
        "leaderboard": leaderboard(runs),
        "board_edges": {1, 9, 13},
        "alike": comparable_runs(runs) if len(runs) > 1 else [],
        "maps": [(run, accuracy_map(run)) for run in runs],
        "radar": radar(runs),
        "slices": axis_tables(runs),
        "form_panels": (panels := form_panels(runs)),
        "asked_for": _asked_text(runs, panels),
        "sets": [(run, sets) for run in runs if (sets := run.metrics["sets"])],
        "contrasts": [(run, sections) for run in runs if (sections := contrast_sections(run))],
        "contrast_rows": (rows := summaries(runs)),
        "contrast_columns": summary_columns(rows),
        "repeated": [(run, once) for run in runs if (once := run.metrics.get("epochs"))],
        "credibility": credibility_section(runs),
        "chains": [(run, chains) for run in runs if (chains := run.metrics["chains"])],
        "correlation": correlation_section(runs),
        "steps": [signed_shade(2 * step / (STEPS - 1) - 1) for step in range(STEPS)],
        "replies": reply_table(runs),
        "replies_read": parsing_summary(runs),
        "failures": wrong,
        "shown_outcomes": SHOWN_OUTCOMES,
        "filter_rules": filter_rules(len(runs)),
        "picture_uris": wrong.pictures.uris if wrong.pictures else [],
        "version": medrcube.__version__,
        "legend": [shade(step / 10, 0.25) for step in range(11)],
        "signed_legend": [signed_shade(step / 5) for step in range(-5, 6)],
        "gate": FAILURE_GATE,
        "small": SMALL,
        "fewest": FEWEST_UNITS,
    }
    return {**values, "parts": [(a, t) for a, t, key in _PARTS if not key or values[key]]}


def withdrawn_groups(runs: Sequence[ScoredRun]) -> list[tuple[int, str]]:
    """Return (number of withdrawn items, names of the runs that leave them out), largest first."""
    groups: dict[int, list[str]] = {}
    for run in runs:
        if run.withdrawn:
            groups.setdefault(len(run.withdrawn), []).append(run.label)
    return [(count, ", ".join(names)) for count, names in sorted(groups.items(), reverse=True)]


def _asked_text(runs: Sequence[ScoredRun], panels: Sequence[FormPanel]) -> str:
    """Return what the questions ask for, such as ``multiple-choice questions``."""
    without_options = sum(row["n"] for panel in panels for _, row, *_ in panel.rows)
    total = sum(run.total["n"] for run in runs)
    names = ", ".join(panel.name for panel in panels)
    items = f"questions that are answered without options ({names})"
    if not panels:
        return "multiple-choice questions"
    return items if without_options >= total else f"multiple-choice questions and {items}"


def _samples(runs: Sequence[ScoredRun]) -> list[tuple[str, int, str]]:
    """Return (share of the benchmark, number of runs, names) for runs of only a part of it."""
    shares: dict[str, list[str]] = {}
    for run in runs:
        if run.manifest["limit"]:
            share = f"{run.total['n']:,} of {run.manifest['dataset']['items']:,}"
            shares.setdefault(share, []).append(run.label)
    return [(share, len(names), ", ".join(names)) for share, names in shares.items()]


_PARTS = (
    ("leaderboard", "Published models", "leaderboard"),
    ("cells", "Every cell", ""),
    ("radar", "Tasks", "radar"),
    ("axes", "By axis", ""),
    ("forms", "Answers without options", "form_panels"),
    ("sets", "Sets", "sets"),
    ("conditions", "Contribution of the image", "contrasts"),
    ("repeats", "Repeated questions", "repeated"),
    ("credibility", "Credibility", "credibility"),
    ("chains", "Chains", "chains"),
    ("correlation", "Correlation", "correlation"),
    ("outcomes", "Outcomes", ""),
    ("replies", "Replies", ""),
    ("rules", "Reply parsing", ""),
    ("failures", "Individual errors", ""),
    ("reading", "How to read this", ""),
    ("provenance", "Provenance", ""),
)
"""Anchor and title of each part, and the value that must be present."""


@cache  # compiling the templates costs more than rendering a page
def report_environment(*folders: str) -> Environment:
    """Return the report's Jinja environment, with autoescaping.

    Args:
        folders: below ``templates``, searched in this order; those of the report by default.
    """
    templates = page_environment(*(folders or ("cards",)))
    templates.filters |= {
        "percent": _percent,
        "decimal": _decimal,
        "decimal_span": _decimal_span,
        "span": span,
        "accuracy": accuracy_text,
        "certainty": interval_text,
        "interval_or_few": interval_or_few,
        "units": units_text,
        "signed": signed,
        "signed_span": signed_span,
        "pvalue": p_text,
        "count": lambda value: f"{value:,}",
        "counted": counted,
        "lost": lost,
        "without_reply": lost_text,
        "seen": lambda text: escaping.visible(str(text)),
        "clip": escaping.clip,
        "line": escaping.one_line,
    }
    return templates


def _percent(value: float | None, digits: int = 1) -> str:
    return "\u2013" if value is None else f"{100 * value:.{digits}f}"


def _decimal(value: float | None) -> str:
    return "\u2013" if value is None else f"{value:.2f}"


def _decimal_span(interval: Sequence[float] | None) -> str:
    return "\u2013" if interval is None else " to ".join(map(_decimal, interval))
