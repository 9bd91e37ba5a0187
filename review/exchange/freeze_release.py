"""Recording of a release in the queue after its folder has been written."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from django.db import transaction
from django.utils import timezone

from medrcube.build.open_items.table import open_items_from_frame
from medrcube.build.questions.item_table import ChoiceItem, items_from_frame
from medrcube.build.release.editions.private_edition import PRIVATE, RESTRICTED_SUMS, SUMS
from medrcube.build.release.review_verdicts import LET_THROUGH
from medrcube.errors import ReleaseError
from medrcube.files.atomic import sha256_of
from medrcube.release_format.open_rows import OPEN_ITEMS
from medrcube.review.audit_trail import event_chain, replay
from medrcube.review.errors import ReviewError
from medrcube.review.exchange.open_rows import OpenRow, open_row_of
from medrcube.review.models import AgreementSnapshot, ItemVersion, ReleaseItem, ReleaseRecord
from medrcube.review.quality.agreement_gate import agreement_by_stratum
from medrcube.review.reviewing.decisions import record_release
from medrcube.review.reviewing.item_versions import refuse_outdated
from medrcube.review.reviewing.sql.batches import batches
from medrcube.review.reviewing.state_machine import ReviewState

__all__ = ["FrozenRelease", "freeze_release"]

_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenRelease:
    """A recorded release.

    Attributes:
        name: name of the release.
        items: number of versions in it that clinicians have accepted.
        unreviewed: number of items in it that nobody has accepted; they are not recorded.
        already_recorded: whether it was recorded before, so that nothing was done.
    """

    name: str
    items: int
    unreviewed: int
    already_recorded: bool


def freeze_release(tree: Path) -> FrozenRelease:
    """Record the versions in a release and the agreement of its reviewers; idempotent.

    Raises:
        ReleaseError: the folder is not a release, or one of its files was changed.
        ReviewError: it was made from another queue, or contains a wording that was not reviewed.
        ConflictError: an item was edited, or another release has this name.
        IllegalTransitionError: an item is no longer accepted, for example quarantined.
    """
    manifest = _verified_sums(tree)
    audit = json.loads((tree / "audit.json").read_text(encoding="utf-8"))
    name, summary = str(audit.get("release", "")), audit.get("review") or {}
    frame = pd.read_parquet(tree / "items.parquet")
    items: list[ChoiceItem] = [*items_from_frame(frame)]
    versions_of = [*frame.get("version", ())]
    if (tree / OPEN_ITEMS).is_file():
        beyond = pd.read_parquet(tree / OPEN_ITEMS)
        items += map(open_row_of, open_items_from_frame(beyond))
        versions_of += [*beyond.get("version", [0] * len(beyond))]
    release_items = {
        item.id: (item, int(version))
        for item, version in zip(items, versions_of, strict=True)
        if item.state in LET_THROUGH
    }
    result = FrozenRelease(
        name=name,
        items=len(release_items),
        unreviewed=len(items) - len(release_items),
        already_recorded=False,
    )
    before = ReleaseRecord.objects.filter(name=name, manifest_sha256=manifest).exists()
    if before:
        return replace(result, already_recorded=True)
    _check_head(tree, summary.get("head"))
    versions = _versions(release_items)
    with transaction.atomic():
        fresh = [row.pk for row in versions if row.item.state != ReviewState.RELEASED]
        release = record_release(name, fresh, manifest)
        again = [row for row in versions if row.item.state == ReviewState.RELEASED]
        for row in again:
            refuse_outdated(row)
        ReleaseItem.objects.bulk_create(
            [ReleaseItem(release=release, version=row) for row in again], batch_size=_AT_ONCE
        )
        AgreementSnapshot.objects.bulk_create(_agreement_rows(release), batch_size=_AT_ONCE)
        body = {"manifest_sha256": manifest, "items": len(versions), "again": len(again)}
        entry = event_chain.NewEvent(
            actor=event_chain.SYSTEM,
            kind="release.frozen",
            object=f"release:{name}"[:96],
            body=body,
        )
        event_chain.record_events(timezone.now(), entry)
    return result


def _verified_sums(tree: Path) -> str:
    """Return the digest of the checksum list after verifying every listed file."""
    try:
        _check_sums(tree, SUMS)
        if (tree / PRIVATE).exists():
            _check_sums(tree, RESTRICTED_SUMS)
        return sha256_of(tree / SUMS)
    except OSError as error:
        raise ReleaseError(
            f"{error.filename}: cannot be read ({error.strerror}); expected a folder made by "
            "medrcube release"
        ) from error


def _check_sums(tree: Path, sums: str) -> None:
    lines = (tree / sums).read_text(encoding="utf-8").split("\n")
    for line in filter(None, lines):
        digest, _, name = line.partition("  ")
        if sha256_of(tree / name) != digest:
            raise ReleaseError(f"{tree / name}: was changed since the release was made")


def _check_head(tree: Path, noted: dict[str, Any] | None) -> None:
    if not noted:
        raise ReviewError(f"{tree}: contains no reviewed item, so there is nothing to record")
    expected = event_chain.ChainHead(number=int(noted["number"]), sha256=str(noted["sha256"]))
    fault = replay.verify_trail(expected).fault
    if fault:
        raise ReviewError(f"{tree}: was not made from the present state of this queue: {fault}")


def _versions(release_items: dict[str, tuple[ChoiceItem, int]]) -> list[ItemVersion]:
    """Return the versions in a release, checked to have the wording of the release."""
    names, versions = sorted(release_items), []
    for part in batches(names):
        rows = ItemVersion.objects.filter(item_id__in=part).select_related("item")
        versions += [row for row in rows if row.number == release_items[row.item_id][1]]
    missing = sorted(set(names) - {row.item_id for row in versions})
    if missing:
        raise ReviewError(f"item {missing[0]}: this queue does not contain that version")
    for row in versions:
        item, _ = release_items[row.item_id]
        texts = [option.text for option in item.options]
        target = item.target if isinstance(item, OpenRow) else None
        released = (item.question, texts, item.key, target)
        if released != (
            row.question,
            [option["text"] for option in row.options],
            row.key,
            row.target,
        ):
            raise ReviewError(f"item {row.item_id}: its wording in the release differs")
    return versions


def _agreement_rows(release: ReleaseRecord) -> list[AgreementSnapshot]:
    everything, strata = agreement_by_stratum()
    return [
        AgreementSnapshot(
            release=release,
            stratum=agreement.stratum,
            metric=name,
            value=value.value,
            low=value.low,
            high=value.high,
            items=value.items,
            why_undefined=value.reason,
        )
        for agreement in (everything, *strata)
        for name, value in agreement.estimates.items()
    ]
