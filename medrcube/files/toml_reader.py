"""Typed TOML reader: each key is checked, and errors name the file and the key."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources.abc import Traversable
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from medrcube.errors import MedrcubeError, UnknownNameError, failure_text

__all__ = ["TomlTable", "parse_toml", "read_toml", "read_toml_text"]

E = TypeVar("E", bound=str | int)
V = TypeVar("V", int, str)
_MISSING: Any = object()


def read_toml(path: Path | Traversable, error: type[MedrcubeError]) -> dict[str, Any]:
    """Read a TOML file, with or without a byte order mark.

    Args:
        path: the file.
        error: class of the error to raise.

    Raises:
        MedrcubeError: of that class; the file is missing, cannot be read, is not UTF-8 text, or is
            not valid TOML.
    """
    return parse_toml(read_toml_text(path, error), str(path), error)


def read_toml_text(path: Path | Traversable, error: type[MedrcubeError]) -> str:
    """Read the text of a TOML file, as ``read_toml`` does, without parsing it."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as failure:
        raise error(f"{path}: cannot be read: {failure_text(failure)}") from failure
    except UnicodeDecodeError as failure:
        raise error(f"{path} is not valid TOML: {failure_text(failure)}") from failure


def parse_toml(text: str, name: str, error: type[MedrcubeError]) -> dict[str, Any]:
    """Parse TOML text.

    Args:
        text: the text.
        name: name of its file, for messages.
        error: class of the error to raise.

    Raises:
        MedrcubeError: of that class; the text is not valid TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as failure:
        raise error(f"{name} is not valid TOML: {failure}") from failure


class TomlTable:
    """One table of a TOML file; ``finish`` rejects unknown keys."""

    def __init__(
        self,
        file: Path,
        data: Mapping[str, Any],
        where: str = "",
        *,
        error: type[MedrcubeError] = MedrcubeError,
    ) -> None:
        self._file = file
        self._data = data
        self._where = where
        self._error = error
        self._keys: list[str] = []
        self._children: list[TomlTable] = []

    def text(
        self,
        key: str,
        *,
        default: str = _MISSING,
        choices: Sequence[str] = (),
        pattern: str = "",
        empty: bool = False,
    ) -> str:
        """Read a string, restricted to ``choices`` or a full match of ``pattern`` if given.

        A blank string is refused, unless ``empty`` allows an empty one.
        """
        value = self._get(key, default)
        if not isinstance(value, str):
            self.fail(key, "a string", value)
        if value == default:
            return value
        if not value.strip() and not (empty and value == ""):
            self.fail(key, "a non-empty string", value)
        if choices and value not in choices:
            self.fail(key, f"one of {', '.join(choices)}", value)
        if pattern and not re.fullmatch(pattern, value):
            self.fail(key, f"a string of the form {pattern}", value)
        return value

    def names(self) -> tuple[str, ...]:
        """Return the keys present, for a table whose keys the user chooses."""
        return tuple(self._data)

    def unasked(self) -> tuple[str, ...]:
        """Return the keys that have not been read."""
        return tuple(key for key in self._data if key not in self._keys)

    def holds_list(self, key: str) -> bool:
        """Whether the value of the key is a list."""
        return isinstance(self._data.get(key), list)

    def has(self, key: str) -> bool:
        """Whether the key is present; marks it as known."""
        self._keys.append(key)
        return key in self._data

    def integer(self, key: str, *, default: int = _MISSING) -> int:
        """Read a non-negative integer."""
        value = self._get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            self.fail(key, "a whole number, zero or more", value)
        return value

    def number(self, key: str, *, default: float = _MISSING) -> float:
        """Read a number; TOML's ``inf`` is allowed."""
        value = self._get(key, default)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            self.fail(key, "a number", value)
        return float(value)

    def numbers(self, key: str, *, count: int = 0) -> tuple[float, ...]:
        """Read a list of finite numbers: exactly ``count`` if given, otherwise at least one."""
        value: Any = self._get(key)
        listed = value if isinstance(value, list) else []
        if not listed or (count and len(listed) != count) or not all(map(_is_finite, listed)):
            self.fail(key, f"a list of {count or 'one or more'} finite numbers", value)
        return tuple(map(float, listed))

    def span(self, key: str, *, default: tuple[float, float]) -> tuple[float, float]:
        """Read two fractions between 0 and 1 in ascending order."""
        value: Any = self._get(key, default)
        numbers = isinstance(value, (list, tuple)) and all(
            isinstance(number, (int, float)) for number in value
        )
        if not numbers or len(value) != 2 or not 0 <= value[0] < value[1] <= 1:
            self.fail(key, "two shares between 0 and 1, the smaller first", value)
        return (float(value[0]), float(value[1]))

    def flag(self, key: str, *, default: bool = _MISSING) -> bool:
        """Read a boolean."""
        value = self._get(key, default)
        if not isinstance(value, bool):
            self.fail(key, "true or false", value)
        return value

    def texts(
        self, key: str, *, default: tuple[str, ...] = _MISSING, least: int = 0
    ) -> tuple[str, ...]:
        """Read a list of at least ``least`` strings."""
        value: Any = self._get(key, default)
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
            self.fail(key, "a list of strings", value)
        if len(value) < least:
            self.fail(key, f"at least {least} entries", value)
        return tuple(value)

    def mapping(self, key: str, *, default: Mapping[str, str] = _MISSING) -> Mapping[str, str]:
        """Read a table of strings."""
        value = self._get(key, default)
        if not isinstance(value, Mapping) or not all(isinstance(v, str) for v in value.values()):
            self.fail(key, "a table of strings", value, _unquoted_key(value))
        return value

    def lists(self, key: str) -> Mapping[str, tuple[str, ...]]:
        """Read a table of non-empty lists of strings; an absent key gives an empty table."""
        value = self._get(key, {})
        if not isinstance(value, Mapping) or not all(
            isinstance(entry, list) and entry and all(isinstance(text, str) for text in entry)
            for entry in value.values()
        ):
            self.fail(key, "a table of lists of strings", value, _unquoted_key(value))
        return {name: tuple(entry) for name, entry in value.items()}

    def counts(
        self, key: str, *, such_as: str = 'glob = number of files, such as {"*.png" = 3}'
    ) -> Mapping[str, int]:
        """Read a table of positive integers with at least one entry."""
        value = self._get(key)
        if (
            not isinstance(value, Mapping)
            or not value
            or not all(isinstance(count, int) and count > 0 for count in value.values())
        ):
            self.fail(key, f"a table of {such_as}", value, _unquoted_key(value))
        return value

    def grouped(
        self, key: str, kind: type[V], *, such_as: str, default: Mapping[str, V] = _MISSING
    ) -> list[tuple[str, str, V]]:
        """Read a table of values, some of which may be grouped in inner tables.

        Args:
            key: name of the table.
            kind: ``int`` for positive integers, or ``str``.
            such_as: description of its content, for error messages.
            default: returned if the key is absent; without a default, at least one entry is
                required.

        Returns:
            Triples (name of the inner table, or empty; name of the value; value).
        """
        value = self._get(key, default)
        if not isinstance(value, Mapping) or (default is _MISSING and not value):
            self.fail(key, f"a table of {such_as}", value)
        rows: list[tuple[str, str, V]] = []
        for name, entry in value.items():
            inner = entry if isinstance(entry, Mapping) else {name: entry}
            group = name if inner is entry else ""
            rows += [(group, own, item) for own, item in inner.items()]
        if not all(_is_filled(item, kind) for *_, item in rows):
            self.fail(key, f"a table of {such_as}", value)
        return rows

    def choice(self, key: str, kind: type[E], *, default: E = _MISSING) -> E:
        """Read a member of an enumeration or axis, by value, or by name for numbered ones."""
        value = self._get(key, default)
        return value if isinstance(value, kind) else self._member(key, kind, value)

    def choices(self, key: str, kind: type[E]) -> list[E]:
        """Read a list of members of an enumeration or axis."""
        return [self._member(key, kind, value) for value in self.texts(key, least=1)]

    def table(self, key: str, *, optional: bool = False) -> TomlTable:
        """Read a sub-table; an absent optional one is empty."""
        value = self._get(key, {} if optional else _MISSING)
        if not isinstance(value, Mapping):
            self.fail(key, f"a table [{key}]", value)
        return self._child(value, self._path(key))

    def content(self, key: str) -> Mapping[str, Any]:
        """Read a sub-table verbatim for another parser; an absent one is empty."""
        value = self._get(key, {})
        if not isinstance(value, Mapping):
            self.fail(key, f"a table [{key}]", value)
        return value

    def tables(self, key: str, *, least: int = 0) -> list[TomlTable]:
        """Read an array of tables."""
        value = self._get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
            self.fail(key, f"an array of tables [[{key}]]", value)
        if len(value) < least:
            self.fail(key, f"at least {least} [[{key}]]", value)
        return [self._child(item, f"{self._path(key)}[{n}]") for n, item in enumerate(value)]

    def unique(self, key: str, names: Sequence[str]) -> None:
        """Reject duplicate names."""
        for name in names:
            if names.count(name) > 1:
                self.fail(key, "entries with different names", f"two named {name!r}")

    def finish(self) -> None:
        """Reject every key, here and in sub-tables, that was never read."""
        for key in self._data:
            if key not in self._keys:
                near = difflib.get_close_matches(key, self._keys, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                hint = next(filter(None, (child.claim(key) for child in self._children)), hint)
                expected = ", ".join(sorted(set(self._keys)))
                raise self._error(
                    f"{self._file}: unknown key {self._path(key)!r}{hint} (known here: {expected})"
                )
        for child in self._children:
            child.finish()

    def claim(self, key: str) -> str:
        """Return that a key belongs in this table, in words, or empty if it is unknown here too."""
        return f"; it belongs in [{self._where}]" if key in self._keys else ""

    def fail(self, key: str, expected: str, value: object, hint: str = "") -> NoReturn:
        """Raise the error that names the file, the key and the value found."""
        raise self._error(
            f"{self._file}: key {self._path(key)!r}: expected {expected}, found {value!r}{hint}"
        )

    def _get(self, key: str, default: Any = _MISSING) -> Any:
        self._keys.append(key)
        if key in self._data:
            return self._data[key]
        if default is not _MISSING:
            return default
        near = difflib.get_close_matches(key, list(self._data), n=1)
        hint = f" (there is {near[0]!r}: a typo?)" if near else ""
        raise self._error(f"{self._file}: key {self._path(key)!r} is missing{hint}")

    def _member(self, key: str, kind: type[E], value: object) -> E:
        members = list(cast("Iterable[Any]", kind))
        names: dict[str, E] = {str(member.value): member for member in members}
        if issubclass(kind, int):
            names = {member.name.lower(): member for member in members}
        if isinstance(value, str):
            if value in names:
                return names[value]
            parse = getattr(kind, "parse", None)
            if parse is not None:
                try:
                    return parse(value)  # type: ignore[no-any-return]
                except UnknownNameError:
                    pass
        self.fail(key, f"one of {', '.join(names)}", value)

    def _child(self, data: Mapping[str, Any], where: str) -> TomlTable:
        child = TomlTable(self._file, data, where, error=self._error)
        self._children.append(child)
        return child

    def _path(self, key: str) -> str:
        return f"{self._where}.{key}" if self._where else key


def _unquoted_key(value: object) -> str:
    """Hint for a table inside a table: most likely TOML read the dot in a key as a separator."""
    if not isinstance(value, Mapping):
        return ""
    for name, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            return f'; quote a key with a dot in it: "{name}.{_dotted(inner)}" = ...'
    return ""


def _dotted(table: Mapping[str, Any]) -> str:
    name, value = next(iter(table.items()))
    return f"{name}.{_dotted(value)}" if isinstance(value, Mapping) and value else name


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)


def _is_filled(value: object, kind: type) -> bool:
    """Whether a value is of a kind; numbers must also be positive."""
    return isinstance(value, kind) and not (isinstance(value, int) and value < 1)
