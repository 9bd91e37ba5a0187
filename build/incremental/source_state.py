"""State of a source on disk before a build: raw tree and rendered images."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from medrcube.build.incremental.file_states import OnFiles, TreeSnapshot, no_progress, snapshot
from medrcube.build.incremental.result_cache import hash_values, scan_key, source_key
from medrcube.build.pixels.png_encoder import ENCODER
from medrcube.build.stages.scan import inspect_tree
from medrcube.sources._framework.contract import Source
from medrcube.sources._framework.raw_tree.roots import describe_root

__all__ = ["SourceState", "inspect_source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """A source, its raw tree and its images.

    Attributes:
        source: the source.
        raw: snapshot of its raw tree.
        pictures: snapshot of the folder of its images.
        scan: hash of everything that its scan depends on.
        common: hash of what all of its cases depend on.
        root_note: which folder was used as raw root instead of the given one; empty if the given
            one was.
    """

    source: Source
    raw: TreeSnapshot
    pictures: TreeSnapshot
    scan: str
    common: str
    root_note: str

    @property
    def id(self) -> str:
        """Id of the source."""
        return self.source.id

    @property
    def is_windowed(self) -> bool:
        """Whether reviewers may need original pixels, because a window hides some of them."""
        return self.source.card.pixels.window != "none"

    def without_raw_files(self) -> SourceState:
        """Return a copy without the states of the raw files."""
        return replace(self, raw=self.raw.closed())

    def without_images(self) -> SourceState:
        """Return a copy without the states of the images."""
        return replace(self, pictures=self.pictures.closed())

    def key(self, pictures: TreeSnapshot) -> str | None:
        """Hash of everything that determines the result of the source, including these images.

        ``None`` if a change of the raw tree or of the images might go unnoticed.
        """
        if not (self.raw.settled and pictures.settled):
            return None
        return hash_values(self.scan, ENCODER, self.source.card.geometry, pictures.digest)


def inspect_source(
    source: Source, root: Path, images: Path, secret: bytes, tell: OnFiles = no_progress
) -> SourceState:
    """Take snapshots of the raw tree and the images of a source.

    Args:
        source: the source.
        root: its raw tree.
        images: folder of all images.
        secret: key of the workspace for patient hashes.
        tell: called with the number of files of each folder of the raw tree.

    Raises:
        SourceError: the raw root is not a folder.
    """
    raw = inspect_tree(source, root, tell)
    return SourceState(
        source=source,
        raw=raw,
        pictures=snapshot(images / source.id),
        scan=scan_key(source, raw, secret),
        common=hash_values(source_key(source, raw.root, secret), ENCODER, source.card.geometry),
        root_note=describe_root(root, raw.root),
    )
