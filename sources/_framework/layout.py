"""Layout detection: the layout that a raw tree has, and its missing files."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from medrcube.errors import SourceError
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_parts.layout import Layout
from medrcube.sources._framework.raw_tree.globs import compile_glob, extension
from medrcube.sources._framework.raw_tree.public_names import PublicNames
from medrcube.sources._framework.raw_tree.raw_tree import RawTree
from medrcube.sources._framework.raw_tree.roots import find_root, folders_below

__all__ = ["LayoutReport", "check_root", "compare_layouts", "inspect_copy", "require_fit"]

_PACKED = re.compile(r"(?<!\.csv)(?<!\.txt)(?<!\.json)\.(?:zip|tar|tgz|tar\.(?:gz|bz2|xz)|rar|7z)$")
_FILE_NAME = re.compile(r"[\w-]*(?:_[\w-]+|[\w-]\.[a-z0-9]{2,4}\b)")
_UNPACK = {".zip": "unzip -q {file} -d {folder}", ".rar": "unar -o {folder} {file}"}
_UNPACK |= {".7z": "7z x {file} -o{folder}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutReport:
    """Comparison of a raw tree with one layout of a card.

    Attributes:
        source: id of the source.
        root: the raw tree.
        layout: name of the best matching layout.
        counts: glob -> number of files found.
        expected: glob -> number of files in a complete copy.
        missing: required globs that match no file; empty if the tree fits.
        litter: number of files left by an operating system or a download, which are ignored.
        lacks: consequences of missing optional files, as sentences.
        hints: observations that help to repair the copy, as sentences.
        seconds: duration of the check.
    """

    source: str
    root: Path
    layout: str
    counts: Mapping[str, int]
    expected: Mapping[str, int]
    missing: tuple[str, ...]
    litter: int
    lacks: tuple[str, ...]
    hints: tuple[str, ...]
    seconds: float

    @property
    def fits(self) -> bool:
        """Whether cases can be built from the tree."""
        return not self.missing

    @property
    def complete(self) -> bool:
        """Whether every glob has at least the number of files of a complete copy."""
        return all(self.counts[glob] >= count for glob, count in self.expected.items())

    def describe(self) -> str:
        """Return the result in one line."""
        lacks = self.lacks if self.fits else ()
        return "; ".join((f"{self.source}: {self._verdict()}", *lacks, *self.hints))

    def _verdict(self) -> str:
        if not any(self.counts.values()):
            return (
                f"{self.root} fits no layout: it has no file that a layout names (such as "
                f"{next(iter(self.expected))})"
            )
        if not self.fits:
            missing = " and ".join(self.missing)
            return (
                f"{self.root} fits no layout; nearest is {self.layout!r}, whose {missing} "
                f"{'is' if len(self.missing) == 1 else 'are'} missing ({100 * self._share():.0f} % "
                "of its files are there)"
            )
        litter = f", {self.litter:,} litter files ignored" if self.litter else ""
        if self.complete:
            return f"layout {self.layout!r}, complete{litter}"
        short = [
            f"{self.counts[glob]:,} of {count:,} {glob}"
            for glob, count in self.expected.items()
            if self.counts[glob] < count
        ]
        return f"layout {self.layout!r}{litter}, partial copy: {'; '.join(short)}"

    def _share(self) -> float:
        there = sum(min(self.counts[glob], count) for glob, count in self.expected.items())
        return there / sum(self.expected.values())

    def likeness(self) -> tuple[bool, float, float]:
        """Return the sort key of reports: whether it fits, share of globs, share of files."""
        present = sum(count > 0 for count in self.counts.values()) / len(self.counts)
        return (self.fits, present, self._share())


def inspect_copy(card: Card, folder: Path) -> LayoutReport:
    """Find the raw root of a copy and its best matching layout; opens no file.

    Args:
        card: card of the source.
        folder: the raw root, or a folder near it; see ``roots``.

    Raises:
        SourceError: the folder is missing or is a file, or it contains several copies.
    """
    check_root(card, folder)
    return compare_layouts(card, find_root(card, RawTree(folder.resolve())))


def require_fit(report: LayoutReport) -> None:
    """Reject a raw tree that fits no layout.

    Raises:
        SourceError: names the missing files.
    """
    if not report.fits:
        raise SourceError(
            f"{report.describe()}. See  medrcube sources show {report.source}  for the layouts"
        )


def compare_layouts(card: Card, tree: RawTree) -> LayoutReport:
    """Return the report of the best matching layout, with hints for repair; opens no file."""
    started = time.monotonic()
    report = _best(card, tree)
    hints = [*_packed(card, tree, report)] if not report.complete else []
    if not report.fits:
        hints += [*_unfit(card, tree), *_nearby(card, tree, report), *_kinds(tree, report)]
    return replace(report, hints=tuple(hints), seconds=time.monotonic() - started)


def check_root(card: Card, root: Path) -> None:
    """Reject a raw root that is not a readable folder.

    Raises:
        SourceError: states what was expected.
    """
    if not root.exists():
        raise SourceError(
            f"{card.id}: raw root {root} does not exist; to get the data see  "
            f"medrcube sources show {card.id}"
        )
    if not root.is_dir():
        command = f" with  {_command(root)}" if _PACKED.search(root.name.lower()) else ""
        raise SourceError(
            f"{card.id}: raw root {root} is a file; expected the folder that holds "
            f"{next(iter(card.layouts[0].expect))} (unpack archives first{command})"
        )
    if not os.access(root, os.R_OK | os.X_OK):
        raise SourceError(
            f"{card.id}: raw root {root} cannot be read (Permission denied); check the permissions "
            "of the folder"
        )


def _best(card: Card, tree: RawTree) -> LayoutReport:
    reports = [_compare(card, layout, tree) for layout in card.layouts]
    return max(reports, key=lambda report: (report.likeness(), _exact_matches(report, tree)))


def _exact_matches(report: LayoutReport, tree: RawTree) -> int:
    """Count the globs that match files with exactly the extension that they name."""
    return sum(
        extension(next(iter(tree.match(glob)), "")) == extension(glob) for glob in report.expected
    )


def _compare(card: Card, layout: Layout, tree: RawTree) -> LayoutReport:
    counts = {glob: sum(1 for _ in tree.match(glob)) for glob in layout.expect}
    return LayoutReport(
        source=card.id,
        root=tree.path,
        layout=layout.name,
        counts=counts,
        expected=layout.expect,
        missing=layout.missing([glob for glob, count in counts.items() if count]),
        litter=tree.litter,
        lacks=tuple(
            f"{glob} is optional and absent: {lack}"
            for glob, lack in layout.optional.items()
            if lack and not tree.holds(glob)
        ),
        hints=(),
        seconds=0.0,
    )


def _packed(card: Card, tree: RawTree, report: LayoutReport) -> Iterator[str]:
    """Yield hints about archives that were not unpacked, with the command that unpacks them."""
    patterns = [compile_glob(glob) for glob in report.expected]
    packed = [
        name
        for name in tree.names
        if _PACKED.search(name.lower()) and not any(pattern.fullmatch(name) for pattern in patterns)
    ]
    if packed:
        others = f" and {len(packed) - 1:,} more" if len(packed) > 1 else ""
        name = _public_names(card, tree).describe_file(packed[0])
        is_public = name == packed[0]
        yield (
            f"{name}{others} {'are' if others else 'is'} still packed: unpack with  "
            f"{_command(tree.path / packed[0], file=None if is_public else 'FILE')}"
        )


def _public_names(card: Card, tree: RawTree) -> PublicNames:
    """Return the names in a tree that the card makes public."""
    globs = [glob for layout in card.layouts for glob in (*layout.globs, *card.unfit)]
    files = [file.name for file in card.home.files] if card.home else []
    then = card.home.then if card.home else ()
    stated = _FILE_NAME.findall("\n".join((card.release, *card.access.steps, *then)))
    texts = (card.id, card.title, *files, *stated)
    return PublicNames(tree.names, (), globs, texts)


def _command(path: Path, file: str | None = None) -> str:
    """Return the command that unpacks an archive.

    Args:
        path: the archive.
        file: word that stands for it, if its name is not shown.
    """
    command = _UNPACK.get(path.suffix.lower(), "tar -xf {file} -C {folder}")
    return command.format(
        file=file or shlex.quote(str(path)),
        folder="FOLDER" if file else shlex.quote(str(path.parent)),
    )


def _unfit(card: Card, tree: RawTree) -> Iterator[str]:
    """Yield the reasons in the card why a copy in this form is unusable."""
    for glob, reason in card.unfit.items():
        first = next(iter(tree.match(glob)), None)
        if first is not None:
            yield f"it holds {_public_names(card, tree).describe_file(first)}: {reason}"


def _nearby(card: Card, tree: RawTree, report: LayoutReport) -> Iterator[str]:
    """Yield a hint at a subfolder that matches better or a parent with the missing files."""
    inner = [_best(card, tree.inside(folder)) for folder in folders_below(card, tree)]
    nearest = max(inner, key=LayoutReport.likeness, default=report)
    if nearest.likeness() > report.likeness():
        yield (
            f"{nearest.root} is closer: it lacks {' and '.join(nearest.missing)} of layout "
            f"{nearest.layout!r}"
        )
    parent = tree.path.parent
    if any(report.counts.values()) and parent != tree.path:
        beside = RawTree(parent, _shallow(parent))
        if all(map(beside.holds, report.missing)):
            yield f"the missing files are in {parent}: give that folder"


def _shallow(folder: Path) -> list[str]:
    """Return the files of a folder and of its direct subfolders, without a full walk."""
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    names.append(entry.name)
                else:
                    names += _files_of(entry)
    except OSError:  # cannot be listed: no hint
        return []
    return sorted(names)


def _files_of(folder: os.DirEntry[str]) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [f"{folder.name}/{file.name}" for file in entries if not file.is_dir()]
    except OSError:
        return []


def _kinds(tree: RawTree, report: LayoutReport) -> Iterator[str]:
    """Yield what a tree contains instead if it has none of the images of a layout."""
    if all(report.counts[glob] for glob, count in report.expected.items() if count > 1):
        return
    kinds: Sequence[tuple[str, int]] = Counter(
        PurePosixPath(name).suffix.lower() or "without suffix" for name in tree.names
    ).most_common(4)
    contents = ", ".join(f"{count:,} {kind}" for kind, count in kinds) or "no file"
    yield f"it holds {contents}"
