"""``medrcube sources get``: download of a source, complete or in part."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from medrcube.errors import MedrcubeError
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_parts.home import HomeFacts
from medrcube.sources._homes.clients import CLIENTS, ClientHome
from medrcube.sources._homes.downloads import HttpHome
from medrcube.sources._homes.listings import LISTINGS
from medrcube.sources._homes.manifest import open_manifest
from medrcube.sources._homes.protocol import DownloadedFile, DownloadRequest, Home, ProgressStages

__all__ = ["HOMES", "download", "unpack_commands"]

HOMES: Mapping[str, Home] = {
    **dict.fromkeys(LISTINGS, HttpHome()),
    **dict.fromkeys(CLIENTS, ClientHome()),
}

_UNPACK = {
    ".zip": "unzip -q -n {file} -d {folder}",
    **dict.fromkeys((".tar", ".tar.gz", ".tgz"), "tar -xkf {file} -C {folder}"),
}
"""Archive suffix -> command that unpacks it without overwriting files."""


def download(
    card: Card, home: HomeFacts, order: DownloadRequest, stages: ProgressStages
) -> Sequence[DownloadedFile]:
    """Download the requested files; the licence must have been accepted.

    Args:
        card: card of the source.
        home: its home.
        order: files and target folder.
        stages: shows progress.

    Raises:
        HomeError: the home provides nothing.
        MedrcubeError: the folder is a file, or cannot be written.
    """
    if order.folder.exists() and not order.folder.is_dir():
        raise MedrcubeError(f"--to {order.folder}: is a file; expected a folder")
    manifest = open_manifest(order.folder, card.id, card.access.licence, home)
    return HOMES[home.kind].bring(home, order, manifest, stages)


def unpack_commands(
    home: HomeFacts, folder: Path, brought: Sequence[DownloadedFile]
) -> Sequence[str]:
    """Return shell commands to unpack the archives, which is never done automatically."""
    into = {file.name: file.into for file in home.files}
    lines: list[str] = []
    for file in brought:
        name = file.name.lower()
        ending = next((suffix for suffix in _UNPACK if name.endswith(suffix)), None)
        if ending is None or not file.there or (home.files and not into.get(file.name)):
            continue
        target = folder / into.get(file.name, ".")
        unpack = _UNPACK[ending].format(
            file=shlex.quote(str(folder / file.name)), folder=shlex.quote(str(target))
        )
        make = f"mkdir -p {shlex.quote(str(target))} && " if target != folder else ""
        lines.append(make + unpack)
    return lines
