"""Row parser for ``<SOURCE>/test.json``: fields and validation rules.

The rules keep wrong numbers out of results: a key that is no option, two options with one text, an
unknown task. Evaluation and validation share this parser, so both report the same faults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, TypeVar

from medrcube.errors import UnknownNameError
from medrcube.release_format.tree import leaves_folder, safe_repr
from medrcube.taxonomy import Anatomy, Modality, Task

__all__ = [
    "FIELDS",
    "LETTERS",
    "LONGEST_TEXT",
    "BadRowError",
    "ReleaseRow",
    "departures",
    "read_row",
]

LETTERS = "ABCD"
"""Letters that a release has options for."""

LONGEST_TEXT = 20_000
"""Characters of the longest text of a row."""

FIELDS = (
    *("id", "dataset", "image_path", "question"),
    *(f"option_{letter}" for letter in LETTERS),
    *("gt_answer", "correct_index", "task", "modality", "parts", "original_task", "restricted"),
)
"""Every field of the published release (arXiv 2604.13756)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRow:
    """A row without fault.

    Attributes:
        id: its id, as text.
        dataset: name of the source.
        question: the stem.
        options: (letter, text) of two to four options.
        key: letter of the right one.
        task: task axis.
        modality: modality axis.
        parts: anatomy axis.
        image: picture relative to the folder of the table; ``None`` when none is named.
        original_task: task of the source dataset, or ``None``.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFault:
    """One rule that a row breaks.

    Attributes:
        rule: its name.
        message: what was found, and what was expected.
    """

    rule: str
    message: str


class BadRowError(ValueError):
    """A row breaks rules; the message is that of the first."""

    def __init__(self, faults: tuple[RowFault, ...]) -> None:
        super().__init__(faults[0].message)
        self.faults = faults


def read_row(row: Any) -> ReleaseRow:
    """Validate and parse a row.

    Raises:
        BadRowError: it breaks a rule; all faults are named.
    """
    if not isinstance(row, dict):
        kind = type(row).__name__
        fault = RowFault(rule="row", message=f"is a {kind}; expected an object")
        raise BadRowError((fault,))
    reader = _RowParser(row)
    fields: dict[str, Any] = {
        "id": reader.identifier(),
        "dataset": reader.text("dataset"),
        "question": reader.text("question"),
        "options": reader.options(),
        "task": reader.member("task", Task),
        "modality": reader.member("modality", Modality),
        "parts": reader.member("parts", Anatomy),
        "image": reader.image(),
        "original_task": reader.optional_text("original_task"),
        "restricted": reader.restricted(),
    }
    fields["key"] = reader.key(fields["options"])
    if reader.faults:
        raise BadRowError(tuple(reader.faults))
    return ReleaseRow(**fields)


def departures(row: Mapping[str, Any]) -> Iterator[RowFault]:
    """Deviations of a valid row from the exact form of the published release."""
    unknown = sorted(set(map(str, row)) - set(FIELDS))
    if unknown:
        yield RowFault(
            rule="fields", message=f"has fields that no release has: {safe_repr(unknown)}"
        )
    optional = {f"option_{letter}" for letter in LETTERS[2:]}
    missing = [name for name in FIELDS if name not in row and name not in optional]
    if missing:
        yield RowFault(rule="fields", message=f"has no field {safe_repr(missing)}")
    empty = [name for name in sorted(row) if name.startswith("option_") and not row[name]]
    if empty:
        yield RowFault(
            rule="empty-option",
            message=f"has an empty {empty[0]}, which the published prompt shows all the same",
        )
    words = {
        "task": Task.parse(row["task"]).release_name,
        "modality": Modality.parse(row["modality"]).value,
        "parts": Anatomy.parse(row["parts"]).value,
    }
    for name, word in words.items():
        if row[name] != word:
            message = f"{name} is {safe_repr(row[name])}; a release writes {word!r}"
            yield RowFault(rule="spelling", message=message)
    answer = row["gt_answer"]
    if answer not in {row.get(f"option_{letter}") for letter in LETTERS}:
        message = f"gt_answer {safe_repr(answer)} differs from its option in white space"
        yield RowFault(rule="key-text", message=message)


_Axis = TypeVar("_Axis", Task, Modality, Anatomy)


class _RowParser:
    """Reads the fields of one row, and collects what is wrong with them."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self._row = row
        self.faults: list[RowFault] = []

    def text(self, field: str) -> str:
        value = self._row.get(field)
        if not isinstance(value, str) or not value.strip():
            self._fault("field", f"{field} is {safe_repr(value)}; expected a text")
            return ""
        if len(value) > LONGEST_TEXT:
            problem = f"{field} has {len(value):,} characters"
            self._fault("field", f"{problem}; expected at most {LONGEST_TEXT:,}")
            return ""
        try:
            value.encode()
        except UnicodeEncodeError:
            self._fault("field", f"{field} holds half of a character (a lone surrogate)")
            return ""
        return value

    def optional_text(self, field: str) -> str | None:
        return None if self._row.get(field) in (None, "") else self.text(field)

    def identifier(self) -> str:
        value = self._row.get("id")
        return str(value) if type(value) is int else self.text("id")

    def member(self, field: str, axis: type[_Axis]) -> _Axis | None:
        text = self.text(field)
        if not text:
            return None
        try:
            return axis.parse(text)
        except UnknownNameError:
            names = ", ".join(member.value for member in axis)
            problem = f"{safe_repr(text)} is no {axis.__name__.lower()} of the taxonomy"
            self._fault(field, f"{field}: {problem}; expected one of: {names}")
            return None

    def options(self) -> tuple[tuple[str, str], ...]:
        options = []
        for letter in LETTERS:
            text = self.optional_text(f"option_{letter}")
            if text is not None:
                options.append((letter, text))
        if len(options) < 2:
            self._fault("options", f"has {len(options)} option(s); expected two to four")
        folded = [" ".join(text.split()).casefold() for _, text in options]
        if len(set(folded)) < len(folded):
            texts = [text for _, text in options]
            self._fault("options", f"two options have one text: {safe_repr(texts)}")
        return tuple(options)

    def key(self, options: tuple[tuple[str, str], ...]) -> str:
        answer = self.text("gt_answer")
        if not answer:
            return ""
        keys = [letter for letter, text in options if text.strip() == answer.strip()]
        if not keys:
            texts = [text for _, text in options]
            self._fault(
                "key", f"gt_answer {safe_repr(answer)} is none of the options {safe_repr(texts)}"
            )
            return ""
        if len(keys) > 1:
            self._fault("key", f"gt_answer {safe_repr(answer)} is options {' and '.join(keys)}")
            return ""
        index, place = self._row.get("correct_index"), LETTERS.index(keys[0])
        if index is not None and (type(index) is not int or index != place):
            self._fault(
                "key",
                f"correct_index is {safe_repr(index)}, but gt_answer is option {keys[0]} "
                f"(index {place}, counted from 0)",
            )
        return keys[0]

    def image(self) -> str | None:
        value = self.optional_text("image_path")
        if not value:
            return None
        if leaves_folder(value) or ":" in value:
            problem = f"image_path {safe_repr(value)} leaves its folder"
            self._fault("image-path", f"{problem}; expected pictures/<name>")
            return None
        return str(PurePosixPath(value))

    def restricted(self) -> bool:
        value = self._row.get("restricted")
        if value is not None and value is not True and value is not False:
            self._fault("field", f"restricted is {safe_repr(value)}; expected true or false")
        return value is True

    def _fault(self, rule: str, message: str) -> None:
        self.faults.append(RowFault(rule=rule, message=message))
