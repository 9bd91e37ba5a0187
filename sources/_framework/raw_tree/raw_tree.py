"""Raw tree: files of a copy without litter, matched by the globs of cards.

Copies of one dataset differ in ways that mean nothing. Archives unpack into a folder of their own
name that already holds one, so that ``images/images/1.png`` stands for ``images/1.png`` and
``1.nii/1.nii`` for ``1.nii``; some systems write extensions in capitals; one kind of file has
several extensions; tables and volumes are packed or unpacked; whole copies are stored in another
format. A glob, and a path that an adapter has put together, match a file either way; a file that
carries the name itself goes first.
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
    without_extension,
)
from medrcube.sources._framework.raw_tree.litter import is_litter
from medrcube.sources._framework.raw_tree.name_index import NameIndex

__all__ = ["RawTree", "newest_edition", "walk_files"]

Item = TypeVar("Item")


class RawTree:
    """The files below a raw root.

    Attributes:
        path: the raw root.
        names: files that are no litter: paths relative to the root, with forward slashes.
    """

    def __init__(self, path: Path, names: Iterable[str] | None = None) -> None:
        """List the files of a tree.

        Args:
            path: the raw root.
            names: what ``walk_files(path)`` gives, where it is known already.
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
        """The file of that name, or the place where it would be."""
        return self.resolve(self.path / name)

    @property
    def files(self) -> list[Path]:
        """All files, in the order of ``names``."""
        return [self.path / name for name in self.names]

    @property
    def litter(self) -> int:
        """Number of files that are litter; see ``litter.is_litter``."""
        return len(self._litter)

    def match(self, glob: str) -> Iterable[str]:
        """Names that a glob of a card fits, in the order of ``names``; sought once, as needed."""
        if glob not in self._matched:
            self._matched[glob] = _Lazily(self._match(glob))
        return self._matched[glob]

    def holds(self, glob: str) -> bool:
        """Whether a glob fits any file."""
        return next(iter(self.match(glob)), None) is not None

    def of_layout(self, layout: Layout, parts: Collection[str] = ()) -> RawTree:
        """The files that a glob of the layout fits: all that an adapter may ask for.

        Args:
            layout: of a card.
            parts: names of parts that other layouts of the card have; here they are empty.
        """
        fitting = {name for glob in layout.globs for name in self.match(glob)}
        own = RawTree(self.path, ())
        own.names = tuple(name for name in self.names if name in fitting)
        own._litter = self._litter
        own._matched = {glob: self._matched[glob] for glob in layout.globs}
        own._parts = {**dict.fromkeys(parts, ()), **layout.parts}
        return own

    def without(self, path: Path) -> RawTree:
        """The same tree without one file."""
        name = self.name_of(path)
        own = RawTree(self.path, ())
        own.names = tuple(other for other in self.names if other != name)
        own._litter = self._litter
        return own

    def inside(self, folder: str) -> RawTree:
        """The subtree of one of its folders."""
        if folder not in self._inner:
            inner = RawTree(self.path / folder, ())
            inner.names, inner._litter = (
                tuple(name[len(folder) + 1 :] for name in names if name.startswith(f"{folder}/"))
                for names in (self.names, self._litter)
            )
            self._inner[folder] = inner
        return self._inner[folder]

    def glob(self, glob: str) -> list[Path]:
        """Files that a glob of a card fits, in order of path."""
        return sorted(self.path / name for name in self.match(glob))

    def part(self, name: str) -> list[Path]:
        """Files of a part that the card names, in order of path; none where the copy lacks it.

        Raises:
            SourceError: no layout of the card has such a part.
        """
        if name not in self._parts:
            raise SourceError(
                f"the card names no part {name!r} (parts: {', '.join(sorted(self._parts))}); "
                f"write its glob under  expect.{name}  or  optional.{name}  of the layout"
            )
        names = {file for glob in self._parts[name] for file in self.match(glob)}
        return sorted(self.path / file for file in names)

    def stems(self, part: str) -> dict[str, Path]:
        """Files of a part by name without extension; the first of a name counts."""
        stems: dict[str, Path] = {}
        for path in self.part(part):
            stems.setdefault(without_extension(path.name), path)
        return stems

    def index(self, part: str) -> NameIndex:
        """Files of a part by bare name, for tables that name files without their folder."""
        return NameIndex(self.part(part))

    def plain(self, path: Path) -> str:
        """Where a file lies below the root, without doubled folders."""
        return undouble(path.relative_to(self.path).as_posix())

    def below(self, folder: Path) -> list[Path]:
        """Files in a folder and its folders, in order of path."""
        prefix = f"{folder.relative_to(self.path).as_posix()}/"
        start, end = (bisect_left(self._sorted, bound) for bound in (prefix, f"{prefix[:-1]}0"))
        return [self.path / name for name in self._sorted[start:end]]  # "0" comes after "/"

    def name_of(self, path: Path) -> str:
        """A path relative to the root, with forward slashes; empty where it lies outside."""
        prefix, text = f"{self.path}{os.sep}", str(path)
        return text[len(prefix) :].replace(os.sep, "/") if text.startswith(prefix) else ""

    def resolve(self, path: Path) -> Path:
        """The file that carries a name in this copy, or the path itself where there is none."""
        name = self.name_of(path)
        if not name or name in self.known:
            return path
        plain = plain_name(name)
        file = self._find(plain) or self._resaved(plain)
        return path if file is None else self.path / file

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
        """Names that hold the longest plain text of a glob: the only ones that it can fit."""
        texts = [longest_text(plain_glob) for plain_glob in expand_braces(glob)]
        if not all(texts):
            return self.names
        if len(texts) == 1:
            text = texts[0]
            return (name for name in self.names if text in name)
        return (name for name in self.names if any(text in name for text in texts))

    def _is_twin(self, name: str, own: str) -> bool:
        """Whether the same file lies beside it under the extension that is asked for."""
        other = extension(name)
        return other != own and f"{name.removesuffix(other)}{own}" in self.known

    def _resaved(self, plain: str) -> str | None:
        """The file that holds what ``plain`` held, in a folder where no file has its extension."""
        others = [other for other in other_format(plain) if extension(other) in self._formats]
        if not others or (plain.rpartition("/")[0], extension(plain)) in self._kinds:
            return None
        return next((file for other in others if (file := self._find(other))), None)

    def _find(self, plain: str) -> str | None:
        return plain if plain in self.known else self._plain.get(plain)

    @cached_property
    def _kinds(self) -> frozenset[tuple[str, str]]:
        """Folders and the extensions of the files in them, both as datasets publish them."""
        plain = (plain_name(name) for name in self.names)
        return frozenset((name.rpartition("/")[0], extension(name)) for name in plain)

    @cached_property
    def _formats(self) -> frozenset[str]:
        return frozenset(kind for _, kind in self._kinds)

    @cached_property
    def _sorted(self) -> Sequence[str]:
        return sorted(self.names)

    @cached_property
    def known(self) -> frozenset[str]:
        """The names, for looking them up."""
        return frozenset(self.names)

    @cached_property
    def _plain(self) -> Mapping[str, str]:
        """Plain name -> file, of files whose name is not plain; the first counts."""
        files: dict[str, str] = {}
        for name in self.names:
            if (plain := plain_name(name)) != name:
                files.setdefault(plain, name)
        return files

    @cached_property
    def _short(self) -> Mapping[str, str]:
        """File -> its name without doubled folders, where no file carries that name."""
        short_names: dict[str, str] = {}
        for folder, names in groupby(self.names, key=lambda name: name.rpartition("/")[0]):
            short, last = undouble(folder), folder.rpartition("/")[2]
            for name in names:
                file = name.rpartition("/")[2]
                plain = short if file == last else f"{short}/{file}"
                if (file == last or short != folder) and plain not in self.known:
                    short_names[name] = plain
        return short_names


def newest_edition(editions: Sequence[Path]) -> Path:
    """The newest of several editions of a table: the last by name."""
    return max(editions, key=lambda path: path.name)


class _Lazily(Iterable[Item]):
    """Lazy list: items of an iterator, fetched on demand and cached."""

    def __init__(self, source: Iterator[Item]) -> None:
        self._source, self._taken = source, list[Item]()

    def __iter__(self) -> Iterator[Item]:
        place = 0
        while True:
            if place == len(self._taken):
                try:
                    self._taken.append(next(self._source))
                except StopIteration:
                    return
            yield self._taken[place]
            place += 1


def walk_files(root: Path) -> Iterator[str]:
    """Paths of all files below ``root``, relative, with forward slashes, in a fixed order.

    Linked folders are followed, each real folder once.
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
