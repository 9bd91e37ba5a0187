"""What is already known: digests of raw files and records of rendered pictures, in SQLite.

A digest is remembered for (path, size, modification time). A rendering is remembered for its
content key: the job without any path that differs between machines, and the digests of its raw
files. A changed raw file, card policy or engine epoch therefore gives another key, and nothing
is ever taken for done because a file merely exists.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from medrcube.build.encode import ENCODER
from medrcube.build.plan import Artefact, Job
from medrcube.build.render import EPOCH, Picture, Rendered
from medrcube.errors import WorkspaceError
from medrcube.records import Problem

_SCHEMA = """
CREATE TABLE IF NOT EXISTS digest (
    path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, sha256 TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rendered (key TEXT PRIMARY KEY, record TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS scan (source TEXT PRIMARY KEY, key TEXT, record BLOB) WITHOUT ROWID;
"""


class BuildCache:
    """The cache of one workspace; use as a context manager.

    It also is the lock of the workspace: SQLite gives it to one process at a time and takes it
    back from a process that is killed.

    Raises:
        WorkspaceError: another build holds the workspace, or the file is no cache.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=1)
            self._database.executescript(
                "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;" + _SCHEMA
            )
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                message = f"{path.parent.parent}: another build is at work here; wait for it"
                raise WorkspaceError(message) from None
            raise WorkspaceError(f"{path}: the build cache cannot be opened: {error}") from error
        except (OSError, sqlite3.Error) as error:
            raise WorkspaceError(
                f"{path}: the build cache cannot be opened: {error}; delete it to start anew"
            ) from error
        self._new = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with closing(self._database):
            self._commit()

    def find(self, job: Job, images: Path) -> Rendered | None:
        """What became of a job in an earlier build, if nothing has changed since."""
        digests = self._digests(job.case.files())
        if digests is None:
            return None
        row = self._execute(
            "SELECT record FROM rendered WHERE key = ?", (content_key(job, digests),)
        ).fetchone()
        if row is None:
            return None
        rendered = _decode(json.loads(row[0]), job)
        for picture in rendered.pictures:
            try:
                intact = (images / picture.path).stat().st_size == picture.bytes
            except OSError:
                intact = False
            if not intact:
                return None
        return rendered

    def keep(self, job: Job, rendered: Rendered) -> None:
        """Remember what became of a job; a job whose files could not be read is tried again."""
        digests = dict(rendered.digests)
        for path in job.case.files():
            if str(path) not in digests:
                return
            try:
                state = path.stat()
            except OSError:  # gone while it was rendered: nothing to remember
                return
            self._execute(
                "INSERT OR REPLACE INTO digest VALUES (?, ?, ?, ?)",
                (str(path), state.st_size, state.st_mtime_ns, digests[str(path)]),
            )
        self._execute(
            "INSERT OR REPLACE INTO rendered VALUES (?, ?)",
            (content_key(job, digests), json.dumps(_encode(rendered))),
        )
        self._new += 1
        if self._new % 64 == 0:
            self._commit()

    def find_scan(self, source: str, key: str) -> bytes | None:
        """The record of the latest scan of a source, if it was made under the same key."""
        row = self._execute(
            "SELECT record FROM scan WHERE source = ? AND key = ?", (source, key)
        ).fetchone()
        return None if row is None else bytes(row[0])

    def keep_scan(self, source: str, key: str, record: bytes) -> None:
        """Remember the latest scan of a source."""
        self._execute("INSERT OR REPLACE INTO scan VALUES (?, ?, ?)", (source, key, record))
        self._commit()

    def _digests(self, paths: Iterable[Path]) -> Mapping[str, str] | None:
        found: dict[str, str] = {}
        for path in paths:
            row = self._execute(
                "SELECT size, mtime_ns, sha256 FROM digest WHERE path = ?", (str(path),)
            ).fetchone()
            try:
                state = path.stat()
            except OSError:
                return None
            if row is None or (state.st_size, state.st_mtime_ns) != row[:2]:
                return None
            found[str(path)] = row[2]
        return found

    def _execute(self, statement: str, values: tuple[Any, ...]) -> sqlite3.Cursor:
        with self._told():
            return self._database.execute(statement, values)

    def _commit(self) -> None:
        with self._told():
            self._database.commit()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of the database in words; a full disk is the usual one."""
        try:
            yield
        except sqlite3.Error as error:
            raise WorkspaceError(
                f"{self._path}: the build cache cannot be used ({error}); is the folder writable "
                "and the disk not full?"
            ) from error


def content_key(job: Job, digests: Mapping[str, str]) -> str:
    """Hash of everything that decides the pixels and names of a job's pictures."""

    def portable(value: Any) -> Any:
        """A value without anything that differs between machines; files by name and digest."""
        if isinstance(value, Path):
            return [value.relative_to(job.root).as_posix(), digests[str(value)]]
        if is_dataclass(value):
            parts = {field.name: portable(getattr(value, field.name)) for field in fields(value)}
            return [type(value).__name__, parts]
        return [portable(part) for part in value] if isinstance(value, tuple) else value

    case = job.case
    content = {
        "epoch": EPOCH,
        "encoder": ENCODER,
        "source": job.source,
        "case": case.key,
        "name": job.name,
        "hooks": job.hooks,
        "plane": job.plane,
        "policy": portable(job.policy),
        "artefacts": portable(job.artefacts),
        "images": portable(case.images),
        "guide": portable(case.guide),
        "regions": [
            [region.field, concept, region.image, portable(region.shape)]
            for region, concept in zip(case.regions, job.concepts, strict=True)
        ],
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _encode(rendered: Rendered) -> dict[str, Any]:
    return {
        "pictures": [asdict(picture) for picture in rendered.pictures],
        "problems": [asdict(problem) for problem in rendered.problems],
    }


def _decode(record: Mapping[str, Any], job: Job) -> Rendered:
    return Rendered(
        case=job.case.key,
        pictures=tuple(
            Picture(**{**picture, "artefact": Artefact(**picture["artefact"])})
            for picture in record["pictures"]
        ),
        problems=tuple(Problem(**problem) for problem in record["problems"]),
    )
