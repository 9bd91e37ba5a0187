"""Import of a workspace's items into the queue; idempotent.

An item whose content has changed in the workspace becomes a new version, like an edit: reviews of
the old wording stay on record but no longer count. Small transactions are used, so that an import
can run while people review, and a killed import continues where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from medrcube.console.progress import Reporter
from medrcube.review.audit_trail.event_chain import NewEvent, record_events
from medrcube.review.errors import ConflictError, ReviewError
from medrcube.review.exchange.image_transfer import ImageTransfer, ItemWithImages
from medrcube.review.exchange.provenance import options_of, provenance_of
from medrcube.review.exchange.workspace_items import IncomingItem, RefusedItem, WorkspaceItems
from medrcube.review.models import Item, ItemVersion, Project, RawFile
from medrcube.review.quality.gold_draw import top_up_gold
from medrcube.review.reviewing.consensus import apply_transition
from medrcube.review.reviewing.item_versions import content_sha256, version_as_read
from medrcube.review.reviewing.policy import Policy, current_policy, queue_lot
from medrcube.review.reviewing.prioritization import (
    ItemSummary,
    ModelDoubts,
    merged_priority,
    priorities,
    summarize,
)
from medrcube.review.reviewing.questionnaire import QUESTIONNAIRE_VERSION
from medrcube.review.reviewing.sql.batches import batches
from medrcube.review.reviewing.state_machine import ReviewState, Transition, next_state
from medrcube.review.visibility import disclosure
from medrcube.review.visibility.originals import import_originals
from medrcube.workspace import WorkspaceFolder

__all__ = ["ACTOR", "ImportReport", "ensure_project", "import_workspace"]

ACTOR = "import"
"""Actor recorded in the trail."""
_AT_ONCE = 100
_NEW_VERSION = frozenset(
    {ReviewState.QUEUED, ReviewState.ADJUDICATION, ReviewState.ACCEPTED, ReviewState.NEEDS_REVISION}
)


@dataclass(slots=True, kw_only=True)
class ImportReport:
    """Result of an import; numbers of items unless stated otherwise.

    Attributes:
        items: items in the workspace.
        added: items new in the queue.
        unchanged: known items without changes.
        changed: items with a new version.
        edits_replaced: changed items whose wording had been edited in the queue.
        reordered: known items with a new priority.
        pictures: images stored by this import.
        refused: refused items with reasons.
        settled: (item, state) of items changed in the workspace whose state does not admit a new
            version.
        vanished: items in the queue that are no longer in the workspace; they are left unchanged.
        gold: gold items drawn according to the policy.
        copies_damaged: unusable rows of the table of viewer copies.
    """

    items: int = 0
    added: int = 0
    unchanged: int = 0
    changed: int = 0
    edits_replaced: int = 0
    reordered: int = 0
    pictures: int = 0
    refused: list[RefusedItem] = field(default_factory=list)
    settled: list[tuple[str, str]] = field(default_factory=list)
    vanished: list[str] = field(default_factory=list)
    gold: int = 0
    copies_damaged: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _QueuedItem:
    """An item in the queue: state, priority, and last imported content."""

    state: ReviewState
    priority: int
    fingerprint: str
    imported: int
    version: int


def import_workspace(
    workspace: WorkspaceFolder,
    reporter: Reporter,
    *,
    titles: Mapping[str, str] | None = None,
    doubts: ModelDoubts | None = None,
) -> ImportReport:
    """Synchronise the queue with the items of a workspace.

    Args:
        workspace: a built workspace.
        reporter: progress reporter.
        titles: source -> title that reviewers see.
        doubts: doubtful items from model runs; without them, earlier results are kept in the
            priorities.

    Raises:
        WorkspaceError: a table is missing or cannot be read.
        ConflictError: another import is running.
    """
    rows = WorkspaceItems(workspace)
    rules = ensure_project(workspace)
    report = ImportReport(items=len(rows))
    glances = _summaries(rows, report, reporter)
    ranks = priorities(glances.values(), doubts or ModelDoubts())
    queued = _queued_items()
    new_names = {
        name
        for name, glance in glances.items()
        if name not in queued or queued[name].fingerprint != glance.fingerprint
    }
    report.unchanged = len(glances) - len(new_names)
    gallery = ImageTransfer(workspace.root)
    context = _Context(titles=titles or {}, ranks=ranks, seed=rules.seed)
    with reporter.stage("import", len(new_names)) as advance:
        for part in batches(rows.with_ids(new_names), _AT_ONCE):
            fresh = _with_pictures(
                (row for row in part if row.item.id not in queued), gallery, report
            )
            report.added += _add_items(fresh, context) if fresh else 0
            for row in part:
                if row.item.id in queued:
                    _change_item(row, queued[row.item.id], gallery, context, report)
            advance(len(part))
    _update_cases(rows, glances)
    report.copies_damaged = import_originals(
        workspace, {name: summary.fingerprint for name, summary in glances.items()}
    )
    report.gold = top_up_gold(ACTOR).defective
    again = queued.keys() & glances.keys()
    report.reordered = _reorder(queued, again, ranks, with_runs=doubts is not None)
    report.pictures = gallery.image_count
    there = glances.keys() | {row.item for row in report.refused}
    report.vanished = sorted(queued.keys() - there)
    return report


def ensure_project(workspace: WorkspaceFolder) -> Policy:
    """Return the policy of the project; a new project uses the seed of the workspace."""
    with transaction.atomic():
        if not Project.objects.exists():
            rules = Policy(seed=workspace.settings.seed)
            name = workspace.root.resolve().name
            Project.objects.create(
                name=name, policy=rules.to_json(), questionnaire=QUESTIONNAIRE_VERSION
            )
            body = {"policy": rules.to_json(), "questionnaire": QUESTIONNAIRE_VERSION}
            event = NewEvent(
                actor=ACTOR, kind="project.made", object=f"project:{name}"[:96], body=body
            )
            record_events(timezone.now(), event)
    return current_policy()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    titles: Mapping[str, str]
    ranks: Mapping[str, int]
    seed: int


def _summaries(
    rows: WorkspaceItems, report: ImportReport, reporter: Reporter
) -> dict[str, ItemSummary]:
    summaries = {}
    with reporter.stage("check", len(rows)) as advance:
        for row in rows.checked():
            if isinstance(row, RefusedItem):
                report.refused.append(row)
            else:
                summaries[row.item.id] = summarize(row)
            advance()
    return summaries


def _version_row(
    row: ItemWithImages, item: Item, number: int, now: datetime, titles: Mapping[str, str]
) -> ItemVersion:
    source, options = row.row.item, options_of(row.row.item)
    return ItemVersion(
        item=item,
        number=number,
        question=source.question,
        options=options,
        key=source.key,
        picture_id=row.picture.key,
        overlay_id=None if row.overlay is None else row.overlay.key,
        asks_mark=row.row.asks_mark,
        provenance=provenance_of(row.row, titles),
        warnings=list(source.warnings),
        target=row.row.target,
        content_sha256=content_sha256(
            source.question, options, source.key, row.picture.sha256, row.row.target
        ),
        created_at=now,
    )


def _queued_items() -> dict[str, _QueuedItem]:
    items = Item.objects.filter(gold_defect="").values_list("id", "state", "priority", "version")
    imported = (
        ItemVersion.objects.filter(author=None, item__gold_defect="")
        .order_by("number")
        .values_list("item_id", "number", "provenance__fingerprint")
    )
    last = {item: (number, print_ or "") for item, number, print_ in imported.iterator()}
    return {
        name: _QueuedItem(
            state=ReviewState(state),
            priority=priority,
            fingerprint=last[name][1],
            imported=last[name][0],
            version=version,
        )
        for name, state, priority, version in items.iterator()
    }


def _with_pictures(
    rows: Iterable[IncomingItem], gallery: ImageTransfer, report: ImportReport
) -> list[ItemWithImages]:
    fresh = []
    for row in rows:
        try:
            fresh.append(gallery.pictured(row))
        except ReviewError as error:
            report.refused.append(RefusedItem(item=row.item.id, reason=str(error)))
    return fresh


def _add_items(rows: Sequence[ItemWithImages], context: _Context) -> int:
    now = timezone.now()
    state = next_state(ReviewState.DRAFT, Transition.CHECKS_PASSED)
    items = [
        Item(
            id=row.row.item.id,
            state=state,
            lot=queue_lot(context.seed, row.row.item.id),
            **_item_columns(row.row, context),
        )
        for row in rows
    ]
    versions = [
        _version_row(row, item, 1, now, context.titles)
        for row, item in zip(rows, items, strict=True)
    ]
    try:
        with transaction.atomic():
            Item.objects.bulk_create(items)
            ItemVersion.objects.bulk_create(versions)
            _store_raw_files((row.row for row in rows), now)
            record_events(now, *(_import_event(version, state) for version in versions))
    except IntegrityError as error:
        raise ConflictError(
            "another import added the same items meanwhile; run this one again"
        ) from error
    return len(items)


def _import_event(version: ItemVersion, state: ReviewState) -> NewEvent:
    body = {
        "version": 1,
        "from": ReviewState.DRAFT.value,
        "to": state.value,
        "content_sha256": version.content_sha256,
    }
    return NewEvent(actor=ACTOR, kind="item.imported", object=f"item:{version.item_id}", body=body)


def _change_item(
    row: IncomingItem,
    queued: _QueuedItem,
    gallery: ImageTransfer,
    context: _Context,
    report: ImportReport,
) -> None:
    name = row.item.id
    if queued.state not in _NEW_VERSION:
        report.settled.append((name, queued.state.value))
        return
    try:
        _new_version(gallery.pictured(row), queued, context)
    except ReviewError as error:
        report.refused.append(RefusedItem(item=name, reason=str(error)))
        return
    report.changed += 1
    report.edits_replaced += queued.version != queued.imported


def _new_version(row: ItemWithImages, queued: _QueuedItem, context: _Context) -> None:
    now = timezone.now()
    note = "changed in the workspace"
    with transaction.atomic():
        old = version_as_read(row.row.item.id, queued.version)
        item = old.item
        entries = []
        if item.state != ReviewState.NEEDS_REVISION:
            entries.append(apply_transition(now, item, Transition.EDIT_WANTED, ACTOR))
        new = _version_row(row, item, old.number + 1, now, context.titles)
        new.parent, new.note = old, note
        body = {"note": note, "content_sha256": new.content_sha256}
        entries.append(apply_transition(now, item, Transition.NEW_VERSION, ACTOR, **body))
        new.save(force_insert=True)
        Item.objects.filter(pk=item.pk).update(
            version=new.number,
            reviews=0,
            sole_reviewer=None,
            for_specialist=False,
            **_item_columns(row.row, context),
        )
        _store_raw_files([row.row], now)
        record_events(now, *entries)


def _item_columns(row: IncomingItem, context: _Context) -> dict[str, Any]:
    """Return the columns of an item that are determined by the workspace."""
    return {
        "source": row.item.source,
        "task": row.item.task,
        "anatomy": row.item.anatomy,
        "modality": row.item.modality,
        "case_key": row.case_key,
        "stratum": row.stratum,
        "priority": context.ranks[row.item.id],
    }


def _store_raw_files(rows: Iterable[IncomingItem], now: datetime) -> None:
    """Store the raw files of items and the disclosure pairs of their cases; in a transaction."""
    rows = list(rows)
    names = [row.item.id for row in rows]
    RawFile.objects.filter(item__in=names).delete()
    RawFile.objects.bulk_create(
        [RawFile(item_id=row.item.id, sha256=digest) for row in rows for digest in row.raw_files]
    )
    disclosure.refresh_disclosures(names, now)


def _update_cases(rows: WorkspaceItems, glances: Mapping[str, ItemSummary]) -> None:
    """Update case and raw files of items whose case has another key, as in a restored queue."""
    case_keys = Item.objects.filter(gold_defect="").values_list("pk", "case_key").iterator()
    other = {name for name, case in case_keys if name in glances and case != glances[name].case_key}
    for part in batches(rows.with_ids(other) if other else (), _AT_ONCE):
        with transaction.atomic():
            for row in part:
                copies = Q(pk=row.item.id) | Q(copied_from=row.item.id)
                Item.objects.filter(copies).update(case_key=row.case_key)
            _store_raw_files(part, timezone.now())


def _reorder(
    queued: Mapping[str, _QueuedItem],
    again: Iterable[str],
    ranks: Mapping[str, int],
    *,
    with_runs: bool,
) -> int:
    """Update the priorities of known items; return the number of changes."""
    moved: dict[int, list[str]] = {}
    for name in sorted(again):
        priority_now = merged_priority(queued[name].priority, ranks[name], with_runs=with_runs)
        if priority_now != queued[name].priority:
            moved.setdefault(priority_now, []).append(name)
    for priority, names in moved.items():
        for part in batches(names, _AT_ONCE):
            Item.objects.filter(pk__in=part).update(priority=priority)
    return sum(map(len, moved.values()))
