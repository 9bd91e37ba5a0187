"""The exceptions of the package. Each message says what was found, what was expected, what to do.

``MedrcubeError`` is the root; the command line shows its message without a traceback and
exits with its ``exit_code`` (0 done, 1 a check failed, 2 wrong use or bad input, 3 incomplete).
"""

from __future__ import annotations

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
    "WorkspaceError",
]


class MedrcubeError(Exception):
    """Root of all errors that a user can cause and mend."""

    exit_code = 2


class CardError(MedrcubeError):
    """A ``card.toml`` does not say what the schema expects; names file, key and expectation."""


class SourceError(MedrcubeError):
    """A raw tree or a table in it is not what the card declares; the source cannot be built."""


class TableError(SourceError):
    """One table of a raw tree is damaged or another one than the card declares.

    A copy that may lack the table is built as one that does; any other cannot be built.

    Attributes:
        path: of the table.
        what: the message without it.
    """

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(path, what)
        self.path = path
        self.what = what

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


class RowError(SourceError):
    """One row of a table says what cannot be used; its case is set aside and the build goes on."""


class ReadError(MedrcubeError):
    """One raw file cannot be read as the pixels it should hold; the case goes to quarantine.

    Attributes:
        code: short machine-readable reason, such as ``truncated`` or ``no-pixels``.
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[object, ...]:
        """Keep ``code`` when the error crosses a process border."""
        return (_rebuild, (type(self), str(self), self.code))


class RefusedError(ReadError):
    """A picture that could be read is set aside on purpose, by a rule of its source.

    It has a row in the quarantine like every other, but is no failure of the build.
    """


class WorkspaceError(MedrcubeError):
    """A workspace or release folder is missing, malformed or cannot be written."""


class ReleaseError(MedrcubeError):
    """A release tree breaks its own rules; names the file, the item and the rule."""


class ModelError(MedrcubeError):
    """A model cannot be reached or used as asked; names the endpoint and its answer."""


class HomeError(MedrcubeError):
    """The home of a source does not give its data; names the address and its answer."""

    exit_code = 1


class MissingExtraError(MedrcubeError):
    """A command needs packages of an extra that is not installed; says which to install."""

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(
            f"this needs the package that provides {module!r}, which is not installed: "
            f"run  pip install 'medrcube[{extra}]'"
        )


def _rebuild(kind: type[ReadError], message: str, code: str) -> ReadError:
    return kind(message, code=code)
