"""Attempt log: append-only JSON lines, safe against kill -9.

A line that was incomplete when the process died is truncated at the next start; every line before
it is complete, because a record counts as written only after fsync.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from medrcube.errors import WorkspaceError
from medrcube.evaluate.runner.json_lines import parse_line

__all__ = ["FILE", "AttemptLog", "open_log", "read_attempts"]

FILE = "attempts.jsonl"


def read_attempts(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield every complete record in order; an incomplete last line is left out.

    Raises:
        WorkspaceError: a line before the last is not a record.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            yield _record(line, path, number)


@dataclass(slots=True, kw_only=True)
class AttemptLog:
    """Appends records; ``append`` returns once its record is on disk.

    Records that arrive while the disk is busy are written together.
    """

    file: BinaryIO
    path: Path
    _waiting: list[tuple[bytes, asyncio.Future[None]]] = field(default_factory=list)
    _writer: asyncio.Task[None] | None = None

    async def append(self, record: Mapping[str, Any]) -> None:
        """Write one record durably.

        Raises:
            WorkspaceError: the disk is full or not writable.
        """
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        future = asyncio.get_running_loop().create_future()
        # A lone surrogate in a reply cannot be encoded as UTF-8.
        self._waiting.append((line.encode("utf-8", "backslashreplace") + b"\n", future))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_waiting())
        await future

    def finish(self) -> None:
        """Write the records that were waiting when the event loop stopped."""
        if self._waiting:
            self._write(b"".join(line for line, _ in self._waiting))
            self._waiting = []

    async def _write_waiting(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            problem: WorkspaceError | None = None
            try:
                await asyncio.to_thread(self._write, b"".join(line for line, _ in batch))
            except WorkspaceError as error:
                problem = error
            for _, future in batch:
                if future.done():
                    continue
                if problem is None:
                    future.set_result(None)
                else:
                    future.set_exception(problem)
        self._writer = None

    def _write(self, data: bytes) -> None:
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[self.file.write(rest) :]
            os.fsync(self.file.fileno())
        except OSError as error:
            raise WorkspaceError(
                f"{self.path}: cannot be written ({error.strerror}); free disk space, then run the "
                "same command again to continue"
            ) from error


@contextlib.contextmanager
def open_log(path: Path) -> Iterator[AttemptLog]:
    """Open the log exclusively for this process and truncate an incomplete last line.

    Raises:
        WorkspaceError: another process writes to it, or it cannot be written.
    """
    try:
        file = path.open("a+b", buffering=0)
    except OSError as error:
        raise WorkspaceError(f"{path}: cannot be written ({error.strerror})") from error
    with file:
        _lock(file, path)
        _cut_torn_line(file)
        log = AttemptLog(file=file, path=path)
        try:
            yield log
        finally:
            log.finish()


def _record(line: bytes, path: Path, number: int) -> Mapping[str, Any]:
    try:
        record = parse_line(line)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise WorkspaceError(
            f"{path}:{number} is not a record of an attempt; the file was modified by another "
            "program. Restore it, or delete that line to have its question asked again"
        )
    return record


def _cut_torn_line(file: BinaryIO) -> None:
    size = file.seek(0, os.SEEK_END)
    end = size
    while end > 0:
        start = max(0, end - 65536)
        file.seek(start)
        newline = file.read(end - start).rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end < size:
        file.truncate(end)
        os.fsync(file.fileno())
    file.seek(0, os.SEEK_END)


def _lock(file: BinaryIO, path: Path) -> None:
    if sys.platform == "win32":
        return
    import fcntl  # noqa: PLC0415 - does not exist everywhere

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise WorkspaceError(
            f"{path}: another process is writing to this run; wait for it, or use another folder"
        ) from error
