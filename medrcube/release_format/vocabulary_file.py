"""Vocabulary of a release: ``vocabulary.json``, words of its items that the package lacks.

A release of words of the package alone has no such file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from medrcube.errors import ReleaseError, VocabularyError
from medrcube.release_format.strict_json import BadJsonError, read_document
from medrcube.release_format.tree import open_file, stat_file
from medrcube.taxonomy import Anatomy, Modality, Task
from medrcube.vocabulary.layers import Layer, activate_layer
from medrcube.vocabulary.word import Word, shipped_words

__all__ = ["VOCABULARY", "activate_release_words", "added_words"]

VOCABULARY = "vocabulary.json"
_LARGEST = 2**20
_AXES: tuple[type[Word], ...] = (Anatomy, Modality, Task)


def added_words(words: Iterable[Word]) -> Mapping[str, list[Mapping[str, object]]]:
    """What the file says: axis -> what is declared of each word that the package lacks."""
    added: dict[str, list[Mapping[str, object]]] = {}
    for word in sorted(set(words), key=lambda word: (word.axis, word)):
        if word not in shipped_words(type(word)):
            added.setdefault(word.axis, []).append(word.declared())
    return added


def activate_release_words(root: Path) -> None:
    """Activate the words that a release declares, from here on.

    A word that an active layer declares stays as it is: the release only names it.

    Raises:
        ReleaseError: the file breaks a rule.
    """
    path = root / VOCABULARY
    if stat_file(root, path) is None:
        return
    try:
        with open_file(root, path, largest=_LARGEST) as file:
            activate_layer(_layer(_missing(read_document(file.read()))))
        for axis in _AXES:
            tuple(axis)
    except (BadJsonError, VocabularyError) as error:
        raise ReleaseError(f"{path}: {error}") from error


def _missing(data: Any) -> Mapping[str, list[Any]]:
    """The words of the file that no active layer declares.

    Raises:
        VocabularyError: the file breaks a rule.
    """
    known = {axis.axis: axis for axis in _AXES}
    if not isinstance(data, dict) or not set(data) <= set(known):
        raise VocabularyError(f"expected an object of lists of words: {', '.join(known)}")
    whole = Layer(VOCABULARY, "", None, data)
    return {
        name: [
            row
            for row, (word, _) in zip(data[name], known[name].layer_words(whole), strict=True)
            if word not in known[name]
        ]
        for name in data
    }


def _layer(words: Mapping[str, Any]) -> Layer:
    digest = hashlib.sha256(repr(sorted(words.items())).encode()).hexdigest()
    return Layer(VOCABULARY, digest, None, words)
