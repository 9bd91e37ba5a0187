"""Table contract rules: their definition, and rules that several tables share."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from medrcube.release_format.rows import LONGEST_TEXT
from medrcube.taxonomy import Anatomy, Modality, Task

__all__ = [
    "ID",
    "REBUILD",
    "ContractRule",
    "RuleKind",
    "Table",
    "asked_once",
    "axes",
    "between",
    "image_sizes",
    "matches",
    "not_empty",
    "one_of",
    "present",
    "question_length",
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


def one_of(rule_id: str, column: str, allowed: Collection[Any], message: str) -> ContractRule:
    """Rule: the column has one of these values."""
    return ContractRule(
        id=rule_id, kind=RuleKind.ONE_OF, column=column, allowed=allowed, message=message
    )


def matches(rule_id: str, column: str, pattern: str, message: str) -> ContractRule:
    """Rule: the whole text of the column matches the pattern."""
    return ContractRule(
        id=rule_id, kind=RuleKind.MATCHES, column=column, pattern=pattern, message=message
    )


def between(
    rule_id: str, column: str, low: float, high: float | None, message: str
) -> ContractRule:
    """Rule: the number lies within these bounds, both inclusive."""
    return ContractRule(
        id=rule_id, kind=RuleKind.BETWEEN, column=column, low=low, high=high, message=message
    )


def axes(*names: str) -> tuple[ContractRule, ...]:
    """Rules: columns hold words of the axes of the cube, as the workspace spells them."""
    message = "is not a word of the taxonomy; correct the source's card"
    return tuple(one_of(f"known-{name}", name, _AXES[name], f"{name} {message}") for name in names)


def image_sizes() -> tuple[ContractRule, ...]:
    """Rules: ``width`` and ``height`` are sizes that an image can have."""
    message = f"is not a size of an image; {REBUILD}"
    return tuple(
        between(f"{side}-of-picture", side, 1, 65_535, f"{side} {message}")
        for side in ("width", "height")
    )


def question_length(message: str, level: Level = "error") -> ContractRule:
    """Rule: the question is neither too short nor too long."""
    return ContractRule(
        id="question-text",
        kind=RuleKind.LENGTH,
        column="question",
        low=10,
        high=LONGEST_TEXT,
        level=level,
        message=message,
    )


def asked_once(message: str, image: str, *question: str) -> ContractRule:
    """Rule, as a warning: no question is repeated on an image.

    Args:
        message: what is wrong if it fails.
        image: first of the columns that identify the image.
        question: the other columns, and those of the question.
    """
    return ContractRule(
        id="asked-once",
        kind=RuleKind.TOGETHER,
        column=image,
        other=question,
        level="warning",
        message=message,
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
