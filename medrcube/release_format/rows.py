"""Rows of ``<SOURCE>/test.json``: fields, validation rules and their parser.

The rules prevent wrong results: a key that is not an option, two options with the same text, an
unknown task. Evaluation and validation share this parser, so both report the same faults.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, TypeGuard, TypeVar

from medrcube.errors import UnknownNameError
from medrcube.forms import OPTION
from medrcube.forms.protocol import Target
from medrcube.release_format.tree import leaves_folder, safe_repr
from medrcube.taxonomy import Anatomy, Modality, Task

__all__ = [
    "FIELDS",
    "LETTERS",
    "LONGEST_TEXT",
    "OPTIONS",
    "BadRowError",
    "ReleaseRow",
    "RowFault",
    "RowParser",
    "is_sound_text",
    "path_within",
]

LETTERS = "ABCD"
"""Option letters that a release may use."""

OPTIONS = tuple(f"option_{letter}" for letter in LETTERS)
"""Fields of the options."""

LONGEST_TEXT = 20_000
"""Maximum length of a text field in characters."""

FIELDS = (
    *("id", "dataset", "image_path", "question"),
    *OPTIONS,
    *("gt_answer", "correct_index", "task", "modality", "parts", "original_task", "restricted"),
)
"""All fields of the published release (arXiv 2604.13756)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRow:
    """A valid row, of a table with options or of one with open answers.

    Attributes:
        id: its id, as text.
        dataset: name of the source.
        question: the stem.
        options: (letter, text) of two to four options; empty for an open answer.
        key: letter of the right option; empty for an open answer.
        task: task axis.
        modality: modality axis.
        parts: anatomy axis.
        image: image path relative to the folder of the table; ``None`` if none is given.
        original_task: task of the source dataset, or ``None``.
        restricted: whether the image cannot be redistributed.
        target: target of an open answer; ``None`` for options.
        stated_chance: for an item of ``open.json``, the probability that the best answer without
            seeing the image passes; ``None`` for one of ``test.json``.
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
    target: Target | None = None
    stated_chance: float | None = None

    @property
    def form(self) -> str:
        """Name of the answer form."""
        return OPTION if self.target is None else self.target.form

    @property
    def is_open(self) -> bool:
        """Whether it is a row of ``open.json``; such a row may have options too."""
        return self.stated_chance is not None

    @property
    def chance(self) -> float:
        """Probability that an answer given without seeing the image is right."""
        return 1 / len(self.options) if self.stated_chance is None else self.stated_chance


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFault:
    """One rule that a row breaks.

    Attributes:
        rule: name of the rule.
        message: what was found, and what was expected.
    """

    rule: str
    message: str


class BadRowError(ValueError):
    """A row breaks rules; the message is that of the first fault."""

    def __init__(self, faults: tuple[RowFault, ...]) -> None:
        super().__init__(faults[0].message)
        self.faults = faults


_Axis = TypeVar("_Axis", Task, Modality, Anatomy)


class RowParser:
    """Reads the fields of one row and collects faults.

    Attributes:
        faults: rules broken by the fields read so far.
    """

    def __init__(self, row: Mapping[str, Any]) -> None:
        self._row = row
        self.faults: list[RowFault] = []

    @classmethod
    def of(cls, row: Any) -> RowParser:
        """Return the parser of a row.

        Raises:
            BadRowError: it is not an object.
        """
        if not isinstance(row, dict):
            kind = type(row).__name__
            fault = RowFault(rule="row", message=f"is a {kind}; expected an object")
            raise BadRowError((fault,))
        return cls(row)

    def common(self) -> dict[str, Any]:
        """Read the fields that every form has, by their names in ``ReleaseRow``."""
        return {
            "id": self.identifier(),
            "dataset": self.text("dataset"),
            "question": self.text("question"),
            "task": self.member("task", Task),
            "modality": self.member("modality", Modality),
            "parts": self.member("parts", Anatomy),
            "image": self.image(),
            "original_task": self.optional_text("original_task"),
            "restricted": self.restricted(),
        }

    def text(self, field: str) -> str:
        """Read a required text field; records a fault if it is not text."""
        value = self._row.get(field)
        if is_sound_text(value):
            return value
        if not isinstance(value, str) or not value.strip():
            self.fault("field", f"{field} is {safe_repr(value)}; expected a text")
            return ""
        if len(value) > LONGEST_TEXT:
            problem = f"{field} has {len(value):,} characters"
            self.fault("field", f"{problem}; expected at most {LONGEST_TEXT:,}")
            return ""
        self.fault("field", f"{field} contains half a character (a lone surrogate)")
        return ""

    def optional_text(self, field: str) -> str | None:
        """Read a text field; ``None`` if absent or empty."""
        return None if self._row.get(field) in (None, "") else self.text(field)

    def identifier(self) -> str:
        """Read the id as text."""
        value = self._row.get("id")
        return str(value) if type(value) is int else self.text("id")

    def member(self, field: str, axis: type[_Axis]) -> _Axis | None:
        """Read a word of an axis; records a fault if it is unknown."""
        value = self._row.get(field)
        if type(value) is str and (word := axis.by_name(value)) is not None:
            return word
        text = self.text(field)
        if not text:
            return None
        try:
            return axis.parse(text)
        except UnknownNameError:
            names = ", ".join(member.value for member in axis)
            problem = f"{safe_repr(text)} is not a known {axis.__name__.lower()}"
            self.fault(field, f"{field}: {problem}; expected one of: {names}")
            return None

    def options(self) -> tuple[tuple[str, str], ...]:
        """Read (letter, text) of two to four different options."""
        cells = tuple(map(self._row.get, OPTIONS))
        if all(cell is None or type(cell) is str for cell in cells):
            sound = _sound_options(cells)
            if sound is not None:
                return sound
        options = []
        for letter, name in zip(LETTERS, OPTIONS, strict=True):
            text = self.optional_text(name)
            if text is not None:
                options.append((letter, text))
        if len(options) < 2:
            self.fault("options", f"has {len(options)} option(s); expected two to four")
        if _are_repeated(text for _, text in options):
            texts = [text for _, text in options]
            self.fault("options", f"two options have the same text: {safe_repr(texts)}")
        return tuple(options)

    def key(self, options: tuple[tuple[str, str], ...]) -> str:
        """Read the letter of the right option; records a fault if there is none."""
        answer = self.text("gt_answer")
        if not answer:
            return ""
        keys = [letter for letter, text in options if text.strip() == answer.strip()]
        if not keys:
            texts = [text for _, text in options]
            self.fault(
                "key", f"gt_answer {safe_repr(answer)} is not one of the options {safe_repr(texts)}"
            )
            return ""
        if len(keys) > 1:
            self.fault("key", f"gt_answer {safe_repr(answer)} is options {' and '.join(keys)}")
            return ""
        index, place = self._row.get("correct_index"), LETTERS.index(keys[0])
        if index is not None and (type(index) is not int or index != place):
            self.fault(
                "key",
                f"correct_index is {safe_repr(index)}, but gt_answer is option {keys[0]} "
                f"(index {place}, counted from 0)",
            )
        return keys[0]

    def image(self) -> str | None:
        """Read the path of the image, relative to the folder of the table."""
        value = self.optional_text("image_path")
        if not value:
            return None
        path = path_within(value)
        if path is None:
            problem = f"image_path {safe_repr(value)} leaves its folder"
            self.fault("image-path", f"{problem}; expected pictures/<name>")
        return path

    def restricted(self) -> bool:
        """Read whether the image cannot be redistributed."""
        value = self._row.get("restricted")
        if value is not None and value is not True and value is not False:
            self.fault("field", f"restricted is {safe_repr(value)}; expected true or false")
        return value is True

    def fault(self, rule: str, message: str) -> None:
        """Record a rule that the row breaks."""
        self.faults.append(RowFault(rule=rule, message=message))


def is_sound_text(value: object) -> TypeGuard[str]:
    """Whether ``RowParser.text`` accepts the value."""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT or not value or value.isspace():
        return False
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
    return True


@lru_cache(maxsize=4096)
def _sound_options(cells: tuple[str | None, ...]) -> tuple[tuple[str, str], ...] | None:
    """Return (letter, text) of the options, or ``None`` if they break a rule.

    Cached, so that items with the same options share one value.
    """
    options = tuple((letter, text) for letter, text in zip(LETTERS, cells, strict=True) if text)
    texts = [text for _, text in options]
    if len(options) < 2 or _are_repeated(texts):
        return None
    row = dict(zip(OPTIONS, cells, strict=True))
    reader = RowParser(row)
    for letter, _ in options:
        reader.text(f"option_{letter}")
    return None if reader.faults else options


def _are_repeated(texts: Iterable[str]) -> bool:
    """Whether two texts are equal ignoring case and white space."""
    folded = [" ".join(text.split()).casefold() for text in texts]
    return len(set(folded)) < len(folded)


_PLAIN_PATH = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)*", re.ASCII)
"""Paths that are in normal form and stay in their folder: no part begins with a dot."""


@lru_cache(maxsize=4096)
def path_within(value: str) -> str | None:
    """Return a relative path in normal form; ``None`` if it leaves its folder."""
    if _PLAIN_PATH.fullmatch(value):
        return value
    return None if leaves_folder(value) or ":" in value else str(PurePosixPath(value))
