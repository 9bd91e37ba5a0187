"""Table contract rules, as data; run by ``contracts`` and ``great_expectations``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from medrcube.facts import Grade, Scope
from medrcube.release_format.rows import LONGEST_TEXT
from medrcube.taxonomy import Anatomy, Modality, Task

__all__ = ["CONTRACT_RULES", "ContractRule", "RuleKind", "Table"]

Table = Literal["samples", "items", "records"]
Level = Literal["error", "warning"]


class RuleKind(StrEnum):
    """What a rule asks of a column; rows in which the column is empty are left to ``PRESENT``."""

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
    """One rule about one table.

    Attributes:
        id: its name within the table.
        kind: what it asks.
        column: column that it is about; empty for ``ROWS``.
        message: what is wrong where it does not hold, and what to change.
        level: an error stops a release, a warning is shown.
        allowed: values allowed by ``ONE_OF``, such as an axis: what is active when it is checked.
        pattern: regular expression that a text of ``MATCHES`` must match as a whole.
        low: least value, length or number of rows; ``None`` for no bound.
        high: greatest, both bounds included; ``None`` for no bound.
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
        """Every column that the rule reads."""
        return (self.column, *self.other) if self.column else ()


_ID = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_HASH = "[0-9a-f]{16}"
_DIGEST = "[0-9a-f]{64}"
_PICTURE = r"[^/\\:]+(/[^/\\:]+)*\.png"
_NAME = r"\S(.*\S)?"
_REBUILD = "build the workspace again"


def _axes(*, task: bool) -> tuple[ContractRule, ...]:
    """Rules on the axes of the cube, as the workspace spells them."""
    axes: dict[str, Collection[Any]] = {"anatomy": Anatomy, "modality": Modality}
    if task:
        axes["task"] = Task
    return tuple(
        ContractRule(
            id=f"known-{name}",
            kind=RuleKind.ONE_OF,
            column=name,
            allowed=axis,
            message=f"{name} is no word of the taxonomy; mend the card of the source",
        )
        for name, axis in axes.items()
    )


def _present(*columns: str) -> tuple[ContractRule, ...]:
    return tuple(
        ContractRule(
            id=f"has-{column.replace('_', '-')}",
            kind=RuleKind.PRESENT,
            column=column,
            message=f"{column} is empty; {_REBUILD}",
        )
        for column in columns
    )


def _rows(what: str) -> ContractRule:
    return ContractRule(
        id="not-empty",
        kind=RuleKind.ROWS,
        column="",
        low=1,
        message=f"there are no {what}; look at the quarantine of the build for the reasons",
    )


_SAMPLES = (
    _rows("pictures"),
    *_present("id", "source", "case", "artefact", "image", "pixel_sha256", "licence"),
    *_present("redistribute", "width", "height", "anatomy", "modality", "scope", "recipe"),
    *_axes(task=False),
    ContractRule(
        id="unique-id", kind=RuleKind.UNIQUE, column="id", message=f"an id stands twice; {_REBUILD}"
    ),
    ContractRule(
        id="id", kind=RuleKind.MATCHES, column="id", pattern=_ID, message=f"no id; {_REBUILD}"
    ),
    ContractRule(
        id="unique-image",
        kind=RuleKind.UNIQUE,
        column="image",
        message=f"two images have one file; {_REBUILD}",
    ),
    ContractRule(
        id="unique-picture",
        kind=RuleKind.TOGETHER,
        column="source",
        other=("case", "artefact", "field", "marked", "frames"),
        message="one image of a case stands twice; the adapter yields a case twice",
    ),
    ContractRule(
        id="artefact",
        kind=RuleKind.ONE_OF,
        column="artefact",
        allowed=("clean", "outline", "boxes", "numbered", "scale-bar", "mirrored", "compared"),
        message=f"unknown kind of image; {_REBUILD}",
    ),
    ContractRule(
        id="image-name",
        kind=RuleKind.MATCHES,
        column="image",
        pattern=_PICTURE,
        message="image is no relative path of a PNG; mend what wrote the table",
    ),
    ContractRule(
        id="pixel-hash",
        kind=RuleKind.MATCHES,
        column="pixel_sha256",
        pattern=_DIGEST,
        message=f"pixel_sha256 is no SHA-256; {_REBUILD}",
    ),
    ContractRule(
        id="perceptual-hash",
        kind=RuleKind.MATCHES,
        column="perceptual_hash",
        pattern=f"({_HASH})?",
        message=f"perceptual_hash is no hash of 64 bits; {_REBUILD}",
    ),
    ContractRule(
        id="recipe",
        kind=RuleKind.MATCHES,
        column="recipe",
        pattern=_HASH,
        message=f"recipe is no digest; {_REBUILD}",
    ),
    ContractRule(
        id="scope",
        kind=RuleKind.ONE_OF,
        column="scope",
        allowed=tuple(scope.name.lower() for scope in Scope),
        message="unknown scope; mend the card of the source",
    ),
    ContractRule(
        id="licence-named",
        kind=RuleKind.MATCHES,
        column="licence",
        pattern=_NAME,
        message="an image has no licence; name it in the card of the source",
    ),
    ContractRule(
        id="redistribute",
        kind=RuleKind.ONE_OF,
        column="redistribute",
        allowed=(True, False),
        message="redistribute is neither true nor false; mend the card of the source",
    ),
    *(
        ContractRule(
            id=f"{side}-of-picture",
            kind=RuleKind.BETWEEN,
            column=side,
            low=1,
            high=65_535,
            message=f"{side} is no size of an image; {_REBUILD}",
        )
        for side in ("width", "height")
    ),
    ContractRule(
        id="area",
        kind=RuleKind.BETWEEN,
        column="area",
        low=0,
        high=1,
        message=f"area is no share of the image; {_REBUILD}",
    ),
)

