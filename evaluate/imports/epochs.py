"""Select the replies of one model from a result file, and number its epochs from 0."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from medrcube.console.counts import counted
from medrcube.errors import WorkspaceError
from medrcube.evaluate.imports.replies import ForeignRun

__all__ = ["single_run"]


def single_run(run: ForeignRun, path: Path, model: str | None) -> ForeignRun:
    """Return the replies of one model, with its lowest epoch as epoch 0.

    Args:
        run: all replies of the file.
        path: the file, for messages.
        model: name of the model, if the rows name several.

    Raises:
        WorkspaceError: the rows name several models, and ``model`` is none of them.
    """
    replies, bad = run.replies, run.bad
    names = sorted({reply.model for reply in replies} - {""})
    if len(names) > 1:
        if model not in names:
            raise WorkspaceError(
                f"{path}: has replies of {len(names)} models: {', '.join(names)}; choose one with  "
                f"--model {names[0]}"
            )
        if unnamed := sum(not reply.model for reply in replies):
            problem = f"{counted(unnamed, 'reply')} without a model, in a file of several models"
            bad = (*bad, problem)
        replies = tuple(reply for reply in replies if reply.model == model)
        names = [model]
    first = min((reply.epoch for reply in replies), default=0)
    return replace(
        run,
        model=names[0] if names else run.model,
        replies=tuple(replace(reply, epoch=reply.epoch - first) for reply in replies),
        bad=bad,
    )
