"""Who is blind, proposals, remarks, second factors, assignments, and original pixels."""

from __future__ import annotations

from typing import Any, ClassVar

from django.apps.registry import Apps
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.models.deletion import CASCADE, PROTECT

from medrcube.review.migrations._append_only import guard

_ID = (
    "id",
    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
)


def _guard(_apps: Apps, schema: BaseDatabaseSchemaEditor) -> None:
    guard(schema, ("review_remark", "review_proposal", "review_adoption"))


def _carry_over(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Who had turned keys off still has them off; keys are chosen no longer."""
    users: Any = apps.get_model("review", "User").objects
    wishes = users.exclude(keymap={}).values_list("pk", "keymap")
    without = [key for key, stored in wishes if stored.get("off") is True]
    users.filter(pk__in=without).update(single_keys=False)


class Migration(migrations.Migration):
    """Adds the tables, columns and triggers."""

    replaces: ClassVar[list[tuple[str, str]]] = [
        ("review", "0007_blindness"),
        ("review", "0009_single_keys"),
        ("review", "0010_remarks"),
        ("review", "0011_temporary_password"),
        ("review", "0012_proposals"),
        ("review", "0013_second_factor"),
        ("review", "0014_assignment"),
    ]
    dependencies: ClassVar[list[tuple[str, str]]] = [("review", "0001_queue")]
    operations: ClassVar[list[Operation]] = [
        migrations.AddField("claim", "blinded", models.BooleanField(default=True)),
        migrations.AddField(
            "item",
            "case_key",
            models.CharField(blank=True, db_index=True, default="", max_length=32),
        ),
        migrations.CreateModel(
            "Incident",
            [
                _ID,
                ("reported_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(null=True)),
                ("item", models.ForeignKey("review.item", on_delete=PROTECT, related_name="+")),
                (
                    "reporter",
                    models.ForeignKey(
                        settings.AUTH_USER_MODEL, on_delete=PROTECT, related_name="+"
                    ),
                ),
            ],
        ),
        migrations.AddField(
            "item",
            "incident",
            models.ForeignKey(
                "review.incident", on_delete=PROTECT, null=True, related_name="items"
            ),
        ),
        migrations.CreateModel(
            "Disclosure",
            [
                _ID,
                ("at_sight", models.BooleanField()),
                (
                    "by",
                    models.ForeignKey(
                        "review.item", on_delete=PROTECT, db_index=False, related_name="tells"
                    ),
                ),
                (
                    "told",
                    models.ForeignKey("review.item", on_delete=PROTECT, related_name="told_by"),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("by", "told"), name="one_disclosure_of_a_pair")
                ]
            },
        ),
        migrations.CreateModel(
            "Exposure",
            [
                _ID,
                ("at", models.DateTimeField()),
                ("by", models.ForeignKey("review.item", on_delete=PROTECT, related_name="+")),
                (
                    "item",
                    models.ForeignKey("review.item", on_delete=PROTECT, related_name="exposures"),
                ),
                (
                    "user",
                    models.ForeignKey(
                        settings.AUTH_USER_MODEL,
                        on_delete=PROTECT,
                        db_index=False,
                        related_name="+",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("user", "item", "by"), name="one_exposure_of_a_reviewer"
                    )
                ]
            },
        ),
        migrations.CreateModel(
            "RawFile",
            [
                _ID,
                ("sha256", models.CharField(db_index=True, max_length=64)),
                (
                    "item",
                    models.ForeignKey("review.item", on_delete=PROTECT, related_name="raw_files"),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("item", "sha256"), name="one_raw_file_of_an_item"
                    )
                ]
            },
        ),
        migrations.AddField("user", "single_keys", models.BooleanField(default=True)),
        migrations.CreateModel(
            "Remark",
            [
                _ID,
                ("text", models.TextField()),
                ("origin", models.CharField(max_length=60)),
                ("sha256", models.CharField(max_length=64)),
                ("imported_at", models.DateTimeField()),
                (
                    "item",
                    models.ForeignKey("review.item", on_delete=PROTECT, related_name="remarks"),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("item", "sha256"), name="one_remark_of_a_text")
                ]
            },
        ),
        migrations.AddField("user", "temporary_password", models.BooleanField(default=False)),
        migrations.CreateModel(
            "Proposal",
            [
                _ID,
                ("question", models.TextField()),
                ("options", models.JSONField()),
                ("key", models.PositiveSmallIntegerField()),
                ("flaws", models.JSONField(default=list)),
                (
                    "review",
                    models.OneToOneField(
                        "review.review", on_delete=PROTECT, related_name="proposal"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            "Adoption",
            [
                _ID,
                (
                    "proposal",
                    models.ForeignKey(
                        "review.proposal", on_delete=PROTECT, related_name="adoptions"
                    ),
                ),
                (
                    "version",
                    models.OneToOneField(
                        "review.itemversion", on_delete=PROTECT, related_name="adoption"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            "SecondFactor",
            [
                _ID,
                ("secret", models.CharField(max_length=200)),
                ("last_step", models.BigIntegerField(default=-1)),
                ("confirmed_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.OneToOneField(
                        settings.AUTH_USER_MODEL, on_delete=CASCADE, related_name="second_factor"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            "RecoveryCode",
            [
                _ID,
                ("digest", models.CharField(max_length=64, unique=True)),
                (
                    "factor",
                    models.ForeignKey(
                        "review.secondfactor", on_delete=CASCADE, related_name="codes"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            "Identity",
            [
                _ID,
                ("issuer", models.CharField(max_length=255)),
                ("subject", models.CharField(max_length=255)),
                ("linked_at", models.DateTimeField()),
                (
                    "user",
                    models.OneToOneField(
                        settings.AUTH_USER_MODEL, on_delete=CASCADE, related_name="identity"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("issuer", "subject"), name="a_subject_once")
                ]
            },
        ),
        migrations.CreateModel(
            "Specialty",
            [
                _ID,
                ("name", models.CharField(max_length=48, unique=True)),
                ("anatomies", models.JSONField(default=list)),
                ("modalities", models.JSONField(default=list)),
            ],
        ),
        migrations.CreateModel(
            "Assignment",
            [
                _ID,
                ("mode", models.CharField(max_length=8)),
                ("source", models.CharField(blank=True, default="", max_length=64)),
                ("task", models.CharField(blank=True, default="", max_length=64)),
                ("anatomy", models.CharField(blank=True, default="", max_length=32)),
                ("modality", models.CharField(blank=True, default="", max_length=32)),
                ("specialty", models.CharField(blank=True, default="", max_length=48)),
                ("made_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "reviewers",
                    models.ManyToManyField(related_name="+", to=settings.AUTH_USER_MODEL),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("mode__in", ("only", "first"))), name="assignment_mode"
                    )
                ]
            },
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
                    "sole_reviewer",
                    "source",
                    "task",
                    "anatomy",
                    "modality",
                    "id",
                ],
                name="queue_order",
            ),
        ),
        migrations.RenameField("asset", "presets", "original"),
        migrations.RemoveField("asset", "bits"),
        migrations.RunPython(_guard, migrations.RunPython.noop),
        migrations.RunPython(_carry_over, migrations.RunPython.noop),
        migrations.RemoveField("user", "keymap"),
    ]
