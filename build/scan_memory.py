"""What a scan found, remembered for as long as nothing that it looked at has changed.

A scan depends on the names, sizes and times of all files of the raw tree, on the card, and on
the code that reads it. The record is a pickle that may hold only records of this package: a
workspace that somebody else made cannot run code here.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from medrcube.records import Case, Problem
from medrcube.sources.contract import Source
from medrcube.sources.layout import LayoutReport

_MODULES = frozenset(
    {"medrcube.records", "medrcube.shapes", "medrcube.taxonomy", "medrcube.sources.layout"}
)
_PATHS = frozenset({"Path", "PosixPath", "WindowsPath"})

Found = tuple[LayoutReport, tuple[Case, ...], tuple[str, ...], tuple[Problem, ...]]
"""Layout, cases, keys of absent cases, problems."""


def scan_key(source: Source, root: Path, names: Sequence[str], secret: bytes) -> str:
    """Hash of everything that a scan depends on; asks the file system for each file's state."""
    digest = hashlib.sha256(f"{source.card.fingerprint}\0{root}\0{_core()}".encode())
    digest.update(hashlib.sha256(secret).digest())
    digest.update((source.folder / "adapter.py").read_bytes())
    for name in names:
        state = (root / name).stat()
        digest.update(f"{name}\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def dump(found: Found) -> bytes:
    """A record of what a scan found."""
    return pickle.dumps(found, protocol=5)


def load(record: bytes) -> Found:
    """Read a record.

    Raises:
        pickle.UnpicklingError: it holds something else than records of this package.
    """
    found: Found = _RecordsOnly(io.BytesIO(record)).load()
    return found


class _RecordsOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module in _MODULES or (module.partition(".")[0] == "pathlib" and name in _PATHS):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"a scan record must not hold {module}.{name}")


@cache
def _core() -> str:
    """Digest of the shared code that adapters call."""
    digest = hashlib.sha256()
    for part in ("medrcube", "medrcube.sources"):
        modules = [entry for entry in files(part).iterdir() if entry.name.endswith(".py")]
        for module in sorted(modules, key=lambda entry: entry.name):
            digest.update(module.read_bytes())
    return digest.hexdigest()
