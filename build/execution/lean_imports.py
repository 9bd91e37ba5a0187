"""Lean imports: import a library in a worker without its optional dependencies.

nibabel imports pydicom for DICOM in NIfTI headers; pydicom imports GDCM, which no reader here uses,
and network clients for its own test files. In a worker these take as much memory as everything that
is needed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from multiprocessing import parent_process
from typing import Any

__all__ = ["lean_import"]

_NOT_NEEDED = {"nibabel": ("pydicom",), "pydicom": ("gdcm", "requests", "tqdm")}
"""Libraries, and the packages that they try to import but no reader needs."""


def lean_import(name: str, library: str = "") -> Any:
    """Import a module; in a worker, its library is imported without packages that are not needed.

    Elsewhere the library is complete, since a user's own program or a shared cluster may need the
    rest of it.

    Args:
        name: name of the module.
        library: library that it imports; ``nibabel``, ``pydicom`` or any other.
    """
    with _hidden(_NOT_NEEDED.get(library, ()) if _in_own_worker() else ()):
        return import_module(name)


def _in_own_worker() -> bool:
    return parent_process() is not None and "distributed" not in sys.modules


@contextmanager
def _hidden(packages: Sequence[str]) -> Iterator[None]:
    finder = _HidingFinder(packages)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _HidingFinder(MetaPathFinder):
    """Hides some packages from the other finders."""

    def __init__(self, packages: Sequence[str]) -> None:
        self._packages = packages

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:  # noqa: ARG002
        if fullname in self._packages:
            raise ModuleNotFoundError(f"{fullname} is not needed here", name=fullname)
