"""Write Inspect logs: one JSON file, or an archive with one member per sample."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medrcube.files.atomic import replacing, write_text

__all__ = ["ARCHIVE", "JSON", "Json", "item_name", "sample_id", "write_log"]

Json = dict[str, Any]

JSON, ARCHIVE = ".json", ".eval"

_SIGNS = (("%", "%25"), (":", "%3A"), ("\\", "%5C"), ("/", ":"))
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MOST_CHARACTERS = 1000
_TIMES = ("total_time", "working_time")


def write_log(out: Path, header: Json, samples: Sequence[Json]) -> None:
    """Write a log in the format given by the suffix of ``out``.

    Args:
        out: the file, ``.json`` or ``.eval``.
        header: the log without its samples.
        samples: samples, in order.

    Raises:
        WorkspaceError: the file cannot be written.
    """
    if out.suffix == ARCHIVE:
        _write_archive(out, header, samples)
    else:
        write_text(out, _dump({**header, "samples": samples}, indent=1) + "\n")


def sample_id(name: str) -> str:
    """Return the sample id of an item.

    A sample is an archive member, so its id is escaped to prevent it from being a path elsewhere.
    """
    for sign, instead in _SIGNS:
        name = name.replace(sign, instead)
    return name


def item_name(sample: str) -> str:
    """Return the item name of a sample id."""
    for sign, instead in reversed(_SIGNS):
        sample = sample.replace(instead, sign)
    return sample


def _write_archive(out: Path, header: Json, samples: Sequence[Json]) -> None:
    with (
        replacing(out) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        start = {name: header[name] for name in ("version", "eval", "plan")}
        _add(archive, "_journal/start.json", start)
        for sample in samples:
            _add(archive, f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample)
        _add(archive, "summaries.json", [_summary(sample) for sample in samples])
        _add(archive, "header.json", header)


def _add(archive: zipfile.ZipFile, name: str, value: object) -> None:
    member = zipfile.ZipInfo(name, date_time=_EPOCH)
    member.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(member, _dump(value))


def _summary(sample: Json) -> Json:
    """Return the summary of a sample for the viewer's list."""
    text = sample["input"][0]["content"][-1]["text"][:_MOST_CHARACTERS]
    names = ("id", "epoch", "choices", "target", "metadata", "scores", "model_usage", "uuid")
    times: Json = {name: sample[name] for name in _TIMES if name in sample}
    error = {"error": sample["error"]["message"]} if "error" in sample else {}
    count = {"completed": True, "message_count": len(sample["messages"])}
    return {**{name: sample[name] for name in names}, "input": text, **times, **error, **count}


def _dump(value: object, indent: int | None = None) -> str:
    # Lone surrogates, which models may send, are invalid for strict JSON readers.
    return json.dumps(_whole(value), ensure_ascii=False, indent=indent)


def _whole(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {_whole(name): _whole(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(part) for part in value]
    return value
