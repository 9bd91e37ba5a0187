"""SQLite's INSERT OR REPLACE rewrites no row that is there to stay.

It deletes without asking the DELETE trigger, unless the connection has ``recursive_triggers`` on.
Ours has; with these triggers the rows are safe from any program that opens the file. PostgreSQL's
``ON CONFLICT DO UPDATE`` is stopped by the UPDATE trigger.
"""

from __future__ import annotations

from typing import ClassVar

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation

UNIQUE = {
    "review_adjudication": ("id = NEW.id",),
    "review_blindanswer": ("id = NEW.id", "claim_id = NEW.claim_id"),
    "review_event": ("number = NEW.number", "sha256 = NEW.sha256"),
    "review_itemversion": ("id = NEW.id", "item_id = NEW.item_id AND number = NEW.number"),
    "review_release": ("id = NEW.id", "name = NEW.name"),
    "review_releaseitem": (
        "id = NEW.id",
        "release_id = NEW.release_id AND version_id = NEW.version_id",
    ),
    "review_review": ("id = NEW.id", "claim_id = NEW.claim_id"),
    "review_reviewreason": ("id = NEW.id",),
}
"""What can meet a row that is there: every unique key of a table."""


def _guard(_apps: Apps, schema: BaseDatabaseSchemaEditor) -> None:
    if schema.connection.vendor != "sqlite":
        return
    for table, keys in UNIQUE.items():
        there = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE {key})" for key in keys)  # noqa: S608
        schema.execute(
            f"CREATE TRIGGER {table}_no_REPLACE BEFORE INSERT ON {table} WHEN {there} "
            f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END",
            None,
        )


def _open(_apps: Apps, schema: BaseDatabaseSchemaEditor) -> None:
    if schema.connection.vendor == "sqlite":
        for table in UNIQUE:
            schema.execute(f"DROP TRIGGER {table}_no_REPLACE", None)


class Migration(migrations.Migration):
    """Adds the triggers."""

    dependencies: ClassVar[list[tuple[str, str]]] = [("review", "0004_one_item_in_hand")]
    operations: ClassVar[list[Operation]] = [migrations.RunPython(_guard, _open)]
