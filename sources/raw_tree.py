"""A raw copy as adapters see it: its files without litter, found by the globs of cards.

Copies of one dataset differ in ways that mean nothing. Archives unpack into a folder of their own
name that already holds one, so that ``images/images/1.png`` stands for ``images/1.png``; some
systems write extensions in capitals. A glob, and a path that an adapter has put together, match a
file either way; a file that carries the name itself goes first.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path, PurePosixPath

from medrcube.sources.litter import is_litter

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_EXTENSION = re.compile(r"\.[^./]*(?:\.(?:gz|zip))?$", re.IGNORECASE)


class RawTree:
    """The files below a raw root.

    Attributes:
        path: the raw root.
        names: files that are no litter: paths relative to the root, with forward slashes.
        litter: number of files that are; see ``litter.is_litter``.
    """

    def __init__(self, path: Path, names: Iterable[str] | None = None) -> None:
        """See a tree.

        Args:
            path: the raw root.
            names: what ``walk(path)`` gives, where it is known already.
        """
        found = list(walk(path) if names is None else names)
        self.path = path
        self.names = tuple(name for name in found if not is_litter(name))
        self.litter = len(found) - len(self.names)

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

    def match(self, glob: str) -> Iterator[str]:
        """Names that a glob of a card fits, in the order of ``names``."""
        pattern = compile_glob(glob)
        for name in self.names:
            short = self._short.get(name)
            if pattern.fullmatch(name) or (short is not None and pattern.fullmatch(short)):
                yield name

    def holds(self, glob: str) -> bool:
        """Whether a glob fits any file."""
        return next(self.match(glob), None) is not None

    def inside(self, folder: str) -> RawTree:
        """The same tree as seen from one of its folders."""
        start = len(folder) + 1
        names = (name[start:] for name in self.names if name.startswith(f"{folder}/"))
        return RawTree(self.path / folder, names)

    def glob(self, glob: str) -> list[Path]:
        """Files that a glob of a card fits, in order of path."""
        return sorted(self.path / name for name in self.match(glob))

    def folders(self, glob: str) -> list[Path]:
        """Folders with files at any depth that a glob fits, in order of path."""
        pattern = compile_glob(glob)
        homes = {PurePosixPath(name).parent for name in self.names}
        found = {it.as_posix() for home in homes for it in (home, *home.parents)}
        return sorted(self.path / folder for folder in found if pattern.fullmatch(folder))

    def below(self, folder: Path) -> list[Path]:
        """Files in a folder and its folders, in order of path."""
        prefix = f"{folder.relative_to(self.path).as_posix()}/"
        start, end = (bisect_left(self._sorted, it) for it in (prefix, f"{prefix[:-1]}0"))
        return [self.path / name for name in self._sorted[start:end]]  # "0" comes after "/"

    def resolve(self, path: Path) -> Path:
        """The file that carries a name in this copy, or the path itself where there is none."""
        prefix = f"{self.path}{os.sep}"
        text = str(path)
        if not text.startswith(prefix):
            return path
        name = text[len(prefix) :].replace(os.sep, "/")
        if name in self._known:
            return path
        found = self._plain.get(_plain(name))
        return path if found is None else self.path / found

    @cached_property
    def _sorted(self) -> Sequence[str]:
        return sorted(self.names)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.names)

    @cached_property
    def _plain(self) -> Mapping[str, str]:
        """Plain name -> file, of files whose name is not plain; the first counts."""
        found: dict[str, str] = {}
        for name in self.names:
            if (plain := _plain(name)) != name:
                found.setdefault(plain, name)
        return found

    @cached_property
    def _short(self) -> Mapping[str, str]:
        """File -> its name without doubled folders, where no file carries that name."""
        found: dict[str, str] = {}
        for folder, names in groupby(self.names, key=lambda name: name.rpartition("/")[0]):
            short = _undouble(folder)
            if short != folder:
                pairs = ((name, f"{short}/{name.rpartition('/')[2]}") for name in names)
                found.update((name, plain) for name, plain in pairs if plain not in self._known)
        return found


class NameIndex(Mapping[str, Path]):
    """Files by bare name; the case of the extension does not count. The first of a name is kept."""

    def __init__(self, files: Iterable[Path]) -> None:
        self._files: dict[str, Path] = {}
        for file in files:
            self._files.setdefault(lower_extension(file.name), file)

    def __getitem__(self, name: str) -> Path:
        return self._files[lower_extension(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


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

    ``{a,b}`` is either of two or more texts. Brackets are letters, not classes: real file names
    hold them. An extension fits in any case.
    """
    return re.compile("|".join(map(_pattern, alternatives(glob))))


def alternatives(glob: str) -> list[str]:
    """The globs without braces that a glob with braces stands for, in order."""
    found = _BRACES.search(glob)
    if found is None:
        return [glob]
    start, end = found.span()
    texts = found[1].split(",")
    return [it for text in texts for it in alternatives(f"{glob[:start]}{text}{glob[end:]}")]


def _pattern(glob: str) -> str:
    found = _EXTENSION.search(glob)
    start = len(glob) if found is None else found.start()
    return f"{_translate(glob[:start])}(?i:{_translate(glob[start:])})"


def _translate(glob: str) -> str:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(wild.get(part, re.escape(part)) for part in parts)


def _plain(name: str) -> str:
    folder, slash, file = name.rpartition("/")
    return f"{_undouble(folder)}{slash}{lower_extension(file)}"


def lower_extension(name: str) -> str:
    """A file name as datasets publish it, where a copy has its extension in capitals."""
    return _EXTENSION.sub(lambda found: found[0].lower(), name)


def _undouble(folder: str) -> str:
    return "/".join(part for part, _ in groupby(folder.split("/")))
