"""Disclosure between items of a case, and the reviewers who are no longer blind.

Step two shows a key, its concept, the evidence for it and remarks from outside. This knowledge
about the case may answer another of its items, so such pairs are computed in advance: at import,
with every new version and with every remark. A reviewer who has been shown one item is then not
given the other (``models.Exposure``), which a claim only needs to look up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, lru_cache
from typing import Any

from django.db.models import F

from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import TermError
from medrcube.review.models import Claim, Disclosure, Exposure, Item, ItemVersion, Remark
from medrcube.review.reviewing.sql.cursor import execute, to_db_time

__all__ = [
    "DisclosurePair",
    "ItemContent",
    "disclosure_between",
    "disclosure_pairs",
    "item_content",
    "record_key_shown",
    "record_question_shown",
    "refresh_disclosures",
]

_AT_ONCE = 500
_TOKEN = re.compile(r"[^\W\d_]{2,}")
_STEM = 5
"""Length of the common prefix of related words, such as radiograph and radiography."""
_UNTELLING = frozenset({"fingerprint", "licence", "sample", "wording"})
"""Provenance fields without information about the patient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemContent:
    """Content of an item: its question, and what step two shows.

    Attributes:
        texts: texts of the options.
        key: index of the right option.
        true: concept of the key; empty for none.
        concepts: concepts of key, options and mark.
        group: exclusive group of the options, or empty.
        context: provenance and remarks from outside, as text.
    """

    item: str
    question: str
    texts: tuple[str, ...]
    key: int
    true: str
    concepts: frozenset[str]
    group: str
    context: str


@dataclass(frozen=True, slots=True)
class DisclosurePair:
    """``by`` discloses ``disclosed``: at sight, or only after its key is shown."""

    by: str
    disclosed: str
    at_sight: bool


def item_content(
    item: str,
    question: str,
    options: Sequence[Mapping[str, Any]],
    key: int,
    provenance: Mapping[str, Any],
) -> ItemContent:
    """Extract the content to be compared from the columns of a version."""
    concepts = [str(option.get("concept") or "") for option in options]
    about = str(provenance.get("concept") or "")
    return ItemContent(
        item=item,
        question=question,
        texts=tuple(str(option.get("text", "")) for option in options),
        key=key,
        true=concepts[key] or about,
        concepts=frozenset(filter(None, (*concepts, about))),
        group=str(provenance.get("group") or ""),
        context="\n".join(
            str(value) for name, value in provenance.items() if name not in _UNTELLING
        ),
    )


def disclosure_between(by: ItemContent, disclosed: ItemContent) -> DisclosurePair | None:
    """Determine whether one item of a case discloses the answer of another.

    It does so at sight if its question contains the other's key ("this axial MRI slice"). It does
    so with its key if the two share a concept, right or wrong, or an exclusive group; if one
    concept implies the other, or its key excludes an option; or if key, provenance or remarks
    contain the other's key.
    """
    answer = _key_words(disclosed)
    if _contains_key(by.question, answer, disclosed.texts[disclosed.key]):
        return DisclosurePair(by.item, disclosed.item, at_sight=True)
    revealed = f"{by.texts[by.key]}\n{by.context}"
    related = (
        bool(by.concepts & disclosed.concepts)
        or bool(by.group and by.group == disclosed.group)
        or _contains_key(revealed, answer, disclosed.texts[disclosed.key])
        or any(_implied(mine, other) for mine in by.concepts for other in disclosed.concepts)
        or any(_excludes(by.true, other) for other in disclosed.concepts)
    )
    return DisclosurePair(by.item, disclosed.item, at_sight=False) if related else None


def disclosure_pairs(
    case: Sequence[ItemContent], copies: Mapping[str, str] | None = None
) -> list[DisclosurePair]:
    """Return all disclosure pairs within one case.

    Args:
        case: items of the case.
        copies: gold item -> its original. A copy discloses, and is disclosed by, the same items as
            its original, in addition to those by its own wording, because its key may be
            intentionally wrong.
    """
    copies = copies or {}
    items_by_name = {each.item: each for each in case}
    faces = {
        name: [each, *([items_by_name[copies[name]]] if copies.get(name) in items_by_name else [])]
        for name, each in items_by_name.items()
    }
    pairs = (
        _pair(by, disclosed, faces, copies)
        for by in items_by_name
        for disclosed in items_by_name
        if by != disclosed
    )
    return [pair for pair in pairs if pair is not None]


