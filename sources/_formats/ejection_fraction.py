"""Ejection fraction of a ventricle, checked against its volumes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from medrcube.errors import RowError, SourceError
from medrcube.facts import BAD_ROW, Label, LabelState, Quantity, Skip
from medrcube.sources._formats.tables.redaction import redact_cell
from medrcube.sources._formats.tables.tables import TableRow

__all__ = [
    "TOLERANCE",
    "contradiction_skips",
    "ejection_label",
    "ejection_labels",
    "ejection_quantities",
]

TOLERANCE = 2.0
"""Tolerance in percentage points: the effect of rounding volumes of 40 mL to whole millilitres."""


def ejection_labels(
    row: TableRow, fraction: str, *, diastole: str, systole: str, field: str, key: str
) -> tuple[tuple[Label, ...], tuple[Skip, ...]]:
    """Return the labels of the ejection fraction, and skips for an unusable one.

    A fraction that is not a percentage loses only its own label; the rest of the case is kept.

    Args:
        row: table row or ``Key: value`` file.
        fraction: as in ``ejection_label``.
        diastole: as there.
        systole: as there.
        field: as there.
        key: key of the case.
    """
    try:
        label = ejection_label(row, fraction, diastole=diastole, systole=systole, field=field)
    except RowError as error:
        return (), (Skip(key=f"{key} {field}", reason=str(error), code=BAD_ROW),)
    return (label,), tuple(contradiction_skips(label, key))


def ejection_label(
    row: TableRow, fraction: str, *, diastole: str, systole: str, field: str
) -> Label:
    """Return the label of the fraction; unknown if the volumes in the row contradict it.

    Args:
        row: table row or ``Key: value`` file.
        fraction: column of the fraction, in percent.
        diastole: column of the volume at end-diastole.
        systole: column of the volume at end-systole, in the same unit.
        field: field of the card.

    Raises:
        RowError: the fraction is not a percentage.
    """
    label = row.label(fraction, field=field)
    if not label.value:
        raise RowError(f"{row.quote(fraction)}: is blank; expected a percentage, from 0 to 100")
    if not 0 <= row.number(fraction) <= 100:
        raise RowError(f"{row.quote(fraction)}: expected a percentage, from 0 to 100")
    volumes = [column for column in (diastole, systole) if row.get(column)]
    if not volumes:
        return label
    if len(volumes) == 2 and _agree(row, fraction, diastole, systole):
        return label
    beside = ", ".join(f"{column}={redact_cell(row[column])}" for column in volumes)
    evidence = f"{label.evidence} against {beside}"
    return replace(label, state=LabelState.UNKNOWN, evidence=evidence)


def contradiction_skips(label: Label, key: str) -> Iterator[Skip]:
    """Yield a skip for a fraction that its volumes contradict; the case is kept.

    Args:
        label: result of ``ejection_label``.
        key: key of the case.
    """
    if label.state is LabelState.UNKNOWN:
        reason = f"{label.evidence}: the volumes give a different fraction, so it is not asked"
        yield Skip(key=f"{key} {label.field}", reason=reason)


def ejection_quantities(labels: Iterable[Label], field: str) -> tuple[Quantity, ...]:
    """Return the fractions in per cent of labels that the volumes do not contradict.

    Args:
        labels: result of ``ejection_labels``.
        field: field of kind ``measure`` in the card.
    """
    return tuple(
        Quantity(field=field, value=float(label.value), unit="%", evidence=label.evidence)
        for label in labels
        if label.state is LabelState.PRESENT
    )


def _agree(row: TableRow, fraction: str, diastole: str, systole: str) -> bool:
    try:
        percent, full, end = (row.number(column) for column in (fraction, diastole, systole))
    except SourceError:
        return False
    return full > 0 and abs(100 * (full - end) / full - percent) <= TOLERANCE
