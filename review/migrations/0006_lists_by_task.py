"""Lists of one task begin at their place in an index, however rare the task is."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models
from django.db.migrations.operations.base import Operation


class Migration(migrations.Migration):
    """Adds the indexes."""

    dependencies: ClassVar[list[tuple[str, str]]] = [("review", "0005_no_replacing")]
    operations: ClassVar[list[Operation]] = [
        migrations.AddIndex(
            model_name="item",
            index=models.Index(fields=["task", "id"], name="list_by_task"),
        ),
        migrations.AddIndex(
            model_name="item",
            index=models.Index(fields=["state", "task", "id"], name="list_by_state_and_task"),
        ),
    ]
