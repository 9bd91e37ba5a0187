"""Write the code templates that let an export run without medrcube."""

from __future__ import annotations

from pathlib import Path
from string import Template

from medrcube.files.atomic import write_text

__all__ = ["write_code"]

_FOLDER = Path(__file__).parent / "code"


def write_code(path: Path, template: str, /, **values: str) -> None:
    """Write a template of the folder ``code``, with ``values`` for its ``$`` names.

    Raises:
        WorkspaceError: it cannot be written.
    """
    text = (_FOLDER / f"{template}.in").read_text(encoding="utf-8")
    write_text(path, Template(text).substitute(values))
