"""Export a release for another harness, and mark private exports."""

from __future__ import annotations

from pathlib import Path

from medrcube.errors import WorkspaceError
from medrcube.evaluate.exports.inspect_samples import INSPECT, export_inspect_task
from medrcube.evaluate.exports.selection import PRIVATE, ExportSelection, mark_private
from medrcube.evaluate.exports.vlmevalkit import export_vlmevalkit

__all__ = ["VLMEVALKIT", "write_export"]

VLMEVALKIT = "vlmevalkit"


def write_export(selection: ExportSelection, out: Path, harness: str) -> Path:
    """Write a release for ``vlmevalkit``, ``lmms-eval``, ``lm-eval`` or ``inspect``.

    Args:
        selection: items to export.
        out: folder; must not contain a private export if this one is public.
        harness: target harness.

    Returns:
        The main file: TSV, YAML or task.

    Raises:
        ReleaseError: an image cannot be read.
        WorkspaceError: a file cannot be written, or a public export would be inside a private one.
    """
    if (out / PRIVATE).exists() and not selection.private:
        raise WorkspaceError(f"{out} contains restricted images; choose another folder")
    out.mkdir(parents=True, exist_ok=True)
    mark_private(out, selection)
    if harness == VLMEVALKIT:
        return export_vlmevalkit(selection, out)
    if harness == INSPECT:
        return export_inspect_task(selection, out)
    from medrcube.evaluate.exports.task_folders import export_task_folder  # noqa: PLC0415 - needs an extra

    return export_task_folder(selection, out, harness)
