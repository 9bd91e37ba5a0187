"""Transfer of one file: resumed after an interruption, verified before it gets its final name.

Partial data is in ``NAME.part``. A transfer is resumed only if the result can be verified: the home
provides a digest, or the entity tag is unchanged. An existing file is never overwritten.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2

from medrcube.errors import HomeError
from medrcube.sources._homes.https import TRIES, HomeClient, public_url
from medrcube.sources._homes.listings import RemoteFile
from medrcube.sources._homes.manifest import Manifest
from medrcube.sources._homes.protocol import DownloadedFile

__all__ = ["transfer_file"]

_CHUNK = 2**20
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_PROVED_HEADERS = {"Cache-Control": "no-transform"}


def transfer_file(
    web: HomeClient,
    file: RemoteFile,
    folder: Path,
    manifest: Manifest,
    advance: Callable[[int], None],
) -> DownloadedFile:
    """Download one file.

    Args:
        web: client of the home.
        file: file to download.
        folder: folder of the copy.
        manifest: manifest in which the file is recorded.
        advance: called with the number of bytes of each chunk.
    """
    target = folder / file.name
    try:
        if not target.parent.resolve().is_relative_to(folder.resolve()):
            return _failed(file, f"a link in {folder} leads outside that folder")
        if os.path.lexists(target):
            return _compare(file, target, manifest)
        target.parent.mkdir(parents=True, exist_ok=True)
        return _bring(web, file, target, manifest, advance)
    except HomeError as error:
        return _failed(file, str(error))
    except OSError as error:
        return _failed(file, f"{target}: cannot be written ({error.strerror})")


def _compare(file: RemoteFile, target: Path, manifest: Manifest) -> DownloadedFile:
    """Compare an existing file with the digest of the home or with its manifest entry."""
    recorded = manifest.files.get(file.name, {})
    state = target.stat()
    expected = file.digest or (("sha256", recorded["sha256"]) if "sha256" in recorded else None)
    if file.bytes not in (None, state.st_size):
        problem = f"{state.st_size:,} bytes, the home has {file.bytes:,}"
    elif expected is None:
        problem = "it cannot be verified, since the home states no digest"
    elif recorded.get(expected[0]) == expected[1] and recorded.get("bytes") == state.st_size:
        return DownloadedFile(name=file.name, status="there")
    else:
        digests = _digests(target, expected[0])
        if digests[expected[0]] == expected[1]:
            _write_down(manifest, file, state.st_size, digests)
            return DownloadedFile(name=file.name, status="there")
        problem = f"its {expected[0].upper()} is {digests[expected[0]]}, expected {expected[1]}"
    problem = (
        f"{target}: is another file ({problem}) and was left as it is: move it away to download "
        "the file again"
    )
    return DownloadedFile(name=file.name, status="kept", detail=problem)


def _bring(
    web: HomeClient,
    file: RemoteFile,
    target: Path,
    manifest: Manifest,
    advance: Callable[[int], None],
) -> DownloadedFile:
    part = target.with_name(f"{target.name}.part")
    tag = target.with_name(f"{target.name}.part.etag")
    wrong = ""
    for _ in range(TRIES):
        start = _resumable(file, part, tag)
        complete = file.bytes is not None and start == file.bytes
        whole = complete or _receive(web, file, (part, tag), start, advance)
        if not whole:
            wrong = "the connection broke off"
            continue
        size, digests = part.stat().st_size, _digests(part, *((file.digest or ("md5",))[:1]))
        wrong = _fault(file, size, digests)
        if wrong:
            part.unlink()
            continue
        with part.open("rb") as file_of_part:
            os.fsync(file_of_part.fileno())
        if os.path.lexists(target):
            return _compare(file, target, manifest)
        part.rename(target)
        tag.unlink(missing_ok=True)
        _write_down(manifest, file, size, digests)
        return DownloadedFile(name=file.name, status="fetched")
    return _failed(
        file,
        f"{public_url(file.url)}: {wrong} ({TRIES} times); run the same command again to continue",
    )


def _resumable(file: RemoteFile, part: Path, tag: Path) -> int:
    """Return the number of bytes of a partial file to resume from; deletes an unusable one."""
    if not part.exists():
        return 0
    size = part.stat().st_size
    provable = file.digest is not None or tag.exists()
    if not provable or size > (size if file.bytes is None else file.bytes):
        part.unlink()
        tag.unlink(missing_ok=True)
        return 0
    return size


def _receive(
    web: HomeClient,
    file: RemoteFile,
    places: tuple[Path, Path],
    start: int,
    advance: Callable[[int], None],
) -> bool:
    """Download the missing bytes; return whether the response was complete."""
    part, tag = places
    headers = dict(_PROVED_HEADERS)
    if start:
        headers["Range"] = f"bytes={start}-"
        if tag.exists():
            headers["If-Range"] = tag.read_text(encoding="ascii")
    with web.open(file.url, headers) as response:
        if response.status_code == 416:  # there is nothing beyond what we have: the digest decides
            return True
        match = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        goes_on = response.status_code == 206 and match is not None and int(match[1]) == start
        if response.status_code == 206 and not goes_on:
            raise HomeError(f"{public_url(file.url)}: returned another range than requested")
        etag = response.headers.get("ETag", "")
        if etag.startswith('"') and etag.isascii():  # a weak tag does not identify the bytes
            tag.write_text(etag, encoding="ascii")
        elif not goes_on:
            tag.unlink(missing_ok=True)
        try:
            with part.open("ab" if goes_on else "wb") as destination:
                for chunk in response.iter_raw():  # unbuffered: a buffer is lost on a kill
                    destination.write(chunk)
                    advance(len(chunk))
        except httpx2.HTTPError:
            return False
    return True


def _fault(file: RemoteFile, size: int, digests: dict[str, str]) -> str:
    if file.bytes not in (None, size):
        return f"{size:,} bytes received, the home states {file.bytes:,}"
    if file.digest and digests[file.digest[0]] != file.digest[1]:
        algorithm, digest = file.digest
        return f"{algorithm.upper()} is {digests[algorithm]}, the home states {digest}"
    return ""


def _digests(path: Path, *algorithms: str) -> dict[str, str]:
    """Compute SHA-256 and other digests of a file in one pass."""
    hashes: dict[str, Any] = {
        name: hashlib.new(name, usedforsecurity=False) for name in {"sha256", *algorithms}
    }
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            for digest in hashes.values():
                digest.update(chunk)
    return {name: digest.hexdigest() for name, digest in hashes.items()}


def _write_down(manifest: Manifest, file: RemoteFile, size: int, digests: dict[str, str]) -> None:
    proved = ":".join(file.digest) if file.digest else None
    manifest.add(file.name, bytes=size, **digests, proved_by=proved, url=public_url(file.url))


def _failed(file: RemoteFile, detail: str) -> DownloadedFile:
    return DownloadedFile(name=file.name, status="failed", detail=detail)
