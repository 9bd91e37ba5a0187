"""Random draw of gold items: copies of sound items, each with one defect.

A reviewer who has seen an item never gets its copy, or vice versa (``claim_queries``), and copies
of queued items leave enough reviewers for the originals. No item is copied twice, and at most one
item per case is copied.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256

from django.db.models import F
from django.utils import timezone

from medrcube.review.errors import ConflictError, InvalidAnswerError
from medrcube.review.models import Item, ItemVersion
from medrcube.review.quality import gold_items
from medrcube.review.quality.defects import (
    DEFECT_KINDS,
    SOUND,
    DefectiveCopy,
    DefectKind,
    defective_copies,
    sound_copy,
)
from medrcube.review.quality.real_items import RealItems
from medrcube.review.reviewing.policy import current_policy
from medrcube.review.reviewing.state_machine import ReviewState

__all__ = ["GoldDraw", "draw_gold", "top_up_gold"]

_DECIDED = frozenset({ReviewState.ACCEPTED, ReviewState.RELEASED})
_FIT = (*_DECIDED, ReviewState.QUEUED)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldDraw:
    """Result of a draw.

    Attributes:
        counts: kind -> number of gold items.
        target: requested number of defective items.
    """

    counts: Mapping[DefectKind, int]
    target: int

    @property
    def defective(self) -> int:
        """Number of gold items with a defect."""
        return sum(self.counts.get(kind, 0) for kind in DEFECT_KINDS)


def draw_gold(count: int, actor: str, *, seed: int | None = None, clean: int = 0) -> GoldDraw:
    """Create gold items with defects, spread as evenly over the kinds as the items allow.

    Accepted items are copied first, then queued ones, in random order.

    Args:
        count: number of gold items with a defect.
        actor: actor recorded in the trail.
        seed: seed of the draw; by default that of the project.
        clean: number of copies without a defect, of accepted items only.

    Raises:
        InvalidAnswerError: a number is negative.
    """
    if count < 0 or clean < 0:
        raise InvalidAnswerError(f"{min(count, clean)} gold items, expected 0 or more")
    now, seed = timezone.now(), current_policy().seed if seed is None else seed
    candidates = _candidates(seed) if count or clean else []
    counts = _draw_defective(candidates, count, seed, actor, now)
    used = set(Item.objects.exclude(gold_defect="").values_list("copied_from", flat=True))
    for version in candidates:
        if counts["sound"] >= clean:
            break
        decided = version.item.state in _DECIDED and version.item_id not in used
        if decided and _copy(version, sound_copy(version), actor, now):
            counts["sound"] += 1
    return GoldDraw(counts=dict(counts), target=count)


def top_up_gold(actor: str) -> GoldDraw:
    """Draw gold items until the policy's share is reached."""
    rules = current_policy()
    real = Item.objects.filter(gold_defect="").count()
    there = Item.objects.exclude(gold_defect__in=("", SOUND)).count()
    return draw_gold(max(0, round(rules.gold_share * real) - there), actor)


def _draw_defective(
    candidates: Sequence[ItemVersion], count: int, seed: int, actor: str, now: datetime
) -> Counter[DefectKind]:
    """Draw an equal share of each kind, then whatever the items still allow."""
    counts: Counter[DefectKind] = Counter()
    version_ids: set[int] = set()
    real = cache(RealItems)
    for most in (math.ceil(count / len(DEFECT_KINDS)), count):
        for version in candidates:
            if counts.total() >= count:
                return counts
            open_kinds = [
                kind
                for kind in DEFECT_KINDS
                if counts[kind] < most and version.pk not in version_ids
            ]
            for kind in sorted(open_kinds, key=lambda kind: (counts[kind], kind)):
                others = real(version.item.source, version.item.task)
                trap = next(
                    defective_copies(version, kind, seed, _present_concepts(version), others), None
                )
                if trap and _copy(version, trap, actor, now):
                    counts[kind] += 1
                    version_ids.add(version.pk)
                    break
    return counts


def _candidates(seed: int) -> list[ItemVersion]:
    """Return sound items in random order, decided ones first: one per case, none copied before."""
    copied = Item.objects.exclude(gold_defect="").values("copied_from")
    versions = ItemVersion.objects.filter(
        number=F("item__version"),
        item__gold_defect="",
        item__state__in=_FIT,
        target__isnull=True,  # a defect is put into options
    ).exclude(item__in=copied)
    rows = sorted(
        versions.values_list("pk", "item", "item__case_key", "item__state"),
        key=lambda row: (row[3] not in _DECIDED, sha256(f"{seed}|gold|{row[1]}".encode()).digest()),
    )
    gone = Item.objects.exclude(gold_defect="").exclude(case_key="")
    cases = set(gone.values_list("case_key", flat=True))
    version_ids: list[int] = []
    for pk, item, case, _state in rows:
        if (case or item) not in cases:
            cases.add(case or item)
            version_ids.append(pk)
    return list(_load(version_ids))


def _load(keys: Sequence[int]) -> Iterator[ItemVersion]:
    related = ItemVersion.objects.select_related("item", "picture", "overlay")
    for start in range(0, len(keys), 500):
        part = keys[start : start + 500]
        by_key = related.in_bulk(part)
        yield from (by_key[pk] for pk in part)


def _present_concepts(version: ItemVersion) -> list[str]:
    """Return the concepts that are keys of other items of the same image."""
    others = ItemVersion.objects.filter(
        number=F("item__version"),
        item__gold_defect="",
        item__state__in=_FIT,
        item__task=version.item.task,
        picture=version.picture_id,
    ).exclude(item=version.item_id)
    concepts = {str(row.options[row.key].get("concept") or "") for row in others}
    return sorted(concepts - {""})


def _copy(version: ItemVersion, trap: DefectiveCopy, actor: str, now: datetime) -> bool:
    """Create the gold item; return false if the item has changed in the meantime."""
    try:
        gold_items.copy_with_defect(version, trap, actor, now)
    except ConflictError:
        return False
    return True
