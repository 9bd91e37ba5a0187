"""Read the withdrawn items of a run from its own copy of the release's ``errata.csv``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medrcube.errors import ReleaseError, WorkspaceError
from medrcube.release_format.errata import FILE, Erratum, parse_errata

__all__ = ["withdrawn_of"]


def withdrawn_of(run: Path) -> Mapping[str, Erratum]:
    """Return the withdrawn items of a run by name.

    Raises:
        WorkspaceError: the list cannot be read.
    """
    path = run / FILE
    if not path.exists():
        return {}
    try:
        errata = parse_errata(path.read_bytes(), str(path))
    except (OSError, ReleaseError) as error:
        raise WorkspaceError(f"{path}: cannot be read: {error}") from error
    return {erratum.name: erratum for erratum in errata}
