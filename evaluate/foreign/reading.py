"""Which harness wrote a result file, by its name and its content."""

from __future__ import annotations

from pathlib import Path

from medrcube.errors import WorkspaceError
from medrcube.evaluate.foreign.harness_samples import read_samples
from medrcube.evaluate.foreign.inspect import read_inspect
from medrcube.evaluate.foreign.replies import ForeignRun
from medrcube.evaluate.foreign.vlmevalkit import SUFFIXES, read_vlmevalkit
from medrcube.evaluate.reporting.inspect_log import ARCHIVE

_LOOKED_AT = 4096


def read_foreign(path: Path) -> ForeignRun:
    """The replies of a result file of Inspect, VLMEvalKit, lmms-eval or lm-evaluation-harness.

    Raises:
        WorkspaceError: it cannot be read, is of none of them, holds no reply, or names an item
            twice.
    """
    found = _read(path)
    if not found.replies:
        raise WorkspaceError(f"{path}: holds no reply")
    seen = set[tuple[str, int]]()
    for reply in found.replies:
        if (reply.item, reply.epoch) in seen:
            raise WorkspaceError(f"{path}: has two replies to {reply.item}")
        seen.add((reply.item, reply.epoch))
    return found


def _read(path: Path) -> ForeignRun:
    if path.suffix == ARCHIVE:
        return read_inspect(path)
    if path.suffix == ".jsonl":
        return read_samples(path)
    if path.suffix in SUFFIXES:
        return read_vlmevalkit(path)
    if path.suffix == ".json":
        return read_vlmevalkit(path) if _is_list(path) else read_inspect(path)
    raise WorkspaceError(
        f"{path}: expected a log of Inspect (.eval, .json), a result of VLMEvalKit (.xlsx, .tsv, "
        ".json), or samples of lmms-eval or lm-evaluation-harness (.jsonl)"
    )


def _is_list(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(_LOOKED_AT).lstrip()[:1] == b"["
    except OSError as error:
        raise WorkspaceError(f"{path}: cannot be read: {error.strerror}") from error
