"""Names of images: what an examiner calls an image of a region and modality."""

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
    """The image as an examiner calls it; where no layer says, the name of the modality's images."""
    return _image_names((PACKAGE, *active_vocabulary().layers)).get(
        (modality, anatomy), modality.image
    )


def names_modality(question: str) -> bool:
    """Whether a question names a modality, or asks for it."""
    return bool(_mention((PACKAGE, *active_vocabulary().layers)).search(question))


@cache
def _mention(layers: tuple[Layer, ...]) -> re.Pattern[str]:
    """Any name of any modality or of its images, in the singular or plural."""
    names = {*_ASKED_FOR, *_image_names(layers).values()}
    for modality in Modality:
        names |= {modality, modality.image, *modality.words}
    longest_first = sorted(map(re.escape, names), key=lambda name: (-len(name), name))
    return re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})s?(?!\w)", re.IGNORECASE)


@cache
def _image_names(layers: tuple[Layer, ...]) -> Mapping[tuple[str, str], str]:
    """Names by modality and region.

    Raises:
        VocabularyError: a key is wrong, or two layers give one kind of image two names.
        UnknownNameError: a region or modality is declared by no layer.
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
