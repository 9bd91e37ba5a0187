"""Remarks from outside, append-only."""

from __future__ import annotations

from typing import ClassVar

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation

_TABLE = "review_remark"


def _guard(_apps: Apps, schema: BaseDatabaseSchemaEditor) -> None:
    if schema.connection.vendor != "sqlite":
        schema.execute(
            f"CREATE TRIGGER {_TABLE}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {_TABLE} "
            "FOR EACH STATEMENT EXECUTE FUNCTION review_append_only()",
            None,
        )
        return
    for verb in ("UPDATE", "DELETE"):
        schema.execute(
            f"CREATE TRIGGER {_TABLE}_no_{verb} BEFORE {verb} ON {_TABLE} "
            f"BEGIN SELECT RAISE(ABORT, '{_TABLE} is append-only'); END"
        )


def _open(_apps: Apps, schema: BaseDatabaseSchemaEditor) -> None:
    """The table goes, and its triggers with it."""


class Migration(migrations.Migration):
    """Adds the table and its triggers."""

    dependencies: ClassVar[list[tuple[str, str]]] = [("review", "0009_single_keys")]
    operations: ClassVar[list[Operation]] = [
        migrations.CreateModel(
            name="Remark",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("text", models.TextField()),
                ("origin", models.CharField(max_length=60)),
                ("sha256", models.CharField(max_length=64)),
                ("imported_at", models.DateTimeField()),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=models.PROTECT, related_name="remarks", to="review.item"
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="remark",
            constraint=models.UniqueConstraint(
                fields=["item", "sha256"], name="one_remark_of_a_text"
            ),
        ),
        migrations.RunPython(_guard, _open),
    ]
