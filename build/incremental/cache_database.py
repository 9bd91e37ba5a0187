"""Build cache in SQLite: file digests, rendered images, results of earlier builds.

A digest is stored for a path and the state of the file. A file with another state but the same size
is hashed again, so that one that was merely touched or restored costs a read and no rendering. A
rendering is stored under its content key: the job without machine-dependent paths, and the digests
of its raw files. A changed raw file, card policy or engine epoch gives another key. A case whose
regions were measured in another epoch is rendered again, to the same images. An image counts as
present only if its bytes are those that were written.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, fields, is_dataclass
from itertools import count, takewhile
from pathlib import Path
from typing import Any, Self

from medrcube.build.incremental.file_states import FileState, TreeSnapshot, file_state
from medrcube.build.pixels.mirror import EPOCH as MIRROR_EPOCH
from medrcube.build.pixels.png_encoder import ENCODER
from medrcube.build.regions.side_by_side import LEAST_APART, MOST_SHARED
from medrcube.build.stages.plan import Artefact, RenderJob
from medrcube.build.stages.rendering.measure_regions import EPOCH as GEOMETRY_EPOCH
from medrcube.build.stages.rendering.measure_regions import has_regions, region_geometry_of
from medrcube.build.stages.rendering.recipe import EPOCH
from medrcube.build.stages.rendering.rendered_picture import RenderedPicture, RenderResult
from medrcube.errors import WorkspaceError
from medrcube.facts import QuarantineRow
from medrcube.files.atomic import sha256_of
from medrcube.names import name_to_text, relative_name

__all__ = ["BuildCache", "content_key"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS file (
    path TEXT PRIMARY KEY, size INTEGER, written INTEGER, changed INTEGER, inode INTEGER,
    sha256 TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rendering (key TEXT PRIMARY KEY, record TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memory (name TEXT PRIMARY KEY, key TEXT, record BLOB) WITHOUT ROWID;
DROP TABLE IF EXISTS digest;
DROP TABLE IF EXISTS rendered;
DROP TABLE IF EXISTS scan;
"""
"""The tables that are dropped are those of the first development version."""


_MAGIC = b"SQLite format 3\0"

_PIECE = 1 << 28
"""Most bytes of a record in one row; SQLite's limit is 1e9."""

_NEXT = "\n"
"""Separator between the name of a record and the number of a further row of it."""


