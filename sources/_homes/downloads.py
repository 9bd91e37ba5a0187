"""Homes with a file listing: selection and download over HTTPS."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Sequence
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from medrcube.errors import HomeError
from medrcube.sources._framework.card_parts.home import HomeFacts
from medrcube.sources._homes.https import HomeClient
from medrcube.sources._homes.listings import LISTINGS, RemoteFile, list_files
from medrcube.sources._homes.manifest import Manifest
from medrcube.sources._homes.protocol import DownloadedFile, DownloadRequest, ProgressStages
from medrcube.sources._homes.transfer import transfer_file

__all__ = ["HttpHome", "choose_files"]

_MB = 1_000_000


class HttpHome:
    """A home of a kind in ``LISTINGS``."""

    def bring(
        self, home: HomeFacts, order: DownloadRequest, manifest: Manifest, stages: ProgressStages
    ) -> Sequence[DownloadedFile]:
        """Download the requested files one by one; a failed file does not stop the others.

        Raises:
            HomeError: the home provides no listing or none of the requested files, or there is not
                enough disk space.
        """
        with open_web(home) as web:
            offered = list_files(web, home)
            files, unknown = choose_files(offered, order.requested_files)
            if not files:
                raise HomeError(
                    f"{home.kind} {home.id}: offers files such as {offered[0].name}, none of which "
                    "is in the list; download everything and unpack it"
                )
            order.folder.mkdir(parents=True, exist_ok=True)
            _check_space(files, order)
            missing = [DownloadedFile(name=name, status="unknown") for name in unknown]
            return [*_bring_all(web, files, order, manifest, stages), *missing]


def open_web(home: HomeFacts) -> HomeClient:
    """Return a client restricted to the hosts of a home."""
    kind = LISTINGS[home.kind]
    file_hosts = [urlsplit(file.url).hostname or "" for file in home.files if file.url]
    return HomeClient((*kind.hosts, *home.hosts, *file_hosts), login=kind.login())


def choose_files(
    offered: Sequence[RemoteFile], requested: Collection[str] | None
) -> tuple[Sequence[RemoteFile], Sequence[str]]:
    """Return the requested files, and requested names that the home does not offer.

    A requested name may have leading folders: ``wget -r`` keeps the URL as folders.
    """
    if requested is None:
        return offered, ()
    by_name = {file.name: file for file in offered}
    files_by_name: dict[str, RemoteFile] = {}
    unknown: list[str] = []
    for name in sorted(requested):
        parts = PurePosixPath(name).parts
        tails = ("/".join(parts[start:]) for start in range(len(parts)))
        file = next((by_name[tail] for tail in tails if tail in by_name), None)
        if file is None:
            unknown.append(name)
        else:
            files_by_name[file.name] = file
    return tuple(files_by_name.values()), tuple(unknown)


def _check_space(files: Sequence[RemoteFile], order: DownloadRequest) -> None:
    needed = sum(file.bytes or 0 for file in files if not (order.folder / file.name).exists())
    free = shutil.disk_usage(order.folder).free
    if needed > free:
        raise HomeError(
            f"{order.folder}: {needed / 1e9:.1f} GB to download, but only {free / 1e9:.1f} GB "
            "free; choose another disk"
        )


def _bring_all(
    web: HomeClient,
    files: Sequence[RemoteFile],
    order: DownloadRequest,
    manifest: Manifest,
    stages: ProgressStages,
) -> Sequence[DownloadedFile]:
    """Download all files; progress counts MB if all sizes are known, else files."""
    sized = all(file.bytes is not None for file in files)
    total = sum(file.bytes or 0 for file in files) // _MB if sized else len(files)
    brought: list[DownloadedFile] = []
    with stages.stage("get, MB" if sized else "get", max(total, 1)) as advance:
        for file in files:
            meter = _Meter(advance if sized else _nobody)
            brought.append(transfer_file(web, file, order.folder, manifest, meter.add))
            if sized:
                advance((file.bytes or 0) // _MB - meter.megabytes)
            else:
                advance()
    return brought


class _Meter:
    """Converts bytes of one file to whole MB."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance = advance
        self._bytes = 0
        self.megabytes = 0

    def add(self, count: int) -> None:
        self._bytes += count
        new = self._bytes // _MB - self.megabytes
        self.megabytes += new
        if new:
            self._advance(new)


def _nobody(_: int) -> None:
    """Ignore bytes if progress counts files."""
