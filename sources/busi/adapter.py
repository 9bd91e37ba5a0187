"""BUSI: the folder is the label, and every mask file marks one lesion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from medrcube.errors import ReadError
from medrcube.records import Case, ImageRef, Label, MaskFile, Region, Skip, State
from medrcube.sources.raw_tree import RawTree
from medrcube.sources.tables import natural

_NAME = re.compile(r"(?P<key>(?P<label>benign|malignant|normal) \(\d+\))(?P<mask>_mask(_\d+)?)?")
_CLASSES = ("benign", "malignant", "normal")
_RESAVED = {(256, 256), (416, 416)}
"""Sizes of editions on the web; the release lies between 190 x 310 and 1048 x 719."""


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case for every picture, with one region for each of its masks."""
    del layout
    images: dict[str, Path] = {}
    masks: dict[str, list[Path]] = {}
    seen: set[str] = set()
    for path in sorted(root.glob("**/{benign,malignant,normal}/{,*/}*.png"), key=natural):
        name = _NAME.fullmatch(path.stem)
        if name is None:
            continue
        folder = next(it.name for it in path.parents if it.name in _CLASSES)
        key = f"{folder}/{path.stem}"
        if name["label"] != folder:
            reason = f"named {name['label']!r} but filed under {folder!r}"
            yield Skip(key=key, reason=reason, paths=(path,))
        elif path.stem in seen:
            yield Skip(key=key, reason="another copy of a file", paths=(path,))
        elif name["mask"]:
            masks.setdefault(name["key"], []).append(path)
        else:
            images[name["key"]] = path
        seen.add(path.stem)
    for key, path in images.items():
        yield _case(key, path, masks.get(key, []))


def frames(case: Case, volume: Any) -> list[int]:
    """The only one.

    Raises:
        ReadError: code ``resized`` for a picture of an edition that squeezed all to squares.
    """
    rows, columns = volume.slices.shape[1:3]
    if (rows, columns) in _RESAVED:
        raise ReadError(
            f"{case.key} has {columns} x {rows} pixels, the size of an edition that squeezed all "
            "pictures to squares; expected the sizes of the release: get it from its home page",
            code="resized",
        )
    return [0]


def _case(key: str, path: Path, masks: list[Path]) -> Case:
    label = key.partition(" ")[0]
    folder = f"folder {label}"
    labels = [Label(field="diagnosis", value=label, evidence=folder)]
    regions: list[Region] = []
    if label == "normal":
        labels.append(Label(field="lesion", value="lesion", state=State.ABSENT, evidence=folder))
        labels.append(Label(field="lesion", value="none", evidence=folder))
    else:
        labels.append(Label(field="lesion", value="lesion", evidence=folder))
        for mask in masks:
            shape = MaskFile(paths=(mask,))
            regions.append(Region(field="lesion", value="lesion", shape=shape, evidence=mask.name))
    image = ImageRef(paths=(path,))
    return Case(key=key, images=(image,), labels=tuple(labels), regions=tuple(regions))
