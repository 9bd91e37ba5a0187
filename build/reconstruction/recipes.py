"""Strict reader of ``recipes.jsonl`` from an untrusted release.

Only the location of an image is used as a path, as ``DATASET/pictures/HH/NAME.png``, where HH
are two hexadecimal digits, or ``DATASET/pictures/NAME.png`` in older releases. Names of raw files
are only compared with existing names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from medrcube.build.stages.plan import Artefact
from medrcube.errors import ReleaseError
from medrcube.release_format.strict_json import BadJsonError, read_lines
from medrcube.release_format.tree import open_file, safe_repr, stat_file

__all__ = ["RECIPES", "Recipe", "is_below", "read_recipes"]

RECIPES = "recipes.jsonl"

_ANY = re.compile(".+")
_SAMPLE = re.compile("[0-9a-f]{16}")
_SHA256 = re.compile("[0-9a-f]{64}")
_SOURCE = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
_PICTURE = re.compile(r"(?:[0-9a-f]{2}/)?[A-Za-z0-9-][A-Za-z0-9._-]{0,250}\.png")
_KINDS = ("clean", "outline", "boxes", "numbered", "scale-bar", "mirrored", "compared")
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that none of our names contain, including terminal control characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Recipe of one image of a release.

    Attributes:
        sample: id of the image.
        source: id of its source.
        case: key of its case.
        image: its path in the release.
        pixel_sha256: pixel hash of the image.
        restricted: whether it may not be redistributed.
        artefact: artefact that it shows.
        frames: slice of each image.
        files: path relative to the raw root -> SHA-256.
        first: the raw file that holds the first image.
        record: the whole recipe, as written.
    """

    sample: str
    source: str
    case: str
    image: str
    pixel_sha256: str
    restricted: bool
    artefact: Artefact
    frames: tuple[int, ...]
    files: Mapping[str, str]
    first: str
    record: Mapping[str, Any]


def read_recipes(tree: Path) -> tuple[Recipe, ...]:
    """Read and check all recipes of a release.

    Raises:
        ReleaseError: there are none, one is not in the form that medrcube writes, or two describe
            one image; names the recipe.
    """
    samples: dict[str, int] = {}
    images: dict[str, int] = {}
    recipes: list[Recipe] = []
    for number, row in _rows(tree):
        try:
            recipe = _recipe(row)
            # On case-insensitive file systems one image would overwrite the other.
            _claim(samples, recipe.sample, number)
            _claim(images, recipe.image.lower(), number)
        except _RecipeError as error:
            raise ReleaseError(f"{tree / RECIPES}: recipe {number}: {error}") from None
        recipes.append(recipe)
    return tuple(recipes)


class _RecipeError(Exception):
    """A row is not a recipe; states what was found and what was expected."""


def _rows(tree: Path) -> Iterator[tuple[int, Any]]:
    path = tree / RECIPES
    if stat_file(tree, path) is None:
        raise ReleaseError(
            f"{path}: is missing; expected a release made by  medrcube release.  The release that "
            "upstream published has no recipes: see  medrcube reconstruct --adopt"
        )
    with open_file(tree, path) as file:
        try:
            yield from enumerate(read_lines(file), 1)
        except BadJsonError as error:
            raise ReleaseError(f"{path}: {error}") from None


def _claim(owners: dict[str, int], name: str, number: int) -> None:
    if owners.setdefault(name, number) != number:
        raise _RecipeError(f"{name} belongs to recipe {owners[name]} already")


def _recipe(row: Any) -> Recipe:
    if not isinstance(row, dict):
        raise _RecipeError(f"is {safe_repr(row)}; expected a JSON object")
    source = _text(row, "source", _SOURCE)
    files = _files(row)
    frames, first = _images(row, files)
    if not isinstance(row.get("restricted"), bool):
        raise _RecipeError(
            f"restricted is {safe_repr(row.get('restricted'))}; expected true or false"
        )
    return Recipe(
        sample=_text(row, "sample", _SAMPLE),
        source=source,
        case=_text(row, "case"),
        image=_picture(row, source),
        pixel_sha256=_text(row, "pixel_sha256", _SHA256),
        restricted=row["restricted"],
        artefact=_artefact(row),
        frames=frames,
        files=files,
        first=first,
        record=row,
    )


def _picture(row: Mapping[str, Any], source: str) -> str:
    image = _text(row, "image")
    folder = f"{source.upper()}/pictures/"
    if not (image.startswith(folder) and _PICTURE.fullmatch(image[len(folder) :])):
        raise _RecipeError(f"image is {safe_repr(image)}; expected {folder}HH/NAME.png")
    return image


def _files(row: Mapping[str, Any]) -> Mapping[str, str]:
    files = row.get("files")
    if not isinstance(files, dict) or not files:
        raise _RecipeError(f"files is {safe_repr(files)}; expected names and digests of raw files")
    for name, digest in files.items():
        if not is_below(name):
            raise _RecipeError(f"files: {safe_repr(name)} names no file below the raw root")
        if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            raise _RecipeError(f"files: {safe_repr(name)} has no SHA-256 but {safe_repr(digest)}")
    return files


def is_below(name: str) -> bool:
    """Whether the name of a raw file stays below the raw root and is safe to display."""
    path = PurePosixPath(name)
    return bool(
        name and not path.is_absolute() and ".." not in path.parts and not _UNSEEN.search(name)
    )


def _images(row: Mapping[str, Any], files: Mapping[str, str]) -> tuple[tuple[int, ...], str]:
    images = row.get("images")
    if not isinstance(images, list) or not images:
        raise _RecipeError(f"images is {safe_repr(images)}; expected a list")
    frames: list[int] = []
    for image in images:
        names = image.get("files") if isinstance(image, dict) else None
        frame = image.get("frame") if isinstance(image, dict) else None
        if not isinstance(names, list) or not names or not _are_in(names, files):
            raise _RecipeError(f"images: files is {safe_repr(names)}; expected names out of files")
        if type(frame) is not int:
            raise _RecipeError(f"images: frame is {safe_repr(frame)}; expected a number")
        frames.append(frame)
    return tuple(frames), images[0]["files"][0]


def _are_in(names: list[Any], files: Mapping[str, str]) -> bool:
    return all(isinstance(name, str) and name in files for name in names)


def _artefact(row: Mapping[str, Any]) -> Artefact:
    mark = row.get("mark")
    if not isinstance(mark, dict) or mark.get("kind") not in _KINDS:
        raise _RecipeError(f"mark is {safe_repr(mark)}; expected a kind out of {', '.join(_KINDS)}")
    field, concept = mark.get("field"), mark.get("concept")
    for text in (field, concept):
        if not isinstance(text, str) or _UNSEEN.search(text):
            raise _RecipeError(f"mark names {safe_repr(text)}; expected a field and a concept")
    return Artefact(kind=mark["kind"], field=str(field), concept=str(concept))


def _text(row: Mapping[str, Any], name: str, form: re.Pattern[str] = _ANY) -> str:
    value = row.get(name)
    if not isinstance(value, str) or _UNSEEN.search(value) or not form.fullmatch(value):
        raise _RecipeError(f"{name} is {safe_repr(value)}; expected a text like {form.pattern}")
    return value
