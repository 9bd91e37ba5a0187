"""What a person sees of long work: calm progress with a time left, and one summary at the end.

On a terminal one or two lines move; without one a plain line appears now and then, and with
``--json`` nothing but one object at the end.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from medrcube.console.table_widths import GAP, fitted
from medrcube.names import escape_controls

PLAIN_INTERVAL = 10.0
"""Seconds between two plain progress lines."""

_IDS = frozenset({"id", "item", "source"})
"""Titles of columns whose cells are copied into a command."""


class Advance(Protocol):
    """Says that some more units of a stage are done."""

    def __call__(self, done: int = 1, /) -> None:
        """Advance by ``done`` units."""
        ...


class Reporter:
    """Progress and summaries of one command; everything goes to standard error but results."""

    def __init__(self, *, json_output: bool = False, quiet: bool = False) -> None:
        self.json_output = json_output
        self._quiet = quiet or json_output
        self._err = Console(stderr=True, highlight=False, soft_wrap=True)
        self._out = Console(highlight=False, soft_wrap=True)

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
            name: of the stage.
            total: units; ``None`` where nobody knows: then a terminal shows a count that grows,
                and nothing else shows anything.
            detail: called whenever progress is shown, for a few words more.
            timed: whether what is done tells how long the rest takes.
        """
        told = detail or _nothing_to_tell
        if self._quiet or total == 0:
            yield ignored
        elif total is None:
            with _Count(name, self._err) as advance:
                yield advance
        elif self._err.is_terminal:
            columns = (
                TextColumn(f"{name:<10}"),
                BarColumn(bar_width=30),
                MofNCompleteColumn(),
                *((TextColumn("left"), TimeRemainingColumn()) if timed else ()),
            )
            with _TwoLines(*columns, console=self._err, transient=True) as progress:
                task = progress.add_task(name, total=total, detail="")
                yield lambda done=1, /: progress.update(task, advance=done, detail=told())
        else:
            yield _PlainLines(name, total, self._err, told, timed=timed)

    def note(self, text: str) -> None:
        """A line for people, not part of the result."""
        if not self._quiet:
            self._err.print(escape_controls(text), markup=False)

    def result(self, text: str) -> None:
        """A line of the result; left out where a program reads."""
        if not self.json_output:
            self._out.print(escape_controls(text), markup=False)

    def table(
        self, columns: Sequence[str], rows: Sequence[Sequence[object]], *, clip: bool = False
    ) -> None:
        """A table of the result; numbers stand to the right.

        Where no terminal is, every cell is whole. On a terminal the first column and ids are never
        broken; other text that does not fit is folded.

        Args:
            columns: their titles.
            rows: cells of each row.
            clip: on a terminal give every row one line: text is cut with an ellipsis, or its
                column is left out, and a note says so.
        """
        if self.json_output:
            return
        cells = [
            [f"{v:,}" if isinstance(v, int) else escape_controls(str(v)) for v in row]
            for row in rows
        ]
        natural = [
            max(cell_len(line) for text in column for line in text.splitlines() or [""])
            for column in zip(columns, *cells, strict=True)
        ]
        numeric = {
            place
            for place in range(len(columns))
            if rows and all(isinstance(row[place], (int, float)) for row in rows)
        }
        ids = {place for place, name in enumerate(columns) if not place or name in _IDS}
        line = sum(natural) + GAP * (len(columns) - 1)
        room = self._out.width if self._out.is_terminal else line
        widths = fitted(natural, ids | numeric, room) if clip else natural
        table = Table(box=None, pad_edge=False, header_style="bold")
        for place, name in enumerate(columns):
            if widths[place]:
                table.add_column(
                    name,
                    justify="right" if place in numeric else "left",
                    overflow="ellipsis" if clip else "fold",
                    no_wrap=clip or place in ids,
                    min_width=natural[place] if place in ids else None,
                    width=widths[place] if clip else None,
                )
        for row in cells:
            table.add_row(*(text for text, width in zip(row, widths, strict=True) if width))
        out = self._out
        if not out.is_terminal:
            out = Console(file=out.file, highlight=False, soft_wrap=True, width=line)
        out.print(table, markup=False)
        if widths != natural:
            self.note("cut to the width of the terminal; --wide shows everything")

    def data(self, value: Mapping[str, Any] | Sequence[Any]) -> None:
        """The result for programs, when they asked for it."""
        if self.json_output:
            text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
            sys.stdout.write(text.encode("utf-8", "backslashreplace").decode())


class _TwoLines(Progress):
    """The bar, and below it the words, which would push count and time left off the line."""

    def get_renderables(self) -> Iterator[RenderableType]:
        yield from super().get_renderables()
        for task in self.tasks:
            if task.fields["detail"]:
                yield Text(task.fields["detail"], no_wrap=True, overflow="ellipsis")


class _Count:
    """A number that grows, on a terminal alone; shown a few times a second, however often told."""

    _INTERVAL = 0.1

    def __init__(self, name: str, console: Console) -> None:
        self._name, self._done, self._shown = name, 0, 0.0
        self._status = console.status(name) if console.is_terminal else None

    def __enter__(self) -> Advance:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, done: int = 1, /) -> None:
        self._done += done
        now = time.monotonic()
        if self._status is not None and now - self._shown >= self._INTERVAL:
            self._shown = now
            self._status.update(f"{self._name:<10} {self._done:,}")


class _PlainLines:
    """Progress where no terminal is: a line every few seconds."""

    def __init__(
        self, name: str, total: int, console: Console, detail: Callable[[], str], *, timed: bool
    ) -> None:
        self._name, self._total, self._console = name, total, console
        self._detail, self._timed = detail, timed
        self._done = 0
        self._started = self._shown = time.monotonic()

    def __call__(self, done: int = 1, /) -> None:
        self._done += done
        now = time.monotonic()
        if now - self._shown >= PLAIN_INTERVAL and self._done < self._total:
            self._shown = now
            line = f"{self._name}: {self._done:,} of {self._total:,}"
            self._console.print(", ".join(filter(None, (line, self._left(now), self._detail()))))

    def _left(self, now: float) -> str:
        """The time left in words, once something is done that tells it."""
        if not (self._done and self._timed):
            return ""
        left = (now - self._started) / self._done * (self._total - self._done)
        return f"about {left:.0f} s left"


def _nothing_to_tell() -> str:
    return ""


def ignored(_done: int = 1, /) -> None:
    """Progress that nobody watches."""
