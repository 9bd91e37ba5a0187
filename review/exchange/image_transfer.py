"""Transfer of a workspace's images to the image store, each one once."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from uuid import UUID

import numpy as np
from PIL import Image

from medrcube.build.stages.samples import Sample
from medrcube.review.errors import ReviewError
from medrcube.review.exchange import image_store
from medrcube.review.exchange.item_requirements import printable
from medrcube.review.exchange.workspace_items import IncomingItem

__all__ = ["ImageTransfer", "ItemWithImages", "StoredImage", "same_pixels"]


@dataclass(frozen=True, slots=True)
class StoredImage:
    """An image in the store.

    Attributes:
        key: key of its row.
        sha256: digest of the stored file.
    """

    key: UUID
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemWithImages:
    """An item with its stored images."""

    row: IncomingItem
    picture: StoredImage
    overlay: StoredImage | None


class ImageTransfer:
    """Stores images, each one once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._images: dict[str, StoredImage] = {}

    @property
    def image_count(self) -> int:
        """Number of stored images."""
        return len(self._images)

    def pictured(self, row: IncomingItem) -> ItemWithImages:
        """Return the item with its stored images.

        Raises:
            ReviewError: an image is missing, is a link to another place, is too large, or is not
                the one that was built.
        """
        overlay = None if row.overlay is None else self._store(row.overlay)
        return ItemWithImages(row=row, picture=self._store(row.picture), overlay=overlay)

    def _store(self, sample: Sample) -> StoredImage:
        if sample.id not in self._images:
            data = _read_workspace_image(self._root, sample)
            asset = image_store.store_image(data)
            with Image.open(io.BytesIO(data), formats=image_store.KINDS) as image:
                if not same_pixels(image, sample.pixel_sha256):
                    raise ReviewError(
                        f"image {sample.image} is not the one that was built; build again"
                    )
            self._images[sample.id] = StoredImage(asset.pk, asset.sha256)
        return self._images[sample.id]


def _read_workspace_image(root: Path, sample: Sample) -> bytes:
    """Read the file of an image, which must be inside the workspace."""
    name = sample.image
    expected = os.path.join(os.path.realpath(root), *Path(name).parts)  # noqa: PTH118 (as text)
    if Path(name).is_absolute() or ".." in Path(name).parts or "\x00" in name:
        raise ReviewError(f"image {printable(name)}: lies outside the workspace")
    if os.path.realpath(expected) != expected:
        raise ReviewError(f"image {name}: it is reached through a link; copy the file itself")
    try:
        descriptor = os.open(expected, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(image_store.MOST_BYTES + 1)
    except OSError as error:
        raise ReviewError(f"image {name}: {error.strerror}; build the workspace again") from error
    if len(data) > image_store.MOST_BYTES:
        raise ReviewError(f"image {name}: has more than {image_store.MOST_BYTES} bytes")
    return data


def same_pixels(data: Image.Image, expected: str) -> bool:
    """Whether an image has the pixel hash of the sample table (``pixel_sha256``)."""
    pixels = np.asarray(data)
    digest = sha256(f"{pixels.shape}{pixels.dtype.str}".encode())
    digest.update(np.ascontiguousarray(pixels).data)
    return digest.hexdigest() == expected
