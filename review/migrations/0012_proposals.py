"""Wordings that reviewers propose, and the versions that were made of them; append-only."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation

_TABLES = ("review_proposal", "review_adoption")


def _guard(_apps: Apps, schema: BaseDatabaseSchemaEditor) -> None:
    for table in _TABLES:
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


def _open(_apps: Apps, schema: BaseDatabaseSchemaEditor) -> None:
    """The tables go, and their triggers with them."""


class Migration(migrations.Migration):
    """Adds the tables and their triggers."""

    dependencies: ClassVar[list[tuple[str, str]]] = [("review", "0011_temporary_password")]
    operations: ClassVar[list[Operation]] = [
        migrations.CreateModel(
            name="Proposal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("question", models.TextField()),
                ("options", models.JSONField()),
                ("key", models.PositiveSmallIntegerField()),
                ("flaws", models.JSONField(default=list)),
                (
                    "review",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="proposal",
                        to="review.review",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Adoption",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "proposal",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="adoptions",
                        to="review.proposal",
                    ),
                ),
                (
                    "version",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="adoption",
                        to="review.itemversion",
                    ),
                ),
            ],
        ),
        migrations.RunPython(_guard, _open),
    ]
