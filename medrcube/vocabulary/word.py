"""Words of an axis: strings declared by the active layers, with their attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn, Self, TypeVar, cast

from medrcube.errors import UnknownNameError, VocabularyError
from medrcube.files.toml_reader import TomlTable
from medrcube.vocabulary.layers import PACKAGE, Layer, Vocabulary, active_vocabulary

__all__ = ["Axis", "Word", "fold", "in_order", "shipped_words", "with_shipped"]

W = TypeVar("W")

_LATEST: dict[type, tuple[Vocabulary, Mapping[str, Word]]] = {}
"""Words of each axis under the most recently active vocabulary."""


class Axis(type):
    """An axis; as a collection it contains the words of all active layers, in order."""

    def __iter__(cls: type[W]) -> Iterator[W]:
        return iter(_active_words(cls).values())

    def __len__(cls: type[W]) -> int:
        return len(_active_words(cls))

    def __contains__(cls: type[W], name: object) -> bool:
        return name in _active_words(cls)


class Word(str, metaclass=Axis):  # noqa: SLOT000 -- each axis has attributes of its own
    """A word of an axis; compares equal to its name.

    ``Anatomy("Brain")`` is the word that the active layers declare. A pickled word carries its
    attributes, so that another process can read it without the layer.

    Attributes:
        axis: section of ``words.toml`` that declares the words.
        aliases: other spellings, case-insensitive.
    """

    axis: ClassVar[str]
    aliases: tuple[str, ...]

    def __new__(cls, name: str, facts: Mapping[str, Any] | None = None) -> Self:
        """Return the word with that name.

        Raises:
            UnknownNameError: no active layer declares it.
        """
        member = _active_words(cls).get(name)
        if facts is None:
            return member if member is not None else cls._refuse(name)
        if member is not None and vars(member) == dict(facts):
            return member
        word = super().__new__(cls, name)
        vars(word).update(facts)
        return word

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (str(self), dict(vars(self))))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self!r}: a word cannot be changed; its layer declares {name!r}")

    @property
    def value(self) -> str:
        """The name as a plain string."""
        return str(self)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the word for ``text``, by name or alias, ignoring case.

        Raises:
            UnknownNameError: no active layer declares it; suggests the nearest.
        """
        words = _active_words(cls)
        if text in words:
            return words[text]
        folded = fold(text)
        for word in words.values():
            if folded in word.spellings():
                return word
        cls._refuse(text)

    @classmethod
    def by_name(cls, name: str) -> Self | None:
        """Return the word with exactly that name; ``None`` if no active layer declares it."""
        return _active_words(cls).get(name)

    @classmethod
    def recorded(cls, name: str) -> Self:
        """Return the word with that name in a record written by this package, known here or not."""
        return cls.by_name(name) or cls(name, {"aliases": ()})

    def declared(self) -> dict[str, object]:
        """What a layer must declare for this word."""
        return {"name": str(self), **vars(self)}

    @classmethod
    def read(cls, _table: TomlTable) -> dict[str, object]:
        """Read the remaining fields that a layer declares for a word; each key is checked."""
        return {}

    @classmethod
    def layer_words(cls, layer: Layer) -> Iterator[tuple[str, Mapping[str, object]]]:
        """Yield name and facts of each word that one layer declares.

        Raises:
            VocabularyError: a key is unknown, missing or of the wrong type.
        """
        file = TomlTable(Path(layer.name), layer.words, error=VocabularyError)
        for table in file.tables(cls.axis):
            name = table.text("name")
            aliases = tuple(map(fold, table.texts("aliases", default=())))
            facts = {"aliases": aliases, **cls.read(table)}
            table.finish()
            yield name, facts

    def spellings(self) -> tuple[str, ...]:
        """The name and all aliases, normalised by ``fold``."""
        return (fold(self), *self.aliases)

    @classmethod
    def _refuse(cls, text: str) -> NoReturn:
        names = {fold(word): str(word) for word in cls}
        near = get_close_matches(fold(text)[:200], names, n=1)
        hint = f"; did you mean {names[near[0]]!r}?" if near else ""
        raise UnknownNameError(
            f"{text!r} is not a known {cls.__name__.lower()}; expected one of: "
            f"{', '.join(names.values())}{hint}"
        )


