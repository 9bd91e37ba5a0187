"""Pictures have 8 bits; what a build kept of the original pixels stands beside them."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations
from django.db.migrations.operations.base import Operation


class Migration(migrations.Migration):
    """Gives the field that no import ever filled its use, and drops the depth that never varied."""

    dependencies: ClassVar[list[tuple[str, str]]] = [("review", "0014_assignment")]
    operations: ClassVar[list[Operation]] = [
        migrations.RenameField("asset", "presets", "original"),
        migrations.RemoveField("asset", "bits"),
    ]
