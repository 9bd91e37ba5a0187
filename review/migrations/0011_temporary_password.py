"""A password that somebody else chose is changed at the first sign-in."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models
from django.db.migrations.operations.base import Operation


class Migration(migrations.Migration):
    """Adds the mark; passwords that are in use stay."""

    dependencies: ClassVar[list[tuple[str, str]]] = [("review", "0010_remarks")]
    operations: ClassVar[list[Operation]] = [
        migrations.AddField("user", "temporary_password", models.BooleanField(default=False)),
    ]
