"""Protocol of a home, and its requests and results."""

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
    """Shows progress; ``medrcube.console.progress.Reporter`` is one."""

    def stage(self, name: str, total: int) -> AbstractContextManager[Any]:
        """A context whose value is called with the number of units done."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadRequest:
    """Files to download and their target folder.

    Attributes:
        folder: folder of the copy.
        wanted: requested files, relative to the raw root; ``None`` for all.
    """

    folder: Path
    wanted: Collection[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadedFile:
    """What became of one file.

    Attributes:
        name: its path below the folder.
        status: ``fetched``, ``there`` (it was already), ``kept`` (another file has that name and
            was left alone), ``failed``, or ``unknown`` (wanted, and not offered by the home).
        detail: why, in words, where it is not there.
    """

    name: str
    status: str
    detail: str = ""

    @property
    def there(self) -> bool:
        """Whether the folder holds the file."""
        return self.status in ("fetched", "there")


class Home(Protocol):
    """A kind of home: brings files into a folder and says what became of each."""

    def bring(
        self, home: HomeFacts, order: DownloadRequest, manifest: Manifest, stages: ProgressStages
    ) -> Sequence[DownloadedFile]:
        """Bring what is ordered.

        Raises:
            HomeError: the home gives nothing, or cannot give a part.
        """
        ...
