"""Reading of rows: fields that many rows share are validated once per combination of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from medrcube.release_format.rows import (
    FIELDS,
    LETTERS,
    OPTIONS,
    BadRowError,
    ReleaseRow,
    RowFault,
    RowParser,
    is_sound_text,
    path_within,
)
from medrcube.release_format.tree import safe_repr
from medrcube.taxonomy import Anatomy, Modality, Task
from medrcube.vocabulary.layers import Vocabulary, active_vocabulary

__all__ = ["departures", "read_row", "read_row_fields"]


def read_row(row: Any) -> ReleaseRow:
    """Validate and parse a row.

    Raises:
        BadRowError: it breaks a rule; lists all faults.
    """
    return ReleaseRow(**read_row_fields(row))


def read_row_fields(row: Any) -> dict[str, Any]:
    """Validate a row and return the fields of its ``ReleaseRow``.

    Raises:
        BadRowError: it breaks a rule; lists all faults.
    """
    plain = _read_plain(row) if type(row) is dict else None
    if plain is not None:
        return plain
    reader = RowParser.of(row)
    fields: dict[str, Any] = {**reader.common(), "options": reader.options()}
    fields["key"] = reader.key(fields["options"])
    if reader.faults:
        raise BadRowError(tuple(reader.faults))
    return fields


def departures(row: Mapping[str, Any]) -> Iterator[RowFault]:
    """Yield how a valid row deviates from the exact format of the published release."""
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
            message=f"has an empty {empty[0]}, which the published prompt nevertheless shows",
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


def _read_plain(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read a row whose id and path are texts; ``None`` leaves it, or its faults, to the parser."""
    name, question, image = row.get("id"), row.get("question"), row.get("image_path")
    if not (is_sound_text(name) and is_sound_text(question) and is_sound_text(image)):
        return None
    path, shared = path_within(image), _shared_fields(row)
    if path is None or shared is None:
        return None
    return {**shared, "id": name, "question": question, "image": path}


_SHARED = (
    *("dataset", *OPTIONS, "gt_answer", "correct_index"),
    *("task", "modality", "parts", "original_task", "restricted"),
)
"""Fields that many rows of a release have in common."""

_Shared = Mapping[str, Any]
_readers: dict[str, tuple[Vocabulary, Callable[..., _Shared | None]]] = {}
"""The reader of these fields under the vocabulary that was active last."""


def _shared_fields(row: Mapping[str, Any]) -> _Shared | None:
    """Return the fields of ``ReleaseRow`` other than id, question and image.

    Returns:
        The fields, in one object for all rows with the same values; ``None`` if one breaks a rule.
    """
    vocabulary = active_vocabulary()
    latest = _readers.get("latest")
    if latest is None or latest[0] is not vocabulary:
        # Typed: True and 1.0 equal 1, but only 1 is an index.
        latest = vocabulary, lru_cache(maxsize=4096, typed=True)(_read_shared)
        _readers["latest"] = latest
    try:
        return latest[1](*map(row.get, _SHARED))
    except TypeError:  # a list or an object where a text belongs cannot be looked up
        return None


def _read_shared(*values: Any) -> _Shared | None:
    reader = RowParser(dict(zip(_SHARED, values, strict=True)))
    options = reader.options()
    fields = {
        "dataset": reader.text("dataset"),
        "task": reader.member("task", Task),
        "modality": reader.member("modality", Modality),
        "parts": reader.member("parts", Anatomy),
        "original_task": reader.optional_text("original_task"),
        "restricted": reader.restricted(),
        "options": options,
        "key": reader.key(options),
    }
    return None if reader.faults else fields
