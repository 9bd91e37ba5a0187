"""Mask files in which each pixel names its structure, and header files with pixels beside them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from medrcube.facts import MaskFile, Region

__all__ = ["companion_files", "label_map_regions", "mask_regions"]


def companion_files(file: Path) -> tuple[Path, ...]:
    """Files that hold the pixels of a header file: the ``.raw`` beside an ``.mhd``."""
    return (file.with_suffix(".raw"),) if file.suffix == ".mhd" else ()


def label_map_regions(
    file: Path, values: Iterable[int], *, field: str, image: int = 0
) -> tuple[Region, ...]:
    """One region for every value of a mask file in which each pixel names its structure."""
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
    """One region for every file, in which all that is not zero is marked."""
    return tuple(
        Region(field=field, value=value, shape=MaskFile(paths=(file,)), evidence=file.name)
        for file in files
    )
