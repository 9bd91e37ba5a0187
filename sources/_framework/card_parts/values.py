r"""``[numbers]``, ``[names]`` and ``[patterns]`` of a card: constants of its adapter.

The key of a number includes its unit. Names are case keys, files or raw values that the adapter
handles specially. A pattern is a regular expression that matches a whole file name or line::

    [numbers]
    side_px = 1024 # all films (Candemir et al. 2014)

    [names]
    stray_masks = ["bus_0101-l"] # one pixel far from the lesion: looked at

    [patterns]
    film = '^MCUCXR_(?P<number>\d{4})_(?P<label>[01])\.(?i:png)$'
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from medrcube.files.toml_reader import TomlTable

__all__ = [
    "TABLES",
    "parse_names",
    "parse_numbers",
    "parse_pattern",
    "parse_patterns",
    "uncommented_keys",
]

TABLES = ("numbers", "names", "patterns")
"""Tables of a card whose keys are chosen by the adapter."""

_KEY = re.compile(r"[a-z][a-z0-9_]*")
_QUOTED = re.compile(r"'''.*?'''|\"(?:\\.|[^\"\\])*\"|'[^']*'")


def parse_numbers(table: TomlTable) -> Mapping[str, tuple[float, ...]]:
    """Parse ``[numbers]``: finite numbers or lists of them; a scalar becomes a tuple of one."""
    return {
        key: table.numbers(key) if table.holds_list(key) else (_number(table, key),)
        for key in _keys(table)
    }


def parse_names(table: TomlTable) -> Mapping[str, tuple[str, ...]]:
    """Parse ``[names]``: lists of strings without duplicates."""
    lists = {key: table.texts(key, least=1) for key in _keys(table)}
    for key, names in lists.items():
        if not all(map(str.strip, names)) or len(set(names)) < len(names):
            table.fail(key, "texts that are not empty, each once", list(names))
    return lists


def parse_patterns(table: TomlTable) -> Mapping[str, str]:
    """Parse ``[patterns]``: anchored regular expressions whose groups are all named."""
    keys = _keys(table)
    for key in keys:
        parse_pattern(table, key)
    return {key: table.text(key) for key in keys}


def parse_pattern(table: TomlTable, key: str) -> re.Pattern[str]:
    """Parse and compile one pattern; it matches whole strings only, even with alternatives."""
    text = table.text(key)
    if not text.startswith("^") or not text.endswith("$") or text.endswith(r"\$"):
        table.fail(key, "a regular expression from ^ to $, since it fits a whole name", text)
    try:
        pattern = re.compile(rf"\A(?:{text[1:-1]})\Z")
    except re.error as error:
        table.fail(key, f"a regular expression ({error}; for some letters write (?i:...))", text)
    if pattern.groups != len(pattern.groupindex):
        table.fail(key, "groups with names, (?P<name>...), and others as (?:...)", text)
    return pattern


def uncommented_keys(text: str, keys: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the keys whose source is not stated in a comment on their line or the line above.

    Args:
        text: text of the card.
        keys: name of each table -> its keys.
    """
    commented: set[tuple[str, str]] = set()
    table, above = "", ""
    for line in map(str.strip, text.splitlines()):
        plain = _QUOTED.sub("", line)
        if plain.startswith("["):
            table = plain.partition("]")[0].lstrip("[")
        key = plain.partition("=")[0].strip()
        if "#" in plain or above.startswith("#"):
            commented.add((table, key))
        above = line
    for name, values in keys.items():
        yield from (f"[{name}] {key}" for key in values if (name, key) not in commented)


def _keys(table: TomlTable) -> tuple[str, ...]:
    for key in table.names():
        if not _KEY.fullmatch(key):
            table.fail(
                key, "a name of lower-case letters, digits and _, starting with a letter", key
            )
    return table.names()


def _number(table: TomlTable, key: str) -> float:
    number = table.number(key)
    if not math.isfinite(number):
        table.fail(key, "a finite number", number)
    return number
