"""Digests of the files of a submitted run.

They show that a folder is complete and unchanged, not who created it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from medrcube.evaluate.runner.attempt_log import FILE as ATTEMPTS
from medrcube.evaluate.runner.run_folder import (
    ITEMS,
    MANIFEST,
    METRICS,
    OUTCOMES,
    QUESTIONS,
    RESULTS,
)
from medrcube.files.atomic import sha256_of, write_text

__all__ = ["DIGESTS", "EXPECTED", "digest_mismatches", "irregular_files", "write_digests"]

DIGESTS = "digests.json"

EXPECTED = (MANIFEST, ITEMS, QUESTIONS, ATTEMPTS, OUTCOMES, RESULTS, METRICS)
"""Files that every run has."""

_SHA256 = re.compile("[0-9a-f]{64}")


def write_digests(run: Path) -> Path:
    """Write the digest of every file of a run; return the digest file."""
    files = {path.relative_to(run).as_posix(): sha256_of(path) for path in _files(run)}
    write_text(run / DIGESTS, json.dumps({"sha256": files}, indent=2, ensure_ascii=False) + "\n")
    return run / DIGESTS


def irregular_files(run: Path) -> Iterator[str]:
    """Describe links and special files of a run, which a submitted folder must not contain."""
    for path in sorted(run.rglob("*")):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            yield (
                f"{path.relative_to(run).as_posix()} is not a plain file; put the file itself there"
            )


def digest_mismatches(run: Path) -> Iterator[str]:
    """Describe files that differ from the digests; empty for a run without digests."""
    path = run / DIGESTS
    if not path.exists():
        return
    try:
        digests = json.loads(path.read_text(encoding="utf-8"))["sha256"]
        sealed = {str(name): str(digest) for name, digest in digests.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        yield f"{DIGESTS}: cannot be read ({error!r}); seal the run again with --seal"
        return
    here = {file.relative_to(run).as_posix(): file for file in _files(run)}
    for name, digest in sorted(sealed.items()):
        if _SHA256.fullmatch(digest) is None:
            yield f"{DIGESTS}: {name!r} has {digest[:80]!r}; expected a SHA-256 in hexadecimal"
        elif name not in here:
            yield f"{name}: is missing but listed in {DIGESTS}"
        elif sha256_of(here[name]) != digest:
            yield f"{name}: was changed since the run was sealed"
    for name in sorted(set(here) - set(sealed)):
        yield f"{name} is not in {DIGESTS}; remove it, or seal the run again with --seal"


def _files(run: Path) -> list[Path]:
    return [
        path
        for path in sorted(run.rglob("*"))
        if path.is_file() and not path.is_symlink() and path != run / DIGESTS
    ]
