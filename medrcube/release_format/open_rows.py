"""``<SOURCE>/open.json``: items of tasks beyond the cube, next to the source's ``test.json``.

``test.json`` keeps exactly the rows of the published release. A row of this table has the same
fields without options, plus ``form``, ``ask`` (what a model is given), ``truth`` (the right answer
and the bar) and ``chance``. The form reads and checks its own fields ``ask`` and ``truth``. For the
form ``option``, ``ask`` is ``{"options": [two to four texts]}`` and ``truth``
``{"key": index from 0}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medrcube.forms import OPEN_FORMS, OPTION, form_of
from medrcube.forms.option import OptionTarget
from medrcube.forms.protocol import Json, TargetError
from medrcube.forms.strict_fields import read_fields, read_number, read_texts
from medrcube.release_format.rows import LETTERS, BadRowError, ReleaseRow, RowParser
from medrcube.release_format.tree import safe_repr

__all__ = [
    "OPEN_FIELDS",
    "OPEN_ITEMS",
    "UnknownFormError",
    "open_row",
    "read_open_fields",
    "read_open_row",
    "read_options",
    "write_options",
]

OPEN_ITEMS = "open_items.parquet"
"""Table with the evidence for the open items of a release; absent if there are none."""

OPEN_FIELDS = (
    *("id", "dataset", "image_path", "question", "form", "ask", "truth", "chance"),
    *("task", "modality", "parts", "original_task", "restricted"),
)
"""All fields of a row."""


class UnknownFormError(ValueError):
    """A row with a form unknown to this version: it is neither checked nor asked.

    Attributes:
        form: name of the form.
    """

    def __init__(self, form: str) -> None:
        super().__init__(f"form {form!r} is not known to this version")
        self.form = form


def read_open_row(row: Any) -> ReleaseRow:
    """Validate and parse a row.

    Raises:
        BadRowError: it breaks a rule; lists all faults.
        UnknownFormError: its form comes from a later version or a third party.
    """
    return ReleaseRow(**read_open_fields(row))


def read_open_fields(row: Any) -> dict[str, Any]:
    """Validate a row and return the fields of its ``ReleaseRow``.

    Raises:
        BadRowError: it breaks a rule; lists all faults.
        UnknownFormError: its form comes from a later version or a third party.
    """
    reader = RowParser.of(row)
    name = reader.text("form")
    if name and name != OPTION and name not in OPEN_FORMS:
        raise UnknownFormError(name)
    fields = reader.common()
    if unknown := sorted(set(map(str, row)) - set(OPEN_FIELDS)):
        reader.fault(
            "target", f"has the fields {safe_repr(unknown)}, which no open answer may have"
        )
    if missing := [field for field in OPEN_FIELDS if field not in row]:
        reader.fault("target", f"has no field {safe_repr(missing)}")
    elif name:
        try:
            if name == OPTION:
                options = read_options(row["ask"], row["truth"])
                fields |= {"options": tuple(options.options), "key": options.key}
            else:
                fields["target"] = OPEN_FORMS[name].read_target(row["ask"], row["truth"])
            fields["stated_chance"] = read_number("chance", row["chance"], least=0, most=1)
        except TargetError as error:
            reader.fault("target", f"form {name}: {error}")
    if reader.faults:
        raise BadRowError(tuple(reader.faults))
    return {"options": (), "key": "", **fields}


def open_row(row: ReleaseRow) -> Mapping[str, Json]:
    """Return the row as ``read_open_row`` parses it, fields in the order of ``OPEN_FIELDS``.

    Raises:
        ValueError: it is a row of ``test.json``.
    """
    if not row.is_open:
        raise ValueError(f"{row.dataset}/{row.id} has no chance value; it belongs in test.json")
    ask, truth = (
        write_options(OptionTarget(options=row.options, key=row.key))
        if row.target is None
        else form_of(row.target).write_target(row.target)
    )
    return {
        "id": row.id,
        "dataset": row.dataset,
        "image_path": row.image,
        "question": row.question,
        "form": row.form,
        "ask": ask,
        "truth": truth,
        "chance": row.stated_chance,
        "task": row.task.release_name,
        "modality": row.modality.value,
        "parts": row.parts.value,
        "original_task": row.original_task,
        "restricted": row.restricted,
    }


def read_options(ask: object, truth: object) -> OptionTarget:
    """Read options and key from ``{"options": [...]}`` and ``{"key": index}``; letters by position.

    Raises:
        TargetError: a field is missing or invalid.
    """
    texts = read_texts(
        "ask options", read_fields("ask", ask, ("options",))["options"], least=2, most=len(LETTERS)
    )
    key = read_fields("truth", truth, ("key",))["key"]
    if type(key) is not int or not 0 <= key < len(texts):
        raise TargetError(f"truth key is {str(key)[:60]!r}; expected 0 to {len(texts) - 1}")
    return OptionTarget(options=tuple(zip(LETTERS, texts, strict=False)), key=LETTERS[key])


def write_options(target: OptionTarget) -> tuple[Json, Json]:
    """Return the fields ``ask`` and ``truth``, the inverse of ``read_options``."""
    letters = [letter for letter, _ in target.options]
    return {"options": [text for _, text in target.options]}, {"key": letters.index(target.key)}
