"""Shards: runs of consecutive cases of a source, the unit in which its results are cached.

The hash of a case's key decides whether a shard ends there, so an added or removed case changes
only its own shard. The result of a shard is stored under a hash of all its inputs: card, adapter,
code and settings of the source, every statement about its cases, and the states of their raw files.
It is reused only while its images are in their recorded states. Thus one changed file costs the
cases of one shard, and no record holds a whole source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from operator import attrgetter
from pathlib import PurePath
from typing import Any

from medrcube.build.incremental.file_states import TreeSnapshot
from medrcube.build.incremental.result_cache import hash_values
from medrcube.facts import Case

__all__ = [
    "CASES",
    "Portion",
    "digest_of_cases",
    "in_portions",
    "key_of_shard",
    "name_of_portion",
]

CASES = 400
"""Average number of cases in a shard: all of them are processed after a change to one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """Consecutive cases of a scan, from which a shard is built.

    Attributes:
        name: name of its records; begins with the source.
        digest: hash of everything stated about its cases.
        cases: number of cases.
        files: hash of the names of their raw files.
    """

    name: str
    digest: str
    cases: int
    files: str


def in_portions(cases: Iterable[Case]) -> Iterator[tuple[Case, ...]]:
    """Split the cases of one source into consecutive runs; boundaries depend only on their keys."""
    portion: list[Case] = []
    for case in cases:
        portion.append(case)
        digest = hashlib.sha256(case.key.encode(errors="surrogateescape")).digest()
        if int.from_bytes(digest[:8]) % CASES == 0:
            yield tuple(portion)
            portion = []
    if portion:
        yield tuple(portion)


def name_of_portion(source: str, cases: Sequence[Case]) -> str:
    """Return the record name of a portion; two portions of a source differ in their last cases."""
    return f"{source}/{hash_values(cases[-1].key)[:32]}"


def digest_of_cases(cases: Sequence[Case], names: Sequence[str]) -> str:
    """Hash of everything stated about some cases, and of the names of their images."""
    digest = hashlib.sha256()
    for stated in zip(names, map(_plain, cases), strict=True):
        digest.update(repr(stated).encode(errors="surrogateescape") + b"\n")
    return digest.hexdigest()


def key_of_shard(common: str, digest: str, files: Iterable[str], raw: TreeSnapshot) -> str | None:
    """Hash of what the result of a shard depends on besides its images.

    Args:
        common: hash of what all cases of the source depend on.
        digest: hash of everything stated about its cases.
        files: their raw files, relative to the raw root.
        raw: the source's raw tree.

    Returns:
        The hash, or ``None`` if a change of a raw file might go unnoticed.
    """
    if not raw.settled:
        return None
    states = hashlib.sha256(raw.states.packed(files)).hexdigest()
    return hash_values(common, digest, states)


def _plain(value: Any) -> Any:
    """Convert a record to plain values whose ``repr`` is complete, in a fraction of the time."""
    kind = type(value)
    if kind in _PLAIN or value is None:
        return value
    if kind is tuple:
        return tuple(map(_plain, value)) if value else ()
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return (kind.__name__, *map(_plain, _values_of(kind)(value)))
    return value


_PLAIN = frozenset({str, int, float, bool})


def _values_of(kind: type) -> attrgetter[tuple[Any, ...]]:
    """Getter of all values of a record; the first is repeated, so that it always gives a tuple."""
    getter = _GETTERS.get(kind)
    if getter is None:
        names = [field.name for field in fields(kind)]
        getter = _GETTERS[kind] = attrgetter(names[0], *names)
    return getter


_GETTERS: dict[type, attrgetter[tuple[Any, ...]]] = {}
