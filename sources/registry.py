"""Registry of sources: those of the package, of plug-ins, and of ``--source-path DIR``.

A source is a folder with a ``card.toml``; finding it imports nothing. A plug-in names the
folder that holds its source folders by an entry point of the group ``medrcube.sources`` whose
object is a path or a package.
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
"""Folder beside source folders, with the layer that they share."""


def find_sources(
    extra: Iterable[Path] = (), *, vocabulary: Iterable[Path] = ()
) -> Mapping[str, Source]:
    """All sources by id, in order of id; layers beside their cards are active from here on.

    Args:
        extra: folders that hold source folders.
        vocabulary: folders of further layers, such as that of a workspace.

    Raises:
        CardError: a card is wrong, or two folders claim one id.
        MedrcubeError: an extra folder does not exist or holds no source.
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
    """Where source folders may have layers: in the folder of all of them, and beside each card."""
    # The name of a folder is the id of its source: the order does not depend on the machine.
    folders = sorted(folders, key=lambda folder: (folder.name, folder))
    return [*dict.fromkeys(folder.parent / SHARED for folder in folders), *folders]


def vocabulary_of(extra: Iterable[Path] = (), *, vocabulary: Iterable[Path] = ()) -> Vocabulary:
    """The layers that ``find_sources`` activates; no card is read."""
    return Vocabulary.of([*layer_folders(_source_folders(extra)), *vocabulary])


def get_source(sources: Mapping[str, Source], name: str) -> Source:
    """The source of that id.

    Raises:
        MedrcubeError: there is none; names the nearest.
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
