"""``medrcube reconstruct --needed``: the lists of raw files to get."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from medrcube.console.counts import in_bytes
from medrcube.errors import MedrcubeError
from medrcube.names import text_to_name

if TYPE_CHECKING:
    from medrcube.build.reconstruction.needed_files import NeededFiles
    from medrcube.console.progress import Reporter

__all__ = ["list_needed"]


def list_needed(
    release: Path,
    source_path: Sequence[Path] | None,
    only: Sequence[str] | None,
    out: Path | None,
    reporter: Reporter,
) -> None:
    """Show or write the lists of raw files; a single one is printed bare, for a pipe.

    Args:
        release: the release.
        source_path: folders with further source folders.
        only: ids of the sources that are asked for; all where none is named.
        out: folder to write the lists into, or ``None`` to print.
        reporter: takes the lists.

    Raises:
        MedrcubeError: an option is wrong, or the release breaks its rules.
    """
    from medrcube.build.reconstruction.needed_files import needed_files
    from medrcube.files.atomic import write_bytes
    from medrcube.sources.registry import find_sources, get_source

    if out is not None and out.resolve().is_relative_to(release.resolve()):
        raise MedrcubeError(f"--out {out} is inside the release, where only images may be written")
    sources = find_sources(source_path or ())
    for name in only or ():
        get_source(sources, name)
    lists = [
        files
        for files in needed_files(release, sources, reporter)
        if not only or files.source in only
    ]
    _show(lists, reporter, bare=out is None)
    if out is not None:
        for files in lists:
            path = out / f"{files.source}.txt"
            write_bytes(path, os.fsencode(text_to_name(files.text())))
            reporter.result(f"wrote {path}")
    reporter.data(
        {"release": str(release), "sources": {files.source: files.as_dict() for files in lists}}
    )


def _show(lists: Sequence[NeededFiles], reporter: Reporter, *, bare: bool) -> None:
    if not lists:
        reporter.note("no image is missing; no raw files are needed")
    elif bare and len(lists) == 1:
        for path in lists[0].text().splitlines():
            reporter.result(path)
    else:
        rows = [(entry.source, entry.pictures, len(entry.files), _size(entry)) for entry in lists]
        reporter.table(("source", "images", "raw files", "size"), rows)
        if bare:
            reporter.note("write the lists with  --out DIR,  or print one with  --only ID")
    for entry in lists:
        if not entry.whole:
            reporter.note(
                f"{entry.source}: this release was made by an older version and lists no tables; "
                f"add those of its layout ( medrcube sources show {entry.source} )"
            )


def _size(needed: NeededFiles) -> str:
    return "?" if needed.bytes is None else in_bytes(needed.bytes)
