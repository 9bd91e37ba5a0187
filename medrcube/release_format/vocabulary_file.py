"""``vocabulary.json`` of a release: words used by its items that the package lacks.

A task is written with its level and the kinds of facts it asks about. A release that uses only the
package's words has no such file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from medrcube.errors import ReleaseError, VocabularyError
from medrcube.fact_kind import FactKind
from medrcube.release_format.strict_json import BadJsonError, read_document
from medrcube.release_format.tree import open_file, stat_file
from medrcube.taxonomy import Anatomy, Level, Modality, Task
from medrcube.vocabulary.layers import Layer, Vocabulary, active_vocabulary, using
from medrcube.vocabulary.word import Word, shipped_words

__all__ = ["AXES", "VOCABULARY", "added_words", "read_words", "release_vocabulary"]

VOCABULARY = "vocabulary.json"
_LARGEST = 2**20
AXES: Mapping[str, type[Word]] = {
    axis.axis: axis for axis in (Level, FactKind, Anatomy, Modality, Task)
}
"""Axes in the file by name; words that a task declaration references come first."""


def added_words(words: Iterable[Word]) -> Mapping[str, list[Mapping[str, object]]]:
    """Return the file content: for each axis, the declarations of words that the package lacks."""
    # Words of two axes may share a name and then compare equal.
    by_name = {(word.axis, str(word)): word for word in _with_named(words)}
    added: dict[str, list[Mapping[str, object]]] = {}
    for (axis, name), word in sorted(by_name.items()):
        if name not in shipped_words(type(word)):
            added.setdefault(axis, []).append(word.declared())
    return added


def read_words(root: Path) -> Mapping[str, Any]:
    """Return the file as written, axis -> rows; empty if the release has none.

    Raises:
        ReleaseError: the file is invalid.
    """
    path = root / VOCABULARY
    if stat_file(root, path) is None:
        return {}
    try:
        with open_file(root, path, largest=_LARGEST) as file:
            return _checked(read_document(file.read()))
    except (BadJsonError, VocabularyError) as error:
        raise ReleaseError(f"{path}: {error}") from error


def release_vocabulary(root: Path) -> Vocabulary:
    """Return the active vocabulary plus the words that a release declares, without activating it.

    A word that an active layer declares is unchanged: the release only names it, and a task must
    have the same level.

    Raises:
        ReleaseError: the file breaks a rule.
    """
    vocabulary = active_vocabulary()
    data = read_words(root)
    try:
        for name, axis in AXES.items():
            if name not in data:
                continue
            with using(vocabulary):
                vocabulary = vocabulary.adding(_layer(_missing(axis, data[name])))
            with using(vocabulary):
                tuple(axis)
    except VocabularyError as error:
        raise ReleaseError(f"{root / VOCABULARY}: {error}") from error
    return vocabulary


def _with_named(words: Iterable[Word]) -> Iterator[Word]:
    """Yield words together with those that task declarations among them reference."""
    for word in words:
        yield word
        if isinstance(word, Task):
            yield word.level
            yield from map(FactKind, word.declaration.kinds)


def _checked(data: Any) -> Mapping[str, Any]:
    if not isinstance(data, dict) or not data.keys() <= AXES.keys():
        raise VocabularyError(f"expected an object of lists of words: {', '.join(AXES)}")
    return data


def _missing(axis: type[Word], rows: Any) -> Mapping[str, list[Any]]:
    """Return the words of one axis of the file that no active layer declares.

    Raises:
        VocabularyError: a row breaks a rule.
    """
    words = list(axis.layer_words(Layer(VOCABULARY, "", None, {axis.axis: rows})))
    for name, facts in words:
        if axis is Task and name in Task:
            _check_level(facts["declaration"])
    return {
        axis.axis: [row for row, (name, _) in zip(rows, words, strict=True) if name not in axis]
    }


def _check_level(declared: Any) -> None:
    """Refuse a different level for a known task: its results would count in the wrong one."""
    level = Task(declared.name).declaration.level
    if declared.level != level:
        raise VocabularyError(
            f"task {declared.name!r} is of level {declared.level!r} here, but of level {level!r} "
            "in a layer or in a release read before; read this release in a separate process"
        )


def _layer(words: Mapping[str, Any]) -> Layer:
    digest = hashlib.sha256(repr(sorted(words.items())).encode()).hexdigest()
    return Layer(VOCABULARY, digest, None, words)
