"""BUSI: the folder is the label, and every mask file marks one lesion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from medrcube.records import Case, ImageRef, Label, MaskFile, Region, Skip, State
from medrcube.sources.tables import natural

_NAME = re.compile(
    r"(?P<key>(?P<label>benign|malignant|normal) \(\d+\))(?P<mask>_mask(_\d+)?)?\.png"
)


def cases(root: Path, layout: str) -> Iterator[Case | Skip]:
    """Yield one case for every picture, with one region for each of its masks."""
    del layout
    images: dict[str, Path] = {}
    masks: dict[str, list[Path]] = {}
    for path in sorted(root.glob("*/*.png"), key=natural):
        name = _NAME.fullmatch(path.name)
        if name is None:
            continue
        if name["label"] != path.parent.name:
            reason = f"named {name['label']!r} but filed under {path.parent.name!r}"
            yield Skip(key=f"{path.parent.name}/{path.stem}", reason=reason, paths=(path,))
        elif name["mask"]:
            masks.setdefault(name["key"], []).append(path)
        else:
            images[name["key"]] = path
    for key, path in images.items():
        yield _case(key, path, masks.get(key, []))


def _case(key: str, path: Path, masks: list[Path]) -> Case:
    label = path.parent.name
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
