"""Rows that record what happened refuse UPDATE and DELETE, in the database itself."""

from __future__ import annotations

from typing import ClassVar

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation

TABLES = (
    "review_adjudication",
    "review_blindanswer",
    "review_event",
    "review_itemversion",
    "review_release",
    "review_releaseitem",
    "review_review",
    "review_reviewreason",
)
_SQLITE = """
CREATE TRIGGER {table}_no_{verb} BEFORE {verb} ON {table}
BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END
"""
_FUNCTION = """
CREATE OR REPLACE FUNCTION review_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$
"""
_POSTGRESQL = """
CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}
FOR EACH STATEMENT EXECUTE FUNCTION review_append_only()
"""


def _guard(_apps: Apps, schema: BaseDatabaseSchemaEditor) -> None:
    if schema.connection.vendor == "sqlite":
        for table in TABLES:
            for verb in ("UPDATE", "DELETE"):
                schema.execute(_SQLITE.format(table=table, verb=verb))
    else:
        schema.execute(_FUNCTION, None)  # no parameters: its "%" is PL/pgSQL's
        for table in TABLES:
            schema.execute(_POSTGRESQL.format(table=table), None)


def _open(_apps: Apps, schema: BaseDatabaseSchemaEditor) -> None:
    for table in TABLES:
        if schema.connection.vendor == "sqlite":
            schema.execute(f"DROP TRIGGER {table}_no_UPDATE")
            schema.execute(f"DROP TRIGGER {table}_no_DELETE")
        else:
            schema.execute(f"DROP TRIGGER {table}_append_only ON {table}")


class Migration(migrations.Migration):
    """Adds the triggers."""

    dependencies: ClassVar[list[tuple[str, str]]] = [("review", "0001_tables")]
    operations: ClassVar[list[Operation]] = [migrations.RunPython(_guard, _open)]
