"""Import of remarks from outside, which are shown to reviewers after their blind answer.

Remarks are untrusted: plain text of limited length. Anything that looks like markup or a personal
address is refused, and every refused row is reported. If a remark discloses the answer of another
item of the case, this is recorded for everybody who has seen it (``disclosure``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils import timezone

from medrcube.evaluate.imports.replies import json_rows
from medrcube.evaluate.imports.table_rows import table_rows
from medrcube.review.audit_trail.event_chain import NewEvent, record_events
from medrcube.review.errors import ReviewError
from medrcube.review.models import Item, Remark
from medrcube.review.views.remark_form import IDS, TEXTS, RemarkForm
from medrcube.review.visibility import disclosure

__all__ = ["MOST_OF_AN_ITEM", "RefusedRow", "RemarkImport", "import_remarks", "remarks_of"]

MOST_OF_AN_ITEM = 20
"""Maximum number of remarks per item, as a protection against flooding."""

_ORIGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,59}")
_SUFFIXES = (".csv", ".tsv", ".json", ".xlsx")
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A refused row: its place and the reason."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemarkImport:
    """Result of the import of a file.

    Attributes:
        added: number of new remarks.
        already_imported: number of remarks that were imported before.
        unknown: names of items that are not in the queue.
        refused: refused rows.
        items: item -> its state, for each item with a new remark.
    """

    added: int
    already_imported: int
    unknown: tuple[str, ...]
    refused: tuple[RefusedRow, ...]
    items: Mapping[str, str]


def import_remarks(path: Path, *, origin: str, now: datetime | None = None) -> RemarkImport:
    """Import a file of rows with an item and a text; importing it again adds nothing.

    Args:
        path: JSON lines, CSV, TSV, JSON list or spreadsheet.
        origin: system that collected the remarks, never a person.
        now: time of the import.

    Raises:
        ReviewError: the origin is not a valid name, or the file format is not supported.
        WorkspaceError: the file cannot be read.
    """
    if _ORIGIN.fullmatch(origin) is None:
        raise ReviewError(
            f"--origin {origin}: expected what collected the remarks, such as 'site form'"
        )
    now = now or timezone.now()
    rows, refused = _read_rows(path)
    with transaction.atomic():
        items = _items({_item_id(name) for _, name, _ in rows})
        counts = Counter(
            Remark.objects.filter(item__in=items).values_list("item_id", flat=True).iterator()
        )
        digests = set(Remark.objects.filter(item__in=items).values_list("item_id", "sha256"))
        unknown: dict[str, None] = {}
        new: list[Remark] = []
        already_imported = 0
        for place, name, text in rows:
            item = items.get(_item_id(name))
            if item is None or not _names_item(name, item):
                unknown[name] = None
                continue
            digest = sha256(text.encode()).hexdigest()
            if (item.pk, digest) in digests:
                already_imported += 1
            elif counts[item.pk] >= MOST_OF_AN_ITEM:
                refused.append(RefusedRow(place, f"{name} has {MOST_OF_AN_ITEM} remarks already"))
            else:
                counts[item.pk] += 1
                digests.add((item.pk, digest))
                new.append(
                    Remark(item=item, text=text, origin=origin, sha256=digest, imported_at=now)
                )
        Remark.objects.bulk_create(new, batch_size=_AT_ONCE)
        disclosure.refresh_disclosures({remark.item_id for remark in new}, now)
        record_events(now, *(_remark_event(remark) for remark in new))
    return RemarkImport(
        added=len(new),
        already_imported=already_imported,
        unknown=tuple(unknown),
        refused=tuple(refused),
        items={remark.item_id: str(remark.item.state) for remark in new},
    )


def remarks_of(item_id: str) -> list[Remark]:
    """Return the remarks on an item, oldest first; only for users who may see its key."""
    return list(Remark.objects.filter(item_id=item_id).order_by("pk"))


def _read_rows(path: Path) -> tuple[list[tuple[str, str, str]], list[RefusedRow]]:
    """Return (place, item, text) of each valid row, and the refused rows."""
    rows: list[tuple[str, str, str]] = []
    refused: list[RefusedRow] = []
    for place, row in _table_rows(path):
        name = next((str(row[key]).strip() for key in IDS if row.get(key)), "")
        value = next((row[key] for key in TEXTS if row.get(key)), None)
        text = " ".join(value.split()) if isinstance(value, str) else ""
        form = RemarkForm({"item": name, "text": text})
        if not form.is_valid():
            refused.append(RefusedRow(place, form.fault))
        else:
            dataset = row.get("dataset")
            needs_dataset = isinstance(dataset, str) and dataset and "/" not in name
            rows.append((place, f"{dataset}/{name}" if needs_dataset else name, text))
    return rows, refused


def _table_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if path.suffix == ".jsonl":
        yield from ((f"line {number}", row) for number, row in json_rows(path))
    elif path.suffix in _SUFFIXES:
        yield from ((f"row {number}", row) for number, row in enumerate(table_rows(path), start=1))
    else:
        raise ReviewError(f"{path}: expected .jsonl or one of {', '.join(_SUFFIXES)}")


def _item_id(name: str) -> str:
    return name.rpartition("/")[2]


def _names_item(name: str, item: Item) -> bool:
    source = name.rpartition("/")[0]
    return not item.gold_defect and (not source or source.casefold() == item.source.casefold())


def _items(names: set[str]) -> dict[str, Item]:
    items: dict[str, Item] = {}
    ordered = sorted(names)
    for start in range(0, len(ordered), _AT_ONCE):
        items |= Item.objects.in_bulk(ordered[start : start + _AT_ONCE])
    return items


def _remark_event(remark: Remark) -> NewEvent:
    return NewEvent(
        actor="import",
        kind="remark.imported",
        object=f"item:{remark.item_id}",
        body={"origin": remark.origin, "sha256": remark.sha256},
    )
