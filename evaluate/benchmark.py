"""Read a release tree, ours or the published one: ``<SOURCE>/test.json`` and its pictures.

Everything that could later turn into a wrong number is refused here, at once and by name: a key
that is no option, two options with one text, an id used twice, a task that nobody knows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from medrcube.errors import ReleaseError
from medrcube.evaluate.images import UnusablePictureError, read_picture
from medrcube.taxonomy import Anatomy, Modality, Task, UnknownNameError

LETTERS = "ABCD"
"""Letters that a release has options for."""

SHOWN_PROBLEMS = 10
"""So many problems are listed when a release is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One question with its options and its key.

    Attributes:
        id: unique within the dataset.
        dataset: name of the source.
        question: text of the question.
        options: (letter, text) of two to four options, in the order of the letters.
        key: letter of the right option.
        task: task axis.
        modality: modality axis.
        parts: anatomy axis, by its name in the release.
        image: picture file relative to the release, with ``/``; ``None`` when none is named.
        original_task: task of the source dataset, where the release tells it.
        restricted: whether the picture cannot be passed on.
    """

    id: str
    dataset: str
    question: str
    options: tuple[tuple[str, str], ...]
    key: str
    task: Task
    modality: Modality
    parts: Anatomy
    image: str | None
    original_task: str | None
    restricted: bool

    @property
    def name(self) -> str:
        """Dataset and id: unique within a benchmark."""
        return f"{self.dataset}/{self.id}"


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A validated release.

    Attributes:
        root: folder of the release.
        items: every item, in the order of the sorted source folders and their files.
    """

    root: Path
    items: tuple[Item, ...]

    def path(self, item: Item) -> Path | None:
        """File of the item's picture, whether it exists or not."""
        return None if item.image is None else self.root / item.image

    @cached_property
    def image_digests(self) -> Mapping[str, str | None]:
        """SHA-256 of every picture by its path in the release; ``None`` where it is unusable.

        Reads every picture once, on first use.
        """
        images = sorted({item.image for item in self.items if item.image is not None})
        with ThreadPoolExecutor() as pool:
            return dict(zip(images, pool.map(self._digest, images), strict=True))

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all items and the bytes of all pictures: names exactly this benchmark."""
        total = hashlib.sha256()
        for item in self.items:
            picture = None if item.image is None else self.image_digests[item.image]
            row = {**item_to_json(item), "image_sha256": picture}
            total.update(json.dumps(row, sort_keys=True).encode())
        return total.hexdigest()

    def _digest(self, image: str) -> str | None:
        try:
            return read_picture(self.root / image).sha256
        except UnusablePictureError:
            return None


def load_benchmark(root: Path) -> Benchmark:
    """Read and check every ``<SOURCE>/test.json`` directly below ``root``.

    Links are followed, because download caches keep files behind links; a path may still not
    climb out of its folder.

    Raises:
        ReleaseError: there is no such file, or one breaks a rule; the first problems are listed.
    """
    tables = sorted(root.glob("*/test.json"))
    if not tables:
        raise ReleaseError(
            f"{root}: no <SOURCE>/test.json in it; expected the folder of a release, "
            "the one that holds a sub-folder for each source"
        )
    problems: list[str] = []
    items: list[Item] = []
    seen: set[tuple[str, str]] = set()
    for table in tables:
        for index, row in enumerate(_rows(table, problems)):
            where = f"{table.parent.name}/test.json item {index}"
            try:
                item = _item(row, folder=table.parent.name)
            except _RowError as error:
                problems.append(f"{where}: {error}")
                continue
            if (item.dataset, item.id) in seen:
                problems.append(f"{where}: id {item.id!r} is used twice in {item.dataset}")
            seen.add((item.dataset, item.id))
            items.append(item)
    if problems:
        shown = "\n".join(f"  {problem}" for problem in problems[:SHOWN_PROBLEMS])
        more = len(problems) - SHOWN_PROBLEMS
        tail = f"\n  and {more} more" if more > 0 else ""
        raise ReleaseError(
            f"{root}: {len(problems)} problem(s) in the release, no model is asked:\n{shown}{tail}"
        )
    return Benchmark(root=root, items=tuple(items))


def item_to_json(item: Item) -> dict[str, Any]:
    """The item as a JSON object that ``item_from_json`` reads back."""
    return {
        "id": item.id,
        "dataset": item.dataset,
        "question": item.question,
        "options": [list(option) for option in item.options],
        "key": item.key,
        "task": item.task.value,
        "modality": item.modality.value,
        "parts": item.parts.value,
        "image": item.image,
        "original_task": item.original_task,
        "restricted": item.restricted,
    }


def item_from_json(row: Mapping[str, Any]) -> Item:
    """The item that ``item_to_json`` wrote."""
    return Item(
        id=row["id"],
        dataset=row["dataset"],
        question=row["question"],
        options=tuple((letter, text) for letter, text in row["options"]),
        key=row["key"],
        task=Task(row["task"]),
        modality=Modality(row["modality"]),
        parts=Anatomy(row["parts"]),
        image=row["image"],
        original_task=row["original_task"],
        restricted=row["restricted"],
    )


class _RowError(Exception):
    """One row of a release breaks a rule."""


def _rows(table: Path, problems: list[str]) -> Iterator[Mapping[str, Any]]:
    name = f"{table.parent.name}/test.json"
    try:
        rows = json.loads(table.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        problems.append(f"{name}: cannot be read as JSON: {error}")
        return
    if not isinstance(rows, list):
        problems.append(f"{name}: holds one {type(rows).__name__}; expected a list of items")
        return
    yield from rows


_Axis = TypeVar("_Axis", Task, Modality, Anatomy)


def _item(row: Any, *, folder: str) -> Item:
    if not isinstance(row, dict):
        raise _RowError(f"is a {type(row).__name__}; expected an object")
    options = _options(row)
    restricted = row.get("restricted")
    if restricted not in (None, True, False):
        raise _RowError(f"restricted is {restricted!r}; expected true or false")
    return Item(
        id=_identifier(row),
        dataset=_text(row, "dataset"),
        question=_text(row, "question"),
        options=options,
        key=_key(row, options),
        task=_member(row, "task", Task),
        modality=_member(row, "modality", Modality),
        parts=_member(row, "parts", Anatomy),
        image=_image(row, folder),
        original_task=_optional_text(row, "original_task"),
        restricted=bool(restricted),
    )


def _text(row: Mapping[str, Any], field: str) -> str:
    value = row.get(field)
    if not isinstance(value, str) or not value.strip():
        raise _RowError(f"{field} is {value!r}; expected a text")
    return value


def _optional_text(row: Mapping[str, Any], field: str) -> str | None:
    return None if row.get(field) in (None, "") else _text(row, field)


def _identifier(row: Mapping[str, Any]) -> str:
    value = row.get("id")
    return str(value) if type(value) is int else _text(row, "id")


def _member(row: Mapping[str, Any], field: str, axis: type[_Axis]) -> _Axis:
    try:
        return axis.parse(_text(row, field))
    except UnknownNameError as error:
        raise _RowError(f"{field}: {error}") from error


def _options(row: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    options = []
    for letter in LETTERS:
        text = _optional_text(row, f"option_{letter}")
        if text is not None:
            options.append((letter, text))
    if len(options) < 2:
        raise _RowError(f"has {len(options)} option(s); expected two to four")
    folded = [" ".join(text.split()).casefold() for _, text in options]
    if len(set(folded)) < len(folded):
        raise _RowError(f"two options have one text: {[text for _, text in options]}")
    return tuple(options)


def _key(row: Mapping[str, Any], options: tuple[tuple[str, str], ...]) -> str:
    answer = _text(row, "gt_answer")
    keys = [letter for letter, text in options if text.strip() == answer.strip()]
    if len(keys) != 1:
        raise _RowError(
            f"gt_answer {answer!r} is none of the options {[text for _, text in options]}"
        )
    index = row.get("correct_index")
    if index is not None and (type(index) is not int or index != LETTERS.index(keys[0])):
        raise _RowError(
            f"correct_index is {index!r}, but gt_answer is option {keys[0]} "
            f"(index {LETTERS.index(keys[0])}, counted from 0)"
        )
    return keys[0]


def _image(row: Mapping[str, Any], folder: str) -> str | None:
    value = _optional_text(row, "image_path")
    if value is None:
        return None
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or "\\" in value or ":" in value or "\0" in value:
        raise _RowError(f"image_path {value!r} leaves its folder; expected pictures/<name>")
    return str(folder / path)
