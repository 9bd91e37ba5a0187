"""Label maps, and header files with a separate pixel file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from medrcube.facts import MaskFile, Region

__all__ = ["companion_files", "label_map_regions", "mask_regions"]


def companion_files(file: Path) -> tuple[Path, ...]:
    """Return the files with the pixels of a header file: the ``.raw`` of an ``.mhd``."""
    return (file.with_suffix(".raw"),) if file.suffix == ".mhd" else ()


def label_map_regions(
    file: Path, values: Iterable[int], *, field: str, image: int = 0
) -> tuple[Region, ...]:
    """Return one region per label value of a label map."""
    return tuple(
        Region(
            field=field,
            value=str(value),
            shape=MaskFile(paths=(file,), values=(value,), parts=companion_files(file)),
            evidence=f"{file.name}={value}",
            image=image,
        )
        for value in values
    )


def mask_regions(files: Iterable[Path], *, field: str, value: str) -> tuple[Region, ...]:
    """Return one region per mask file, in which all non-zero pixels are marked."""
    return tuple(
        Region(field=field, value=value, shape=MaskFile(paths=(file,)), evidence=file.name)
        for file in files
    )
