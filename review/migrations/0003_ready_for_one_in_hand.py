"""The head of the chain exists from the start, and nobody holds two items any more."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, ClassVar

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.utils import timezone


def _prepare(apps: Apps, _schema: BaseDatabaseSchemaEditor) -> None:
    chain, _ = apps.get_model("review", "Chain").objects.get_or_create(
        pk=1, defaults={"sha256": "0" * 64}
    )
    claims = apps.get_model("review", "Claim").objects.filter(released_at=None, submitted_at=None)
    holders: set[int] = set()
    for claim in claims.select_related("version", "user").order_by("claimed_at", "pk"):
        if claim.user_id in holders:
            _free(apps, claim, chain)
        holders.add(claim.user_id)


def _free(apps: Apps, claim: Any, chain: Any) -> None:
    """End a claim as if its time were over; what was typed is kept as a draft in any case."""
    now = timezone.now()
    claim.released_at, claim.outcome = now, "expired"
    claim.save()
    at = now.isoformat(timespec="microseconds")
    body = {"user": claim.user.pseudonym, "version": claim.version.number}
    values = {
        "number": chain.number + 1,
        "at": at,
        "actor": "system",
        "kind": "claim.expired",
        "object": f"item:{claim.version.item_id}",
        "body": json.dumps(body, separators=(",", ":")),
        "previous_sha256": chain.sha256,
    }
    chain.number, chain.sha256 = values["number"], _link(*values.values())
    apps.get_model("review", "Event").objects.create(**values, sha256=chain.sha256)
    chain.save()


def _link(*parts: object) -> str:
    """Hash of one event of the trail."""
    return sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


class Migration(migrations.Migration):
    """Data only: PostgreSQL changes no table in the transaction that has written to it."""

    dependencies: ClassVar[list[tuple[str, str]]] = [("review", "0002_append_only")]
    operations: ClassVar[list[Operation]] = [
        migrations.RunPython(_prepare, migrations.RunPython.noop)
    ]
