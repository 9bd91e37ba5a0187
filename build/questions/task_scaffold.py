"""Scaffold of a task folder, with TODOs for what a person decides (``medrcube tasks new``)."""

from __future__ import annotations

from pathlib import Path

from medrcube.errors import MedrcubeError
from medrcube.tasks.declaration import load_task, slug_of
from medrcube.taxonomy import Level, Task
from medrcube.templates import render_card

__all__ = ["new_task"]


def new_task(name: str, into: Path) -> Path:
    """Write a draft that loads, with every decision marked TODO.

    Args:
        name: name of the task, such as ``Density Assessment``.
        into: folder of task folders; made where it is missing.

    Returns:
        The new folder.

    Raises:
        MedrcubeError: the name is taken or is no name, or the folder exists.
    """
    words = name.split()
    if not words or not all(word.isalnum() and word[0].isupper() for word in words):
        raise MedrcubeError(
            f"{name!r} is no name of a task; expected words with capitals, such as "
            "'Density Assessment'"
        )
    name = " ".join(words)
    if name in Task:
        raise MedrcubeError(f"{name!r} is a task already; see  medrcube tasks show '{name}'")
    folder = into / slug_of(name)
    if folder.exists():
        raise MedrcubeError(f"{folder}: exists; choose another name, or remove it")
    taken = {task.abbreviation for task in Task}
    short = "".join(word[0] for word in words)[:4]
    short = short if len(short) > 1 else name[:2].upper()
    while short in taken and len(short) < 4:
        short += "X"
    folder.mkdir(parents=True)
    texts = {
        "task.toml": render_card("scaffold_task.toml", name=name, abbreviation=short),
        "questions.j2": render_card("scaffold_questions.j2"),
    }
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8")
    load_task(folder, [level.value for level in Level])
    return folder
