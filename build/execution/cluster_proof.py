"""Proof that a worker sees the client's files and runs its code.

The client writes a nonce into the folder of images and takes digests of a few raw files. A worker
must answer for each of these, and for the code that it runs, before its results count. Each process
answers once, so workers that join late answer like all others.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from medrcube.build.incremental.result_cache import running_code
from medrcube.build.pixels.png_encoder import ENCODER
from medrcube.build.stages.plan import RenderJob

__all__ = ["Challenge", "FileSample", "ask_file_server", "challenge_workers", "fault_of_worker"]

_SAMPLES = 3
"""Raw files of each root that are checked."""

_ENDS = 1 << 16
"""Bytes that are read at the beginning and at the end of each."""

_WAITS = (0.0, 0.5, 1.5, 3.0)
"""Seconds before retries: a network file system may show a new file late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSample:
    """A raw file as the client sees it.

    Attributes:
        path: its path.
        size: in bytes.
        digest: SHA-256 of its beginning and end.
    """

    path: Path
    size: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """What a worker must see and run.

    Attributes:
        nonce: file in the folder of images.
        word: its content, random for each build.
        samples: raw files of every root.
        adapters: adapters that read pixels themselves, by path, with their digests.
        code: versions and digests of the code that makes images, by name.
    """

    nonce: Path
    word: str
    samples: tuple[FileSample, ...]
    adapters: tuple[tuple[Path, str], ...]
    code: tuple[tuple[str, str], ...]


@contextmanager
def challenge_workers(jobs: Sequence[RenderJob], images: Path) -> Iterator[Challenge]:
    """Yield a challenge for the workers of one build; its nonce is removed at the end.

    Raises:
        OSError: the nonce cannot be written.
    """
    for remnant in images.glob(".nonce-*"):  # of a killed client; only one builds at a time
        remnant.unlink(missing_ok=True)
    word = secrets.token_hex(16)
    nonce = images / f".nonce-{word}"
    nonce.write_text(word, encoding="ascii")
    try:
        places, adapters = _roots_and_adapters(jobs)
        yield Challenge(
            nonce=nonce,
            word=word,
            samples=tuple(_samples(jobs, places.values())),
            adapters=tuple((path, _ends(path)) for path in sorted(adapters)),
            code=tuple(_code().items()),
        )
    finally:
        nonce.unlink(missing_ok=True)


def ask_file_server(folder: Path) -> None:
    """Make an NFS client refresh its cache of a folder by opening the folder.

    Raises:
        OSError: the folder cannot be opened.
    """
    os.close(os.open(folder, os.O_RDONLY))


@lru_cache(maxsize=4)
def fault_of_worker(challenge: Challenge) -> str:
    """Return why this process must not render for the client; empty if it may."""
    return _fault_of_code(challenge) or _fault_of_images(challenge) or _fault_of_files(challenge)


def _roots_and_adapters(jobs: Sequence[RenderJob]) -> tuple[dict[Path, array[int]], set[Path]]:
    """Return the positions of the jobs of each raw root, and the adapters that read pixels.

    Only positions are held: a build has more jobs than fit into memory.
    """
    places: dict[Path, array[int]] = {}
    adapters: set[Path] = set()
    for place, job in enumerate(jobs):
        places.setdefault(job.root, array("q")).append(place)
        if job.hooks:
            adapters.add(job.folder / "adapter.py")
    return places, adapters


def _samples(jobs: Sequence[RenderJob], places: Iterable[Sequence[int]]) -> Iterator[FileSample]:
    for mine in places:
        step = max(1, len(mine) // _SAMPLES)
        for place in mine[::step][:_SAMPLES]:
            path = next(iter(jobs[place].case.files()))
            try:
                yield FileSample(path=path, size=path.stat().st_size, digest=_ends(path))
            except OSError:  # the case itself will report it
                continue


def _ends(path: Path) -> str:
    with path.open("rb") as file:
        ends = file.read(_ENDS)
        if file.seek(0, os.SEEK_END) > _ENDS:
            file.seek(-_ENDS, os.SEEK_END)
            ends += file.read(_ENDS)
    return hashlib.sha256(ends).hexdigest()


def _code() -> Mapping[str, str]:
    return {**running_code(), "encoder": ENCODER}


def _fault_of_code(challenge: Challenge) -> str:
    here, there = _code(), dict(challenge.code)
    for name in sorted(here.keys() | there.keys()):
        mine, theirs = here.get(name, "none"), there.get(name, "none")
        if mine != theirs:
            return (
                f"runs {name} {mine[:_LIMIT]}, the client {theirs[:_LIMIT]}; install the same on "
                "all machines"
            )
    return ""


_LIMIT = 40


def _fault_of_images(challenge: Challenge) -> str:
    folder = challenge.nonce.parent
    for wait in _WAITS:
        time.sleep(wait)
        try:
            ask_file_server(folder)
            if challenge.nonce.read_text(encoding="ascii") == challenge.word:
                return "" if os.access(folder, os.W_OK) else f"may not write to {folder}"
        except OSError:
            continue
    return (
        f"does not see what the client writes to {folder}; the workspace must lie on a file system "
        "that all machines share, under the same path"
    )


def _fault_of_files(challenge: Challenge) -> str:
    for sample in challenge.samples:
        try:
            here = (sample.path.stat().st_size, _ends(sample.path))
        except OSError as error:
            return f"cannot read {sample.path} ({error.strerror}); {_SHARE}"
        if here != (sample.size, sample.digest):
            return f"has another file at {sample.path}; {_SHARE}"
    for path, digest in challenge.adapters:
        try:
            same = _ends(path) == digest
        except OSError:
            same = False
        if not same:
            return (
                f"has a different adapter at {path}, or none; "
                "install the same version on all machines"
            )
    return ""


_SHARE = "raw data must lie on a file system that all machines share, under the same path"
