"""What reviewers were shown before it was recorded, and an end to sessions stored in clear.

Cases are told apart by what the provenance names; the next import names them by the workspace.
Answers that were not blind are flagged, each with an event, so that the trail says the same.
"""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from typing import Any, ClassVar

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.utils import timezone

from medrcube.review.audit_trail.event_chain import event_sha256
from medrcube.review.visibility.disclosure import DisclosurePair, disclosure_pairs, item_content

_AT_ONCE = 500
_Told = dict[str, dict[str, bool]]


def _look_back(apps: Apps, _schema: BaseDatabaseSchemaEditor) -> None:
    pairs = _pairs(apps)
    told: _Told = defaultdict(dict)
    for pair in pairs:
        told[pair.by][pair.disclosed] = pair.at_sight
    model = apps.get_model("review", "Disclosure")
    model.objects.bulk_create(
        [model(by_id=pair.by, told_id=pair.disclosed, at_sight=pair.at_sight) for pair in pairs],
        batch_size=_AT_ONCE,
    )
    shown = _Shown(told)
    flagged = [row for row in _history(apps) if shown.was_told(row)]
    claims = apps.get_model("review", "Claim").objects
    for row in flagged:
        claims.filter(pk=row["pk"]).update(blinded=False)
    _record(apps, flagged)
    now, exposure = timezone.now(), apps.get_model("review", "Exposure")
    exposure.objects.bulk_create(
        [exposure(user_id=user, item_id=item, by_id=by, at=now) for user, item, by in shown.rows()],
        batch_size=_AT_ONCE,
    )


def _pairs(apps: Apps) -> list[DisclosurePair]:
    names: dict[tuple[str, str], str] = defaultdict(lambda: secrets.token_hex(16))
    cases: dict[str, list[Any]] = defaultdict(list)
    items = apps.get_model("review", "Item").objects
    versions = apps.get_model("review", "ItemVersion").objects.select_related("item")
    originals: dict[str, str] = {}
    for version in versions.order_by("item_id", "number").iterator():
        item = version.item
        if version.number != item.version:
            continue
        about = version.provenance if isinstance(version.provenance, dict) else {}
        unit = str(about.get("case") or version.picture_id)
        case = originals[item.pk] = names[item.source, unit]
        cases[case].append(
            item_content(item.pk, version.question, version.options, version.key, about)
        )
    for pk, case in originals.items():
        items.filter(pk=pk).update(case_key=case)
    return [pair for case in cases.values() for pair in disclosure_pairs(case)]


class _Shown:
    """Who had been told what, as the history goes by."""

    def __init__(self, told: _Told) -> None:
        self._told = told
        self._by: dict[tuple[int, str], set[str]] = defaultdict(set)
        self._own: dict[tuple[int, str], int] = {}
        self._first: dict[tuple[int, int], bool] = {}

    def was_told(self, row: dict[str, Any]) -> bool:
        """Whether an answer was not blind; takes in what its reviewer saw with it."""
        user, item, version = row["user"], row["item"], row["number"]
        if not row["answered"]:
            self._take(user, item, sight=True)
            return False
        before = self._own.get((user, item), version) < version or bool(
            self._by[user, item] - {item}
        )
        not_blind = self._first.setdefault((user, row["version"]), before)
        if row["revealed"]:
            self._own.setdefault((user, item), version)
            self._by[user, item].add(item)
            self._take(user, item, sight=False)
        return not_blind

    def rows(self) -> list[tuple[int, str, str]]:
        return [(user, item, by) for (user, item), told in self._by.items() for by in sorted(told)]

    def _take(self, user: int, item: str, *, sight: bool) -> None:
        for told, at_sight in self._told.get(item, {}).items():
            if at_sight or not sight:
                self._by[user, told].add(item)


def _history(apps: Apps) -> list[dict[str, Any]]:
    """Claims and answers in the order in which they happened."""
    elsewhere = {
        (event.object, event.actor)
        for event in apps.get_model("review", "Event").objects.filter(
            kind="claim.issued", body__contains='"by":"import"'
        )
    }
    rows = []
    claims = apps.get_model("review", "Claim").objects.select_related("version", "user")
    answers = dict(
        apps.get_model("review", "BlindAnswer").objects.values_list("claim_id", "answered_at")
    )
    for claim in claims.order_by("pk").iterator():
        item = claim.version.item_id
        row = {
            "pk": claim.pk,
            "user": claim.user_id,
            "who": claim.user.pseudonym,
            "item": item,
            "version": claim.version_id,
            "number": claim.version.number,
            "revealed": (f"item:{item}", claim.user.pseudonym) not in elsewhere,
        }
        rows.append((claim.claimed_at, claim.pk, 0, {**row, "answered": False}))
        if claim.pk in answers:
            rows.append((answers[claim.pk], claim.pk, 1, {**row, "answered": True}))
    return [row for *_, row in sorted(rows, key=lambda entry: entry[:3])]


def _record(apps: Apps, flagged: list[dict[str, Any]]) -> None:
    chain = apps.get_model("review", "Chain").objects.filter(pk=1).first()
    if chain is None or not flagged:
        return
    model, events = apps.get_model("review", "Event"), []
    at = timezone.now().isoformat(timespec="microseconds")
    for row in {(row["user"], row["version"]): row for row in flagged}.values():
        body = {"reviewer": row["who"], "version": row["number"]}
        values: dict[str, Any] = {
            "number": chain.number + 1,
            "at": at,
            "actor": "system",
            "kind": "blind.flagged",
            "object": f"item:{row['item']}",
            "body": json.dumps(body, separators=(",", ":")),
            "previous_sha256": chain.sha256,
        }
        chain.number, chain.sha256 = values["number"], event_sha256(*values.values())
        events.append(model(**values, sha256=chain.sha256))
    model.objects.bulk_create(events, batch_size=_AT_ONCE)
    chain.save()


def _end_sessions(apps: Apps, _schema: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("sessions", "Session").objects.all().delete()


class Migration(migrations.Migration):
    """Data only: PostgreSQL changes no table in the transaction that has written to it."""

    replaces: ClassVar[list[tuple[str, str]]] = [
        ("review", "0008_who_was_blind"),
        ("review", "0015_originals"),
    ]
    """With the last step of before, so that what comes after it comes after this one."""
    dependencies: ClassVar[list[tuple[str, str]]] = [
        ("review", "0002_reading_room"),
        ("sessions", "0001_initial"),
    ]
    operations: ClassVar[list[Operation]] = [
        migrations.RunPython(_look_back, migrations.RunPython.noop),
        migrations.RunPython(_end_sessions, migrations.RunPython.noop),
    ]
