"""Read Inspect logs: one JSON file, or an archive with one member per sample.

Newer archives use Zstandard compression, which ``zipfile`` supports only from Python 3.14 on.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from medrcube.errors import WorkspaceError
from medrcube.evaluate.exports.inspect_log import ARCHIVE, item_name
from medrcube.evaluate.imports.replies import ForeignReply, ForeignRun, json_object
from medrcube.evaluate.imports.shown_options import question_and_options
from medrcube.evaluate.questions.conditions import Condition

__all__ = ["TOOL", "read_inspect"]

TOOL = "inspect"

_FULL = Condition.FULL.value
_UNKNOWN = (Condition.CHAIN, Condition.DEGRADED)
"""Conditions that a log does not fully describe: earlier turns, or changes to images."""
_CONDITIONS = tuple(condition.value for condition in Condition if condition not in _UNKNOWN)
_TURN = re.compile(r" turn \d+$")

_ATTACHED = "attachment://"

_ZSTANDARD = 93
_LOCAL_HEADER = struct.Struct("<26s2H")
_LARGEST_MEMBER = 2**28
_STOPS = {"max_tokens": "length", "model_length": "length", "content_filter": "content_filter"}


def read_inspect(path: Path) -> ForeignRun:
    """Read a log; from our own log with several conditions, the replies of ``full``.

    Raises:
        WorkspaceError: it is not an Inspect log, a member cannot be read, or its condition is
            unknown.
    """
    if path.suffix == ARCHIVE:
        header, samples = _archive(path)
    else:
        header = json_object(_bytes(path), str(path))
        samples = iter(header.get("samples") or ())
    try:
        model = str(header["eval"]["model"])
        samples_by_condition = [(_condition(sample), _reply(sample)) for sample in samples]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise WorkspaceError(
            f"{path} is not a log of Inspect: {_flaw(error)}; expected a file that "
            "inspect eval wrote"
        ) from error
    names = dict.fromkeys(name for name, _ in samples_by_condition)
    condition = _FULL if _FULL in names else next(iter(names), _FULL)
    if condition not in _CONDITIONS:
        raise WorkspaceError(
            f"{path}: is a log of the condition {condition}; expected one of "
            f"{', '.join(_CONDITIONS)}"
        )
    return ForeignRun(
        tool=TOOL,
        model=model,
        replies=tuple(reply for name, reply in samples_by_condition if name == condition),
        condition=Condition(condition),
    )


def _flaw(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it has no {error}"
    return "it has another structure"


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise WorkspaceError(f"{path}: cannot be read: {error.strerror}") from error


def _condition(sample: Mapping[str, Any]) -> str:
    return str((sample.get("metadata") or {}).get("condition", _FULL))


def _reply(sample: Mapping[str, Any]) -> ForeignReply:
    metadata = sample.get("metadata") or {}
    item, turn = metadata.get("item"), int(metadata.get("turn") or 0)
    name = _TURN.sub("", str(sample["id"])) if turn else str(sample["id"])
    choices: list[Any] = sample["output"].get("choices") or []
    failed = sample.get("error") is not None or not choices
    usage = sample["output"].get("usage") or {}
    return ForeignReply(
        item=item if isinstance(item, str) else item_name(name),
        text=None if failed else _text(choices[0]["message"]["content"]),
        epoch=int(sample["epoch"]) - 1,
        turn=turn,
        question=_question(sample),
        options=tuple(map(str, sample.get("choices") or ())) or question_and_options(metadata)[1],
        finish_reason="stop" if failed else _STOPS.get(str(choices[0].get("stop_reason")), "stop"),
        usage=_usage(usage),
    )


def _question(sample: Mapping[str, Any]) -> str:
    """Return the last user turn; empty if the log stores it as an attachment."""
    content: Any = sample.get("input") or ""
    if isinstance(content, list):
        turns = [turn for turn in content if turn.get("role") == "user"]
        content = _text(turns[-1]["content"]) if turns else ""
    return "" if _ATTACHED in content else str(content)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part.get("type") == "text")


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    names = {
        "prompt_tokens": "input_tokens",
        "completion_tokens": "output_tokens",
        "total_tokens": "total_tokens",
    }
    return {ours: int(usage[theirs]) for ours, theirs in names.items() if usage.get(theirs)}


def _archive(path: Path) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = {member.filename: member for member in archive.infolist()}
    except (OSError, zipfile.BadZipFile) as error:
        raise WorkspaceError(f"{path} is not a log of Inspect: {error}") from error
    if "header.json" not in members:
        raise WorkspaceError(f"{path}: has no header.json; the run that wrote it did not finish")
    samples = [info for name, info in members.items() if name.startswith("samples/")]
    return _member(path, members["header.json"]), (_member(path, info) for info in samples)


def _member(path: Path, member: zipfile.ZipInfo) -> dict[str, Any]:
    where = f"{path}: {member.filename}"
    if member.file_size > _LARGEST_MEMBER:
        raise WorkspaceError(f"{where} has {member.file_size:,} bytes; expected a sample")
    try:
        if member.compress_type != _ZSTANDARD:
            with zipfile.ZipFile(path) as archive:
                return json_object(archive.read(member), where)
        with path.open("rb") as file:
            return json_object(_zstandard(file, member), where)
    except (OSError, NotImplementedError, zipfile.BadZipFile, struct.error) as error:
        raise WorkspaceError(f"{where} cannot be read: {error}") from error


def _zstandard(file: IO[bytes], member: zipfile.ZipInfo) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 - needs an extra

    file.seek(member.header_offset)
    _, name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    file.seek(name + extra, 1)
    packed = pa.BufferReader(file.read(member.compress_size))
    with pa.CompressedInputStream(packed, "zstd") as stream:
        data: bytes = stream.read(member.file_size)
    return data
