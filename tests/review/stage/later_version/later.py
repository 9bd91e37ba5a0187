"""Columns in a guarded table and in one that is written anew, another table, and rows."""

from typing import ClassVar

from django.db import migrations, models
from stage.later_version import TODAY


def _fill(apps, _schema):
    apps.get_model("review", "Shelf").objects.create(name="first")


class Migration(migrations.Migration):
    dependencies: ClassVar = [("review", TODAY)]
    operations: ClassVar = [
        migrations.AddField("itemversion", "language", models.CharField(max_length=8, null=True)),
        migrations.AddField("item", "shelf_mark", models.CharField(default="none", max_length=8)),
        migrations.CreateModel(
            "Shelf",
            [
                ("id", models.BigAutoField(primary_key=True)),
                ("name", models.CharField(max_length=8)),
            ],
        ),
        migrations.RunPython(_fill),
    ]
