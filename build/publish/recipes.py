"""Reads ``recipes.jsonl`` of a release, which a stranger may have written.

Nothing that a recipe says is used as a path but the place of its picture, and that has one form:
``DATASET/pictures/NAME.png``. The names of raw files are only compared with names that are there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from medrcube.build.plan import Artefact
from medrcube.errors import ReleaseError

RECIPES = "recipes.jsonl"

LONGEST = 8 << 20
"""Bytes of a line; a series of ten thousand files takes two million."""

_SHA256 = re.compile("[0-9a-f]{64}")
_SOURCE = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
_PICTURE = re.compile(r"[A-Za-z0-9-][A-Za-z0-9._-]{0,250}\.png")
_KINDS = ("clean", "outline", "boxes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How one picture of a release was made.

    Attributes:
        sample: id of the picture.
        source: id of its source.
        case: key of its case.
        image: its path in the release.
        pixel_sha256: identity of the picture.
        restricted: whether it may not be passed on.
        artefact: what it is a picture of.
        frames: slice of each image.
        files: raw file relative to the raw root -> SHA-256.
        first: the raw file that holds the first image.
        made: the whole recipe, as written.
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
    made: Mapping[str, Any]


def read_recipes(tree: Path) -> tuple[Recipe, ...]:
    """Read and check all recipes of a release.

    Raises:
        ReleaseError: there are none, one is not what medrcube writes, or two are about one
            picture; names the line.
    """
    path = tree / RECIPES
    samples: dict[str, int] = {}
    images: dict[str, int] = {}
    recipes: list[Recipe] = []
    for number, line in _lines(path):
        try:
            recipe = _recipe(line)
        except _RecipeError as error:
            raise ReleaseError(f"{path} line {number}: {error}") from None
        # Some file systems ignore case: one picture would take the place of the other.
        for seen, name in ((samples, recipe.sample), (images, recipe.image.lower())):
            if name in seen:
                raise ReleaseError(f"{path} line {number}: {name} stands in line {seen[name]} too")
            seen[name] = number
        recipes.append(recipe)
    return tuple(recipes)


class _RecipeError(Exception):
    """A line is no recipe; says what was found and what was expected."""


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LONGEST + 1):
                number += 1
                if len(line) > LONGEST:
                    raise ReleaseError(
                        f"{path} line {number}: is longer than {LONGEST:,} bytes; no recipe is"
                    )
                if line.strip():
                    yield number, line
    except FileNotFoundError:
        raise ReleaseError(
            f"{path}: is missing; expected a release made by  medrcube release.  The release that "
            "upstream published has no recipes: see  medrcube reconstruct --adopt"
        ) from None
    except OSError as error:
        raise ReleaseError(f"{path}: cannot be read ({error.strerror})") from error


def _recipe(line: bytes) -> Recipe:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _RecipeError(f"is no JSON object ({type(error).__name__})") from None
    if not isinstance(row, dict):
        raise _RecipeError(f"is a {type(row).__name__}; expected a JSON object")
    source = _text(row, "source", _SOURCE)
    files = _files(row)
    frames, first = _images(row, files)
    if not isinstance(row.get("restricted"), bool):
        raise _RecipeError(f"restricted is {_shown(row.get('restricted'))}; expected true or false")
    return Recipe(
        sample=_text(row, "sample", re.compile("[0-9a-f]{16}")),
        source=source,
        case=_text(row, "case"),
        image=_picture(row, source),
        pixel_sha256=_text(row, "pixel_sha256", _SHA256),
        restricted=row["restricted"],
        artefact=_artefact(row),
        frames=frames,
        files=files,
        first=first,
        made=row,
    )


def _picture(row: Mapping[str, Any], source: str) -> str:
    image = _text(row, "image")
    folder = f"{source.upper()}/pictures/"
    if not (image.startswith(folder) and _PICTURE.fullmatch(image[len(folder) :])):
        raise _RecipeError(f"image is {_shown(image)}; expected {folder}NAME.png")
    return image


def _files(row: Mapping[str, Any]) -> Mapping[str, str]:
    files = row.get("files")
    if not isinstance(files, dict) or not files:
        raise _RecipeError(f"files is {_shown(files)}; expected names and digests of raw files")
    for name, digest in files.items():
        path = PurePosixPath(name)
        if not name or path.is_absolute() or ".." in path.parts or "\0" in name:
            raise _RecipeError(f"files: {_shown(name)} leads out of the raw root")
        if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            raise _RecipeError(f"files: {_shown(name)} has no SHA-256 but {_shown(digest)}")
    return files


def _images(row: Mapping[str, Any], files: Mapping[str, str]) -> tuple[tuple[int, ...], str]:
    images = row.get("images")
    if not isinstance(images, list) or not images:
        raise _RecipeError(f"images is {_shown(images)}; expected a list")
    frames: list[int] = []
    for image in images:
        names = image.get("files") if isinstance(image, dict) else None
        frame = image.get("frame") if isinstance(image, dict) else None
        if not isinstance(names, list) or not names or any(name not in files for name in names):
            raise _RecipeError(f"images: files is {_shown(names)}; expected names out of files")
        if type(frame) is not int:
            raise _RecipeError(f"images: frame is {_shown(frame)}; expected a number")
        frames.append(frame)
    return tuple(frames), images[0]["files"][0]


def _artefact(row: Mapping[str, Any]) -> Artefact:
    mark = row.get("mark")
    if not isinstance(mark, dict) or mark.get("kind") not in _KINDS:
        raise _RecipeError(f"mark is {_shown(mark)}; expected a kind out of {', '.join(_KINDS)}")
    texts = {name: mark.get(name) for name in ("kind", "field", "concept")}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise _RecipeError(f"mark: {name} is {_shown(text)}; expected a text")
    return Artefact(**texts)


def _text(row: Mapping[str, Any], name: str, form: re.Pattern[str] | None = None) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value or (form and not form.fullmatch(value)):
        expected = f"a text of the form {form.pattern}" if form else "a text"
        raise _RecipeError(f"{name} is {_shown(value)}; expected {expected}")
    return value


def _shown(value: object) -> str:
    """A value for an error, cut short: a line may be megabytes long."""
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
