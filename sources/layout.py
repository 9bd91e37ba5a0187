"""Which layout a raw tree has, and what it lacks."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from medrcube.errors import SourceError
from medrcube.sources.card import Card, Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutReport:
    """How a raw tree compares with one layout of a card.

    Attributes:
        source: id of the source.
        root: the raw tree.
        layout: name of the layout that fits best.
        found: glob -> number of files found.
        expected: glob -> number of files in a complete copy.
        missing: first glob without any file, or ``None`` when the layout fits.
        seconds: time that the check took.
    """

    source: str
    root: Path
    layout: str
    found: Mapping[str, int]
    expected: Mapping[str, int]
    missing: str | None
    seconds: float

    @property
    def fits(self) -> bool:
        """Whether the tree can be built from."""
        return self.missing is None

    @property
    def complete(self) -> bool:
        """Whether every glob has at least the number of files of a complete copy."""
        return all(self.found[glob] >= count for glob, count in self.expected.items())

    def describe(self) -> str:
        """One sentence for people."""
        if self.missing is not None:
            return (
                f"{self.source}: {self.root} fits no layout; nearest is {self.layout!r}, "
                f"whose {self.missing} is missing"
            )
        if self.complete:
            return f"{self.source}: layout {self.layout!r}, complete"
        short = [
            f"{self.found[glob]:,} of {count:,} {glob}"
            for glob, count in self.expected.items()
            if self.found[glob] < count
        ]
        return f"{self.source}: layout {self.layout!r}, partial copy: {'; '.join(short)}"


def verify(card: Card, root: Path, names: Sequence[str] | None = None) -> LayoutReport:
    """Find the layout that fits a raw tree best; opens no file.

    Args:
        card: card of the source.
        root: the raw tree.
        names: what ``walk(root)`` gives, where it is known already.

    Raises:
        SourceError: the root is missing or is a file.
    """
    started = time.monotonic()
    check_root(card, root)
    files = list(walk(root)) if names is None else names
    reports = [_compare(card, layout, root, files, started) for layout in card.layouts]
    return max(reports, key=_likeness)


def check_root(card: Card, root: Path) -> None:
    """Refuse a raw root that is no folder.

    Raises:
        SourceError: says what was expected there.
    """
    if not root.exists():
        raise SourceError(
            f"{card.id}: raw root {root} does not exist; to get the data see  "
            f"medrcube sources show {card.id}"
        )
    if not root.is_dir():
        raise SourceError(
            f"{card.id}: raw root {root} is a file; expected the folder that holds "
            f"{next(iter(card.layouts[0].expect))} (unpack archives first)"
        )


def walk(root: Path) -> Iterator[str]:
    """Paths of all files below ``root``, relative, with forward slashes, in a fixed order.

    Linked folders are followed, each real folder once.
    """
    seen: set[tuple[int, int]] = set()
    for folder, subfolders, files in os.walk(root, followlinks=True):
        state = Path(folder).stat()
        if (state.st_dev, state.st_ino) in seen:
            subfolders.clear()
            continue
        seen.add((state.st_dev, state.st_ino))
        subfolders.sort()
        prefix = Path(folder).relative_to(root).as_posix()
        for name in sorted(files):
            yield name if prefix == "." else f"{prefix}/{name}"


def compile_glob(glob: str) -> re.Pattern[str]:
    """A glob as a pattern over relative paths: ``*`` and ``?`` stay in a folder, ``**/`` does not.

    Brackets are letters, not classes: real file names hold them.
    """
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(wild.get(part, re.escape(part)) for part in parts))


def _compare(
    card: Card, layout: Layout, root: Path, names: Sequence[str], started: float
) -> LayoutReport:
    patterns = {glob: compile_glob(glob) for glob in layout.expect}
    found = {
        glob: sum(pattern.fullmatch(name) is not None for name in names)
        for glob, pattern in patterns.items()
    }
    return LayoutReport(
        source=card.id,
        root=root,
        layout=layout.name,
        found=found,
        expected=layout.expect,
        missing=next((glob for glob, count in found.items() if not count), None),
        seconds=time.monotonic() - started,
    )


def _likeness(report: LayoutReport) -> tuple[bool, float, float]:
    shares = [min(report.found[glob] / count, 1.0) for glob, count in report.expected.items()]
    present = sum(share > 0 for share in shares) / len(shares)
    return (report.fits, present, sum(shares) / len(shares))
