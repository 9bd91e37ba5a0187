"""Card access for adapters: constants by name.

Constants of a dataset are declared in ``card.toml`` with provenance; adapters read them by name::

    CARD = own_card(__file__)
    SIDE = CARD.integer("side_px")
    FILM = CARD.pattern("film", "number", "label")

Read them at module level, not within a function, so that a missing key is reported before any file
is read, and an unused one by ``medrcube sources check``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from medrcube.errors import CardError
from medrcube.files.toml_reader import TomlTable, read_toml
from medrcube.sources._framework.card_parts.values import TABLES, parse_pattern

__all__ = ["own_card", "unused_keys"]


class OwnCard:
    """``[numbers]``, ``[names]`` and ``[patterns]`` of one card.

    Every method raises ``CardError``, with the path of the card, if the key is missing or has a
    value of another type.
    """

    def __init__(self, path: Path, data: Mapping[str, Any]) -> None:
        self._path = path
        self._tables = {
            name: TomlTable(path, data.get(name, {}), name, error=CardError) for name in TABLES
        }

    def integer(self, key: str) -> int:
        """Return a non-negative whole number of ``[numbers]``."""
        return self._tables["numbers"].integer(key)

    def number(self, key: str) -> float:
        """Return a number of ``[numbers]``."""
        return self._tables["numbers"].number(key)

    def numbers(self, key: str, count: int) -> tuple[float, ...]:
        """Return a list of ``count`` numbers of ``[numbers]``."""
        return self._tables["numbers"].numbers(key, count=count)

    def names(self, key: str) -> tuple[str, ...]:
        """Return a list of ``[names]``, in card order."""
        return self._tables["names"].texts(key, least=1)

    def pattern(self, key: str, *groups: str) -> re.Pattern[str]:
        """Return a pattern of ``[patterns]`` with exactly these groups; matches whole strings."""
        table = self._tables["patterns"]
        pattern = parse_pattern(table, key)
        if {*pattern.groupindex} != {*groups}:
            expected = f"the groups {', '.join(groups) or 'none'}, which adapter.py reads"
            table.fail(key, expected, ", ".join(pattern.groupindex) or "none")
        return pattern

    def unasked(self) -> list[str]:
        """Return the keys that have not been read, in the form ``[numbers] side_px``."""
        return [
            f"[{name}] {key}" for name, table in self._tables.items() for key in table.unasked()
        ]


def own_card(adapter: str) -> OwnCard:
    """Load the card in the folder of an adapter.

    Args:
        adapter: the adapter's ``__file__``.

    Raises:
        CardError: the card is missing or is not valid TOML.
    """
    path = Path(adapter).with_name("card.toml")
    return OwnCard(path, read_toml(path, CardError))


def unused_keys(adapter: ModuleType, card: Path) -> list[str]:
    """Return the constants of a card that its adapter never reads.

    Args:
        adapter: the loaded module.
        card: path of its ``card.toml``.
    """
    cards = [value for value in vars(adapter).values() if isinstance(value, OwnCard)]
    return (cards[0] if cards else own_card(str(card))).unasked()
