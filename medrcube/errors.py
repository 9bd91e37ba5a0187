"""Exceptions of the package. Messages say what was found, what was expected and what to do.

``MedrcubeError`` is the base class; the command line prints its message without a traceback and
exits with its ``exit_code`` (0 done, 1 a check failed, 2 wrong use or bad input, 3 incomplete).
"""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = [
    "CardError",
    "HomeError",
    "MedrcubeError",
    "MissingExtraError",
    "ModelError",
    "ReadError",
    "RefusedError",
    "ReleaseError",
    "RowError",
    "SourceError",
    "TableError",
    "UnknownNameError",
    "VocabularyError",
    "WorkspaceError",
    "failure_text",
    "install_command",
]


class MedrcubeError(Exception):
    """Base class of all errors that a user can cause and fix."""

    exit_code = 2


class UnknownNameError(MedrcubeError, ValueError):
    """A name is not a word of its axis; the message lists the valid words."""


class VocabularyError(MedrcubeError):
    """A vocabulary layer breaks the rules; the message names file, word and expected value."""


class CardError(MedrcubeError):
    """A ``card.toml`` violates the schema; the message names file, key and expected value."""


class SourceError(MedrcubeError):
    """A raw tree or one of its tables contradicts the card; the source cannot be built."""


class TableError(SourceError):
    """One table of a raw tree is damaged or differs from the card's declaration.

    If the table is optional, the copy is built without it; otherwise the copy cannot be built.

    Attributes:
        path: path of the table.
        what: the message without the path.
    """

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(path, what)
        self.path = path
        self.what = what

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


class RowError(SourceError):
    """A table row is unusable; its case is skipped and the build continues."""


class ReadError(MedrcubeError):
    """A raw file cannot be decoded to the expected pixels; the case goes to quarantine.

    Attributes:
        code: short machine-readable reason, such as ``truncated`` or ``no-pixels``.
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[object, ...]:
        """Preserve ``code`` when the error is pickled between processes."""
        return (_rebuild, (type(self), str(self), self.code))


class RefusedError(ReadError):
    """A readable image is excluded on purpose, by a rule of its source.

    It is listed in the quarantine like any other, but does not count as a build failure.
    """


class WorkspaceError(MedrcubeError):
    """A workspace or release folder is missing, malformed or cannot be written."""


class ReleaseError(MedrcubeError):
    """A release tree breaks its own rules; the message names the file, the item and the rule."""


class ModelError(MedrcubeError):
    """A model cannot be reached or used as requested; names the endpoint and its answer."""


class HomeError(MedrcubeError):
    """A download site does not provide the data; names the address and its answer."""

    exit_code = 1


class MissingExtraError(MedrcubeError):
    """A command needs an optional extra that is not installed; says which to install."""

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(
            f"this needs the package that provides {module!r}, which is not installed: "
            f"run  {install_command(extra)}"
        )


def install_command(extra: str) -> str:
    """Return the command that installs an extra: from the folder of a checkout, else by name."""
    checkout = Path(__file__).resolve().parents[1]
    command = f"pip install 'medrcube[{extra}]'"
    if not (checkout / "pyproject.toml").is_file():
        return command
    return (
        f"{command}; this is a checkout, so in {checkout} run  {sys.executable} -m pip install "
        f"--editable '.[{extra}]'"
    )


def _rebuild(kind: type[ReadError], message: str, code: str) -> ReadError:
    return kind(message, code=code)


def failure_text(error: Exception) -> str:
    """Return why a file cannot be read, without error numbers, codecs and the path again.

    Args:
        error: what reading or parsing raised; a decoding error must have the whole file as object.
    """
    if isinstance(error, UnicodeDecodeError):
        line = error.object.count(b"\n", 0, error.start) + 1
        return f"line {line} is not UTF-8; save the file as UTF-8 text"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)