def _pair(
    by: str, disclosed: str, faces: Mapping[str, Sequence[ItemContent]], copies: Mapping[str, str]
) -> DisclosurePair | None:
    if copies.get(by, by) == copies.get(disclosed, disclosed):
        return DisclosurePair(by, disclosed, at_sight=False)
    either = [disclosure_between(mine, other) for mine in faces[by] for other in faces[disclosed]]
    telling = [pair for pair in either if pair is not None]
    if not telling:
        return None
    return DisclosurePair(by, disclosed, at_sight=any(pair.at_sight for pair in telling))


def refresh_disclosures(items: Iterable[str], now: datetime) -> None:
    """Recompute the disclosure pairs of the cases of these items, in the changing transaction.

    Reviewers who have been shown one item are no longer blind to the other, and a reviewer who is
    not blind to an item is not blind to its gold copies. The queue positions of the items of a case
    are permuted so that the least disclosing item comes first.
    """
    items_of_cases = Item.objects.filter(pk__in=list(items)).exclude(case_key="")
    cases = sorted(set(items_of_cases.values_list("case_key", flat=True)))
    for start in range(0, len(cases), _AT_ONCE):
        _refresh(cases[start : start + _AT_ONCE], now)


def record_question_shown(user: int, item: str, now: datetime) -> None:
    """Record that a reviewer has been shown the question of an item."""
    execute(f"{_EXPOSE} AND d.at_sight {_ONCE}", user, to_db_time(now), item)


def record_key_shown(user: int, item: str, now: datetime) -> None:
    """Record that a reviewer has been shown the key of an item and its evidence."""
    row = "INSERT INTO review_exposure (user_id, item_id, by_id, at) VALUES (%s, %s, %s, %s)"
    execute(f"{row} {_ONCE}", user, item, item, to_db_time(now))
    execute(f"{_EXPOSE} {_ONCE}", user, to_db_time(now), item)


_ONCE = "ON CONFLICT (user_id, item_id, by_id) DO NOTHING"
_EXPOSE = """
    INSERT INTO review_exposure (user_id, item_id, by_id, at)
    SELECT %s, d.told_id, d.by_id, %s FROM review_disclosure d WHERE d.by_id = %s
"""


def _refresh(cases: Sequence[str], now: datetime) -> None:
    rows = ItemVersion.objects.filter(
        item__case_key__in=cases, number=F("item__version")
    ).values_list("item__case_key", "item_id", "question", "options", "key", "provenance")
    remarks: dict[str, list[str]] = {}
    stored_remarks = Remark.objects.filter(item__case_key__in=cases).order_by("pk")
    for item, text in stored_remarks.values_list("item_id", "text"):
        remarks.setdefault(item, []).append(text)
    members: dict[str, list[ItemContent]] = {}
    for case, *columns in rows:
        content = item_content(*columns)
        context = "\n".join([content.context, *remarks.get(content.item, ())])
        members.setdefault(case, []).append(replace(content, context=context))
    copied = Item.objects.filter(case_key__in=cases, copied_from__isnull=False)
    copies = dict(copied.values_list("pk", "copied_from_id"))
    pairs = [pair for case in members.values() for pair in disclosure_pairs(case, copies)]
    Disclosure.objects.filter(by__case_key__in=cases).delete()
    Disclosure.objects.bulk_create(
        [
            Disclosure(by_id=pair.by, told_id=pair.disclosed, at_sight=pair.at_sight)
            for pair in pairs
        ],
        batch_size=_AT_ONCE,
    )
    _expose(pairs, now)
    _extend_to_copies(copies)
    _reorder_lots(members, pairs)


