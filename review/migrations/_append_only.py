"""Triggers with which a database refuses to change or delete rows that record what happened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.db.backends.base.schema import BaseDatabaseSchemaEditor

__all__ = ["guard", "guard_against_replacing"]

_FUNCTION = """
CREATE OR REPLACE FUNCTION review_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$
"""


def guard(schema: BaseDatabaseSchemaEditor, tables: Iterable[str]) -> None:
    """Refuse UPDATE and DELETE."""
    if schema.connection.vendor != "sqlite":
        schema.execute(_FUNCTION, None)  # no parameters: its "%" is PL/pgSQL's
    for table in tables:
        if schema.connection.vendor != "sqlite":
            schema.execute(
                f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE "
                f"ON {table} FOR EACH STATEMENT EXECUTE FUNCTION review_append_only()",
                None,
            )
            continue
        for verb in ("UPDATE", "DELETE"):
            schema.execute(
                f"CREATE TRIGGER {table}_no_{verb} BEFORE {verb} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
            )


def guard_against_replacing(
    schema: BaseDatabaseSchemaEditor, keys: Mapping[str, Sequence[str]]
) -> None:
    """Refuse SQLite's INSERT OR REPLACE of a row that is there, by any program.

    It deletes without asking the DELETE trigger, unless the connection has ``recursive_triggers``
    on, as ours has. PostgreSQL's ``ON CONFLICT DO UPDATE`` is stopped by the UPDATE trigger.

    Args:
        schema: editor of the migration.
        keys: table -> conditions on ``NEW``, one for each unique key.
    """
    if schema.connection.vendor != "sqlite":
        return
    for table, conditions in keys.items():
        there = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE {key})" for key in conditions)  # noqa: S608
        schema.execute(
            f"CREATE TRIGGER {table}_no_REPLACE BEFORE INSERT ON {table} WHEN {there} "
            f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END",
            None,
        )
