"""Table contract rules: their definition, and rules that several tables share."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from medrcube.taxonomy import Anatomy, Modality, Task

__all__ = [
    "ID",
    "REBUILD",
    "ContractRule",
    "RuleKind",
    "Table",
    "axes",
    "not_empty",
    "present",
    "unique_id",
]

Table = Literal[
    "samples", "items", "records", "open_items", "open_records", "sets", "geometry", "vocabulary"
]
Level = Literal["error", "warning"]


class RuleKind(StrEnum):
    """Condition that a rule checks in a column; rows with an empty cell are left to ``PRESENT``."""

    PRESENT = "present"
    UNIQUE = "unique"
    ONE_OF = "one-of"
    MATCHES = "matches"
    BETWEEN = "between"
    LENGTH = "length"
    EQUAL = "equal"
    BELOW = "below"
    TOGETHER = "together"
    ROWS = "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractRule:
    """One rule on one table.

    Attributes:
        id: its name within the table.
        kind: condition that it checks.
        column: column that it applies to; empty for ``ROWS``.
        message: what is wrong if it fails, and what to change.
        level: an error prevents a release, a warning is shown.
        allowed: values allowed by ``ONE_OF``, such as an axis; those that are active when it is
            checked.
        pattern: regular expression that the whole text must match for ``MATCHES``.
        low: least value, length or number of rows; ``None`` for no bound.
        high: greatest one; both bounds are inclusive; ``None`` for no bound.
        other: columns that ``EQUAL`` and ``BELOW`` compare with, and that ``TOGETHER`` adds.
    """

    id: str
    kind: RuleKind
    column: str
    message: str
    level: Level = "error"
    allowed: Collection[Any] = ()
    pattern: str = ""
    low: float | None = None
    high: float | None = None
    other: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that the rule reads."""
        return (self.column, *self.other) if self.column else ()


ID = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
REBUILD = "build the workspace again"


def axes(*names: str) -> tuple[ContractRule, ...]:
    """Rules: columns hold words of the axes of the cube, as the workspace spells them."""
    return tuple(
        ContractRule(
            id=f"known-{name}",
            kind=RuleKind.ONE_OF,
            column=name,
            allowed=_AXES[name],
            message=f"{name} is not a word of the taxonomy; correct the source's card",
        )
        for name in names
    )


def present(*columns: str) -> tuple[ContractRule, ...]:
    """Rules: columns are filled in every row."""
    return tuple(
        ContractRule(
            id=f"has-{column.replace('_', '-')}",
            kind=RuleKind.PRESENT,
            column=column,
            message=f"{column} is empty; {REBUILD}",
        )
        for column in columns
    )


def not_empty(what: str) -> ContractRule:
    """Rule: the table has rows."""
    return ContractRule(
        id="not-empty",
        kind=RuleKind.ROWS,
        column="",
        low=1,
        message=f"there are no {what}; the reasons are in the quarantine of the build",
    )


def unique_id() -> ContractRule:
    """Rule: every id is unique."""
    return ContractRule(
        id="unique-id", kind=RuleKind.UNIQUE, column="id", message=f"an id occurs twice; {REBUILD}"
    )


_AXES: Mapping[str, Collection[Any]] = {"anatomy": Anatomy, "modality": Modality, "task": Task}
