"""Contract rules of the tables of tasks beyond the cube, of sets, and of related tables.

``open_items`` is ``open_items.parquet``, ``open_records`` the rows of every ``open.json``, ``sets``
``sets.json``, ``geometry`` ``geometry.parquet`` and ``vocabulary`` ``vocabulary.json``. A release
or build without such rows has no such table.
"""

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
from medrcube.facts import Grade, Visibility
from medrcube.forms import OPEN_FORMS, OPTION
from medrcube.release_format.item_sets import MOST_ITEMS, SET_ID
from medrcube.release_format.vocabulary_file import AXES

__all__ = ["OPEN_CONTRACT_RULES"]

_SIDES = ("left", "right")


def _one_of(column: str, *allowed: str) -> ContractRule:
    message = f"{column} is none of: {', '.join(allowed)}; {REBUILD}"
    return one_of(column.replace("_", "-"), column, allowed, message)


def _between(column: str, low: float, high: float | None, message: str) -> ContractRule:
    return between(column.replace("_", "-"), column, low, high, f"{message}; {REBUILD}")


def _none(column: str, message: str) -> ContractRule:
    """Rule: the fault counted in this column is 0 in every row."""
    return _between(column, 0, 0, message)


_QUESTION = question_length("the question is too short or too long; correct its template")
_SAME_QUESTION = "a question occurs twice on an image; remove one"
_CHANCE = _between("chance", 0, 1, "chance is not a probability")
_FORM = _one_of("form", OPTION, *OPEN_FORMS)

_OPEN_ITEMS = (
    not_empty("open items"),
    *present("id", "sample", "source", "task", "anatomy", "modality", "question", "form", "ask"),
    *present("truth", "chance", "state", "field", "concept", "grade", "visible", "prior"),
    *present("variant", "template", "unread_target", "set_without_role"),
    *axes("anatomy", "modality", "task"),
    unique_id(),
    matches("id", "id", ID, f"no id; {REBUILD}"),
    _QUESTION,
    _FORM,
    _CHANCE,
    _one_of("grade", *(grade.value for grade in Grade)),
    _one_of("visible", *(visible.name.lower() for visible in Visibility)),
    _none("unread_target", "ask or truth does not fit the answer form, or the truth is not valid"),
    matches("set", "set", SET_ID.pattern, f"set is not the id of a set; {REBUILD}"),
    _none("set_without_role", "an item has a set and no role in it, or a role in no set"),
    asked_once(_SAME_QUESTION, "sample", "question", "ask", "truth"),
)

_OPEN_RECORDS = (
    not_empty("open items"),
    *present("id", "dataset", "image_path", "question", "form", "chance", "restricted"),
    unique_id(),
    _QUESTION,
    _FORM,
    _CHANCE,
    asked_once(_SAME_QUESTION, "dataset", "image_path", "question", "ask"),
)

_SETS = (
    not_empty("sets"),
    *present("id", "size", "members", "distinct_members", "distinct_roles", "more_than_made"),
    unique_id(),
    matches("id", "id", SET_ID.pattern, f"no id of a set; {REBUILD}"),
    _between("size", 2, MOST_ITEMS, f"a set is not of 2 to {MOST_ITEMS} items"),
    _none("more_than_made", "a set has too many members, or none"),
    ContractRule(
        id="members-differ",
        kind=RuleKind.EQUAL,
        column="distinct_members",
        other=("members",),
        message="an item occurs twice in a set; remove the set",
    ),
    ContractRule(
        id="roles-differ",
        kind=RuleKind.EQUAL,
        column="distinct_roles",
        other=("members",),
        message="two items of a set have the same role; remove the set",
    ),
)

_GEOMETRY = (
    not_empty("marked regions"),
    *present("id", "sample", "source", "case", "region", "field", "concept", "shape", "width"),
    *present("height", "x0", "y0", "x1", "y1", "pixels", "pieces", "largest", "longest"),
    *present("outside", "scale_without_length", "side_without_midline"),
    unique_id(),
    _one_of("shape", "box", "area"),
    *image_sizes(),
    _between("x0", 0, None, "the left edge lies outside the image"),
    _between("y0", 0, None, "the top edge lies outside the image"),
    *(
        ContractRule(
            id=f"box-has-{what}",
            kind=RuleKind.BELOW,
            column=low,
            other=(high,),
            message=f"the bounding box of a region has no {what}; {REBUILD}",
        )
        for what, low, high in (("width", "x0", "x1"), ("height", "y0", "y1"))
    ),
    _none("outside", "the bounding box or a pixel of a region lies outside the image"),
    _between("pixels", 1, None, "a region has no pixel"),
    _between("pieces", 1, None, "a region has no part"),
    _between("largest", 1, None, "the largest part of a region has no pixel"),
    _between("longest", 0, None, "the longest diameter is not a length"),
    _one_of("scale", "object", "projection"),
    _none("scale_without_length", "millimetres and what they are of are not both stated"),
    _one_of("orientation", "proved", "stated"),
    _one_of("right_at", *_SIDES),
    _one_of("side", *_SIDES),
    _one_of("whole_side", *_SIDES, "both"),
    _none("side_without_midline", "a side of the patient is stated where none is known"),
)

_VOCABULARY = (
    not_empty("words"),
    *present("id", "axis", "name"),
    _one_of("axis", *AXES),
    unique_id(),
)

OPEN_CONTRACT_RULES: Mapping[Table, tuple[ContractRule, ...]] = {
    "open_items": _OPEN_ITEMS,
    "open_records": _OPEN_RECORDS,
    "sets": _SETS,
    "geometry": _GEOMETRY,
    "vocabulary": _VOCABULARY,
}
"""Rules by table."""
