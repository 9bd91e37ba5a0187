"""Index of files by bare name, for any equivalent extension."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from medrcube.sources._framework.raw_tree.globs import (
    extension,
    lower_extension,
    other_format,
    plain_name,
)

__all__ = ["NameIndex"]


class NameIndex(Mapping[str, Path]):
    """Index of files by bare name, for any equivalent extension; the first of a name is kept.

    A file in a converted format is found only if no file has the requested format.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self._files: dict[str, Path] = {}
        for file in files:
            self._files.setdefault(lower_extension(file.name), file)

    def __getitem__(self, name: str) -> Path:
        key = lower_extension(name)
        if key in self._files:
            return self._files[key]
        plain = plain_name(key)
        if plain not in self._plain and extension(plain) not in self._kinds:
            plain = next(
                (candidate for candidate in other_format(plain) if candidate in self._plain), plain
            )
        return self._files[self._plain[plain]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    @cached_property
    def _plain(self) -> Mapping[str, str]:
        return {plain_name(name): name for name in reversed(self._files)}

    @cached_property
    def _kinds(self) -> frozenset[str]:
        return frozenset(map(extension, self._plain))
