"""Flat views, for the contracts, of the tables of tasks beyond the cube and related tables.

As in ``views``, a view never fails: values missing from a broken table stay empty.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from medrcube.forms import OPEN_FORMS, OPTION
from medrcube.forms.protocol import TargetError
from medrcube.release_format.item_sets import ItemSet
from medrcube.release_format.open_rows import read_options
from medrcube.release_format.rows import ReleaseRow

__all__ = [
    "geometry_view",
    "open_item_view",
    "open_record_view",
    "set_view",
    "vocabulary_view",
]


def open_item_view(items: pd.DataFrame) -> pd.DataFrame:
    """View of ``open_items.parquet``, with empty texts as missing values.

    Added columns are ``unread_target`` (1 if ``ask`` and ``truth`` do not fit the answer form) and
    ``set_without_role`` (1 if only one of the two is given).
    """
    view = _filled(items)
    if {"form", "ask", "truth"} <= set(view.columns):
        columns = zip(view["form"], view["ask"], view["truth"], strict=True)
        view["unread_target"] = [int(not _is_read(*texts)) for texts in columns]
    if {"set", "role"} <= set(view.columns):
        view["set_without_role"] = (view["set"].notna() != view["role"].notna()).astype(int)
    return view


def open_record_view(rows: Iterable[tuple[ReleaseRow, Mapping[str, Any]]]) -> pd.DataFrame:
    """View of the rows of every ``open.json``, parsed and as written; ``ask`` as JSON text."""
    columns = ("id", "dataset", "image_path", "question", "form", "ask", "chance", "restricted")
    table = [
        (
            row.id,
            row.dataset,
            row.image,
            row.question,
            row.form,
            json.dumps(raw.get("ask"), sort_keys=True),
            raw.get("chance"),
            raw.get("restricted"),
        )
        for row, raw in rows
    ]
    return pd.DataFrame(table, columns=list(columns), dtype=object)


def set_view(sets: Iterable[ItemSet]) -> pd.DataFrame:
    """View of ``sets.json``, with summaries of the lists of members.

    ``members``, ``distinct_members`` and ``distinct_roles`` are counts; ``more_than_made`` is the
    number of excess members, or 1 if there are none.
    """
    table = [
        (
            item_set.id,
            item_set.size,
            count := len(item_set.members),
            len({(member.dataset, member.id) for member in item_set.members}),
            len({member.role for member in item_set.members}),
            max(count - item_set.size, int(not count)),
        )
        for item_set in sets
    ]
    columns = ["id", "size", "members", "distinct_members", "distinct_roles", "more_than_made"]
    return pd.DataFrame(table, columns=columns, dtype=object)


def geometry_view(regions: pd.DataFrame) -> pd.DataFrame:
    """View of ``geometry.parquet``, with empty texts as missing; ``id`` is image and region number.

    Added columns are ``outside`` (pixels by which the box and the inner pixel of a region lie
    outside the image), ``scale_without_length`` and ``side_without_midline`` (1 if a row states
    only one of the two).
    """
    view = _filled(regions)
    columns = set(view.columns)
    if {"sample", "region"} <= columns:
        names = zip(view["sample"], view["region"], strict=True)
        view["id"] = [None if pd.isna(name) else f"{name}.{region}" for name, region in names]
    if {"x1", "y1", "width", "height", "inside_x", "inside_y"} <= columns:
        numbers = {
            name: pd.to_numeric(view[name], errors="coerce")
            for name in ("x1", "y1", "width", "height", "inside_x", "inside_y")
        }
        beyond = (
            numbers["x1"] - numbers["width"],
            numbers["y1"] - numbers["height"],
            numbers["inside_x"] + 1 - numbers["x1"],
            numbers["inside_y"] + 1 - numbers["y1"],
        )
        outside = pd.concat(beyond, axis=1).max(axis=1).clip(lower=0)
        view["outside"] = outside.astype(object).where(outside.notna())
    if {"mm_per_pixel", "scale"} <= columns:
        view["scale_without_length"] = (
            view["mm_per_pixel"].notna() != view["scale"].notna()
        ).astype(int)
    if {"right_at", "side"} <= columns:
        view["side_without_midline"] = (view["side"].notna() & view["right_at"].isna()).astype(int)
    return view


def vocabulary_view(words: Mapping[str, Sequence[Mapping[str, object]]]) -> pd.DataFrame:
    """View of ``vocabulary.json``: a row for each word, with axis and name as ``id``."""
    table = [
        (f"{axis}/{row.get('name')}", axis, row.get("name"))
        for axis in words
        for row in words[axis]
    ]
    return pd.DataFrame(table, columns=["id", "axis", "name"], dtype=object)


def _filled(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with object cells; empty texts and NaN become missing values."""
    cells = frame.astype(object).to_numpy(copy=True)
    cells[(cells == "") | pd.isna(cells)] = None
    return pd.DataFrame(cells, index=frame.index, columns=frame.columns, dtype=object)


def _is_read(form: object, ask: object, truth: object) -> bool:
    try:
        ask_json, right = json.loads(str(ask)), json.loads(str(truth))
        if form == OPTION:
            read_options(ask_json, right)
        else:
            OPEN_FORMS[str(form)].read_target(ask_json, right)
    except (TargetError, KeyError, ValueError):
        return False
    return True