def _expose(pairs: Sequence[DisclosurePair], now: datetime) -> None:
    tellers = sorted({pair.by for pair in pairs})
    saw_key: dict[str, set[int]] = {}
    saw_question: dict[str, set[int]] = {}
    for start in range(0, len(tellers), _AT_ONCE):
        part = tellers[start : start + _AT_ONCE]
        own = Exposure.objects.filter(by__in=part, item=F("by"))
        for item, user in own.values_list("by_id", "user_id"):
            saw_key.setdefault(item, set()).add(user)
        claims = Claim.objects.filter(
            version__item__in=part, version__number=F("version__item__version")
        )
        for item, user in claims.values_list("version__item_id", "user_id"):
            saw_question.setdefault(item, set()).add(user)
    Exposure.objects.bulk_create(
        [
            Exposure(user_id=user, item_id=pair.disclosed, by_id=pair.by, at=now)
            for pair in pairs
            for user in (saw_question if pair.at_sight else saw_key).get(pair.by, ())
        ],
        batch_size=_AT_ONCE,
        ignore_conflicts=True,
    )


def _extend_to_copies(copies: Mapping[str, str]) -> None:
    """Extend exposures of items to their gold copies, including those by replaced wordings."""
    names: dict[str, list[str]] = {}
    for copy, original in copies.items():
        names.setdefault(original, []).append(copy)
    exposures = Exposure.objects.filter(item__in=list(names))
    Exposure.objects.bulk_create(
        [
            Exposure(user_id=row.user_id, item_id=copy, by_id=row.by_id, at=row.at)
            for row in exposures
            for copy in names[row.item_id]
        ],
        batch_size=_AT_ONCE,
        ignore_conflicts=True,
    )


def _reorder_lots(
    members: Mapping[str, Sequence[ItemContent]], pairs: Sequence[DisclosurePair]
) -> None:
    """Give the earliest queue positions of a case to the items that disclose the fewest others."""
    names = [content.item for case in members.values() for content in case if len(case) > 1]
    items = Item.objects.filter(pk__in=names, gold_defect="").in_bulk()
    disclosures = {
        (pair.by, pair.disclosed) for pair in pairs if pair.by in items and pair.disclosed in items
    }
    one_way: dict[str, int] = {}
    for by, disclosed in disclosures:
        one_way[by] = one_way.get(by, 0) + ((disclosed, by) not in disclosures)
    moved = []
    for case in members.values():
        own = [items[content.item] for content in case if content.item in items]
        lots = sorted(item.lot for item in own)
        own.sort(key=lambda item: (one_way.get(item.pk, 0), item.lot))
        for item, lot in zip(own, lots, strict=True):
            if item.lot != lot:
                item.lot = lot
                moved.append(item)
    Item.objects.bulk_update(moved, ["lot"], batch_size=_AT_ONCE)


def _key_words(item: ItemContent) -> tuple[str, ...]:
    """Return the words of the key that are in no other option."""
    others = {word for at, text in enumerate(item.texts) if at != item.key for word in _words(text)}
    return tuple(word for word in _words(item.texts[item.key]) if word not in others)


def _contains_key(text: str, answer: Sequence[str], whole: str) -> bool:
    """Whether a text contains a key: its words in any inflection, or the whole key."""
    if _TOKEN.search(whole) and whole.casefold() in text.casefold():
        return True
    return any(_same_stem(word, other) for word in answer for other in _words(text))


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    """Return words of four or more letters, and upper-case abbreviations."""
    tokens = _TOKEN.findall(text)
    return tuple(
        word if word.isupper() else word.casefold() for word in tokens if _is_significant(word)
    )


def _is_significant(word: str) -> bool:
    return word.isupper() or len(word) >= 4


def _same_stem(word: str, other: str) -> bool:
    if word.isupper() and other.isupper():
        return word.startswith(other) or other.startswith(word)
    return word[:_STEM] == other[:_STEM]


@cache
def _implied(concept: str, other: str) -> bool:
    try:
        return load_relations().implied(concept, other)
    except TermError:  # a user-defined concept without relations
        return False


@cache
def _excludes(concept: str, other: str) -> bool:
    try:
        return bool(concept) and concept != other and load_relations().excludes(concept, other)
    except TermError:
        return False
