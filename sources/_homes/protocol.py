"""Interface of a home (download host), with its request and result types."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from medrcube.sources._framework.card_parts.home import HomeFacts
from medrcube.sources._homes.manifest import Manifest

__all__ = ["DownloadRequest", "DownloadedFile", "Home", "ProgressStages"]


class ProgressStages(Protocol):
    """Progress display; implemented by ``medrcube.console.progress.Reporter``."""

    def stage(self, name: str, total: int) -> AbstractContextManager[Any]:
        """Return a context whose value is called with the number of completed units."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadRequest:
    """Files to download and their target folder.

    Attributes:
        folder: folder of the copy.
        requested_files: requested files, relative to the raw root; ``None`` for all.
    """

    folder: Path
    requested_files: Collection[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadedFile:
    """Result for one file.

    Attributes:
        name: path relative to the folder.
        status: ``fetched``, ``there`` (already present), ``kept`` (a different file of that name
            was left untouched), ``failed``, or ``unknown`` (requested, but not offered by the
            home).
        detail: reason, if the file is not present.
    """

    name: str
    status: str
    detail: str = ""

    @property
    def there(self) -> bool:
        """Whether the folder contains the file."""
        return self.status in ("fetched", "there")


class Home(Protocol):
    """A kind of home: downloads files to a folder and reports the result of each."""

    def bring(
        self, home: HomeFacts, order: DownloadRequest, manifest: Manifest, stages: ProgressStages
    ) -> Sequence[DownloadedFile]:
        """Download the requested files.

        Raises:
            HomeError: the home provides nothing, or cannot provide single files.
        """
        ...
