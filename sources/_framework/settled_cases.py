"""What an adapter found, once all of it is known: one case a key, and no absence left in doubt."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from medrcube.facts import BAD_ROW, Case, Label, LabelState, Region, Skip
from medrcube.sources._formats.tables.redaction import evidence_place
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_parts.fields import CardField


def merge_by_key(found: Iterable[Case | Skip]) -> list[Case | Skip]:
    """Cases that share a key, as one: where they say the same, it stands; else it is set aside.

    A bad row sets aside the others of its key, since nobody knows what it said of them.
    """
    kept: dict[str, Case | Skip] = {}
    for given in found:
        before = kept.get(given.key)
        kept[given.key] = given if before is None else _joined(before, given)
    return list(kept.values())


Doubts = Mapping[str, Collection[str]]
"""Fields, and the raw values that a row without a name may be about; an empty one means any."""


def collect_doubts(found: Iterable[Case | Skip]) -> Doubts:
    """Everything that rows without a name may be about."""
    doubts: dict[str, set[str]] = {}
    for given in found:
        if isinstance(given, Skip):
            for name in given.opens:
                doubts.setdefault(name, set()).add(given.opens_value)
    return doubts


def with_doubts(card: Card, case: Case, doubts: Doubts) -> Case:
    """A case where an absence of some values may be due to a row that names no picture.

    What was absent, by word or by silence, is unknown. What is marked is present, but no place of
    it is told any more: another one may be marked in the row that is lost.
    """
    marked = tuple(
        Label(field=it.field, value=it.value, evidence=it.evidence)
        for it in case.regions
        if _is_doubted(card, doubts, it)
    )
    labels = tuple(
        replace(it, state=LabelState.UNKNOWN)
        if it.state is LabelState.ABSENT and _is_doubted(card, doubts, it)
        else it
        for it in case.labels
    )
    silent = tuple(
        Label(field=name, value=raw, state=LabelState.UNKNOWN, evidence="a row without a name")
        for name in sorted(doubts)
        for raw in _unsaid(card, name, doubts[name], (*labels, *marked))
    )
    regions = tuple(it for it in case.regions if not _is_doubted(card, doubts, it))
    return replace(case, labels=labels + marked + silent, regions=regions)


def without_regions(case: Case) -> Case:
    """A case some of whose marks are lost: what is marked is present, and no place is told."""
    stated = {(it.field, it.value) for it in case.labels}
    places = {(it.field, it.value): it.evidence for it in case.regions}
    present = tuple(
        Label(field=field, value=value, evidence=evidence)
        for (field, value), evidence in places.items()
        if (field, value) not in stated
    )
    return replace(case, labels=case.labels + present, regions=())


def _is_doubted(card: Card, doubts: Doubts, statement: Label | Region) -> bool:
    if statement.field not in doubts:
        return False
    field, values = card.fields.get(statement.field), doubts[statement.field]
    return field is None or _is_any(field, values) or statement.value in _alike(field, values)


def _is_any(field: CardField, values: Collection[str]) -> bool:
    """Whether nobody knows which values a row is about: a card may not know what it says."""
    return any(field.values.get(value) is None for value in values)


def _alike(field: CardField, values: Collection[str]) -> list[str]:
    """All raw values that mean the same as one of these, in the order of the card."""
    concepts = {field.values.get(value) for value in values}
    return [raw for raw, concept in field.values.items() if concept in concepts]


def _joined(one: Case | Skip, other: Case | Skip) -> Case | Skip:
    if isinstance(one, Case) and isinstance(other, Case) and _told(one) == _told(other):
        return one
    files = [it.files() if isinstance(it, Case) else it.paths for it in (one, other)]
    paths = tuple(dict.fromkeys((*files[0], *files[1])))
    aside = next((it for it in (one, other) if isinstance(it, Skip)), None)
    if aside is not None:
        return replace(aside, paths=paths)
    if isinstance(one, Case) and isinstance(other, Case) and _is_copy(one, other):
        folders = " and ".join(_copies(one.files()[0], other.files()[0]))
        reason = (
            f"the dataset lies here twice: {folders} hold files of the same names that say the "
            f"same of {one.key!r}; take one of the two away"
        )
        return Skip(key=one.key, reason=reason, paths=paths, code=BAD_ROW)
    places = " and ".join(_place(it) for it in (one, other) if isinstance(it, Case))
    reason = (
        f"two cases have the key {one.key!r} ({places}) and do not say the same; expected one row "
        "for each picture, and a key for each case"
    )
    return Skip(key=one.key, reason=reason, paths=paths, code=BAD_ROW)


def _told(case: Case) -> Case:
    """A case without the places of its evidence."""
    return replace(
        case,
        labels=tuple(replace(it, evidence="") for it in case.labels),
        panels=tuple(replace(it, evidence="") for it in case.panels),
        regions=tuple(replace(it, evidence="") for it in case.regions),
        words=tuple(replace(it, evidence="") for it in case.words),
    )


def _is_copy(one: Case, other: Case) -> bool:
    """Whether two cases differ in nothing but the folders of their files."""
    first, second = (_told(it.moved(lambda path: Path(path.name))) for it in (one, other))
    return first == second


def _copies(one: Path, other: Path) -> tuple[str, str]:
    """The folders in which two files have one path, as seen from the folder that holds both."""
    while one.name == other.name and one != other:
        one, other = one.parent, other.parent
    base = Path(os.path.commonpath((one, other)))
    first, second = (it.relative_to(base).as_posix() for it in (one, other))
    return first, second


def _place(case: Case) -> str:
    told = [evidence_place(it.evidence) for it in (*case.labels, *case.panels)]
    told += [evidence_place(it.evidence) for it in case.regions]
    return next(iter(told), "") or ", ".join(path.name for path in case.files()[:1])


def _unsaid(card: Card, name: str, doubted: Collection[str], labels: Iterable[Label]) -> list[str]:
    """One raw value for each concept that is in doubt and that a case does not speak of."""
    field = card.fields.get(name)
    if field is None:
        return []
    said = {field.values.get(it.value) for it in labels if it.field == name}
    meant = field.values if _is_any(field, doubted) else _alike(field, doubted)
    values = {field.values.get(raw): raw for raw in meant}
    return [raw for concept, raw in values.items() if concept and concept not in said]
