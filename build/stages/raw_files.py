"""Raw files that the images, facts and layout of a source depend on.

Recipes name the files of one image each. Files that all images of a source need, and all file
sizes, are in ``raw_files.jsonl`` of the workspace; a release takes from it what its own images
need; see ``release.raw_files_table``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from medrcube.build.incremental.file_states import TreeSnapshot
from medrcube.build.name_batches import name_batches
from medrcube.build.stages.rendering.rendered_picture import RenderedPicture
from medrcube.build.stages.scan import holds_pixels
from medrcube.files.atomic import sha256_of
from medrcube.names import name_to_text, text_to_name
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.contract import Source
from medrcube.sources._framework.raw_tree.globs import compile_glob, expand_braces

__all__ = [
    "FACTS",
    "LAYOUT",
    "PICTURE",
    "USES",
    "ListedFile",
    "RawFileRecord",
    "digests_of",
    "files_of_images",
    "files_of_source",
]

PICTURE, FACTS, LAYOUT = "picture", "facts", "layout"
USES = (PICTURE, FACTS, LAYOUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawFileRecord:
    """One file of a raw tree.

    Attributes:
        source: id of the source.
        path: relative to the raw root, with forward slashes, as ``names.name_to_text`` writes it.
        bytes: file size.
        sha256: SHA-256 of the file.
        use: ``picture`` (named by a recipe: pixels, masks, contours), ``facts`` (tables and
            sidecars that labels come from) or ``layout`` (the smallest file of a glob without which
            the copy is not recognised).
    """

    source: str
    path: str
    bytes: int
    sha256: str
    use: str

    def line(self) -> str:
        """Return its row in ``raw_files.jsonl`` of a release."""
        return json.dumps(asdict(self), sort_keys=True) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFile:
    """A raw file in the table of a workspace, and the data that decide if a release may name it.

    Attributes:
        file: the file.
        glob: glob of the layout that matches it; empty for a file of an image.
        cases: keys of the cases that this file alone describes, possibly none; ``None`` for a table
            or a file that is required to recognise the copy.
        unnamed: folders of its path that the card does not name; the owner of the copy may have
            named them.
    """

    file: RawFileRecord
    glob: str
    cases: tuple[str, ...] | None
    unnamed: tuple[str, ...]

    def line(self) -> str:
        """Return its row in ``raw_files.jsonl`` of a workspace."""
        return json.dumps(asdict(self), sort_keys=True) + "\n"


def digests_of(pictures: Iterable[RenderedPicture]) -> Mapping[str, str]:
    """Return the digests of the raw files of images, by path relative to the raw root."""
    digests: dict[str, str] = {}
    for picture in pictures:
        files = picture.recipe["files"]
        digests.update({text_to_name(text): digest for text, digest in files.items()})
    return digests


def files_of_images(
    source: str, digests: Mapping[str, str], tree: TreeSnapshot
) -> Iterator[tuple[str, ListedFile]]:
    """Yield the raw files that images are made of, sorted by name, if they still exist.

    Args:
        source: id of the source.
        digests: name relative to the raw root -> digest.
        tree: the scanned raw tree.
    """
    for name in sorted(digests):
        if name in tree.states:
            yield name, _listed(source, name, tree, digests[name], PICTURE)


def files_of_source(
    source: Source,
    layout_name: str,
    tree: TreeSnapshot,
    sidecars: Mapping[str, tuple[str, ...]],
    in_images: Collection[str],
) -> Iterator[ListedFile]:
    """Yield the raw files that facts and layout of a source depend on, ordered by use and path.

    A file with use ``layout`` may also be listed as ``picture``: a release without that image still
    needs the layout. If a glob matches sidecars, those that belong to no case are left out; so are
    files that no longer exist.

    Args:
        source: the source.
        layout_name: layout of the copy.
        tree: the scanned raw tree.
        sidecars: file that provides only facts of some cases -> keys of these cases.
        in_images: files that images are made of; at least those whose suffix is not one of a pixel
            format.
    """
    states = tree.states
    layout = source.card.layout(layout_name)
    matched = {
        glob: [name for name in tree.visible_tree.match(glob) if name not in tree.blocked_files]
        for glob in (*layout.expect, *layout.optional)
    }
    facts = {
        name: (glob, None if sidecars.keys().isdisjoint(names) else sidecars.get(name, ()))
        for glob, names in reversed(matched.items())
        for name in names
        if not holds_pixels(name) and name not in in_images
    }
    least = {
        states.smallest([states.smallest(part) for part in name_batches(names)]): glob
        for glob, names in matched.items()
        if glob in layout.expect and names
    }
    patterns = _folders_named(source.card)

    def listed(
        name: str, use: str, glob: str, cases: tuple[str, ...] | None = None
    ) -> Iterator[ListedFile]:
        digest = _digest(tree.root / name)
        if digest is None or name not in states:
            return
        file = _listed(source.id, name, tree, digest, use)
        folders = tuple(dict.fromkeys(file.file.path.split("/")[:-1]))
        unnamed = tuple(
            folder for folder in folders if not any(part.fullmatch(folder) for part in patterns)
        )
        yield replace(file, glob=glob, cases=cases, unnamed=unnamed)

    for name, (glob, cases) in sorted(facts.items()):
        if cases != ():
            yield from listed(name, FACTS, glob, cases)
    for name, glob in sorted(least.items()):
        if name not in facts or facts[name][1] is not None:
            yield from listed(name, LAYOUT, glob)


def _listed(source: str, name: str, tree: TreeSnapshot, digest: str, use: str) -> ListedFile:
    file = RawFileRecord(
        source=source,
        path=name_to_text(name),
        bytes=tree.states[name].size,
        sha256=digest,
        use=use,
    )
    return ListedFile(file=file, glob="", cases=None, unnamed=())


def _folders_named(card: Card) -> Sequence[re.Pattern[str]]:
    """Patterns of the folder names in the globs of a card; pure wildcards name nothing."""
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
