"""Scaffold of a task folder, with a TODO for each decision (``medrcube tasks new``)."""

from __future__ import annotations

from pathlib import Path
from string import ascii_uppercase

from medrcube.errors import MedrcubeError
from medrcube.tasks.declaration import load_task, slug_of
from medrcube.taxonomy import Level, Task
from medrcube.templates import render_card
from medrcube.vocabulary.word import fold

__all__ = ["new_task"]


def new_task(name: str, into: Path, *, rule: bool = False) -> Path:
    """Write a draft that loads, with every decision marked TODO.

    Args:
        name: name of the task, such as ``Density Assessment``.
        into: folder of task folders; created if missing.
        rule: whether a rule makes its questions, so that it may have any answer form.

    Returns:
        The new folder.

    Raises:
        MedrcubeError: the name is taken or is not a name, or the folder exists.
    """
    words, letters = name.split(), [letter for letter in name if letter.isalpha()]
    plain = all(word.isascii() and word.isalnum() and word[0].isupper() for word in words)
    if len(letters) < 2 or not plain:
        raise MedrcubeError(
            f"{name!r} is not a name of a task; expected words of plain letters and digits with "
            "capitals, such as 'Density Assessment'"
        )
    name = " ".join(words)
    spellings = {spelling for task in Task for spelling in task.spellings()}
    if fold(name) in spellings:
        raise MedrcubeError(f"{name!r} is a task already; see  medrcube tasks show '{name}'")
    folder = into / slug_of(name)
    if folder.exists():
        raise MedrcubeError(f"{folder}: exists; choose another name, or remove it")
    initials = "".join(word[0] for word in words)[:4]
    short = initials if len(words) > 1 else "".join(letters[:2]).upper()
    others = (f"{short[:3]}{letter}" for letter in ascii_uppercase)
    short = next(candidate for candidate in (short, *others) if fold(candidate) not in spellings)
    folder.mkdir(parents=True)
    texts = {
        "task.toml": render_card("scaffold_task.toml", name=name, abbreviation=short, rule=rule),
        "questions.j2": render_card("scaffold_questions.j2", rule=rule),
    }
    if rule:
        texts["rule.py"] = render_card("scaffold_rule.py", name=name)
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8")
    load_task(folder, [level.value for level in Level])
    return folder
