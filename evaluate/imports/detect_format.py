"""Detect which harness wrote a result file, by name and content, and read it."""

from __future__ import annotations

from pathlib import Path

from medrcube.errors import WorkspaceError
from medrcube.evaluate.exports.inspect_log import ARCHIVE
from medrcube.evaluate.imports.epochs import single_run
from medrcube.evaluate.imports.inspect_logs import read_inspect
from medrcube.evaluate.imports.item_matching import Question
from medrcube.evaluate.imports.lm_eval import read_samples
from medrcube.evaluate.imports.plain_replies import looks_plain, read_plain
from medrcube.evaluate.imports.replies import ForeignRun
from medrcube.evaluate.imports.table_rows import table_rows
from medrcube.evaluate.imports.vlmevalkit import ITEM, SUFFIXES, read_vlmevalkit

__all__ = ["read_foreign", "read_replies"]

_LOOKED_AT = 4096
_PLAIN = (".csv", ".json", ".tsv", ".xlsx")


def read_replies(path: Path, model: str | None = None) -> ForeignRun:
    """Read a result file of any known format: of a harness, or plain rows.

    No single row is fatal: unreadable rows, duplicate items and unknown items are left to the
    matching with a release.

    Args:
        path: the file.
        model: model whose rows are read, if the rows name several.

    Raises:
        WorkspaceError: the file cannot be read, has no known format, contains no reply, or has
            several models and none is chosen.
    """
    if path.suffix not in {".jsonl", ARCHIVE, *SUFFIXES, *_PLAIN}:
        raise WorkspaceError(
            f"{path}: expected rows of id and text (.jsonl, .csv, .tsv, .xlsx, .json), or a result "
            "of another harness (.eval, .jsonl, .xlsx, .tsv, .json)"
        )
    if (path.suffix == ".jsonl" and looks_plain(path)) or (
        path.suffix in _PLAIN and not _is_of_harness(path)
    ):
        run = read_plain(path)
    else:
        run = _read(path)
    if not run.replies:
        first = f"; {run.bad[0]}" if run.bad else ""
        raise WorkspaceError(f"{path}: holds no reply{first}")
    return single_run(run, path, model)


def _is_of_harness(path: Path) -> bool:
    """Whether a table is a VLMEvalKit result, or a JSON file an Inspect log."""
    if path.suffix == ".json" and not _is_list(path):
        return True
    first = next(iter(table_rows(path)), {})
    return ITEM in first and "prediction" in first


def read_foreign(path: Path, model: str | None = None) -> ForeignRun:
    """Read a result file of Inspect, VLMEvalKit, lmms-eval or lm-evaluation-harness.

    Args:
        path: the file.
        model: model whose rows are read, if the rows name several.

    Raises:
        WorkspaceError: it cannot be read, comes from none of them, contains no reply, names an item
            twice, or has several models and none is chosen.
    """
    run = _read(path)
    if run.bad:
        raise WorkspaceError(f"{path} {run.bad[0]}")
    if not run.replies:
        raise WorkspaceError(f"{path}: holds no reply")
    run = single_run(run, path, model)
    if run.bad:
        raise WorkspaceError(f"{path}: {run.bad[0]}")
    questions = set[Question]()
    for reply in run.replies:
        question = reply.item, reply.epoch, reply.turn
        if question in questions:
            raise WorkspaceError(f"{path}: has two replies to {reply.item}")
        questions.add(question)
    return run


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