class BuildCache:
    """The cache of one workspace; use as a context manager.

    It is also the lock of the workspace: SQLite lets one process at a time hold it and releases it
    if that process is killed.

    Attributes:
        damaged: where an invalid cache file was moved to; the build then starts anew.

    Raises:
        WorkspaceError: another build holds the workspace, or the file is not a cache.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.damaged = _set_aside_damaged(path)
            self._database = _connect_exclusively(path)
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                message = (
                    f"{path.parent.parent}: another build is running here; wait for it to finish"
                )
                raise WorkspaceError(message) from None
            raise WorkspaceError(f"{path}: the build cache cannot be opened: {error}") from error
        except (OSError, sqlite3.Error) as error:
            raise WorkspaceError(
                f"{path}: the build cache cannot be opened: {error}; delete it to start over"
            ) from error
        self._new = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with closing(self._database):
            self._commit()

    def find(
        self, job: RenderJob, raw: TreeSnapshot, images: Path, pictures: TreeSnapshot
    ) -> tuple[str, tuple[str, ...]] | None:
        """Return where the result of a job is stored, if it is cached and nothing has changed.

        Args:
            job: the job.
            raw: the source's raw tree.
            images: folder of all images.
            pictures: snapshot of the source's folder in it.

        Returns:
            Key for ``result_of``, and the paths of its images relative to ``images``; else
            ``None``.
        """
        digests: dict[str, str] = {}
        for path in job.case.files():
            digest = self._digest(path, raw.state(path))
            if digest is None:
                return None
            digests[str(path)] = digest
        key = content_key(job, digests)
        row = self._execute("SELECT record FROM rendering WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        try:
            files, _ = _decode(row[0], job)
        except (AttributeError, KeyError, TypeError, ValueError):  # damaged or outdated
            return None
        for name, digest in files.items():
            path = images / name
            if self._digest(path, pictures.state(path), only_recorded=False) != digest:
                return None
        return key, tuple(files)

    def result_of(self, job: RenderJob, key: str) -> RenderResult:
        """Return the result of a job, by the key that ``find`` or ``keep`` returned before."""
        row = self._execute("SELECT record FROM rendering WHERE key = ?", (key,)).fetchone()
        return _decode(row[0], job)[1]

    def keep(
        self, job: RenderJob, rendered: RenderResult, raw: TreeSnapshot, images: Path
    ) -> str | None:
        """Store the result of a job, with its images in the states in which the worker left them.

        A job whose files could not be read is retried by the next build, and so is one whose files
        have changed since the snapshot of the raw tree, because its inputs are then unknown. An
        image that somebody has changed since it was written is in another state, which the next
        build notices; on a file system that reports other inodes or change times to the worker
        than to the client, the next build reads the image once.

        Returns:
            Key for ``result_of``, or ``None`` if nothing is stored.
        """
        digests = dict(rendered.digests)
        states: dict[Path, FileState] = {}
        for path in job.case.files():
            state = raw.state(path)
            if str(path) not in digests or state is None or file_state(path) != state:
                return None
            states[path] = state
        for picture in rendered.pictures:
            state = file_state(images / picture.path)
            if state is None or state.size != picture.bytes:
                return None
        for path, state in states.items():
            self._keep_digest(
                path, state if raw.settled else _unmatched_state(state), digests[str(path)]
            )
        for image in rendered.files:
            state = FileState.unpack(image.state)
            self._keep_digest(images / image.path, state, image.sha256)
        key = content_key(job, digests)
        record = _encode(rendered) | {
            "files": {image.path: image.sha256 for image in rendered.files}
        }
        self._execute(
            "INSERT OR REPLACE INTO rendering VALUES (?, ?)",
            (key, json.dumps(record)),
        )
        self._new += 1
        if self._new % 64 == 0:
            self._commit()
        return key

    def recall(self, name: str, key: str) -> bytes | None:
        """Return the record of that name if it was stored under that key."""
        rows = (
            self._execute(
                "SELECT record FROM memory WHERE name = ? AND key = ?", (piece, key)
            ).fetchone()
            for piece in _names_of_pieces(name)
        )
        try:
            packed = b"".join(row[0] for row in takewhile(bool, rows))
            return zlib.decompress(packed) if packed else None
        except (TypeError, zlib.error):  # damaged: treated as missing
            return None

    def remember(self, name: str, key: str, record: bytes) -> None:
        """Store a record in place of the last one of that name; a large one in several rows."""
        packed = zlib.compress(record, level=1)
        pieces = [packed[first : first + _PIECE] for first in range(0, len(packed), _PIECE)]
        self._drop(f"{name}{_NEXT}", ())
        for row, piece in zip(_names_of_pieces(name), pieces, strict=False):
            self._execute("INSERT OR REPLACE INTO memory VALUES (?, ?, ?)", (row, key, piece))
        self._commit()

    def forget(self, prefix: str, keep: Collection[str]) -> None:
        """Delete records whose name begins with ``prefix``, except those in ``kept``."""
        self._drop(prefix, keep)
        self._commit()

    def _drop(self, prefix: str, keep: Collection[str]) -> None:
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        rows = self._execute(
            "SELECT name FROM memory WHERE name >= ? AND name < ?", (prefix, end)
        ).fetchall()
        for (row,) in rows:
            if row.partition(_NEXT)[0] not in keep:
                self._execute("DELETE FROM memory WHERE name = ?", (row,))

    def _digest(
        self, path: Path, state: FileState | None, *, only_recorded: bool = True
    ) -> str | None:
        """Return the digest of a file in a state; ``None`` if it differs from the recorded one.

        With ``only_recorded`` a file without a record is not read: it will be rendered anyway.
        """
        if state is None:
            return None
        row = self._execute(
            "SELECT size, written, changed, inode, sha256 FROM file WHERE path = ?",
            (name_to_text(str(path)),),
        ).fetchone()
        if row is None and only_recorded:
            return None
        if row is not None and FileState(*row[:4]) == state:
            return str(row[4])
        if row is not None and row[0] != state.size:
            return None
        try:
            digest = sha256_of(path)
        except OSError:
            return None
        self._keep_digest(path, state, digest)
        return digest

    def _keep_digest(self, path: Path, state: FileState, digest: str) -> None:
        self._execute(
            "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?)",
            (name_to_text(str(path)), *state, digest),
        )

    def _execute(self, statement: str, values: tuple[Any, ...]) -> sqlite3.Cursor:
        with self._clear_errors():
            return self._database.execute(statement, values)

    def _commit(self) -> None:
        with self._clear_errors():
            self._database.commit()

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        """Translate database errors into messages; a full disk is the most common cause."""
        try:
            yield
        except sqlite3.Error as error:
            raise WorkspaceError(
                f"{self._path}: the build cache cannot be used ({error}); is the folder writable "
                "and the disk not full?"
            ) from error


def _names_of_pieces(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}{_NEXT}{number}" for number in count(1))


def _set_aside_damaged(path: Path) -> Path | None:
    """Rename a file that is not a database, as left by a full disk; return its new name."""
    if not path.is_file() or path.stat().st_size == 0:
        return None
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) == _MAGIC:
            return None
    place = path.with_name(f"{path.name}.damaged")
    path.replace(place)
    for suffix in ("-wal", "-shm"):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
    return place


def _connect_exclusively(path: Path) -> sqlite3.Connection:
    """Open a connection with an exclusive lock; it is closed if that fails."""
    database = sqlite3.connect(path, timeout=1)
    try:
        database.executescript(
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;" + _SCHEMA
        )
    except sqlite3.Error:
        database.close()
        raise
    return database


def content_key(job: RenderJob, digests: Mapping[str, str]) -> str:
    """Hash of everything that determines a job's images, their names and the stored result."""

    def portable(value: Any) -> Any:
        """Return a value without machine-dependent parts; files by name and digest."""
        if isinstance(value, Path):
            return [name_to_text(relative_name(value, job.root)), digests[str(value)]]
        if is_dataclass(value):
            parts = {field.name: portable(getattr(value, field.name)) for field in fields(value)}
            return [type(value).__name__, parts]
        return [portable(part) for part in value] if isinstance(value, tuple) else value

    case = job.case
    content = {
        "epoch": EPOCH,
        "encoder": ENCODER,
        "record": [field.name for field in fields(RenderedPicture)],
        "source": job.source,
        "case": case.key,
        "name": job.place,
        "hooks": job.hooks,
        "plane": job.plane,
        "policy": portable(job.policy),
        "artefacts": portable(job.artefacts),
        "panels": portable(job.panels),
        "larger": portable(job.larger),
        "enclosed": portable(job.enclosed),
        "side": [portable(job.side), dict(case.facts).get(job.side.fact) if job.side else None],
        "images": portable(case.images),
        "guide": portable(case.guide),
        "regions": [
            [region.field, concept, region.image, portable((region.shape, *region.rivals))]
            for region, concept in zip(case.regions, job.concepts, strict=True)
        ],
    }
    if any(artefact.kind == "mirrored" for artefact in job.artefacts):
        content["mirrored"] = [MIRROR_EPOCH, LEAST_APART, MOST_SHARED]
    if case.modality is not None:
        content["burnt_in"] = case.modality.burnt_in  # as declared by a layer of the vocabulary
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _unmatched_state(state: FileState) -> FileState:
    """Return a state of the same size that no file has, so that its digest is recomputed."""
    return FileState(state.size, -1, -1, -1)


