"""Post-processing of an adapter's cases: one case per key; doubtful absence becomes unknown."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from medrcube.facts import BAD_ROW, Case, Label, LabelState, Region, Skip
from medrcube.sources._formats.tables.redaction import evidence_place
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_parts.fields import CardField
from medrcube.sources._framework.packed_entries import PackedEntries

__all__ = ["collect_doubts", "merge_by_key", "with_doubts", "without_regions"]


def merge_by_key(entries: Iterable[Case | Skip]) -> PackedEntries:
    """Merge cases that share a key; if they differ, all are excluded.

    An unusable row excludes all cases of its key, because what it stated about them is unknown.
    """
    return PackedEntries(entries, _merge)


Doubts = Mapping[str, Collection[str]]
"""Field -> raw values that a row without an image name may be about; an empty value means any."""


def collect_doubts(entries: PackedEntries) -> Doubts:
    """Collect the fields and values that rows without an image name may be about."""
    doubts: dict[str, set[str]] = {}
    for skip in entries.opening():
        for name in skip.opens:
            doubts.setdefault(name, set()).add(skip.opens_value)
    return doubts


def with_doubts(card: Card, case: Case, doubts: Doubts) -> Case:
    """Return the case with doubtful absence made unknown, because of rows that name no image.

    An absent value, stated or implied, becomes unknown. A marked value stays present but loses its
    regions, because the lost row may mark another one.
    """
    region_labels = tuple(
        Label(field=region.field, value=region.value, evidence=region.evidence)
        for region in case.regions
        if _is_doubted(card, doubts, region)
    )
    labels = tuple(
        replace(label, state=LabelState.UNKNOWN)
        if label.state is LabelState.ABSENT and _is_doubted(card, doubts, label)
        else label
        for label in case.labels
    )
    silent = tuple(
        Label(field=name, value=raw, state=LabelState.UNKNOWN, evidence="a row without a name")
        for name in sorted(doubts)
        for raw in _unmentioned_values(card, name, doubts[name], (*labels, *region_labels))
    )
    regions = tuple(region for region in case.regions if not _is_doubted(card, doubts, region))
    return replace(case, labels=labels + region_labels + silent, regions=regions)


def without_regions(case: Case) -> Case:
    """Return the case without regions, for lost marks; marked values become present labels."""
    labelled = {(label.field, label.value) for label in case.labels}
    places = {(region.field, region.value): region.evidence for region in case.regions}
    present = tuple(
        Label(field=field, value=value, evidence=evidence)
        for (field, value), evidence in places.items()
        if (field, value) not in labelled
    )
    return replace(case, labels=case.labels + present, regions=())


def _is_doubted(card: Card, doubts: Doubts, statement: Label | Region) -> bool:
    if statement.field not in doubts:
        return False
    field, values = card.fields.get(statement.field), doubts[statement.field]
    return field is None or _is_any(field, values) or statement.value in _alike(field, values)


def _is_any(field: CardField, values: Collection[str]) -> bool:
    """Whether a row may be about any value, because the card does not list the one it states."""
    return any(field.values.get(value) is None for value in values)


def _alike(field: CardField, values: Collection[str]) -> list[str]:
    """Return all raw values that map to the same concepts as the given ones, in card order."""
    concepts = {field.values.get(value) for value in values}
    return [raw for raw, concept in field.values.items() if concept in concepts]


def _merge(first: Case | Skip, other: Case | Skip) -> Case | Skip:
    if (
        isinstance(first, Case)
        and isinstance(other, Case)
        and _without_evidence(first) == _without_evidence(other)
    ):
        return first
    files = [entry.files() if isinstance(entry, Case) else entry.paths for entry in (first, other)]
    paths = tuple(dict.fromkeys((*files[0], *files[1])))
    aside = next((entry for entry in (first, other) if isinstance(entry, Skip)), None)
    if aside is not None:
        return replace(aside, paths=paths)
    if isinstance(first, Case) and isinstance(other, Case) and _is_copy(first, other):
        folders = " and ".join(_copies(first.files()[0], other.files()[0]))
        reason = (
            f"the dataset is here twice: {folders} hold files with the same names and the same "
            f"data on {first.key!r}; remove one of the two"
        )
        return Skip(key=first.key, reason=reason, paths=paths, code=BAD_ROW)
    places = " and ".join(_place(entry) for entry in (first, other) if isinstance(entry, Case))
    reason = (
        f"two cases have the key {first.key!r} ({places}) and differ in content; expected one row "
        "for each image, and a key for each case"
    )
    return Skip(key=first.key, reason=reason, paths=paths, code=BAD_ROW)


def _without_evidence(case: Case) -> Case:
    """Return the case without evidence locations, so that only its statements are compared."""
    statements: dict[str, Any] = {
        field.name: tuple(replace(statement, evidence="") for statement in value)
        for field in fields(case)
        if isinstance(value := getattr(case, field.name), tuple)
        and value
        and hasattr(value[0], "evidence")
    }
    return replace(case, **statements)


def _is_copy(first_case: Case, other: Case) -> bool:
    """Whether two cases differ only in the folders of their files."""
    first, second = (
        _without_evidence(case.moved(lambda path: Path(path.name))) for case in (first_case, other)
    )
    return first == second


def _copies(path: Path, other: Path) -> tuple[str, str]:
    """Return the two folders below which both files have the same relative path.

    The folders are relative to the nearest common folder.
    """
    while path.name == other.name and path != other:
        path, other = path.parent, other.parent
    base = Path(os.path.commonpath((path, other)))
    first, second = (folder.relative_to(base).as_posix() for folder in (path, other))
    return first, second


def _place(case: Case) -> str:
    places = [evidence_place(label.evidence) for label in (*case.labels, *case.panels)]
    places += [evidence_place(region.evidence) for region in case.regions]
    return next(iter(places), "") or ", ".join(path.name for path in case.files()[:1])


def _unmentioned_values(
    card: Card, name: str, doubted: Collection[str], labels: Iterable[Label]
) -> list[str]:
    """Return one raw value for each doubtful concept that the case does not mention."""
    field = card.fields.get(name)
    if field is None:
        return []
    concepts = {field.values.get(label.value) for label in labels if label.field == name}
    meant = field.values if _is_any(field, doubted) else _alike(field, doubted)
    values = {field.values.get(raw): raw for raw in meant}
    return [raw for concept, raw in values.items() if concept and concept not in concepts]
