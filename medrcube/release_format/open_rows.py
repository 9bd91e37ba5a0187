"""``<SOURCE>/open.json``: items whose answer is no option, beside the ``test.json`` of the source.

``test.json`` keeps exactly the rows of the published release. A row of this table has the same
fields without options, and ``form``, ``ask`` (what a model is told), ``truth`` (what is right, and
the bar) and ``chance``. The form reads and checks its own three fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medrcube.forms import OPEN_FORMS, form_of
from medrcube.forms.protocol import Json, TargetError
from medrcube.forms.strict_fields import read_number
from medrcube.release_format.rows import BadRowError, ReleaseRow, RowParser
from medrcube.release_format.tree import safe_repr

__all__ = ["OPEN_FIELDS", "UnknownFormError", "open_row", "read_open_row"]

OPEN_FIELDS = (
    *("id", "dataset", "image_path", "question", "form", "ask", "truth", "chance"),
    *("task", "modality", "parts", "original_task", "restricted"),
)
"""Every field of a row."""


class UnknownFormError(ValueError):
    """A row of a form that this version does not have: it is neither checked nor asked.

    Attributes:
        form: its name.
    """

    def __init__(self, form: str) -> None:
        super().__init__(f"form {form!r} is not known to this version")
        self.form = form


def read_open_row(row: Any) -> ReleaseRow:
    """Validate and parse a row.

    Raises:
        BadRowError: it breaks a rule; all faults are named.
        UnknownFormError: its form is of a later version, or of somebody else.
    """
    reader = RowParser.of(row)
    name = reader.text("form")
    if name and name not in OPEN_FORMS:
        raise UnknownFormError(name)
    fields = reader.common()
    if unknown := sorted(set(map(str, row)) - set(OPEN_FIELDS)):
        reader.fault("target", f"has the fields {safe_repr(unknown)}, which no open answer has")
    if missing := [field for field in OPEN_FIELDS if field not in row]:
        reader.fault("target", f"has no field {safe_repr(missing)}")
    elif name:
        try:
            fields["target"] = OPEN_FORMS[name].read_target(row["ask"], row["truth"])
            fields["stated_chance"] = read_number("chance", row["chance"], least=0, most=1)
        except TargetError as error:
            reader.fault("target", f"form {name}: {error}")
    if reader.faults:
        raise BadRowError(tuple(reader.faults))
    return ReleaseRow(options=(), key="", **fields)


def open_row(row: ReleaseRow) -> Mapping[str, Json]:
    """The row as ``read_open_row`` reads it back, in the order of ``OPEN_FIELDS``.

    Raises:
        ValueError: the row has options.
    """
    if row.target is None:
        raise ValueError(f"{row.dataset}/{row.id} has options; they belong into test.json")
    ask, truth = form_of(row.target).write_target(row.target)
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
