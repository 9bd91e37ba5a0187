"""Cases that put images beside each other which have cases of their own."""

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
    """One slice in several images of a patient, which differ in one field.

    Args:
        files: value of the field -> its volume, left to right.
        key: of the case.
        patient: whose images these are.
        field: what tells the images apart, such as the sequence.
        guide: shapes on the first image that choose the slice.
        plane: plane to cut; ``None`` for that of the card.
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
