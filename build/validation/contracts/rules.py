"""Table contract rules, as data; evaluated by ``contracts.run`` and ``great_expectations``."""

from __future__ import annotations

from collections.abc import Mapping

from medrcube.build.validation.contracts.kinds import (
    ID,
    REBUILD,
    ContractRule,
    RuleKind,
    Table,
    asked_once,
    axes,
    between,
    image_sizes,
    matches,
    not_empty,
    one_of,
    present,
    question_length,
    unique_id,
)
from medrcube.build.validation.contracts.open_rules import OPEN_CONTRACT_RULES
from medrcube.facts import Grade, Scope

__all__ = ["CONTRACT_RULES"]

_HASH = "[0-9a-f]{16}"
_DIGEST = "[0-9a-f]{64}"
_PICTURE = r"[^/\\:]+(/[^/\\:]+)*\.png"
_NAME = r"\S(.*\S)?"
_ARTEFACTS = ("clean", "outline", "boxes", "numbered", "scale-bar", "mirrored", "compared")
_SAME_QUESTION = "a question with the same options occurs twice on an image; remove one"

_SAMPLES = (
    not_empty("pictures"),
    *present("id", "source", "case", "artefact", "image", "pixel_sha256", "licence"),
    *present("redistribute", "width", "height", "anatomy", "modality", "scope", "recipe"),
    *axes("anatomy", "modality"),
    unique_id(),
    matches("id", "id", ID, f"no id; {REBUILD}"),
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
    one_of("artefact", "artefact", _ARTEFACTS, f"unknown kind of image; {REBUILD}"),
    matches(
        "image-name",
        "image",
        _PICTURE,
        "image is not a relative path of a PNG; correct the code that wrote the table",
    ),
    matches(
        "pixel-hash", "pixel_sha256", _DIGEST, f"pixel_sha256 is not a SHA-256 digest; {REBUILD}"
    ),
    matches(
        "perceptual-hash",
        "perceptual_hash",
        f"({_HASH})?",
        f"perceptual_hash is not a hash of 64 bits; {REBUILD}",
    ),
    matches("recipe", "recipe", _HASH, f"recipe is not a digest; {REBUILD}"),
    one_of(
        "scope",
        "scope",
        tuple(scope.name.lower() for scope in Scope),
        "unknown scope; correct the source's card",
    ),
    matches(
        "licence-named",
        "licence",
        _NAME,
        "an image has no licence; state it in the source's card",
    ),
    one_of(
        "redistribute",
        "redistribute",
        (True, False),
        "redistribute is neither true nor false; correct the source's card",
    ),
    *image_sizes(),
    between("area", "area", 0, 1, f"area is not a share of the image; {REBUILD}"),
)

_ITEMS = (
    not_empty("items"),
    *present("id", "sample", "source", "task", "anatomy", "modality", "question", "key"),
    *present("options", "distinct_options", "marked_keys", "ungraded_options", "state"),
    *axes("anatomy", "modality", "task"),
    unique_id(),
    matches("id", "id", ID, f"no id; {REBUILD}"),
    question_length("the question is too short or too long; correct its template"),
    between(
        "two-to-four-options",
        "options",
        2,
        4,
        "an item has fewer than two or more than four options; remove it",
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
    between(
        "key-counts-from-0", "key", 0, 3, "the key is not the index of an option; remove the item"
    ),
    between(
        "one-key",
        "marked_keys",
        1,
        1,
        "the option built as the key is not the item's key; remove the item",
    ),
    between(
        "graded",
        "ungraded_options",
        0,
        0,
        "a distractor has no evidence that it is wrong; remove the item",
    ),
    one_of(
        "grade",
        "grade",
        tuple(grade.value for grade in Grade),
        "the weakest evidence is not a grade from A to C; leave the item out",
    ),
    asked_once(_SAME_QUESTION, "sample", "question", "texts"),
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
    question_length("the question is very short; inspect it", "warning"),
    asked_once(_SAME_QUESTION, "dataset", "image_path", "question", "texts"),
)

CONTRACT_RULES: Mapping[Table, tuple[ContractRule, ...]] = {
    "samples": _SAMPLES,
    "items": _ITEMS,
    "records": _RECORDS,
    **OPEN_CONTRACT_RULES,
}
"""Every rule, by table."""
