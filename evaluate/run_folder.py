"""The folder of a run: what it was begun with, which items it asks, and its derived files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import medrcube
from medrcube.errors import WorkspaceError
from medrcube.evaluate.attempts import FILE as ATTEMPTS
from medrcube.evaluate.benchmark import Benchmark, Item, item_from_json, item_to_json
from medrcube.evaluate.models.contract import Json, Model
from medrcube.evaluate.prompts import DEFAULT_PROMPT, prompt_version, render_prompt
from medrcube.files import write_text

MANIFEST, ITEMS, RESULTS, METRICS = "manifest.json", "items.jsonl", "results.jsonl", "metrics.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One item as a run asks it.

    Attributes:
        item: the item.
        image_sha256: digest of its picture; ``None`` when there is no usable one.
        key: digest of everything that may change the reply; ``None`` without a picture.
    """

    item: Item
    image_sha256: str | None
    key: str | None


def begin_run(
    out: Path, benchmark: Benchmark, model: Model, *, limit: int | None
) -> tuple[Asked, ...]:
    """Start a run in ``out``, or go on with the one that is there.

    Returns:
        The items to ask, those of one picture back to back.

    Raises:
        WorkspaceError: the folder holds something else, or a run of another benchmark, model,
            parameters or prompt.
    """
    identity: dict[str, Any] = {
        "dataset": {"digest": benchmark.digest, "items": len(benchmark.items)},
        "model": dict(model.identity),
        "prompt": {"name": DEFAULT_PROMPT, "version": prompt_version()},
    }
    identity = json.loads(json.dumps(identity))
    if (out / MANIFEST).exists():
        manifest = read_manifest(out)
        _same_run(out, manifest, identity)
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise WorkspaceError(f"{out}: holds something that is no run; choose another folder")
    else:
        manifest = {"started": now(), **identity, "medrcube": medrcube.__version__}
    asked = tuple(_asked(item, benchmark, model) for item in _select(benchmark.items, limit))
    out.mkdir(parents=True, exist_ok=True)
    write_manifest(out, {**manifest, "limit": limit, "ended": None})
    write_lines(out / ITEMS, ({**item_to_json(a.item), **_extra(a)} for a in asked))
    return asked


def read_manifest(run: Path) -> dict[str, Any]:
    """What the run was begun with.

    Raises:
        WorkspaceError: the folder is no run.
    """
    try:
        manifest = json.loads((run / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WorkspaceError(
            f"{run}: is no run ({MANIFEST}: {error}); expected the --out folder of an evaluation"
        ) from error
    if not isinstance(manifest, dict):
        raise WorkspaceError(f"{run / MANIFEST}: expected an object")
    return manifest


def write_manifest(run: Path, manifest: Mapping[str, Any]) -> None:
    """Replace the manifest atomically."""
    write_text(run / MANIFEST, json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def read_asked(run: Path) -> tuple[Asked, ...]:
    """The items that a run asks.

    Raises:
        WorkspaceError: the list is missing or malformed.
    """
    path = run / ITEMS
    try:
        # Not splitlines(): a question may hold U+2028, which JSON does not escape.
        lines = path.read_text(encoding="utf-8").split("\n")
        rows = [json.loads(line) for line in lines if line]
        return tuple(
            Asked(item=item_from_json(row), image_sha256=row["image_sha256"], key=row["key_sha256"])
            for row in rows
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(f"{path}: no list of asked items: {error!r}") from error


def attempts_path(run: Path) -> Path:
    """File of the attempts."""
    return run / ATTEMPTS


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Replace a JSONL file atomically."""
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def now() -> str:
    """UTC time for records, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _same_run(out: Path, manifest: Mapping[str, Any], identity: Mapping[str, Json]) -> None:
    for part, wanted in identity.items():
        found = manifest.get(part)
        if found != wanted:
            raise WorkspaceError(
                f"{out}: was begun with another {part}; nothing was changed.\n"
                f"  there: {json.dumps(found)}\n  asked: {json.dumps(wanted)}\n"
                "choose another --out folder, or repeat the command that began this run"
            )


def _select(items: tuple[Item, ...], limit: int | None) -> list[Item]:
    """All items, or ``limit`` of them drawn by a hash: a fair sample, and a larger limit keeps it.

    Questions on one picture stand together, so that a server can reuse what it made of it.
    """
    if limit is not None:
        if limit < 1:
            raise WorkspaceError(f"limit is {limit}; expected at least 1")
        drawn = sorted(items, key=lambda item: hashlib.sha256(item.name.encode()).digest())
        kept = {item.name for item in drawn[:limit]}
        items = tuple(item for item in items if item.name in kept)
    pictures: dict[str, list[Item]] = {}
    for item in items:
        pictures.setdefault(item.image or "", []).append(item)
    return [item for group in pictures.values() for item in group]


def _asked(item: Item, benchmark: Benchmark, model: Model) -> Asked:
    image = None if item.image is None else benchmark.image_digests[item.image]
    if image is None:
        return Asked(item=item, image_sha256=None, key=None)
    request = {
        "item": item.name,
        "model": dict(model.identity),
        "prompt": render_prompt(item),
        "image_sha256": image,
    }
    key = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
    return Asked(item=item, image_sha256=image, key=key)


def _extra(asked: Asked) -> dict[str, Json]:
    return {"image_sha256": asked.image_sha256, "key_sha256": asked.key}
