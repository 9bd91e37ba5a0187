"""What an adapter found, once all of it is known: one case a key, and no absence left in doubt."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from medrcube.records import BAD_ROW, Case, Label, Skip, State
from medrcube.sources.card import Card


def one_a_key(found: Iterable[Case | Skip]) -> list[Case | Skip]:
    """Cases that share a key, as one: where they say the same, it stands; else it is set aside.

    A bad row sets aside the others of its key, since nobody knows what it said of them.
    """
    kept: dict[str, Case | Skip] = {}
    for given in found:
        before = kept.get(given.key)
        kept[given.key] = given if before is None else _joined(before, given)
    return list(kept.values())


def opened(card: Card, case: Case, fields: Collection[str]) -> Case:
    """A case where an absence in some fields may be due to a row that names no picture.

    What was absent, by word or by silence, is unknown. What is marked is present, but no place of
    it is told any more: another one may be marked in the row that is lost.
    """
    marked = tuple(
        Label(field=it.field, value=it.value, evidence=it.evidence)
        for it in case.regions
        if it.field in fields
    )
    labels = tuple(_doubted(it) if it.field in fields else it for it in case.labels) + marked
    silent = tuple(
        Label(field=name, value=raw, state=State.UNKNOWN, evidence="a row without a name")
        for name in sorted(fields)
        for raw in _unsaid(card, name, labels)
    )
    regions = tuple(it for it in case.regions if it.field not in fields)
    return replace(case, labels=labels + silent, regions=regions)


def _joined(one: Case | Skip, other: Case | Skip) -> Case | Skip:
    if isinstance(one, Case) and isinstance(other, Case) and _told(one) == _told(other):
        return one
    files = [it.files() if isinstance(it, Case) else it.paths for it in (one, other)]
    paths = tuple(dict.fromkeys((*files[0], *files[1])))
    aside = next((it for it in (one, other) if isinstance(it, Skip)), None)
    if aside is not None:
        return replace(aside, paths=paths)
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


def _place(case: Case) -> str:
    told = [it.evidence for it in (*case.labels, *case.panels)]
    told += [it.evidence for it in case.regions]
    return next(iter(told), "") or ", ".join(path.name for path in case.files()[:1])


def _doubted(label: Label) -> Label:
    return replace(label, state=State.UNKNOWN) if label.state is State.ABSENT else label


def _unsaid(card: Card, name: str, labels: Iterable[Label]) -> list[str]:
    """One raw value for each concept of a field that a case does not speak of."""
    field = card.fields.get(name)
    if field is None:
        return []
    said = {field.values.get(it.value) for it in labels if it.field == name}
    values = {concept: raw for raw, concept in field.values.items() if concept}
    return [raw for concept, raw in values.items() if concept not in said]
