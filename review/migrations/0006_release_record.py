"""The model of a frozen release has a name of its own; its table stays as it is."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations
from django.db.migrations.operations.base import Operation


class Migration(migrations.Migration):
    """One name."""

    dependencies: ClassVar[list[tuple[str, str]]] = [("review", "0005_open_answers")]
    operations: ClassVar[list[Operation]] = [
        migrations.AlterModelTable("release", "review_release"),
        migrations.RenameModel("Release", "ReleaseRecord"),
    ]
