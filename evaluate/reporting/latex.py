"""LaTeX tables of the leaderboard and the cube, every number with its interval.

Each file contains floats that need only ``booktabs``; ``tables.tex`` is a complete document with
all of them, as a preview. Numbers are per cent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from medrcube.console.counts import counted
from medrcube.evaluate.outcomes import lost
from medrcube.evaluate.reporting.comparable_blocks import (
    RankingBlock,
    differing_settings,
    ranking_blocks,
)
from medrcube.evaluate.reporting.heat_maps import axis_tables
from medrcube.evaluate.reporting.interval_text import accuracy_text
from medrcube.evaluate.reporting.markup import escaping
from medrcube.evaluate.reporting.scored_runs import ScoredRun
from medrcube.evaluate.statistics.intervals import SMALL
from medrcube.evaluate.statistics.units import units_text
from medrcube.files.atomic import write_text
from medrcube.taxonomy import Anatomy, Modality, Task
from medrcube.vocabulary.word import in_order

__all__ = ["DOCUMENT", "Row", "escape", "write_latex"]

Row = Mapping[str, Any]

DOCUMENT = "tables.tex"

_AXES = {"Task": "tasks", "Modality": "modalities", "Region": "regions", "Source": "sources"}
_SIGNS = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
    }
)
_LONGEST_NAME = 80
_COLUMNS = 6
_NONE = "--"


def write_latex(runs: Sequence[ScoredRun], folder: Path) -> list[Path]:
    """Write ``leaderboard.tex``, one file per axis, ``cube-N.tex`` per run, and a document.

    Returns:
        The files, in the order of writing.

    Raises:
        WorkspaceError: the folder cannot be written.
    """
    blocks = ranking_blocks(runs)
    ordered = [run for block in blocks for run in block.runs]
    parts = {"leaderboard": _leaderboard(blocks)}
    for title, _, groups in axis_tables(ordered):
        if title in _AXES:
            parts[_AXES[title]] = "\n".join(_axis(blocks, title, groups))
    for number, run in enumerate(ordered, start=1):
        parts[f"cube-{number}"] = "\n".join(_cube(run, number))
    paths = [folder / f"{name}.tex" for name in parts]
    for path, text in zip(paths, parts.values(), strict=True):
        write_text(path, text)
    inputs = "\n".join(f"\\input{{{name}}}\n\\clearpage" for name in parts)
    write_text(folder / DOCUMENT, _DOCUMENT.replace("INPUTS", inputs))
    return [*paths, folder / DOCUMENT]


def escape(text: str) -> str:
    """Escape untrusted text for LaTeX, on one line."""
    return escaping.one_line(text, _LONGEST_NAME).translate(_SIGNS)


def _leaderboard(blocks: Sequence[RankingBlock]) -> str:
    runs = [run for block in blocks for run in block.runs]
    letters = {label: of for block in blocks for label, of in block.letters().items()}
    head = ["Model", "Items", "Units", "Accuracy", "95\\,\\% interval", "Chance"]
    rows = []
    for block in blocks:
        rows += _title(block, len(head) + bool(letters))
        for run in block.runs:
            total = run.total
            cells = [
                escape(run.label) + (r"\textsuperscript{*}" if run.incomplete else ""),
                f"{total['n']:,}",
                units_text(total["unit_kinds"]),
                accuracy_text(total),
                _span(total["interval"]),
                _percent(total["chance"]),
            ]
            rows.append([*cells, letters.get(run.label, _NONE)] if letters else cells)
    sentences = [_caption_text(runs)]
    if letters:
        head.append("Group")
        sentences.append(
            "Models that share a letter are not distinguishable (all pairs, exact test of whole "
            "units, Holm, 5\\,\\%)."
        )
    layout = "lrlrrr" + ("l" if letters else "")
    return _table(layout, [head], rows, " ".join(sentences), "leaderboard")


def _axis(
    blocks: Sequence[RankingBlock],
    title: str,
    groups: Sequence[tuple[str, Sequence[tuple[ScoredRun, Row | None]]]],
) -> Iterator[str]:
    """Yield the floats of an axis, ``_COLUMNS`` groups each, to fit a page."""
    runs = [run for block in blocks for run in block.runs]
    places = {run.label: place for place, run in enumerate(runs)}
    caption = f"Accuracy by {title.lower()}. {_caption_text(runs)} {_SMALL}"
    for start in range(0, len(groups), _COLUMNS):
        columns = groups[start : start + _COLUMNS]
        rows = [
            row
            for block in blocks
            for row in (
                *_title(block, 1 + len(columns)),
                *(
                    line
                    for run in block.runs
                    for line in _pair(
                        escape(run.label), [cells[places[run.label]][1] for _, cells in columns]
                    )
                ),
            )
        ]
        head = ["Model", *(_narrow(name) for name, _ in columns)]
        label = _AXES[title] if not start else f"{_AXES[title]}-{start // _COLUMNS + 1}"
        yield _table("l" + "r" * len(columns), [head], rows, caption, label)


def _cube(run: ScoredRun, number: int) -> Iterator[str]:
    """Yield one float per modality: tasks by regions."""
    voxels = {(v["modality"], v["task"], v["parts"]): v for v in run.metrics["voxels"]}
    for modality in in_order(Modality, (modality for modality, _, _ in voxels)):
        here = [(task, a) for kind, task, a in voxels if kind == modality]
        tasks = [task for task in Task if any(task == other for other, _ in here)]
        regions = in_order(Anatomy, (a for _, a in here))
        rows = [
            row
            for task in tasks
            for row in _pair(task, [voxels.get((modality, task, a)) for a in regions])
        ]
        caption = f"{escape(run.label)}, {modality}. {_caption_text([run])} {_SMALL}"
        short = "".join(filter(str.isalnum, modality)).lower()
        label = f"cube-{number}-{short}"
        head = ["Task", *map(str, regions)]
        yield _table("l" + "r" * len(regions), [head], rows, caption, label)


def _title(block: RankingBlock, columns: int) -> list[list[str]]:
    """Return the title line of a block below the ranking."""
    if not block.title:
        return []
    return [[rf"\midrule\multicolumn{{{columns}}}{{l}}{{\textit{{{escape(block.title)}}}}}"]]


def _pair(name: str, groups: Sequence[Row | None]) -> list[list[str]]:
    """Return two rows: accuracies, then their intervals and numbers of items."""
    cells = [_cell(row if row is not None and row["n"] else None) for row in groups]
    return [[name, *(above for above, _ in cells)], ["", *(below for _, below in cells)]]


def _cell(row: Row | None) -> tuple[str, str]:
    if row is None:
        return _NONE, ""
    value = _NONE if lost(row) == row["n"] else accuracy_text(row)
    text = rf"\textit{{{value}}}" if row["small"] else value
    return text, rf"{{\scriptsize {_span(row['interval'])}, {row['n']:,}}}"


def _table(
    layout: str,
    head: Sequence[Sequence[str]],
    rows: Sequence[Sequence[str]],
    caption: str,
    name: str,
) -> str:
    def lines(cells: Sequence[Sequence[str]]) -> str:
        # Extra space below an interval keeps it with its number.
        return "\n".join(
            " & ".join(row) + r" \\" + ("" if row[0] else r"\addlinespace") for row in cells
        )

    return (
        "\\begin{table}\n\\centering\n\\small\n"
        f"\\caption{{{caption}}}\n\\label{{tab:medrcube-{name}}}\n"
        f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n{lines(head)}\n\\midrule\n{lines(rows)}\n"
        "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
    )


def _caption_text(runs: Sequence[ScoredRun]) -> str:
    """Return the caveats of a table, for its caption."""
    digests = sorted({run.benchmark[:8] for run in runs})
    sentences = ["Per cent of all items; intervals are clustered by unit."]
    if len(digests) == 1:
        sentences.append(f"Benchmark {digests[0]}.")
    else:
        sentences.append(
            f"Different benchmarks ({', '.join(digests)}): the accuracies refer to different items."
        )
    if gone := max(len(run.withdrawn) for run in runs):
        sentences.append(
            f"Left out of a run: up to {counted(gone, 'item')} that its release has withdrawn."
        )
    blocks = ranking_blocks(runs)
    if len(blocks) > 1:
        first = f"first those asked {escape(blocks[0].manner)}, " if blocks[0].manner else ""
        sentences.append(
            f"Only models asked the same items in the same way are ranked together: {first}"
            "then by block."
        )
    how = {label: words for label, words in differing_settings(runs).items() if words}
    if how:
        sentences.append(
            "Asked differently from the others: "
            + "; ".join(
                f"{escape(label)} ({', '.join(map(escape, words))})" for label, words in how.items()
            )
            + "."
        )
    if any(run.incomplete for run in runs):
        sentences.append(
            "* lacks more than 5\\,\\% of the replies: not the accuracy but the bounds between "
            "which it lies, no interval and no group."
        )
    return " ".join(sentences)


def _narrow(name: str) -> str:
    return r"\shortstack[r]{" + r"\\".join(escape(word) for word in name.split()) + "}"


def _percent(value: float | None) -> str:
    return _NONE if value is None else f"{100 * value:.1f}"


def _span(interval: Sequence[float] | None) -> str:
    return _NONE if interval is None else f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}"


_SMALL = (
    "Below each: 95\\,\\% interval, number of items; a dash: no interval, nothing was asked, "
    "or no question has a reply; "
    f"in italics: fewer than {SMALL} items."
)
_DOCUMENT = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage{textcomp}
\usepackage[landscape,margin=1.5cm]{geometry}
\usepackage{booktabs}
\begin{document}
INPUTS
\end{document}
"""
