"""Keys have one meaning each and are no longer chosen; they can still be turned off."""

from __future__ import annotations

from typing import Any, ClassVar

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation


def carry_over(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Keep the wish of those who had turned them off."""
    users: Any = apps.get_model("review", "User").objects
    wishes = users.exclude(keymap={}).values_list("pk", "keymap")
    without = [key for key, stored in wishes if stored.get("off") is True]
    users.filter(pk__in=without).update(single_keys=False)


class Migration(migrations.Migration):
    """A boolean takes the place of the table of keys."""

    dependencies: ClassVar[list[tuple[str, str]]] = [("review", "0008_who_was_blind")]
    operations: ClassVar[list[Operation]] = [
        migrations.AddField("user", "single_keys", models.BooleanField(default=True)),
        migrations.RunPython(carry_over, migrations.RunPython.noop),
        migrations.RemoveField("user", "keymap"),
    ]
