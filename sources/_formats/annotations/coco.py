"""COCO JSON annotations: images with boxes, each with one category."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medrcube.errors import TableError
from medrcube.sources._formats.tables.contents import read_json
from medrcube.sources._formats.tables.redaction import redact_exception

__all__ = ["CocoBox", "CocoImage", "read_coco"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CocoBox:
    """One annotation.

    Attributes:
        category: name of its category.
        xyxy: ``(x0, y0, x1, y1)`` in pixels of an image of the stated size.
        evidence: file and id of the annotation.
    """

    category: str
    xyxy: tuple[float, float, float, float]
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CocoImage:
    """One image with its boxes.

    Attributes:
        name: ``file_name``, as written.
        size: width and height in pixels.
        boxes: boxes in file order; empty if nothing is annotated.
    """

    name: str
    size: tuple[int, int]
    boxes: tuple[CocoBox, ...]


def read_coco(path: Path) -> tuple[CocoImage, ...]:
    """Read the images of an annotation file, in file order.

    Raises:
        TableError: the file is not COCO JSON, an annotation refers to a missing image or category,
            or two images have the same id.
    """
    data = read_json(path)
    try:
        alike = len(data["images"]) - len({entry["id"] for entry in data["images"]})
        categories = {entry["id"]: str(entry["name"]) for entry in data["categories"]}
        boxes: dict[Any, list[CocoBox]] = {entry["id"]: [] for entry in data["images"]}
        for entry in data["annotations"]:
            x, y, width, height = map(float, entry["bbox"])
            box = CocoBox(
                category=categories[entry["category_id"]],
                xyxy=(x, y, x + width, y + height),
                evidence=f"{path.name} annotation {int(entry['id'])}",
            )
            boxes[entry["image_id"]].append(box)
        images = tuple(
            CocoImage(
                name=str(entry["file_name"]),
                size=(int(entry["width"]), int(entry["height"])),
                boxes=tuple(boxes[entry["id"]]),
            )
            for entry in data["images"]
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TableError(
            path,
            "expected images with id, file_name, width and height, categories with id and name, "
            f"and annotations that name one of each ({redact_exception(error)}); get it again",
        ) from None
    if alike:
        raise TableError(path, f"{alike} images have the id of another image; get it again")
    return images
