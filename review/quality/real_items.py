"""Index of real items of a source and task, by their options and keys.

A gold item says the same: what stands beside its key is what stands beside that key elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from django.db.models import F

from medrcube.review.models import ItemVersion

__all__ = ["RealItems"]

_MOST = 2000
"""Items of a source and task that are looked at, in the order of the queue."""
_KEPT = 8
"""Items that ask the same, of which the lot draws one."""


class RealItems:
    """Items of one source and task as the workspace has them, by what they ask.

    Args:
        source: id of the source.
        task: value of the task.
    """

    def __init__(self, source: str, task: str) -> None:
        self._asking: dict[tuple[tuple[str, ...], str], list[int]] = {}
        self._naming: dict[tuple[str, str], int] = {}
        versions = ItemVersion.objects.filter(
            number=F("item__version"),
            author=None,
            item__gold_defect="",
            item__source=source,
            item__task=task,
        ).order_by("item__lot", "item")
        for pk, options, key in versions.values_list("pk", "options", "key")[:_MOST]:
            names = _concepts(options)
            same = self._asking.setdefault((tuple(sorted(names)), names[key]), [])
            if len(same) < _KEPT:
                same.append(pk)
            for name, option in zip(names, options, strict=True):
                self._naming.setdefault((name, _ontology(option)), pk)

    def asking(
        self, options: Sequence[Mapping[str, Any]], key: int, lot: str
    ) -> ItemVersion | None:
        """A real item with these options and this key; several are drawn from by lot."""
        names = _concepts(options)
        same = self._asking.get((tuple(sorted(names)), names[key]), ())
        if not all(names) or not same:
            return None
        chosen = min(same, key=lambda pk: sha256(f"{lot}|{pk}".encode()).digest())
        return ItemVersion.objects.get(pk=chosen)

    def naming(self, concept: str, beside: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """An option of a real item that names a concept by the ontology of another option."""
        pk = self._naming.get((concept, _ontology(beside))) if concept else None
        if pk is None:
            return None
        options: list[dict[str, Any]] = ItemVersion.objects.values_list("options", flat=True).get(
            pk=pk
        )
        return next(option for option in options if option.get("concept") == concept)


def _ontology(option: Mapping[str, Any]) -> str:
    """What a set of options takes its names from; empty for our own wording."""
    return str(option.get("named_by") or "").partition(":")[0]


def _concepts(options: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(option.get("concept") or "") for option in options]
