"""File listings: Zenodo, figshare, PhysioNet, and URLs in the card.

Response formats: Zenodo's records API (``files`` with ``key``, ``size``, ``checksum`` and
``links.self``), figshare's API v2 (``files`` with ``name``, ``size``, ``computed_md5`` and
``download_url``), PhysioNet's ``SHA256SUMS.txt``.
"""

from __future__ import annotations

import json
import netrc
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from medrcube.errors import HomeError
from medrcube.release_format.tree import leaves_folder, safe_repr
from medrcube.sources._framework.card_parts.home import HomeFacts
from medrcube.sources._homes.https import HomeClient

__all__ = ["LISTINGS", "RemoteFile", "list_files"]

_SUM = re.compile(r"([0-9a-f]{64}) [ *]?(.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file that a home offers.

    Attributes:
        name: destination path relative to the folder of the copy.
        url: download URL.
        bytes: size in bytes, or ``None`` if not stated.
        digest: algorithm and hexadecimal digest, or ``None``.
    """

    name: str
    url: str
    bytes: int | None
    digest: tuple[str, str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingApi:
    """A kind of home that lists files.

    Attributes:
        hosts: domains of the host.
        files: function that requests the list.
        login: function that returns the user's name and password, if it may require them.
    """

    hosts: tuple[str, ...]
    files: Callable[[HomeClient, HomeFacts], Iterator[RemoteFile]]
    login: Callable[[], tuple[str, str] | None] = lambda: None


def list_files(web: HomeClient, home: HomeFacts) -> Sequence[RemoteFile]:
    """Return the relevant files of a home, in its order.

    Raises:
        HomeError: no response, an unexpected format, a missing file, or a name that leads out of
            the folder of the copy.
    """
    files = {file.name: file for file in LISTINGS[home.kind].files(web, home)}
    if not files:
        raise HomeError(f"{home.kind} {home.id}: lists no file; has the home changed?")
    for name in files:
        if leaves_folder(name):
            raise HomeError(
                f"{home.kind} {home.id}: offers {safe_repr(name)}, which is not a safe name"
            )
    if not home.files:
        return tuple(files.values())
    lacking = [file.name for file in home.files if file.name not in files]
    if lacking:
        raise HomeError(
            f"{home.kind} {home.id}: no longer offers {', '.join(lacking)}; it has "
            f"{', '.join(list(files)[:5])}"
        )
    for file in home.files:
        digest = files[file.name].digest
        if file.md5 and digest and digest[0] == "md5" and digest[1] != file.md5:
            raise HomeError(
                f"{home.kind} {home.id}: {file.name} has MD5 {digest[1]}, the card states "
                f"{file.md5}: this is not the edition that the card describes"
            )
    return tuple(files[file.name] for file in home.files)


def _zenodo(web: HomeClient, home: HomeFacts) -> Iterator[RemoteFile]:
    answer = _json(web, f"https://zenodo.org/api/records/{home.id}")
    for entry in _entries(answer, home):
        algorithm, _, digest = _text(entry, "checksum", home).partition(":")
        yield RemoteFile(
            name=_text(entry, "key", home),
            url=_text(entry.get("links"), "self", home),
            bytes=_size(entry, home),
            digest=(algorithm, digest.lower()) if algorithm in ("md5", "sha256") else None,
        )


def _figshare(web: HomeClient, home: HomeFacts) -> Iterator[RemoteFile]:
    article, _, version = home.id.partition("/")
    answer = _json(web, f"https://api.figshare.com/v2/articles/{article}/versions/{version}")
    for entry in _entries(answer, home):
        if entry.get("is_link_only"):
            continue
        digest = entry.get("computed_md5") or entry.get("supplied_md5")
        yield RemoteFile(
            name=_text(entry, "name", home),
            url=_text(entry, "download_url", home),
            bytes=_size(entry, home),
            digest=("md5", str(digest).lower()) if digest else None,
        )


def _physionet(web: HomeClient, home: HomeFacts) -> Iterator[RemoteFile]:
    base = f"https://physionet.org/files/{home.id}/"
    for number, line in enumerate(web.get(f"{base}SHA256SUMS.txt").text.splitlines(), 1):
        match = _SUM.fullmatch(line)
        if match is None:
            raise HomeError(
                f"{base}SHA256SUMS.txt line {number}: {safe_repr(line)}; expected a digest"
            )
        yield RemoteFile(
            name=match[2], url=base + quote(match[2]), bytes=None, digest=("sha256", match[1])
        )


def _files_of_card(_: HomeClient, home: HomeFacts) -> Iterator[RemoteFile]:
    for file in home.files:
        yield RemoteFile(
            name=file.name,
            url=file.url,
            bytes=file.bytes or None,
            digest=("md5", file.md5) if file.md5 else None,
        )


def _physionet_login() -> tuple[str, str] | None:
    """Return the login from ``PHYSIONET_USERNAME`` and ``PHYSIONET_PASSWORD``, or ``.netrc``."""
    name, password = (os.environ.get(f"PHYSIONET_{part}", "") for part in ("USERNAME", "PASSWORD"))
    if name and password:
        return name, password
    try:
        login = netrc.netrc().authenticators("physionet.org")
    except (OSError, netrc.NetrcParseError):
        return None
    return (login[0], login[2]) if login and login[0] and login[2] else None


LISTINGS: Mapping[str, ListingApi] = {
    "zenodo": ListingApi(hosts=("zenodo.org",), files=_zenodo),
    "figshare": ListingApi(
        hosts=("figshare.com", "s3-eu-west-1.amazonaws.com"),  # API, and storage of the files
        files=_figshare,
    ),
    "physionet": ListingApi(hosts=("physionet.org",), files=_physionet, login=_physionet_login),
    "https": ListingApi(hosts=(), files=_files_of_card),
}


def _json(web: HomeClient, url: str) -> Any:
    try:
        return json.loads(web.get(url).content)
    except (ValueError, UnicodeDecodeError):
        raise HomeError(f"{url}: did not return JSON; has the home changed?") from None


def _entries(answer: Any, home: HomeFacts) -> Sequence[Mapping[str, Any]]:
    files = answer.get("files") if isinstance(answer, dict) else None
    if not isinstance(files, list) or not all(isinstance(entry, dict) for entry in files):
        raise HomeError(
            f"{home.kind} {home.id}: its response has no list of files; has the home changed?"
        )
    return files


def _text(entry: Any, key: str, home: HomeFacts) -> str:
    value = entry.get(key) if isinstance(entry, Mapping) else None
    if not isinstance(value, str) or not value:
        raise HomeError(
            f"{home.kind} {home.id}: a file has {key} {safe_repr(value)}; expected a text"
        )
    return value


def _size(entry: Mapping[str, Any], home: HomeFacts) -> int:
    value = entry.get("size")
    if type(value) is not int or value < 0:
        raise HomeError(f"{home.kind} {home.id}: a file has size {safe_repr(value)}")
    return value
