"""Raw files needed for the images that a release lacks: a download list.

Recipes name the files of each image. ``raw_files.jsonl`` adds what every copy of a source must
have: its fact tables, and a file for each glob of its layout.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from medrcube.build.execution.progress import Stages
from medrcube.build.reconstruction.recipes import Recipe
from medrcube.build.reconstruction.reconstruct import already_present, pictures_and_recipes
from medrcube.build.release.raw_files_table import read_raw_files
from medrcube.build.stages.raw_files import FACTS, LAYOUT, PICTURE, RawFileRecord
from medrcube.sources._framework.contract import Source
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

__all__ = ["NeededFile", "NeededFiles", "needed_files"]

_COMMENTS = ("#", ";")
"""A line of rsync's ``--files-from`` that begins with one of these is a comment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededFile:
    """One raw file.

    Attributes:
        path: relative to the raw root.
        bytes: file size, or ``None`` if the release does not state it.
        sha256: SHA-256 of the file.
        use: what it is needed for; see ``raw_files.RawFileRecord``.
    """

    path: str
    bytes: int | None
    sha256: str
    use: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededFiles:
    """Raw files needed for the missing images of one source.

    Attributes:
        source: id of the source.
        pictures: number of these images.
        files: sorted by path.
        whole: whether tables and layout are included; an older release does not list those.
    """

    source: str
    pictures: int
    files: tuple[NeededFile, ...]
    whole: bool

    @property
    def bytes(self) -> int | None:
        """Size of all files; ``None`` if that of one is unknown."""
        sizes = [file.bytes for file in self.files]
        return sum(size or 0 for size in sizes) if None not in sizes else None

    def text(self) -> str:
        """One path a line, as ``rsync --files-from``, ``wget --input-file`` and others expect."""
        paths = (file.path for file in self.files)
        return "".join(
            f"./{path}\n" if path.startswith(_COMMENTS) else f"{path}\n" for path in paths
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the list for programs."""
        return {
            "pictures": self.pictures,
            "bytes": self.bytes,
            "whole": self.whole,
            "files": [asdict(file) for file in self.files],
        }


def needed_files(
    release: Path, sources: Mapping[str, Source], stages: Stages
) -> tuple[NeededFiles, ...]:
    """List the raw files of every image that a release lacks, by source.

    Args:
        release: a release made by medrcube.
        sources: registry, for the globs of layouts.
        stages: progress display.

    Raises:
        ReleaseError: the tree breaks its rules.
    """
    tree = release.resolve()
    images, recipes = pictures_and_recipes(tree)
    needed_recipes = [recipes[image] for image in images if image in recipes]
    present = {image for image, _ in already_present(tree, needed_recipes, stages)}
    lacking: dict[str, list[Recipe]] = {}
    for recipe in needed_recipes:
        if recipe.image not in present:
            lacking.setdefault(recipe.source, []).append(recipe)
    listed: dict[str, list[RawFileRecord]] = {}
    for file in read_raw_files(tree) if lacking else ():
        listed.setdefault(file.source, []).append(file)
    return tuple(
        _needed(name, mine, listed.get(name, ()), sources.get(name))
        for name, mine in sorted(lacking.items())
    )


def _needed(
    name: str, recipes: Sequence[Recipe], listed: Sequence[RawFileRecord], source: Source | None
) -> NeededFiles:
    digests = {path: digest for recipe in recipes for path, digest in recipe.files.items()}
    sizes = {file.path: file.bytes for file in listed}
    files = {
        path: NeededFile(path=path, bytes=sizes.get(path), sha256=digest, use=PICTURE)
        for path, digest in digests.items()
    }
    shared = [file for file in listed if file.use == FACTS and file.path not in files]
    layouts = {layout for recipe in recipes if (layout := _layout(recipe))}
    beside = [file for file in listed if file.use == LAYOUT and file.path not in files]
    shared += _for_layout(beside, [*files, *(file.path for file in shared)], layouts, source)
    for file in shared:
        files[file.path] = NeededFile(
            path=file.path, bytes=file.bytes, sha256=file.sha256, use=file.use
        )
    return NeededFiles(
        source=name,
        pictures=len(recipes),
        files=tuple(files[path] for path in sorted(files)),
        whole=bool(listed),
    )


def _layout(recipe: Recipe) -> str:
    origin = recipe.record.get("origin")
    layout = origin.get("layout") if isinstance(origin, dict) else None
    return layout if isinstance(layout, str) else ""


def _for_layout(
    files: Sequence[RawFileRecord],
    names: Collection[str],
    layouts: Collection[str],
    source: Source | None,
) -> Sequence[RawFileRecord]:
    """Return files for layout globs that none of ``names`` matches; all for an unknown layout."""
    card = source.card if source else None
    if card is None or not {layout.name for layout in card.layouts} >= set(layouts):
        return files
    tree = RawTree(Path(), names)
    lacking = [
        glob for name in layouts for glob in card.layout(name).expect if not tree.holds(glob)
    ]
    return [file for file in files if any(map(RawTree(Path(), [file.path]).holds, lacking))]
