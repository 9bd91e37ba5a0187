"""Image checks of a release: present, with the pixels of their recipes, and redistributable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from medrcube.build.reconstruction.recipes import Recipe
from medrcube.build.validation.consistency import ItemRow
from medrcube.build.validation.findings import FaultLog
from medrcube.build.validation.png_check import FileCheck

__all__ = ["check_images", "images_of"]


def images_of(files: frozenset[str], rows: Iterable[ItemRow]) -> frozenset[str]:
    """Return the files that are images by name, by folder or by a row that names them."""
    images = {entry.image for entry in rows}
    return frozenset(
        name
        for name in files
        if name in images or name.lower().endswith(".png") or "/pictures/" in name
    )


def check_images(
    rows: Sequence[ItemRow],
    recipes: Mapping[str, Recipe] | None,
    checks: Mapping[str, FileCheck],
    findings: FaultLog,
    *,
    private: bool,
) -> None:
    """Record images that are missing, do not match their recipes, or must not be in the tree.

    Args:
        rows: valid rows of all tables.
        recipes: recipe of each image by path, if the release has recipes.
        checks: result of each file check by path.
        findings: log of the faults.
        private: whether the tree may hold restricted images.
    """
    restricted_images = {entry.image for entry in rows if entry.row.restricted}
    for entry in rows:
        if entry.image not in checks and not entry.row.restricted:
            findings.add("picture-missing", f"{entry.where}: {entry.image}")
        check = checks.get(entry.image or "")
        size = check.size if check else None
        stated = getattr(entry.row.target, "size", size)
        if size is not None and stated != size:
            findings.add(
                "target",
                f"{entry.where}: truth size is {stated}; expected {size}, that of {entry.image}",
            )
    recipe_of = recipes or {}
    for image in sorted(recipe_of):
        digest = checks[image].pixel_sha256 if image in checks else None
        if digest is not None and digest != recipe_of[image].pixel_sha256:
            findings.add("pixel-hash", image)
    if private:
        return
    restricted_images |= {image for image, recipe in recipe_of.items() if recipe.restricted}
    # A copy under another name is the same image, unless a redistributable image has equal pixels.
    hashes = {recipe_of[image].pixel_sha256 for image in recipe_of if recipe_of[image].restricted}
    hashes -= {recipe.pixel_sha256 for recipe in recipe_of.values() if not recipe.restricted}
    for name in sorted(checks):
        if name in restricted_images or checks[name].pixel_sha256 in hashes:
            findings.add("restricted-picture", name)
