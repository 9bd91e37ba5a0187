"""Index of the real items of a source and task, by options and key.

Gold items imitate them: the details shown with their key are those shown with that key elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from django.db.models import F

from medrcube.review.models import ItemVersion

__all__ = ["RealItems"]

_MOST = 2000
"""Maximum number of items of a source and task in the index, in queue order."""
_MOST_EQUIVALENT = 8
"""Maximum number of equivalent items from which one is drawn."""


class RealItems:
    """Items of one source and task as in the workspace, indexed by options and key.

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
            if len(same) < _MOST_EQUIVALENT:
                same.append(pk)
            for name, option in zip(names, options, strict=True):
                self._naming.setdefault((name, _ontology(option)), pk)

    def asking(
        self, options: Sequence[Mapping[str, Any]], key: int, lot: str
    ) -> ItemVersion | None:
        """Return a real item with these options and this key, drawn by ``lot`` from several."""
        names = _concepts(options)
        same = self._asking.get((tuple(sorted(names)), names[key]), ())
        if not all(names) or not same:
            return None
        version_id = min(same, key=lambda pk: sha256(f"{lot}|{pk}".encode()).digest())
        return ItemVersion.objects.get(pk=version_id)

    def naming(self, concept: str, beside: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return an option of a real item that names a concept in the ontology of ``beside``."""
        pk = self._naming.get((concept, _ontology(beside))) if concept else None
        if pk is None:
            return None
        options: list[dict[str, Any]] = ItemVersion.objects.values_list("options", flat=True).get(
            pk=pk
        )
        return next(option for option in options if option.get("concept") == concept)


def _ontology(option: Mapping[str, Any]) -> str:
    """Return the ontology that an option takes its name from; empty for our own wording."""
    return str(option.get("named_by") or "").partition(":")[0]


def _concepts(options: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(option.get("concept") or "") for option in options]