_ITEMS = (
    _rows("items"),
    *_present("id", "sample", "source", "task", "anatomy", "modality", "question", "key"),
    *_present("options", "distinct_options", "marked_keys", "ungraded_options", "state"),
    *_axes(task=True),
    ContractRule(
        id="unique-id", kind=RuleKind.UNIQUE, column="id", message=f"an id stands twice; {_REBUILD}"
    ),
    ContractRule(
        id="id", kind=RuleKind.MATCHES, column="id", pattern=_ID, message=f"no id; {_REBUILD}"
    ),
    ContractRule(
        id="question-text",
        kind=RuleKind.LENGTH,
        column="question",
        low=10,
        high=LONGEST_TEXT,
        message="the question is too short or too long to be one; mend its template",
    ),
    ContractRule(
        id="two-to-four-options",
        kind=RuleKind.BETWEEN,
        column="options",
        low=2,
        high=4,
        message="an item has fewer than two or more than four options; leave it out",
    ),
    ContractRule(
        id="options-differ",
        kind=RuleKind.EQUAL,
        column="distinct_options",
        other=("options",),
        message="two options read the same, or one is empty; reword or leave the item out",
    ),
    ContractRule(
        id="key-is-an-option",
        kind=RuleKind.BELOW,
        column="key",
        other=("options",),
        message="the key is none of the options; leave the item out",
    ),
    ContractRule(
        id="key-counts-from-0",
        kind=RuleKind.BETWEEN,
        column="key",
        low=0,
        high=3,
        message="the key is no index of an option; leave the item out",
    ),
    ContractRule(
        id="one-key",
        kind=RuleKind.BETWEEN,
        column="marked_keys",
        low=1,
        high=1,
        message="not exactly the option of the key was made as key; leave the item out",
    ),
    ContractRule(
        id="graded",
        kind=RuleKind.BETWEEN,
        column="ungraded_options",
        low=0,
        high=0,
        message="a wrong option carries no evidence that it is wrong; leave the item out",
    ),
    ContractRule(
        id="grade",
        kind=RuleKind.ONE_OF,
        column="grade",
        allowed=tuple(grade.value for grade in Grade),
        message="the weakest evidence is no grade from A to C; leave the item out",
    ),
    ContractRule(
        id="asked-once",
        kind=RuleKind.TOGETHER,
        column="sample",
        other=("question", "texts"),
        level="warning",
        message="one question with one set of options stands twice on an image; leave one out",
    ),
)

_RECORDS = (
    _rows("items"),
    ContractRule(
        id="unique-id",
        kind=RuleKind.UNIQUE,
        column="id",
        message="an id stands twice, in one source or in two; tools that know an item by its id "
        "alone mix them up: rename one",
    ),
    *(
        ContractRule(
            id=f"has-{column.replace('_', '-')}",
            kind=RuleKind.PRESENT,
            column=column,
            level="warning",
            message=f"no {column} is told; name it, for nobody can tell what is meant",
        )
        for column in ("image_path", "correct_index", "restricted")
    ),
    ContractRule(
        id="question-text",
        kind=RuleKind.LENGTH,
        column="question",
        low=10,
        high=LONGEST_TEXT,
        level="warning",
        message="the question is very short; look at it",
    ),
    ContractRule(
        id="asked-once",
        kind=RuleKind.TOGETHER,
        column="dataset",
        other=("image_path", "question", "texts"),
        level="warning",
        message="one question with one set of options stands twice on an image; leave one out",
    ),
)

CONTRACT_RULES: Mapping[Table, tuple[ContractRule, ...]] = {
    "samples": _SAMPLES,
    "items": _ITEMS,
    "records": _RECORDS,
}
"""Every rule, by table."""
