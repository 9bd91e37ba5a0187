"""Marks queues that were looked over for what copies and remarks tell.

Nothing is written here: ``setup.migrate`` compares the cases with the models of today, once all
steps are done.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations
from django.db.migrations.operations.base import Operation


class Migration(migrations.Migration):
    """No change of a table."""

    dependencies: ClassVar[list[tuple[str, str]]] = [("review", "0003_who_was_blind")]
    operations: ClassVar[list[Operation]] = []
