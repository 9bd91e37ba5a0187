"""Names of images: what a clinician calls an image of a region and modality."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from medrcube.errors import VocabularyError
from medrcube.files.toml_reader import TomlTable
from medrcube.taxonomy import Anatomy, Modality
from medrcube.vocabulary.layers import PACKAGE, Layer, active_vocabulary

__all__ = ["image_name", "names_modality"]

_ASKED_FOR = ("modality", "modalities", "technique")


def image_name(modality: Modality, anatomy: Anatomy) -> str:
    """Return the clinical name of an image, or else the generic name of the modality's images."""
    return _image_names((PACKAGE, *active_vocabulary().layers)).get(
        (modality, anatomy), modality.image
    )


def names_modality(question: str) -> bool:
    """Whether a question names a modality, or asks for it."""
    return bool(_mention((PACKAGE, *active_vocabulary().layers)).search(question))


@cache
def _mention(layers: tuple[Layer, ...]) -> re.Pattern[str]:
    """Compile a pattern for any name of any modality or its images, singular or plural."""
    names = {*_ASKED_FOR, *_image_names(layers).values()}
    for modality in Modality:
        names |= {modality, modality.image, *modality.words}
    longest_first = sorted(map(re.escape, names), key=lambda name: (-len(name), name))
    return re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})s?(?!\w)", re.IGNORECASE)


@cache
def _image_names(layers: tuple[Layer, ...]) -> Mapping[tuple[str, str], str]:
    """Return names by modality and region.

    Raises:
        VocabularyError: a key is invalid, or two layers name one kind of image differently.
        UnknownNameError: a region or modality is not declared by any layer.
    """
    names: dict[tuple[str, str], str] = {}
    for layer in layers:
        for table in TomlTable(Path(layer.name), layer.words, error=VocabularyError).tables(
            "image"
        ):
            place = (Modality.parse(table.text("modality")), Anatomy.parse(table.text("anatomy")))
            name = table.text("name")
            table.finish()
            if names.setdefault(place, name) != name:
                raise VocabularyError(
                    f"{layer.name}: image of {place[1]} by {place[0]} is called {names[place]!r} "
                    f"by an earlier layer, {name!r} here; remove one of them"
                )
    return names
