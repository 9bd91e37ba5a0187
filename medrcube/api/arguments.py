"""Checks of arguments: a wrong one is an error that says what was found and expected."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NoReturn

from medrcube.errors import MedrcubeError

__all__ = [
    "flag_of",
    "listed",
    "number_of",
    "path_of",
    "paths_by_name",
    "refuse",
    "text_of",
    "texts_of",
]


def listed(argument: str, value: object, expected: str) -> tuple[object, ...]:
    """Return the elements of an argument; a single string or path is a list of one.

    Args:
        argument: name of the argument.
        value: its value.
        expected: what the argument takes, for the error.

    Raises:
        MedrcubeError: the value has no elements.
    """
    if isinstance(value, str | os.PathLike):
        return (value,)
    if isinstance(value, Iterable) and not isinstance(value, bytes | Mapping):
        return tuple(value)
    refuse(argument, value, expected)


def texts_of(argument: str, value: object) -> tuple[str, ...]:
    """Return the strings of an argument; a single string is a list of one.

    Raises:
        MedrcubeError: the value is anything else.
    """
    expected = "a string or a list of strings"
    return tuple(text_of(argument, text, expected) for text in listed(argument, value, expected))


def text_of(argument: str, value: object, expected: str = "a string") -> str:
    """Return a string.

    Raises:
        MedrcubeError: the value is anything else.
    """
    if not isinstance(value, str):
        refuse(argument, value, expected)
    return value


def path_of(argument: str, value: object) -> Path:
    """Return a path given as a string or as a path.

    Raises:
        MedrcubeError: the value is anything else.
    """
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        refuse(argument, value, "a path, as a string or as pathlib.Path")
    return Path(text)


def paths_by_name(argument: str, value: object) -> dict[str, Path]:
    """Return a mapping from names to paths.

    Raises:
        MedrcubeError: the value is anything else.
    """
    if not isinstance(value, Mapping):
        refuse(argument, value, 'a mapping from source id to folder, such as {"busi": "raw/busi"}')
    for name in value:
        if not isinstance(name, str):
            refuse(f"a key of {argument}", name, "a source id, as a string")
    return {name: path_of(f"{argument}[{name!r}]", path) for name, path in value.items()}


def number_of(
    argument: str, value: object, least: int | None = None, most: int | None = None
) -> int:
    """Return a whole number, of at least ``least`` and at most ``most`` if these are given.

    Raises:
        MedrcubeError: the value is no whole number, or out of range.
    """
    expected = "a whole number"
    if least is not None:
        expected += f" of at least {least}" if most is None else f" from {least} to {most}"
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # the call itself is the check
    except TypeError:
        refuse(argument, value, expected)
    too_small = least is not None and number < least
    too_large = most is not None and number > most
    if isinstance(value, bool) or too_small or too_large:
        refuse(argument, value, expected)
    return number


def flag_of(argument: str, value: object) -> bool:
    """Return a flag; the string ``"no"`` is none, though Python takes it for true.

    Raises:
        MedrcubeError: the value is anything but ``True`` or ``False``.
    """
    if not isinstance(value, bool):
        refuse(argument, value, "True or False")
    return value


def refuse(argument: str, value: object, expected: str) -> NoReturn:
    """Raise the error about a wrong argument.

    Raises:
        MedrcubeError: always.
    """
    raise MedrcubeError(f"{argument} is {value!r}; expected {expected}")
