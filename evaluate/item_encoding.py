"""JSON text of an item and its image, over which the digest of a benchmark is computed.

A resumed run computes the digest of every item again, so the text of an item with options is
composed of encoded parts, most of which items share. It is what ``json`` writes with sorted keys.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from json.encoder import encode_basestring_ascii as encode_text

from medrcube.evaluate.benchmark_item import OF_SET, BenchmarkItem, item_to_json

__all__ = ["encode_item", "encode_text"]

_NOT_ASKED = ("unit", "fact", *OF_SET)
"""Fields that affect neither the question nor the answer; the digest omits them."""

_ENCODER = json.JSONEncoder(sort_keys=True)


def encode_item(item: BenchmarkItem, picture: Mapping[str, str | None]) -> str:
    """Return everything that identifies an item as JSON with sorted keys.

    Args:
        item: the item.
        picture: digest of its image, as ``image_sha256`` or ``pixel_sha256``.
    """
    if item.is_open or item.image is None:
        return _encode_any(item, picture)
    [(name, digest)] = picture.items()
    value = "null" if digest is None else encode_text(digest)
    file = f'"image_sha256": {value}, ' if name == "image_sha256" else ""
    pixels = f'"pixel_sha256": {value}, ' if name == "pixel_sha256" else ""
    key_to_parts = _key_to_parts(
        item.key, item.modality, item.options, item.original_task, item.parts
    )
    return (
        f"{{{_block_to_dataset(item.block, item.dataset)}"
        f'"id": {encode_text(item.id)}, "image": {encode_text(item.image)}, {file}{key_to_parts}'
        f'{pixels}"question": {encode_text(item.question)}, '
        f'"restricted": {"true" if item.restricted else "false"}'
        f"{_task_to_visible(item.task, item.visible)}}}"
    )


def _encode_any(item: BenchmarkItem, picture: Mapping[str, str | None]) -> str:
    row = item_to_json(item)
    for name in _NOT_ASKED:
        row.pop(name, None)
    row.update(picture)
    return _ENCODER.encode(row)


@lru_cache(maxsize=4096)
def _block_to_dataset(block: str, dataset: str) -> str:
    fields = {"block": block, "dataset": dataset} if block else {"dataset": dataset}
    return f"{_ENCODER.encode(fields)[1:-1]}, "


@lru_cache(maxsize=4096)
def _key_to_parts(
    key: str,
    modality: str,
    options: tuple[tuple[str, str], ...],
    original_task: str | None,
    parts: str,
) -> str:
    fields = {
        "key": key,
        "modality": modality,
        "options": options,
        "original_task": original_task,
        "parts": parts,
    }
    return f"{_ENCODER.encode(fields)[1:-1]}, "


@lru_cache(maxsize=4096)
def _task_to_visible(task: str, visible: str) -> str:
    fields = {"task": task, "visible": visible} if visible else {"task": task}
    return f", {_ENCODER.encode(fields)[1:-1]}"
