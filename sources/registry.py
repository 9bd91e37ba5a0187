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
from medrcube.vocabulary.layers import activate_vocabulary

__all__ = ["ENTRY_POINT_GROUP", "find_sources", "get_source"]

ENTRY_POINT_GROUP = "medrcube.sources"


def find_sources(extra: Iterable[Path] = ()) -> Mapping[str, Source]:
    """All sources by id, in order of id; tables beside their cards hold from here on.

    Args:
        extra: folders that hold source folders.

    Raises:
        CardError: a card is wrong, or two folders claim one id.
        MedrcubeError: an extra folder does not exist or holds no source.
    """
    sources: dict[str, Source] = {}
    for parent in (Path(__file__).parent, *_plugins(), *map(_existing, extra)):
        for card in sorted(parent.glob("*/card.toml")):
            source = load_source(card.parent)
            if source.id in sources:
                raise CardError(
                    f"{card}: id {source.id!r} is already taken by {sources[source.id].folder}"
                )
            sources[source.id] = source
    activate_vocabulary(source.folder for _, source in sorted(sources.items()))
    return dict(sorted(sources.items()))


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
