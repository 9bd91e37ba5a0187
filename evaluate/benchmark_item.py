"""Item of a release as used in evaluation, and its JSON form."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

from medrcube.forms import OPEN_FORMS, OPTION, form_of
from medrcube.forms.protocol import Json
from medrcube.release_format.rows import ReleaseRow
from medrcube.taxonomy import Anatomy, Modality, Task

__all__ = [
    "OF_SET",
    "BenchmarkItem",
    "held_once",
    "item_from_json",
    "item_to_json",
    "target_text",
]

_TOLD = ("visible", "block", "unit", "fact")
OF_SET = ("set", "role", "set_size")
_OPTIONAL = (*_TOLD, *OF_SET)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkItem(ReleaseRow):
    """Item of a release, unique within it; ``image`` is a relative path with ``/``.

    Attributes:
        visible: whether a reader of the image could know the answer: ``yes``, ``partly`` or
            ``no``; empty if not stated.
        block: block of items that share their options; empty for none.
        unit: patient or case of the image under a keyed id, such as ``case-0123456789abcdef``;
            empty if not stated.
        fact: id of the fact asked about the image; empty if not stated.
        set: set of items that are scored together, such as ``block-0123456789abcdef``; empty for
            none.
        role: what distinguishes the item from the others in its set.
        set_size: number of items the set was built with; the release may contain fewer.

    ``unit``, ``fact`` and the set fields are ignored by equality.
    """

    visible: str = ""
    block: str = ""
    unit: str = field(default="", compare=False)
    fact: str = field(default="", compare=False)
    set: str = field(default="", compare=False)
    role: str = field(default="", compare=False)
    set_size: int = field(default=0, compare=False)

    @property
    def name(self) -> str:
        """Dataset and id: unique within a benchmark."""
        return f"{self.dataset}/{self.id}"

    @property
    def right_reply(self) -> str:
        """A correct reply: the letter of the key, or the true answer."""
        return self.key if self.target is None else form_of(self.target).right_reply(self.target)

    @property
    def right_answer(self) -> str:
        """The right answer in words, independent of letters."""
        return dict(self.options)[self.key] if self.target is None else self.right_reply

    def shown_answer(self, answer: str) -> str:
        """Return a stored answer in words: an option's text, or as its form displays it."""
        if self.target is None:
            return dict(self.options)[answer]
        return form_of(self.target).show(json.loads(answer), self.target.ask)


def item_to_json(item: BenchmarkItem) -> dict[str, Any]:
    """Return the item as a JSON object, the inverse of ``item_from_json``."""
    return {
        "id": item.id,
        "dataset": item.dataset,
        "question": item.question,
        "options": list(map(list, item.options)),
        "key": item.key,
        "task": item.task.value,
        "modality": item.modality.value,
        "parts": item.parts.value,
        "image": item.image,
        "original_task": item.original_task,
        "restricted": item.restricted,
        # A release without them, such as the published one, keeps its digest.
        **{name: value for name in _OPTIONAL if (value := getattr(item, name))},
        **_open_part(item),
    }


def _open_part(item: BenchmarkItem) -> dict[str, Json]:
    """Return the fields specific to ``open.json``; empty for an item of ``test.json``."""
    if item.target is None:
        return {"form": item.form, "chance": item.stated_chance} if item.is_open else {}
    ask, truth = form_of(item.target).write_target(item.target)
    return {"form": item.form, "ask": ask, "truth": truth, "chance": item.stated_chance}


def target_text(item: BenchmarkItem) -> str:
    """Return ``ask`` and ``truth`` of an item as JSON; empty for an item with options."""
    return "" if item.target is None else json.dumps(_open_part(item), ensure_ascii=False)


def item_from_json(row: Mapping[str, Any]) -> BenchmarkItem:
    """Return the item from the JSON object of ``item_to_json``."""
    form = row.get("form", OPTION)
    target = None if form == OPTION else OPEN_FORMS[form].read_target(row["ask"], row["truth"])
    return BenchmarkItem(
        id=row["id"],
        dataset=held_once(row["dataset"]),
        question=held_once(row["question"]),
        options=_options_once(tuple([(letter, text) for letter, text in row["options"]])),
        key=row["key"],
        task=Task(row["task"]),
        modality=Modality.recorded(row["modality"]),
        parts=Anatomy.recorded(row["parts"]),
        image=held_once(row["image"]),
        original_task=held_once(row["original_task"]),
        restricted=row["restricted"],
        target=target,
        stated_chance=row.get("chance"),
        **{name: _as_held(row[name]) for name in _OPTIONAL if name in row},
    )


_T = TypeVar("_T", str, str | None)


def held_once(text: _T) -> _T:
    """Return the text, interned: equal texts of many items and questions share one object."""
    return sys.intern(text) if type(text) is str else text


def _as_held(value: Any) -> Any:
    return held_once(value) if isinstance(value, str) else value


@lru_cache(maxsize=4096)
def _options_once(options: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the options, interned: items with the same options share them."""
    return options