def in_order(axis: type[Word], names: Iterable[str]) -> list[str]:
    """Sort names in axis order; names unknown here come last."""
    places = {str(word): place for place, word in enumerate(axis)}
    return sorted(set(map(str, names)), key=lambda name: (places.get(name, len(places)), name))


@cache
def shipped_words(axis: type[Word]) -> tuple[str, ...]:
    """Return the names of the package's words."""
    return tuple(name for name, _ in axis.layer_words(PACKAGE))


def with_shipped(axis: type[Word], names: Iterable[str]) -> list[str]:
    """Return the package's words and these names in order, as one side of a cube table."""
    return in_order(axis, (*shipped_words(axis), *names))


def fold(text: str) -> str:
    """Normalise a spelling: ignore case, underscores and repeated blanks."""
    return " ".join(text.replace("_", " ").split()).casefold()


def _active_words(axis: type[W]) -> Mapping[str, W]:
    # Called for each word of each row: hashing the layers would dominate the run time.
    vocabulary = active_vocabulary()
    latest = _LATEST.get(axis)
    if latest is None or latest[0] is not vocabulary:
        layers = (PACKAGE, *vocabulary.layers)
        latest = vocabulary, _words(cast("type[Word]", axis), layers)
        _LATEST[axis] = latest
    return cast("Mapping[str, W]", latest[1])


@cache
def _words(axis: type[Word], layers: tuple[Layer, ...]) -> Mapping[str, Word]:
    """Return the words of one axis in layer order.

    Raises:
        VocabularyError: two layers declare the same name or spelling differently, or a spelling is
            empty or contains an unprintable character.
    """
    # Keep one object per package word: words are often compared with ones read under other layers.
    shipped = {} if layers == (PACKAGE,) else _words(axis, (PACKAGE,))
    words: dict[str, Word] = {}
    declared_by: dict[str, tuple[str, str]] = {}
    for layer in layers:
        for name, facts in axis.layer_words(layer):
            word = _word(axis, name, facts, shipped)
            if name in words and vars(words[name]) == vars(word):
                continue
            _take_spellings(word, name, layer, declared_by)
            if name in words:
                raise VocabularyError(
                    f"{layer.name}: {axis.axis} {name!r} is declared twice, with different facts"
                )
            words[name] = word
    return MappingProxyType(words)


def _take_spellings(
    word: Word, name: str, layer: Layer, declared_by: dict[str, tuple[str, str]]
) -> None:
    """Register the spellings of a word together with its name and layer, checking for conflicts."""
    for spelling in (name, *word.spellings()):
        if not (spelling.strip() and spelling.isprintable()):
            raise VocabularyError(
                f"{layer.name}: {word.axis} {name!r}: spelling {spelling!r} is empty, or "
                "has a line break or another character that cannot be printed"
            )
    for spelling in word.spellings():
        earlier = declared_by.setdefault(spelling, (name, layer.name))
        if earlier != (name, layer.name):
            raise VocabularyError(
                f"{layer.name}: {word.axis} {name!r}: {spelling!r} is declared by "
                f"{earlier[1]} for {earlier[0]!r} with other facts; a layer may add words, "
                "not change them: choose another name, or declare the same"
            )


def _word(
    axis: type[Word], name: str, facts: Mapping[str, object], shipped: Mapping[str, Word]
) -> Word:
    if name in shipped and vars(shipped[name]) == dict(facts):
        return shipped[name]
    word = str.__new__(axis, name)
    vars(word).update(facts)
    return word
