"""Comparison cases: side-by-side images that also have their own cases."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medrcube.facts import Case, ImageRef, Label, Shape

__all__ = ["compared_case"]


def compared_case(
    files: Mapping[str, Path],
    *,
    key: str,
    patient: str,
    field: str,
    guide: tuple[Shape, ...] = (),
    plane: str | None = None,
) -> Case:
    """Return a case of one slice in several images of a patient that differ in one field.

    Args:
        files: value of the field -> volume, from left to right.
        key: key of the case.
        patient: patient of the images.
        field: field in which the images differ, such as the sequence.
        guide: shapes on the first image that determine the slice.
        plane: plane of the slice; ``None`` for that of the card.
    """
    return Case(
        key=key,
        images=tuple(ImageRef(paths=(file,)) for file in files.values()),
        guide=guide,
        patient=patient,
        panels=tuple(
            Label(field=field, value=value, evidence=file.name) for value, file in files.items()
        ),
        compared=True,
        plane=plane,
    )
