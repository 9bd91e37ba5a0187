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


def list_needed(
    release: Path,
    extra: Sequence[Path] | None,
    only: Sequence[str] | None,
    out: Path | None,
    reporter: Reporter,
) -> None:
    """Show or write the lists of raw files; a single one is printed bare, for a pipe.

    Args:
        release: the release.
        extra: folders with further source folders.
        only: ids of the sources that are asked for; all where none is named.
        out: folder to write the lists into, or ``None`` to print.
        reporter: where things are said.

    Raises:
        MedrcubeError: an option is wrong, or the release breaks its rules.
    """
    from medrcube.build.reconstruction.needed_files import needed_files
    from medrcube.files.atomic import write_bytes
    from medrcube.sources.registry import find_sources, get_source

    if out is not None and out.resolve().is_relative_to(release.resolve()):
        raise MedrcubeError(f"--out {out}: lies in the release, where only pictures are put")
    sources = find_sources(extra or ())
    for name in only or ():
        get_source(sources, name)
    lists = [it for it in needed_files(release, sources, reporter) if not only or it.source in only]
    _show(lists, reporter, bare=out is None)
    if out is not None:
        for it in lists:
            path = out / f"{it.source}.txt"
            write_bytes(path, os.fsencode(text_to_name(it.text())))
            reporter.result(f"wrote {path}")
    reporter.data({"release": str(release), "sources": {it.source: it.stated() for it in lists}})


def _show(lists: Sequence[NeededFiles], reporter: Reporter, *, bare: bool) -> None:
    if not lists:
        reporter.note("no picture is lacking, so no raw file is needed")
    elif bare and len(lists) == 1:
        for path in lists[0].text().splitlines():
            reporter.result(path)
    else:
        rows = [(it.source, it.pictures, len(it.files), _size(it)) for it in lists]
        reporter.table(("source", "pictures", "raw files", "size"), rows)
        if bare:
            reporter.note("write the lists with  --out DIR,  or print one with  --only ID")
    for it in lists:
        if not it.whole:
            reporter.note(
                f"{it.source}: an older version made this release, which names no tables: add "
                f"those of its layout ( medrcube sources show {it.source} )"
            )


def _size(wanted: NeededFiles) -> str:
    return "?" if wanted.bytes is None else in_bytes(wanted.bytes)
