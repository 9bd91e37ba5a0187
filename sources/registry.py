"""Registry of sources: built-in, from plug-ins, and from ``--source-path DIR``.

A source is a folder with a ``card.toml``; discovery imports no code. A plug-in registers the folder
of its source folders with an entry point of the group ``medrcube.sources`` that refers to a path or
a package.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from medrcube.errors import CardError, MedrcubeError
from medrcube.sources._framework.contract import Source, load_source
from medrcube.vocabulary.layers import Vocabulary, activate_vocabulary

__all__ = ["ENTRY_POINT_GROUP", "find_sources", "get_source", "layer_folders", "vocabulary_of"]

ENTRY_POINT_GROUP = "medrcube.sources"
SHARED = "vocabulary"
"""Name of the folder, next to source folders, of the vocabulary layer that they share."""


def find_sources(
    extra: Iterable[Path] = (), *, vocabulary: Iterable[Path] = ()
) -> Mapping[str, Source]:
    """Return all sources by id, sorted; activates the vocabulary layers next to their cards.

    Args:
        extra: folders that contain source folders.
        vocabulary: folders of further layers, such as that of a workspace.

    Raises:
        CardError: a card is invalid, or two folders claim the same id.
        MedrcubeError: an extra folder does not exist or contains no source.
    """
    folders = _source_folders(map(_existing, extra))
    activate_vocabulary([*layer_folders(folders), *vocabulary])
    sources: dict[str, Source] = {}
    for folder in folders:
        source = load_source(folder)
        if source.id in sources:
            raise CardError(
                f"{folder / 'card.toml'}: id {source.id!r} is already taken by "
                f"{sources[source.id].folder}"
            )
        sources[source.id] = source
    return dict(sorted(sources.items()))


def layer_folders(folders: Iterable[Path]) -> list[Path]:
    """Return the possible layer folders: in the parent of source folders and next to each card."""
    # Folder names are source ids, so the order does not depend on the machine.
    folders = sorted(folders, key=lambda folder: (folder.name, folder))
    return [*dict.fromkeys(folder.parent / SHARED for folder in folders), *folders]


def vocabulary_of(extra: Iterable[Path] = (), *, vocabulary: Iterable[Path] = ()) -> Vocabulary:
    """Return the layers that ``find_sources`` activates, without reading any card."""
    return Vocabulary.of([*layer_folders(_source_folders(extra)), *vocabulary])


def get_source(sources: Mapping[str, Source], name: str) -> Source:
    """Return the source with this id.

    Raises:
        MedrcubeError: there is no such source; names the nearest ids.
    """
    if name in sources:
        return sources[name]
    near = difflib.get_close_matches(name, sources, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "see  medrcube sources list"
    raise MedrcubeError(f"no source is called {name!r}; {hint}")


def _source_folders(extra: Iterable[Path]) -> list[Path]:
    parents = (Path(__file__).parent, *_plugins(), *extra)
    return [card.parent for parent in parents for card in sorted(parent.glob("*/card.toml"))]


def _existing(parent: Path) -> Path:
    parent = parent.resolve()
    if not parent.is_dir():
        raise MedrcubeError(f"{parent}: no such folder; expected the folder of your source folders")
    if not any(parent.glob("*/card.toml")):
        raise MedrcubeError(
            f"{parent}: holds no source; expected folders with a card.toml, such as "
            f"{parent / 'my_source' / 'card.toml'}"
        )
    return parent


def _plugins() -> list[Path]:
    return [_folder(point.load()) for point in entry_points(group=ENTRY_POINT_GROUP)]


def _folder(target: Any) -> Path:
    return Path(getattr(target, "__path__", [target])[0])
