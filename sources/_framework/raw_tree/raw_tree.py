"""Raw tree: files of a copy without litter, matched with the globs of cards.

Copies of one dataset differ in insignificant ways. Archives unpack into a folder that contains
another one of the same name, so that ``images/images/1.png`` stands for ``images/1.png`` and
``1.nii/1.nii`` for ``1.nii``; some systems write extensions in upper case; one file type has
several extensions; tables and volumes are compressed or not; whole copies are converted to another
format. Globs, and paths that an adapter constructs, match in all of these cases; a file with
exactly the given name takes precedence.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from medrcube.errors import SourceError
from medrcube.sources._framework.card_parts.layout import Layout
from medrcube.sources._framework.raw_tree.globs import (
    EQUAL_EXTENSIONS,
    compile_glob,
    expand_braces,
    extension,
    longest_text,
    other_format,
    plain_name,
    undouble,
)
from medrcube.sources._framework.raw_tree.litter import is_litter
from medrcube.sources._framework.raw_tree.name_index import NameIndex
from medrcube.sources._framework.raw_tree.stem_index import StemIndex

__all__ = ["RawTree", "newest_edition", "walk_files"]

Item = TypeVar("Item")


class RawTree:
    """The files below a raw root.

    Attributes:
        path: the raw root.
        names: files other than litter: paths relative to the root, with forward slashes.
    """

    def __init__(self, path: Path, names: Iterable[str] | None = None) -> None:
        """List the files of a tree.

        Args:
            path: the raw root.
            names: result of ``walk_files(path)``, if already known.
        """
        self.path = path
        self.names: tuple[str, ...] = ()
        self._litter: tuple[str, ...] = ()
        self._matched: dict[str, _Lazily[str]] = {}
        self._inner: dict[str, RawTree] = {}
        self._parts: dict[str, tuple[str, ...]] = {}
        self._see(walk_files(path) if names is None else names)

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def __truediv__(self, name: str | Path) -> Path:
        """Return the file of that name, or the path where it would be."""
        return self.resolve(self.path / name)

    @property
    def files(self) -> list[Path]:
        """Return all files, in the order of ``names``."""
        return [self.path / name for name in self.names]

    @property
    def litter(self) -> int:
        """Number of files that are litter; see ``litter.is_litter``."""
        return len(self._litter)

    def match(self, glob: str) -> Iterable[str]:
        """Return the names that a glob matches, in the order of ``names``; lazy and cached."""
        if glob not in self._matched:
            self._matched[glob] = _Lazily(self._match(glob))
        return self._matched[glob]

    def holds(self, glob: str) -> bool:
        """Whether a glob matches any file."""
        return next(iter(self.match(glob)), None) is not None

    def of_layout(self, layout: Layout, parts: Collection[str] = ()) -> RawTree:
        """Return the tree of the files that match a layout: those that an adapter may request.

        Args:
            layout: layout of a card.
            parts: names of parts in other layouts of the card; they are empty in this one.
        """
        fitting = {name for glob in layout.globs for name in self.match(glob)}
        own = RawTree(self.path, ())
        own.names = tuple(name for name in self.names if name in fitting)
        own._litter = self._litter
        own._matched = {glob: self._matched[glob] for glob in layout.globs}
        own._parts = {**dict.fromkeys(parts, ()), **layout.parts}
        return own

    def without(self, path: Path) -> RawTree:
        """Return the same tree without one file."""
        name = self.name_of(path)
        own = RawTree(self.path, ())
        own.names = tuple(other for other in self.names if other != name)
        own._litter = self._litter
        return own

    def inside(self, folder: str) -> RawTree:
        """Return the subtree of one of its folders."""
        if folder not in self._inner:
            inner = RawTree(self.path / folder, ())
            inner.names, inner._litter = (
                tuple(name[len(folder) + 1 :] for name in names if name.startswith(f"{folder}/"))
                for names in (self.names, self._litter)
            )
            self._inner[folder] = inner
        return self._inner[folder]

    def glob(self, glob: str) -> list[Path]:
        """Return the files that a glob matches, in order of path."""
        return sorted(self.path / name for name in self.match(glob))

    def part(self, name: str) -> list[Path]:
        """Return the files of a named part of the card, in order of path; empty if there are none.

        Raises:
            SourceError: no layout of the card has such a part.
        """
        return [self.path / file for file in self._files_of(name)]

    def stems(self, part: str) -> StemIndex:
        """Return the files of a part by stem; the first file of a stem is kept."""
        return StemIndex(self.path, self._files_of(part))

    def index(self, part: str) -> NameIndex:
        """Return the files of a part by bare name, for tables that name files without folders."""
        return NameIndex(self.part(part))

    def plain(self, path: Path) -> str:
        """Return the path of a file relative to the root, without doubled folders."""
        return undouble(path.relative_to(self.path).as_posix())

    def below(self, folder: Path) -> list[Path]:
        """Return the files in a folder and its subfolders, in order of path."""
        prefix = f"{folder.relative_to(self.path).as_posix()}/"
        start, end = (bisect_left(self._sorted, bound) for bound in (prefix, f"{prefix[:-1]}0"))
        return [self.path / name for name in self._sorted[start:end]]  # "0" comes after "/"

    def name_of(self, path: Path) -> str:
        """Return a path relative to the root, with forward slashes; empty if it lies outside."""
        prefix, text = f"{self.path}{os.sep}", str(path)
        return text[len(prefix) :].replace(os.sep, "/") if text.startswith(prefix) else ""

    def resolve(self, path: Path) -> Path:
        """Return the file that a path stands for in this copy, or the path itself if none does."""
        name = self.name_of(path)
        if not name or name in self.files_below:
            return path
        plain = plain_name(name)
        file = self._find(plain) or self._resaved(plain)
        return path if file is None else self.path / file

    def _files_of(self, name: str) -> list[str]:
        """Return the names of the files of a part, in order of path; see ``part``."""
        if name not in self._parts:
            raise SourceError(
                f"the card names no part {name!r} (parts: {', '.join(sorted(self._parts))}); "
                f"write its glob under  expect.{name}  or  optional.{name}  of the layout"
            )
        names = {file for glob in self._parts[name] for file in self.match(glob)}
        return sorted(names, key=_in_path_order)

    def _see(self, names: Iterable[str]) -> None:
        data: list[str] = []
        litter: list[str] = []
        for name in names:
            (litter if is_litter(name) else data).append(name)
        self.names, self._litter = tuple(data), tuple(litter)

    def _match(self, glob: str) -> Iterator[str]:
        for candidate in (glob, *other_format(glob)):
            files = self._fitting(candidate)
            first = next(files, None)
            if first is not None:
                yield first
                yield from files
                return

    def _fitting(self, glob: str) -> Iterator[str]:
        pattern, own = compile_glob(glob), extension(glob)
        several = own in EQUAL_EXTENSIONS or own in EQUAL_EXTENSIONS.values()
        for name in self._likely(glob):
            short = self._short.get(name)
            fits = pattern.fullmatch(name) or (short is not None and pattern.fullmatch(short))
            if fits and not (several and self._is_twin(name, own)):
                yield name

    def _likely(self, glob: str) -> Iterable[str]:
        """Return the names that contain the longest literal of a glob, a superset of matches."""
        texts = [longest_text(plain_glob) for plain_glob in expand_braces(glob)]
        if not all(texts):
            return self.names
        if len(texts) == 1:
            text = texts[0]
            return (name for name in self.names if text in name)
        return (name for name in self.names if any(text in name for text in texts))

    def _is_twin(self, name: str, own: str) -> bool:
        """Whether the same file exists in the same folder with the requested extension."""
        other = extension(name)
        return other != own and f"{name.removesuffix(other)}{own}" in self.files_below

    def _resaved(self, plain: str) -> str | None:
        """Return the converted file of ``plain``, if no file in its folder has its extension."""
        others = [other for other in other_format(plain) if extension(other) in self._formats]
        if not others or (plain.rpartition("/")[0], extension(plain)) in self._kinds:
            return None
        return next((file for other in others if (file := self._find(other))), None)

    def _find(self, plain: str) -> str | None:
        return plain if plain in self.files_below else self._plain.get(plain)

    @cached_property
    def _kinds(self) -> frozenset[tuple[str, str]]:
        """Return (folder, extension) of all files, both as the dataset publishes them."""
        plain = (plain_name(name) for name in self.names)
        return frozenset((name.rpartition("/")[0], extension(name)) for name in plain)

    @cached_property
    def _formats(self) -> frozenset[str]:
        return frozenset(kind for _, kind in self._kinds)

    @cached_property
    def _sorted(self) -> Sequence[str]:
        return sorted(self.names)

    @cached_property
    def files_below(self) -> frozenset[str]:
        """The names as a set, for lookup."""
        return frozenset(self.names)

    @cached_property
    def _plain(self) -> Mapping[str, str]:
        """Map plain names to files whose own name differs; the first file is kept."""
        files: dict[str, str] = {}
        for name in self.names:
            if (plain := plain_name(name)) != name:
                files.setdefault(plain, name)
        return files

    @cached_property
    def _short(self) -> Mapping[str, str]:
        """Map files to their name without doubled folders, if no file has that name."""
        short_names: dict[str, str] = {}
        for folder, names in groupby(self.names, key=lambda name: name.rpartition("/")[0]):
            short, last = undouble(folder), folder.rpartition("/")[2]
            for name in names:
                file = name.rpartition("/")[2]
                plain = short if file == last else f"{short}/{file}"
                if (file == last or short != folder) and plain not in self.files_below:
                    short_names[name] = plain
        return short_names


def _in_path_order(name: str) -> str:
    """Key by which names are ordered as their paths: folder by folder."""
    return name.replace("/", "\0")


def newest_edition(editions: Sequence[Path]) -> Path:
    """Return the newest of several editions of a table: the last by name."""
    return max(editions, key=lambda path: path.name)


class _Lazily(Iterable[Item]):
    """Lazy list: items of an iterator, fetched on demand and cached."""

    def __init__(self, source: Iterator[Item]) -> None:
        self._source, self._items = source, list[Item]()

    def __iter__(self) -> Iterator[Item]:
        place = 0
        while True:
            if place == len(self._items):
                try:
                    self._items.append(next(self._source))
                except StopIteration:
                    return
            yield self._items[place]
            place += 1


def walk_files(root: Path) -> Iterator[str]:
    """Yield the relative paths of all files below ``root``, with forward slashes, in a fixed order.

    Symbolic links to folders are followed, but each real folder is visited once.
    """
    visited: set[tuple[int, int]] = set()
    for folder, subfolders, files in os.walk(root, followlinks=True):
        state = Path(folder).stat()
        if (state.st_dev, state.st_ino) in visited:
            subfolders.clear()
            continue
        visited.add((state.st_dev, state.st_ino))
        subfolders.sort()
        prefix = Path(folder).relative_to(root).as_posix()
        for name in sorted(files):
            yield name if prefix == "." else f"{prefix}/{name}"
