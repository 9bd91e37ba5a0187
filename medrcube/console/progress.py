"""Progress display for long operations, with time remaining and a final summary.

On a terminal, one or two lines update in place. Without one, a plain line is printed now and then;
with ``--json``, only a single JSON object is printed at the end.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from medrcube.console.tables import LinesOfTable, layout_of, record_table, rich_table
from medrcube.console.verbosity import Verbosity, verbosity
from medrcube.names import escape_controls

__all__ = ["PLAIN_INTERVAL", "Advance", "Reporter", "ignored"]

PLAIN_INTERVAL = 10.0
"""Seconds between plain progress lines."""


class Advance(Protocol):
    """Callback that advances a stage."""

    def __call__(self, count: int = 1, /) -> None:
        """Advance the stage by ``count`` units."""
        ...


class Reporter:
    """Progress and summaries of one command; everything except results goes to standard error."""

    def __init__(
        self, *, json_output: bool = False, quiet: bool = False, wide: bool | None = None
    ) -> None:
        """Write to the standard streams.

        Args:
            json_output: print one JSON object instead of text.
            quiet: suppress progress and notes; also set when the command runs with ``-q``.
            wide: whether tables are shown in full; ``None`` if the command has no ``--wide``.
        """
        self.json_output = json_output
        self._quiet = quiet or json_output or verbosity() is Verbosity.QUIET
        self._verbose = not self._quiet and verbosity() is Verbosity.VERBOSE
        self._wide = wide
        # FORCE_COLOR colours piped output, but does not turn a pipe into a terminal.
        self._err = Console(
            stderr=True, highlight=False, soft_wrap=True, force_interactive=_interactive(sys.stderr)
        )
        self._out = Console(
            highlight=False, soft_wrap=True, force_interactive=_interactive(sys.stdout)
        )

    @contextmanager
    def stage(
        self,
        name: str,
        total: int | None,
        detail: Callable[[], str] | None = None,
        *,
        timed: bool = True,
    ) -> Iterator[Advance]:
        """Show the progress of a stage of ``total`` units.

        Args:
            name: name of the stage.
            total: number of units; ``None`` if unknown, which shows a running count.
            detail: called at each refresh; returns a few words to append.
            timed: whether the time remaining can be estimated from the units done so far.
        """
        words = detail or _no_words
        started = time.monotonic()
        if self._quiet or total == 0:
            yield ignored
        elif total is None:
            with _Count(name, self._err) as advance:
                yield advance
        elif self._err.is_interactive:
            columns = (
                TextColumn(f"{name:<10}"),
                BarColumn(bar_width=30),
                MofNCompleteColumn(),
                *((TextColumn("left"), TimeRemainingColumn()) if timed else ()),
            )
            with _TwoLines(*columns, console=self._err, transient=True) as progress:
                task = progress.add_task(name, total=total, detail="")
                yield lambda count=1, /: progress.update(task, advance=count, detail=words())
        else:
            yield _PlainLines(name, total, self._err, words, timed=timed)
        if self._verbose:
            self.note(f"{name}: {time.monotonic() - started:.1f} s")

    def note(self, text: str) -> None:
        """Print a note for people that is not part of the result."""
        if not self._quiet:
            self._err.print(escape_controls(text), markup=False)

    def result(self, text: str) -> None:
        """Print a line of the result; omitted with ``--json``."""
        if not self.json_output:
            self._out.print(escape_controls(text), markup=False)

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[object]],
        *,
        empty: str = "nothing to list",
    ) -> None:
        """Print a table of the result; numbers are right-aligned.

        Off a terminal every cell is printed in full. On a terminal every row takes one line: text
        is truncated with an ellipsis, ids and figures are kept whole, columns that do not fit are
        dropped, and a note names them. With ``wide`` nothing is truncated or dropped; rows that do
        not fit become blocks of lines.

        Args:
            columns: column titles.
            rows: cells of each row.
            empty: sentence printed instead of a table without rows.
        """
        if self.json_output:
            return
        if not rows:
            self.result(empty)
            return
        out = self._out
        if out.is_interactive:
            layout = layout_of(columns, rows, None if self._wide else out.width)
            records = bool(self._wide) and layout.width > out.width
        else:
            layout, records = layout_of(columns, rows, None), False
            out = Console(
                file=out.file, highlight=False, soft_wrap=True, width=max(layout.width, 1)
            )
        table = record_table(layout) if records else rich_table(layout)
        out.print(LinesOfTable(table), markup=False)
        if layout.cut:
            whole = "a pipe shows" if self._wide is None else "--wide shows"
            self.note(f"cut to {out.width} columns: {', '.join(layout.cut)}; {whole} all")

    def limit(self, count: int) -> int | None:
        """Return how many entries of a list to show: ``count``, or all of them with ``-v``."""
        return None if self._verbose else count

    def data(self, value: Mapping[str, Any] | Sequence[Any]) -> None:
        """Print the result as JSON, if JSON output was requested."""
        if self.json_output:
            text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
            sys.stdout.write(text.encode("utf-8", "backslashreplace").decode())


class _TwoLines(Progress):
    """The progress bar with the detail text below it, so that count and time left stay visible."""

    def get_renderables(self) -> Iterator[RenderableType]:
        yield from super().get_renderables()
        for task in self.tasks:
            if task.fields["detail"]:
                yield Text(task.fields["detail"], no_wrap=True, overflow="ellipsis")


class _Count:
    """A running count: refreshed in place on a terminal, a line every few seconds elsewhere."""

    _INTERVAL = 0.1

    def __init__(self, name: str, console: Console) -> None:
        self._name, self._console, self._count = name, console, 0
        self._status = console.status(name) if console.is_interactive else None
        self._last_update = 0.0 if self._status else time.monotonic()

    def __enter__(self) -> Advance:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, count: int = 1, /) -> None:
        self._count += count
        now = time.monotonic()
        if now - self._last_update < (self._INTERVAL if self._status else PLAIN_INTERVAL):
            return
        self._last_update = now
        if self._status is not None:
            self._status.update(f"{self._name:<10} {self._count:,}")
        else:
            self._console.print(f"{self._name}: {self._count:,} so far")


class _PlainLines:
    """Progress without a terminal: a line every few seconds."""

    def __init__(
        self, name: str, total: int, console: Console, detail: Callable[[], str], *, timed: bool
    ) -> None:
        self._name, self._total, self._console = name, total, console
        self._detail, self._timed = detail, timed
        self._count = 0
        self._started = self._last_update = time.monotonic()

    def __call__(self, count: int = 1, /) -> None:
        self._count += count
        now = time.monotonic()
        if now - self._last_update >= PLAIN_INTERVAL and self._count < self._total:
            self._last_update = now
            line = f"{self._name}: {self._count:,} of {self._total:,}"
            self._console.print(
                ", ".join(filter(None, (line, self._time_left(now), self._detail()))),
                soft_wrap=True,
            )

    def _time_left(self, now: float) -> str:
        """Return the time remaining in words, once enough is done to estimate it."""
        if not (self._count and self._timed):
            return ""
        seconds = (now - self._started) / self._count * (self._total - self._count)
        return f"about {seconds:.0f} s left"


def _interactive(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _no_words() -> str:
    return ""


def ignored(_count: int = 1, /) -> None:
    """Ignore progress."""
