"""Assignments, specialties of a project, and places that are kept for specialists."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import migrations, models
from django.db.migrations.operations.base import Operation

_ID = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    """Adds them; earlier reviews are nobody's as a specialist, since no rule asked for it."""

    dependencies: ClassVar[list[tuple[str, str]]] = [("review", "0013_second_factor")]
    operations: ClassVar[list[Operation]] = [
        migrations.CreateModel(
            name="Specialty",
            fields=[
                ("id", _ID),
                ("name", models.CharField(max_length=48, unique=True)),
                ("anatomies", models.JSONField(default=list)),
                ("modalities", models.JSONField(default=list)),
            ],
        ),
        migrations.CreateModel(
            name="Assignment",
            fields=[
                ("id", _ID),
                ("mode", models.CharField(max_length=8)),
                ("source", models.CharField(blank=True, default="", max_length=64)),
                ("task", models.CharField(blank=True, default="", max_length=64)),
                ("anatomy", models.CharField(blank=True, default="", max_length=32)),
                ("modality", models.CharField(blank=True, default="", max_length=32)),
                ("specialty", models.CharField(blank=True, default="", max_length=48)),
                ("made_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "readers",
                    models.ManyToManyField(related_name="+", to=settings.AUTH_USER_MODEL),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.CheckConstraint(
                condition=models.Q(mode__in=("only", "first")), name="assignment_mode"
            ),
        ),
        migrations.AddField("claim", "specialist", models.BooleanField(default=False)),
        migrations.AddField("item", "for_specialist", models.BooleanField(default=False)),
        migrations.RemoveIndex("item", "queue_order"),
        migrations.AddIndex(
            "item",
            models.Index(
                fields=[
                    "state",
                    "gold_defect",
                    "for_specialist",
                    "-reviews",
                    "-priority",
                    "lot",
                    "sole_reader",
                    "source",
                    "task",
                    "anatomy",
                    "modality",
                    "id",
                ],
                name="queue_order",
            ),
        ),
    ]
