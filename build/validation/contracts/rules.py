"""Table contract rules, as data; evaluated by ``contracts.run`` and ``great_expectations``."""

from __future__ import annotations

from collections.abc import Mapping

from medrcube.build.validation.contracts.kinds import (
    ID,
    REBUILD,
    ContractRule,
    RuleKind,
    Table,
    axes,
    not_empty,
    present,
    unique_id,
)
from medrcube.build.validation.contracts.open_rules import OPEN_CONTRACT_RULES
from medrcube.facts import Grade, Scope
from medrcube.release_format.rows import LONGEST_TEXT

__all__ = ["CONTRACT_RULES"]

_HASH = "[0-9a-f]{16}"
_DIGEST = "[0-9a-f]{64}"
_PICTURE = r"[^/\\:]+(/[^/\\:]+)*\.png"
_NAME = r"\S(.*\S)?"

_SAMPLES = (
    not_empty("pictures"),
    *present("id", "source", "case", "artefact", "image", "pixel_sha256", "licence"),
    *present("redistribute", "width", "height", "anatomy", "modality", "scope", "recipe"),
    *axes("anatomy", "modality"),
    unique_id(),
    ContractRule(
        id="id", kind=RuleKind.MATCHES, column="id", pattern=ID, message=f"no id; {REBUILD}"
    ),
    ContractRule(
        id="unique-image",
        kind=RuleKind.UNIQUE,
        column="image",
        message=f"two images share a file; {REBUILD}",
    ),
    ContractRule(
        id="unique-picture",
        kind=RuleKind.TOGETHER,
        column="source",
        other=("case", "artefact", "field", "marked", "frames"),
        message="an image of a case occurs twice; the adapter yields a case twice",
    ),
    ContractRule(
        id="artefact",
        kind=RuleKind.ONE_OF,
        column="artefact",
        allowed=("clean", "outline", "boxes", "numbered", "scale-bar", "mirrored", "compared"),
        message=f"unknown kind of image; {REBUILD}",
    ),
    ContractRule(
        id="image-name",
        kind=RuleKind.MATCHES,
        column="image",
        pattern=_PICTURE,
        message="image is not a relative path of a PNG; correct the code that wrote the table",
    ),
    ContractRule(
        id="pixel-hash",
        kind=RuleKind.MATCHES,
        column="pixel_sha256",
        pattern=_DIGEST,
        message=f"pixel_sha256 is not a SHA-256 digest; {REBUILD}",
    ),
    ContractRule(
        id="perceptual-hash",
        kind=RuleKind.MATCHES,
        column="perceptual_hash",
        pattern=f"({_HASH})?",
        message=f"perceptual_hash is not a hash of 64 bits; {REBUILD}",
    ),
    ContractRule(
        id="recipe",
        kind=RuleKind.MATCHES,
        column="recipe",
        pattern=_HASH,
        message=f"recipe is not a digest; {REBUILD}",
    ),
    ContractRule(
        id="scope",
        kind=RuleKind.ONE_OF,
        column="scope",
        allowed=tuple(scope.name.lower() for scope in Scope),
        message="unknown scope; correct the source's card",
    ),
    ContractRule(
        id="licence-named",
        kind=RuleKind.MATCHES,
        column="licence",
        pattern=_NAME,
        message="an image has no licence; state it in the source's card",
    ),
    ContractRule(
        id="redistribute",
        kind=RuleKind.ONE_OF,
        column="redistribute",
        allowed=(True, False),
        message="redistribute is neither true nor false; correct the source's card",
    ),
    *(
        ContractRule(
            id=f"{side}-of-picture",
            kind=RuleKind.BETWEEN,
            column=side,
            low=1,
            high=65_535,
            message=f"{side} is not a size of an image; {REBUILD}",
        )
        for side in ("width", "height")
    ),
    ContractRule(
        id="area",
        kind=RuleKind.BETWEEN,
        column="area",
        low=0,
        high=1,
        message=f"area is not a share of the image; {REBUILD}",
    ),
)

_ITEMS = (
    not_empty("items"),
    *present("id", "sample", "source", "task", "anatomy", "modality", "question", "key"),
    *present("options", "distinct_options", "marked_keys", "ungraded_options", "state"),
    *axes("anatomy", "modality", "task"),
    unique_id(),
    ContractRule(
        id="id", kind=RuleKind.MATCHES, column="id", pattern=ID, message=f"no id; {REBUILD}"
    ),
    ContractRule(
        id="question-text",
        kind=RuleKind.LENGTH,
        column="question",
        low=10,
        high=LONGEST_TEXT,
        message="the question is too short or too long; correct its template",
    ),
    ContractRule(
        id="two-to-four-options",
        kind=RuleKind.BETWEEN,
        column="options",
        low=2,
        high=4,
        message="an item has fewer than two or more than four options; remove it",
    ),
    ContractRule(
        id="options-differ",
        kind=RuleKind.EQUAL,
        column="distinct_options",
        other=("options",),
        message="two options have the same text, or one is empty; reword or remove the item",
    ),
    ContractRule(
        id="key-is-an-option",
        kind=RuleKind.BELOW,
        column="key",
        other=("options",),
        message="the key is not one of the options; remove the item",
    ),
    ContractRule(
        id="key-counts-from-0",
        kind=RuleKind.BETWEEN,
        column="key",
        low=0,
        high=3,
        message="the key is not the index of an option; remove the item",
    ),
    ContractRule(
        id="one-key",
        kind=RuleKind.BETWEEN,
        column="marked_keys",
        low=1,
        high=1,
        message="the option built as the key is not the item's key; remove the item",
    ),
    ContractRule(
        id="graded",
        kind=RuleKind.BETWEEN,
        column="ungraded_options",
        low=0,
        high=0,
        message="a distractor has no evidence that it is wrong; remove the item",
    ),
    ContractRule(
        id="grade",
        kind=RuleKind.ONE_OF,
        column="grade",
        allowed=tuple(grade.value for grade in Grade),
        message="the weakest evidence is not a grade from A to C; leave the item out",
    ),
    ContractRule(
        id="asked-once",
        kind=RuleKind.TOGETHER,
        column="sample",
        other=("question", "texts"),
        level="warning",
        message="a question with the same options occurs twice on an image; remove one",
    ),
)

_RECORDS = (
    not_empty("items"),
    ContractRule(
        id="unique-id",
        kind=RuleKind.UNIQUE,
        column="id",
        message="an id occurs twice, within or across sources; "
        "tools that identify items by id confuse them: rename one",
    ),
    *(
        ContractRule(
            id=f"has-{column.replace('_', '-')}",
            kind=RuleKind.PRESENT,
            column=column,
            level="warning",
            message=f"{column} is missing, so the row cannot be interpreted; state it",
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
        message="the question is very short; inspect it",
    ),
    ContractRule(
        id="asked-once",
        kind=RuleKind.TOGETHER,
        column="dataset",
        other=("image_path", "question", "texts"),
        level="warning",
        message="a question with the same options occurs twice on an image; remove one",
    ),
)

CONTRACT_RULES: Mapping[Table, tuple[ContractRule, ...]] = {
    "samples": _SAMPLES,
    "items": _ITEMS,
    "records": _RECORDS,
    **OPEN_CONTRACT_RULES,
}
"""Every rule, by table."""
