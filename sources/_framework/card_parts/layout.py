"""``[[layout]]`` of a card: globs that match the files of a copy.

There are no other globs. An adapter requests a part by name, and its tree contains only files that
match one of these globs, so that the files counted are the files read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from medrcube.files.toml_reader import TomlTable

__all__ = ["Layout", "parse_layout"]

_COUNTED = (
    'glob = number of files, such as {"*.png" = 3}, or part = such a table, such as '
    '{ films = {"*.png" = 3} }'
)
_TOLD = (
    'glob = what a copy without it lacks, such as {"boxes.csv" = "no boxes"}, or part = such a '
    "table"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One shape in which copies of the data exist on disk.

    Attributes:
        name: name of the layout, passed to the adapter.
        expect: glob relative to the root -> number of files in a complete copy; each glob
            must match at least one file, except those of ``one_of`` and ``optional``.
        one_of: globs of ``expect`` of which at least one must match.
        optional: glob of files that may be missing -> what is unavailable without them, or
            empty; those in ``expect`` are still counted.
        ignore: glob -> why its files produce no cases.
        parts: name -> globs of ``expect`` and ``optional``; adapters request files by part.
        editions: parts whose files are editions of one table, the newest last by name; if it
            cannot be used, the next older one is read instead, and the build reports this.
    """

    name: str
    expect: Mapping[str, int]
    one_of: tuple[str, ...]
    optional: Mapping[str, str]
    ignore: Mapping[str, str]
    parts: Mapping[str, tuple[str, ...]]
    editions: tuple[str, ...]

    @property
    def globs(self) -> tuple[str, ...]:
        """Return all globs of the layout."""
        return tuple(dict.fromkeys((*self.expect, *self.optional, *self.ignore)))

    def missing(self, globs: Collection[str]) -> tuple[str, ...]:
        """Return the required globs that are missing before cases can be made from a copy.

        Args:
            globs: globs of ``expect`` that match a file.
        """
        lacks = tuple(
            glob for glob in self.expect if glob not in (*globs, *self.one_of, *self.optional)
        )
        return lacks if set(self.one_of) & set(globs) else (*lacks, *self.one_of)


def parse_layout(table: TomlTable) -> Layout:
    """Parse one ``[[layout]]``."""
    counted = table.grouped("expect", int, such_as=_COUNTED)
    optional = table.grouped("optional", str, such_as=_TOLD, default={})
    expect, one_of = {glob: count for _, glob, count in counted}, table.texts("one_of", default=())
    for glob in one_of:
        if glob not in expect:
            table.fail("one_of", f"globs of expect ({', '.join(expect)})", glob)
    parts: dict[str, tuple[str, ...]] = {}
    for part, glob, _ in (*counted, *optional):
        if part and glob not in parts.get(part, ()):
            parts[part] = (*parts.get(part, ()), glob)
    editions = table.texts("editions", default=())
    for part in editions:
        if part not in parts:
            table.fail("editions", f"parts of the layout ({', '.join(parts)})", part)
    return Layout(
        name=table.text("name"),
        expect=expect,
        one_of=one_of,
        optional={glob: text for _, glob, text in optional},
        ignore=table.mapping("ignore", default={}),
        parts=parts,
        editions=editions,
    )
