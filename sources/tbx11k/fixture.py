"""Synthetic films of three classes with boxes in COCO files, and what is to be left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from medrcube.sources._synthetic.chest_film import chest_film, lung_lesion
from medrcube.sources._synthetic.chest_signs import areas_of, film_with
from medrcube.sources._synthetic.images import CANARY, bounds, write_lines, write_picture
from medrcube.sources._synthetic.shapes import Mask

_SIDE = 512
_ACTIVE, _OBSOLETE, _UNCERTAIN = 1, 2, 3
_NAMES = ("ActiveTuberculosis", "ObsoletePulmonaryTuberculosis", "PulmonaryTuberculosis")
_SIGNS = {_ACTIVE: "Tuberculosis", _OBSOLETE: "Fibrosis", _UNCERTAIN: "Tuberculosis"}
"""Concept whose sign is drawn for a category."""
_UNBOXED = {"tb": ("Tuberculosis",), "health": (), "sick": ("Pneumonia",)}
"""The same for a film without boxes, by its folder."""
# Film, and the category of each of its boxes.
FILMS = {
    "train": (
        ("tb/tb0005.png", (_ACTIVE,)),
        ("tb/tb0007.png", (_OBSOLETE, _OBSOLETE)),
        ("tb/tb0135.png", (_ACTIVE, _OBSOLETE)),
        ("tb/tb1199.png", ()),
        ("health/h0001.png", ()),
        ("sick/s0001.png", ()),
    ),
    "val": (
        ("tb/tb0003.png", (_ACTIVE,)),
        ("tb/tb0004.png", (_UNCERTAIN,)),
        ("health/h0002.png", ()),
        ("sick/s0002.png", ()),
    ),
}


def build(root: Path, layout: str) -> None:
    """Write the films, their annotation files, a film of the test and one of another collection."""
    del layout
    home = root / "TBX11K"
    for split, films in FILMS.items():
        data = _annotations(home, films)
        for name in (f"TBX11K_{split}", f"all_{split}"):
            path = home / f"annotations/json/{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(data))
        write_lines(home / f"lists/TBX11K_{split}.txt", [name for name, _ in films])
    for number, name in enumerate(("test/t0001.png", "extra/da+db/train/n11.png"), start=90):
        write_picture(home / "imgs" / name, chest_film(_SIDE, _SIDE, seed=number))


def _annotations(home: Path, films: tuple[tuple[str, tuple[int, ...]], ...]) -> dict[str, Any]:
    images: list[dict[str, Any]] = []
    boxes: list[dict[str, Any]] = []
    for number, (name, kinds) in enumerate(films, start=1):
        folder, stem = name.removesuffix(".png").split("/")
        seed = int(stem[-4:]) + 2000 * ("tb", "health", "sick").index(folder)
        lesions = [lung_lesion(_SIDE, _SIDE, seed=seed, which=which) for which in range(len(kinds))]
        areas: dict[str, Mask] = {}
        for kind, lesion in zip(kinds, lesions, strict=True):
            areas[_SIGNS[kind]] = areas.get(_SIGNS[kind], np.zeros_like(lesion)) | lesion
        if not kinds:
            areas = areas_of(_UNBOXED[folder], _SIDE, _SIDE, seed=seed)
        film = film_with(areas, _SIDE, _SIDE, seed=seed).astype(np.uint8)
        write_picture(home / "imgs" / name, np.stack([film] * 3, axis=-1))
        size = {"width": _SIDE, "height": _SIDE}
        images.append({"id": number, "file_name": name, "license": 1, "coco_url": CANARY, **size})
        for kind, lesion in zip(kinds, lesions, strict=True):
            x0, y0, x1, y1 = bounds(lesion)
            corner = [x0 + 0.25, y0 + 0.25, x1 - x0 - 0.5, y1 - y0 - 0.5]
            box = {"id": len(boxes) + 1, "image_id": number, "category_id": kind, "bbox": corner}
            boxes.append({**box, "iscrowd": 0, "area": int(corner[2] * corner[3]), **size})
    categories = [{"id": number, "name": name} for number, name in enumerate(_NAMES, start=1)]
    return {"categories": categories, "images": images, "annotations": boxes}