def _encode(rendered: RenderResult) -> dict[str, Any]:
    return {
        "pictures": [
            {field.name: getattr(picture, field.name) for field in fields(RenderedPicture)}
            | {"artefact": asdict(picture.artefact)}
            for picture in rendered.pictures
        ],
        "geometry": [asdict(region) for region in rendered.geometry],
        "geometry_epoch": GEOMETRY_EPOCH,
        "problems": [asdict(problem) for problem in rendered.problems],
    }


def _decode(text: str, job: RenderJob) -> tuple[Mapping[str, str], RenderResult]:
    """Return the digests of the images by name, and the render result.

    Raises:
        ValueError: its regions were measured in another epoch, or not at all.
    """
    record = json.loads(text)
    if has_regions(job) and record.get("geometry_epoch") != GEOMETRY_EPOCH:
        raise ValueError("measured in another epoch")
    files = {str(name): str(digest) for name, digest in record["files"].items()}
    rendered = RenderResult(
        case=job.case.key,
        pictures=tuple(
            RenderedPicture(**{**picture, "artefact": Artefact(**picture["artefact"])})
            for picture in record["pictures"]
        ),
        geometry=tuple(map(region_geometry_of, record.get("geometry", ()))),
        problems=tuple(QuarantineRow(**problem) for problem in record["problems"]),
    )
    return files, rendered
