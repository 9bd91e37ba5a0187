"""Result cache: results of earlier builds, stored under a hash of all their inputs.

A record is returned only for the key that it was stored under: a hash of everything the result
depends on - code and tables of this package, library versions, card, adapter, settings, and the
states of all files that were read. Records are pickles restricted to records of this package, so
that an untrusted workspace cannot run code. An unreadable record counts as missing.
"""

from __future__ import annotations

import gc
import hashlib
import io
import pickle
import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from medrcube.build.incremental.file_states import TreeSnapshot
from medrcube.sources._framework.contract import Source
from medrcube.vocabulary.layers import active_vocabulary
from medrcube.vocabulary.word import Word

__all__ = [
    "RecordStore",
    "code_digest",
    "dump_record",
    "hash_values",
    "load_record",
    "parse_record",
    "running_code",
    "scan_key",
    "source_key",
]

Record = TypeVar("Record")

_PATHS = frozenset({"Path", "PosixPath", "WindowsPath"})
_PARTS = {
    "medrcube": "*",
    "medrcube.console": "*",  # quarantine messages contain counts in words
    "medrcube.files": "*",
    "medrcube.forms": "*",
    "medrcube.release_format": "*",
    "medrcube.vocabulary": "*",
    "medrcube.sources": "*",  # a source's own folder is part of its own key
    "medrcube.sources._formats": "**/*",
    "medrcube.sources._framework": "**/*",
    "medrcube.ontologies": "**/*",
    "medrcube.build": "**/*",
    "medrcube.tasks": "**/*",
    "medrcube.templates": "**/*",
}
_SUFFIXES = (".py", ".csv", ".j2", ".toml")


class RecordStore(Protocol):
    """Stores the latest record of each name; ``BuildCache`` implements it."""

    def recall(self, name: str, key: str) -> bytes | None:
        """Return the record of that name if it was stored under that key, else ``None``."""
        ...

    def remember(self, name: str, key: str, record: bytes) -> None:
        """Store a record in place of the last one of that name."""
        ...

    def forget(self, prefix: str, keep: Collection[str]) -> None:
        """Delete records whose name begins with ``prefix``, except those in ``kept``."""
        ...


def hash_values(*parts: object) -> str:
    """Return one hash of several values, by their ``repr``."""
    return hashlib.sha256("\0".join(map(repr, parts)).encode()).hexdigest()


def scan_key(source: Source, tree: TreeSnapshot, secret: bytes) -> str:
    """Hash of everything that the scan of a raw tree depends on."""
    return hash_values(source_key(source, tree.root, secret), tree.digest)


def source_key(source: Source, root: Path, secret: bytes) -> str:
    """Hash of what every case of a source depends on, except its files and statements about it."""
    adapter = (source.folder / "adapter.py").read_bytes()
    return hash_values(
        source.card.fingerprint,
        hashlib.sha256(adapter).digest(),
        hashlib.sha256(secret).digest(),
        root,
        code_digest(),
        active_vocabulary().digest,
    )


@cache
def code_digest() -> str:
    """Hash of the running code: modules, tables and templates of this package, and libraries.

    Computed once, since a process keeps running the code that it has loaded.
    """
    return hash_values(sorted({**_libraries(""), **running_code()}.items()))


@cache
def running_code() -> Mapping[str, str]:
    """Return what determines images, by name: package digest, and versions of Python, libraries."""
    digest = hashlib.sha256()
    for part, glob in _PARTS.items():
        folder = Path(str(files(part)))
        for file in sorted(folder.glob(glob)):
            if file.suffix in _SUFFIXES:
                name = file.relative_to(folder).as_posix()
                digest.update(f"{part}\0{name}\0".encode() + file.read_bytes())
    own = {"medrcube": digest.hexdigest(), "Python": sys.version}
    return MappingProxyType({**own, **_libraries("build")})


def dump_record(record: object) -> bytes:
    """Serialise a record."""
    stream = io.BytesIO()
    _PlainEnums(stream, protocol=5).dump(record)
    return stream.getvalue()


def load_record(memory: RecordStore, name: str, key: str, kind: type[Record]) -> Record | None:
    """Load the record of that name, if it was stored under that key and is of that kind."""
    record = memory.recall(name, key)
    if record is None:
        return None
    try:
        value = parse_record(record)
    except pickle.UnpicklingError:
        return None
    return value if isinstance(value, kind) else None


def parse_record(record: bytes) -> Any:
    """Deserialise a record.

    Raises:
        pickle.UnpicklingError: it is damaged, or holds anything but records of this package.
    """
    collecting = gc.isenabled()
    gc.disable()  # millions of long-lived objects are created; garbage collection would take longer
    try:
        return _RecordsOnly(io.BytesIO(record)).load()
    except pickle.UnpicklingError:
        raise
    except Exception as error:  # damaged bytes may raise anything
        raise pickle.UnpicklingError(f"a record of a build cannot be read: {error}") from error
    finally:
        if collecting:
            gc.enable()


class _PlainEnums(pickle.Pickler):
    """Pickles a member of an enumeration by its value.

    By default, Python 3.11.2 stores a call of ``getattr`` (``Enum.__reduce_ex__``), which no record
    may contain.
    """

    def reducer_override(self, part: object) -> Any:
        return (type(part), (part.value,)) if isinstance(part, Enum) else NotImplemented


class _RecordsOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] == "pathlib" and name in _PATHS:
            return super().find_class(module, name)
        if module.startswith("medrcube."):
            candidate = super().find_class(module, name)
            # A name may be dotted and reach what a module has imported, such as ``os.system``.
            if _is_record(candidate) and candidate.__module__ == module:
                return candidate
        raise pickle.UnpicklingError(f"a record of a build must not hold {module}.{name}")


def _is_record(candidate: object) -> bool:
    return isinstance(candidate, type) and (
        is_dataclass(candidate) or issubclass(candidate, (Enum, Word))
    )


def _libraries(extra: str) -> dict[str, str]:
    """Return the versions of the package's requirements for an extra; of all extras without one."""
    requirements = [
        line for line in requires("medrcube") or () if not extra or f'"{extra}"' in line
    ]
    names = {re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in requirements}
    return {name: _installed_version(name) for name in sorted(names)}


def _installed_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # its extra is not installed
        return "none"
