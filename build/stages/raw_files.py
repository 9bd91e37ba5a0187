"""Raw files of a source: those its images, facts and layout rest on.

Recipes name the files of one image each. Files that all images of a source need, and all file
sizes, are in ``raw_files.jsonl`` of the workspace, from which a release takes what its own images
need; see ``release.raw_files_table``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from medrcube.build.incremental.file_states import TreeSnapshot
from medrcube.build.stages.render import RenderedPicture
from medrcube.build.stages.scan import Scan, holds_pixels
from medrcube.files.atomic import sha256_of
from medrcube.names import name_to_text, text_to_name
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.raw_tree.globs import compile_glob, expand_braces

__all__ = [
    "FACTS",
    "LAYOUT",
    "PICTURE",
    "USES",
    "ListedFile",
    "RawFile",
    "digests_of",
    "raw_files",
]

PICTURE, FACTS, LAYOUT = "picture", "facts", "layout"
USES = (PICTURE, FACTS, LAYOUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawFile:
    """One file of a raw tree.

    Attributes:
        source: id of the source.
        path: relative to the raw root, with forward slashes, as ``names.name_to_text`` writes it.
        bytes: its size.
        sha256: its digest.
        use: ``picture`` (named by a recipe: pixels, masks, contours), ``facts`` (tables and
            sidecars that labels come from) or ``layout`` (the smallest file of a glob without
            which the copy is not recognised).
    """

    source: str
    path: str
    bytes: int
    sha256: str
    use: str

    def line(self) -> str:
        """Its row of ``raw_files.jsonl`` of a release."""
        return json.dumps(asdict(self), sort_keys=True) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFile:
    """A raw file in the table of a workspace, with what decides whether a release may name it.

    Attributes:
        file: the file.
        glob: the glob of the layout that it fits; empty for a file of an image.
        cases: keys of the cases that alone it speaks of, which may be none; ``None`` for a table
            or a file that it takes to recognise the copy.
        unnamed: folders of its path that the card does not name; the owner of the copy may have
            named them.
    """

    file: RawFile
    glob: str
    cases: tuple[str, ...] | None
    unnamed: tuple[str, ...]

    def line(self) -> str:
        """Its row of ``raw_files.jsonl`` of a workspace."""
        return json.dumps(asdict(self), sort_keys=True) + "\n"


def digests_of(pictures: Iterable[RenderedPicture]) -> Mapping[str, str]:
    """Raw files that images are made of, below the raw root, with their digests."""
    digests: dict[str, str] = {}
    for picture in pictures:
        files = picture.recipe["files"]
        digests.update({text_to_name(text): digest for text, digest in files.items()})
    return digests


def raw_files(
    source_scan: Scan, tree: TreeSnapshot, digests: Mapping[str, str]
) -> Iterator[ListedFile]:
    """Raw files of a source, in order of use and path; one that is gone by now is left out.

    A file of ``layout`` may be one of ``picture`` too: a release that lacks that image still
    needs the layout. Where a glob fits sidecars, files of it that belong to no case are left out.

    Args:
        source_scan: the scan.
        tree: the raw tree that was scanned.
        digests: of the files that its images are made of.
    """
    sizes = {name: state.size for name, state in tree.states.items()}
    layout = source_scan.source.card.layout(source_scan.layout.layout)
    matched = {
        glob: [name for name in tree.seen.match(glob) if name in sizes]
        for glob in (*layout.expect, *layout.optional)
    }
    owners = _owners(source_scan)
    facts = {
        name: (glob, None if owners.keys().isdisjoint(names) else owners.get(name, ()))
        for glob, names in reversed(matched.items())
        for name in names
        if not holds_pixels(name) and name not in digests
    }
    least = {
        min(names, key=lambda name: (sizes[name], name)): glob
        for glob, names in matched.items()
        if glob in layout.expect and names
    }
    named = _folders_named(source_scan.source.card)

    def listed(
        name: str, use: str, glob: str = "", cases: tuple[str, ...] | None = None
    ) -> Iterator[ListedFile]:
        digest = digests.get(name) or _digest(tree.root / name)
        if digest is None or name not in sizes:
            return
        path = name_to_text(name)
        file = RawFile(
            source=source_scan.source.id, path=path, bytes=sizes[name], sha256=digest, use=use
        )
        folders = () if use == PICTURE else tuple(dict.fromkeys(path.split("/")[:-1]))
        unnamed = tuple(
            folder for folder in folders if not any(part.fullmatch(folder) for part in named)
        )
        yield ListedFile(file=file, glob=glob, cases=cases, unnamed=unnamed)

    for name in sorted(digests):
        yield from listed(name, PICTURE)
    for name, (glob, cases) in sorted(facts.items()):
        if cases != ():
            yield from listed(name, FACTS, glob, cases)
    for name, glob in sorted(least.items()):
        if name not in facts or facts[name][1] is not None:
            yield from listed(name, LAYOUT, glob)


def _owners(source_scan: Scan) -> Mapping[str, tuple[str, ...]]:
    """Name of a sidecar -> keys of its cases."""
    owners: dict[str, tuple[str, ...]] = {}
    for case in source_scan.cases:
        for path in case.sidecars:
            name = path.relative_to(source_scan.root).as_posix()
            owners[name] = (*owners.get(name, ()), case.key)
    return owners


def _folders_named(card: Card) -> Sequence[re.Pattern[str]]:
    """Names of folders in the globs of a card; those that are wild alone name nothing."""
    globs = (
        glob
        for layout in card.layouts
        for glob in (*layout.expect, *layout.optional, *layout.ignore)
    )
    parts = {
        part
        for glob in globs
        for alternative in expand_braces(glob)
        for part in alternative.split("/")[:-1]
    }
    return [compile_glob(part) for part in sorted(parts) if part.strip("*?")]


def _digest(path: Path) -> str | None:
    try:
        return sha256_of(path)
    except OSError:
        return None
