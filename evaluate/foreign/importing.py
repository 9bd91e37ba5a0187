"""A run of ours made of the replies that another harness got."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medrcube.errors import ModelError, WorkspaceError
from medrcube.evaluate.benchmark import Benchmark
from medrcube.evaluate.foreign.reading import read_foreign
from medrcube.evaluate.foreign.replies import ForeignReply, ForeignRun
from medrcube.evaluate.models.contract import Json, Reply, Request
from medrcube.evaluate.running.run_folder import (
    MANIFEST,
    Asked,
    attempts_path,
    begin_run,
    now,
    read_manifest,
    write_lines,
    write_manifest,
)
from medrcube.evaluate.scoring import score

SHOWN = 5
"""So many items are named in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of a file.

    Attributes:
        tool: the harness that wrote it.
        model: name of the model in the run.
        replies: replies that were taken over.
        unanswered: items of the release, with a picture, to which the file has no reply.
        metrics: what stands in ``metrics.json``.
    """

    tool: str
    model: str
    replies: int
    unanswered: tuple[str, ...]
    metrics: Mapping[str, Any]


def import_run(
    path: Path, benchmark: Benchmark, out: Path, *, model: str | None = None
) -> Imported:
    """Make a run of a result file and score it; an item without a reply there is ``failed``.

    Args:
        path: result file of another harness.
        benchmark: the release that was asked there.
        out: folder of the new run.
        model: name of the model; ``None`` takes the one that the file tells.

    Raises:
        WorkspaceError: the file cannot be read, names items that the release does not have, or
            ``out`` holds something.
    """
    found = read_foreign(path)
    known = {item.name for item in benchmark.items}
    strange = [reply.item for reply in found.replies if reply.item not in known]
    if strange:
        raise WorkspaceError(
            f"{path}: has replies to {len(strange):,} items that {benchmark.root} does not have: "
            f"{', '.join(strange[:SHOWN])}; expected a result of this release"
        )
    if (out / MANIFEST).exists():
        raise WorkspaceError(f"{out}: holds a run; choose another folder")
    name = f"{found.tool}/{model or found.model or 'unnamed'}"
    asker = _Elsewhere(name=name, tool=found.tool, digest=_digest(path))
    epochs = 1 + max(reply.epoch for reply in found.replies)
    asked = begin_run(out, benchmark, asker, epochs=epochs)
    by_item = {(reply.item, reply.epoch): reply for reply in found.replies}
    write_lines(attempts_path(out), _attempts(asked, by_item, found))
    manifest = read_manifest(out)
    # Another harness words the question in its own way.
    worded = {"name": found.tool, "version": f"of {found.tool}"}
    models = [found.model] if found.model else []
    write_manifest(out, {**manifest, "ended": now(), "prompt": worded, "models": models})
    answerable = [one for one in asked if one.key is not None]
    return Imported(
        tool=found.tool,
        model=name,
        replies=sum(reply.text is not None for reply in found.replies),
        unanswered=tuple(one.item.name for one in answerable if _reply_to(one, by_item) is None),
        metrics=score(out),
    )


def _reply_to(asked: Asked, replies: Mapping[tuple[str, int], ForeignReply]) -> ForeignReply | None:
    reply = replies.get((asked.item.name, asked.presentation.epoch))
    return None if reply is None or reply.text is None else reply


def _attempts(
    asked: tuple[Asked, ...], replies: Mapping[tuple[str, int], ForeignReply], found: ForeignRun
) -> Iterator[dict[str, Any]]:
    at = now()
    for one in asked:
        head = {"key": one.key, "item": one.item.name, "try": 1, "at": at}
        reply = _reply_to(one, replies)
        if one.key is not None and reply is not None:
            yield {
                **head,
                "status": "reply",
                "text": reply.text,
                "finish_reason": reply.finish_reason,
                "usage": dict(reply.usage),
                "model": found.model,
                "latency": 0.0,
            }


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Elsewhere:
    """The model of a run that was made in another harness; nothing can be asked of it here."""

    name: str
    tool: str
    digest: str

    @property
    def identity(self) -> Mapping[str, Json]:
        return {"adapter": f"import/{self.tool}", "name": self.name, "file_sha256": self.digest}

    async def answer(self, request: Request) -> Reply:
        raise ModelError(f"{self.name} was asked elsewhere; {request.item} cannot be asked again")

    async def close(self) -> None:
        """There is nothing to give back."""
