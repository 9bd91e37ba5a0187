"""Layers of the vocabulary: the package, plug-in packages, source folders, a workspace, a release.

A layer is a folder with any of ``words.toml``, ``terms.csv``, ``relations.csv``, ``groups.csv``,
``visible.csv`` and ``tasks``, or the ``vocabulary.json`` of a release. It may add words and rows
but never change those of an earlier layer. The active layers are a context variable of the command,
build or thread, so two workspaces in one process never see each other's words.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from pathlib import Path
from typing import Any

from medrcube.errors import VocabularyError
from medrcube.files.toml_reader import read_toml

__all__ = [
    "ENTRY_POINT_GROUP",
    "PACKAGE",
    "TABLES",
    "WORDS",
    "Layer",
    "Vocabulary",
    "activate",
    "activate_in_all_threads",
    "activate_vocabulary",
    "active_vocabulary",
    "adding_vocabulary",
    "tables_digest",
    "using",
    "using_vocabulary",
]

ENTRY_POINT_GROUP = "medrcube.vocabulary"
WORDS = "words.toml"
TASKS = "tasks"
TABLES = ("terms.csv", "relations.csv", "groups.csv", "visible.csv")
_TASK_SUFFIXES = (".toml", ".j2", ".py")
_SECTIONS = ("anatomy", "modality", "level", "kind", "image")


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer; equal layers have equal words and rows.

    Attributes:
        name: its location, for messages.
        digest: hash of its content.
        folder: the folder of its tables; ``None`` if it has none.
        words: content of ``words.toml``: axis -> tables of its words.
    """

    name: str
    digest: str
    folder: Path | None = field(default=None)
    words: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def tasks(self) -> Path | None:
        """Folder of its tasks; ``None`` if it has none."""
        folder = self.folder / TASKS if self.folder else None
        return folder if folder and folder.is_dir() else None

    @classmethod
    def of(cls, folder: Path) -> Layer | None:
        """Read the layer of a folder; ``None`` if the folder has no layer files.

        Raises:
            VocabularyError: ``words.toml`` cannot be read, or has a section that is not an axis.
        """
        digest = tables_digest(folder)
        if not digest:
            return None
        path = folder / WORDS
        return cls(str(path), digest, folder, _read_words(path, digest))


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The layers in addition to the package, in order."""

    layers: tuple[Layer, ...] = ()

    @classmethod
    def of(cls, folders: Iterable[Path]) -> Vocabulary:
        """Return the layers of the plug-in packages, followed by those of some folders."""
        layers = (Layer.of(folder) for folder in (*_plugin_folders(), *folders))
        return cls(tuple(dict.fromkeys(layer for layer in layers if layer)))

    def adding(self, *layers: Layer) -> Vocabulary:
        """Return this vocabulary with further layers appended; duplicates are dropped."""
        return replace(self, layers=tuple(dict.fromkeys((*self.layers, *layers))))

    @property
    def folders(self) -> tuple[Path, ...]:
        """Folders of the layers that have one."""
        return tuple(layer.folder for layer in self.layers if layer.folder)

    @property
    def digest(self) -> str:
        """Hash of all layers beyond the package; empty if there are none."""
        if not self.layers:
            return ""
        return hashlib.sha256("\0".join(layer.digest for layer in self.layers).encode()).hexdigest()


@cache
def _package() -> Layer:
    text = (files("medrcube.vocabulary") / WORDS).read_text(encoding="utf-8")
    return Layer(f"medrcube/vocabulary/{WORDS}", "package", None, tomllib.loads(text))


PACKAGE = _package()

_ACTIVE: ContextVar[Vocabulary | None] = ContextVar("vocabulary", default=None)
_OF_PROCESS: dict[str, Vocabulary] = {}


def active_vocabulary() -> Vocabulary:
    """Return the active layers beyond the package; those of plug-ins are always active."""
    return _ACTIVE.get() or _OF_PROCESS.get("vocabulary") or _of_plugins()


def activate_vocabulary(folders: Iterable[Path]) -> None:
    """Activate the layers of these folders from here on, replacing all others except plug-ins."""
    _ACTIVE.set(Vocabulary.of(folders))


def activate(vocabulary: Vocabulary) -> None:
    """Activate a vocabulary until the end of the context, such as a command; see also ``using``."""
    _ACTIVE.set(vocabulary)


def activate_in_all_threads(vocabulary: Vocabulary) -> None:
    """Set the default vocabulary of threads that activate none, such as those of a server."""
    _OF_PROCESS["vocabulary"] = vocabulary


def using_vocabulary(folders: Iterable[Path]) -> AbstractContextManager[None]:
    """Context manager: activate only the layers of these folders and those of plug-ins."""
    return using(Vocabulary.of(folders))


def adding_vocabulary(folders: Iterable[Path]) -> AbstractContextManager[None]:
    """Context manager: activate the layers of these folders in addition to the active ones."""
    layers = (Layer.of(folder) for folder in folders)
    return using(active_vocabulary().adding(*(layer for layer in layers if layer)))


@contextmanager
def using(vocabulary: Vocabulary) -> Iterator[None]:
    """Context manager: activate exactly this vocabulary; ``Vocabulary()`` is the package alone."""
    token = _ACTIVE.set(vocabulary)
    try:
        yield
    finally:
        _ACTIVE.reset(token)


def tables_digest(folder: Path) -> str:
    """Hash the layer files in a folder; empty if there are none."""
    there = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if not there & {*TABLES, WORDS, TASKS}:
        return ""  # nearly every source folder: one directory listing instead of a check per file
    digest, has_table = hashlib.sha256(), False
    tasks = [
        path.relative_to(folder).as_posix()
        for path in sorted((folder / TASKS).glob("*/*"))
        if path.suffix in _TASK_SUFFIXES
    ]
    for name in (*TABLES, WORDS, *tasks):
        path = folder / name
        if path.is_file():
            has_table = True
            digest.update(f"{name}\0".encode() + path.read_bytes())
    return digest.hexdigest() if has_table else ""


@cache
def _read_words(path: Path, _digest: str) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    data = read_toml(path, VocabularyError)
    for key in data:
        if key not in _SECTIONS:
            near = get_close_matches(key, _SECTIONS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise VocabularyError(
                f"{path}: {key!r} is not an axis of the vocabulary{hint} "
                f"(known: {', '.join(_SECTIONS)})"
            )
    return data


@cache
def _of_plugins() -> Vocabulary:
    return Vocabulary.of(())


@cache
def _plugin_folders() -> tuple[Path, ...]:
    points = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name)
    return tuple(map(_plugin_folder, points))


def _plugin_folder(point: EntryPoint) -> Path:
    """Return the folder of an entry point: a path, or a package whose folder is the layer."""
    where = f"entry point {point.name!r} ({point.value}) of the group {ENTRY_POINT_GROUP}"
    try:
        target = point.load()
        folder = Path(getattr(target, "__path__", [target])[0])
    except Exception as error:  # third-party packages may fail in any way
        raise VocabularyError(
            f"{where}: {type(error).__name__}: {error}; expected a package or a path; repair its "
            "package or uninstall it"
        ) from error
    if not tables_digest(folder):
        raise VocabularyError(
            f"{where}: {folder} is not a layer; expected any of {WORDS}, {', '.join(TABLES)} and "
            f"a folder {TASKS}"
        )
    return folder
