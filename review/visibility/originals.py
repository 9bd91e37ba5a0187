"""Original pixels of an image, as stored by the build, for the viewer.

The slices stay in ``viewer/`` of the workspace and are found by digest; the queue stores their
interpretation with its image. They are shown to users who may see the image, and leave the queue in
no other way.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from django.db.models import Case, When
from django.db.models.functions import Coalesce
from numpy.typing import NDArray
from PIL import Image

from medrcube.build.viewer.case_copies import plane_path
from medrcube.build.viewer.table import display_facts, read_copies
from medrcube.review.errors import ReviewError
from medrcube.review.exchange import image_store
from medrcube.review.exchange.image_transfer import same_pixels
from medrcube.review.models import Asset, ItemVersion
from medrcube.taxonomy import Task
from medrcube.workspace import WorkspaceFolder

__all__ = ["discloses", "import_originals", "mark_layer", "read_slice"]

_DIGIT = 5 / 240
"""Width of a digit in a numbered box, as a share of the longer side (``pixels.tags``)."""


def import_originals(workspace: WorkspaceFolder, prints: Mapping[str, str]) -> int:
    """Store the description of the viewer copy of each queue image, from the last build.

    Two cases may have the same image but different neighbouring slices; then only the slice itself
    is kept. Gold items, and wordings no longer in the workspace, keep theirs as long as their image
    is the one that was built; otherwise the missing copy would reveal them.

    Args:
        workspace: a built workspace.
        prints: fingerprint of each of its items.

    Returns:
        Number of damaged rows in the table of copies, whose images get no viewer copy.
    """
    table = read_copies(workspace.viewer)
    copies = {name: display_facts(row) for name, row in table.rows.items() if row["slices"]}
    facts_of_version: dict[Any, Mapping[str, Any]] = {}
    older: dict[Any, tuple[Any, str]] = {}
    rows = ItemVersion.objects.values_list(
        Coalesce("item__copied_from", "item"),
        "picture_id",
        Case(When(asks_mark=True, then=Coalesce("overlay_id", "picture_id")), default="picture_id"),
        "provenance__fingerprint",
        "provenance__sample",
    )
    for item, picture, content, fingerprint, sample in rows.iterator() if copies else ():
        facts = copies.get(sample)
        if facts is None:
            continue
        if prints.get(item) != fingerprint:
            older[picture] = (content, sample)
            continue
        kept_facts = facts_of_version.setdefault(picture, facts)
        if kept_facts["slices"] != facts["slices"]:
            facts_of_version[picture] = _own_slice_only(kept_facts)
    for picture, (content, sample) in older.items():
        if picture not in facts_of_version and _has_built_pixels(content, table.rows[sample]):
            facts_of_version[picture] = copies[sample]
    for asset in Asset.objects.exclude(original={}):
        if asset.pk not in facts_of_version:
            Asset.objects.filter(pk=asset.pk).update(original={})
    for picture, kept_facts in facts_of_version.items():
        Asset.objects.filter(pk=picture).exclude(original=kept_facts).update(original=kept_facts)
    return table.damaged


def discloses(task: str, original: Mapping[str, Any]) -> bool:
    """Whether grey values, slices or scale reveal the answer of a task.

    The grey values of a CT are in HU. The slices of a stack reveal the plane: the change from slice
    to slice shows the axis, and non-square pixels show which plane was acquired. A film has a
    single slice, which shows no more than its image.

    Args:
        task: value of the task; for an unknown task everything counts as revealing.
        original: description of the original pixels in the queue.
    """
    stack = len(original.get("slices", ())) > 1
    if task not in Task:
        return True
    rule = Task(task).declaration.original_pixels
    return rule == "tell" or (rule == "tell in stacks" and stack)


def read_slice(asset: Asset, number: int) -> bytes:
    """Return a slice of an image's viewer copy, as a 16-bit grey PNG.

    Args:
        asset: the image.
        number: index of the slice, from 0.

    Raises:
        ReviewError: there is no such slice, or the file is missing or was modified.
    """
    slices = asset.original.get("slices", [])
    if not 0 <= number < len(slices):
        raise ReviewError(f"image {asset.pk}: has {len(slices)} slices, expected more")
    path = plane_path(Path(settings.FOLDER).parent / "viewer", slices[number])
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ReviewError(
            f"image {asset.pk}: its original pixels: {error.strerror}; build and import again"
        ) from error
    if sha256(data).hexdigest() != slices[number]:
        raise ReviewError(f"image {asset.pk}: its original pixels were changed; build again")
    return data


def mark_layer(asset: Asset) -> bytes:
    """Return the marks on a grey image (outlines, numbered boxes) as a transparent PNG.

    Raises:
        ReviewError: as ``image_store.load_image``.
    """
    with Image.open(io.BytesIO(image_store.load_image(asset)), formats=("PNG",)) as image:
        picture = np.asarray(image.convert("RGB"))
    colour = (picture != picture[..., :1]).any(axis=2)
    mark = colour.copy()
    rows = np.flatnonzero(colour.any(axis=1))
    white = (picture[rows] == 255).all(axis=2)
    mark[rows] |= white & _enclosed(colour[rows], 2 + round(_DIGIT * max(colour.shape)))
    clear = np.dstack((picture, np.where(mark, 255, 0).astype(np.uint8)))
    clear[~mark] = 0
    buffer = io.BytesIO()
    Image.fromarray(clear).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _enclosed(colour: NDArray[np.bool_], reach: int) -> NDArray[np.bool_]:
    """Find pixels with coloured ones within reach on both sides: white digits on a red plate."""
    columns = np.arange(colour.shape[1], dtype=np.int32)
    far = np.int32(2**30)
    before = np.maximum.accumulate(np.where(colour, columns, -far), axis=1)
    after = np.minimum.accumulate(np.where(colour, columns, far)[:, ::-1], axis=1)[:, ::-1]
    return np.asarray((columns - before <= reach) & (after - columns <= reach))


def _has_built_pixels(asset: Any, row: Mapping[str, Any]) -> bool:
    """Whether a stored image has the pixels of the image that a copy was made for."""
    try:
        data = image_store.load_image(Asset.objects.get(pk=asset))
    except ReviewError:
        return False
    with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
        return same_pixels(image, str(row.get("picture")))


def _own_slice_only(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**facts, "slices": [facts["slices"][facts["own"]]], "own": 0}
