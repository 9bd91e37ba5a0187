"""Files of a raw tree by stem, in less memory than a dictionary of paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from pathlib import Path

from medrcube.sources._framework.raw_tree.globs import without_extension

__all__ = ["StemIndex"]


class StemIndex(MutableMapping[str, Path]):
    """File of each stem; a path is created on access.

    Of a million paths as objects, each would take half a kilobyte.
    """

    def __init__(self, root: Path, names: Iterable[str]) -> None:
        """Take files in order of path; the first file of a stem is kept.

        Args:
            root: the raw root.
            names: paths relative to the root, with forward slashes.
        """
        self._root = root
        self._names: dict[str, str] = {}
        for name in names:
            self._names.setdefault(without_extension(name.rpartition("/")[2]), name)

    def __getitem__(self, stem: str) -> Path:
        return self._root / self._names[stem]

    def __setitem__(self, stem: str, path: Path) -> None:
        self._names[stem] = path.relative_to(self._root).as_posix()

    def __delitem__(self, stem: str) -> None:
        del self._names[stem]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
