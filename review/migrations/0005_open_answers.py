"""Items without options: what they ask for and accept, and the answers of reviewers.

Both columns are empty in rows that are there, so no table is written anew and no trigger is lost.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models
from django.db.migrations.operations.base import Operation


class Migration(migrations.Migration):
    """Two columns."""

    dependencies: ClassVar[list[tuple[str, str]]] = [("review", "0004_late_comparisons")]
    operations: ClassVar[list[Operation]] = [
        migrations.AddField("itemversion", "target", models.JSONField(null=True)),
        migrations.AddField("blindanswer", "value", models.JSONField(null=True)),
    ]
