"""Tables of the first version: items, claims, reviews, and the chain of events."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.apps.registry import Apps
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.models.deletion import CASCADE, PROTECT

from medrcube.review.migrations._append_only import guard, guard_against_replacing
from medrcube.review.models.users import Role, new_pseudonym
from medrcube.review.reviewing.state_machine import ReviewState

_ID = (
    "id",
    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
)
_LIVE = models.Q(("released_at__isnull", True), ("submitted_at__isnull", True))
_UNIQUE = {
    "review_adjudication": ("id = NEW.id",),
    "review_blindanswer": ("id = NEW.id", "claim_id = NEW.claim_id"),
    "review_event": ("number = NEW.number", "sha256 = NEW.sha256"),
    "review_itemversion": ("id = NEW.id", "item_id = NEW.item_id AND number = NEW.number"),
    "review_release": ("id = NEW.id", "name = NEW.name"),
    "review_releaseitem": (
        "id = NEW.id",
        "release_id = NEW.release_id AND version_id = NEW.version_id",
    ),
    "review_review": ("id = NEW.id", "claim_id = NEW.claim_id"),
    "review_reviewreason": ("id = NEW.id",),
}
"""Append-only table -> what can meet a row that is there: every unique key of the table."""


def _guard(_apps: Apps, schema: BaseDatabaseSchemaEditor) -> None:
    guard(schema, _UNIQUE)
    guard_against_replacing(schema, _UNIQUE)


def _begin_chain(apps: Apps, _schema: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("review", "Chain").objects.create(pk=1, sha256="0" * 64)


class Migration(migrations.Migration):
    """Six steps of the first version in one; a database that has taken them all has this one."""

    initial = True
    replaces: ClassVar[list[tuple[str, str]]] = [
        ("review", "0001_tables"),
        ("review", "0002_append_only"),
        ("review", "0003_ready_for_one_in_hand"),
        ("review", "0004_one_item_in_hand"),
        ("review", "0005_no_replacing"),
        ("review", "0006_lists_by_task"),
    ]
    dependencies: ClassVar[list[tuple[str, str]]] = []
    operations: ClassVar[list[Operation]] = [
        migrations.CreateModel(
            "User",
            [
                _ID,
                ("password", models.CharField(max_length=128, verbose_name="password")),
                (
                    "last_login",
                    models.DateTimeField(blank=True, null=True, verbose_name="last login"),
                ),
                ("email", models.EmailField(max_length=254, unique=True)),
                (
                    "role",
                    models.CharField(
                        choices=Role.choices,
                        default=Role.REVIEWER,
                        max_length=16,
                    ),
                ),
                ("specialties", models.JSONField(blank=True, default=list)),
                ("pseudonym", models.CharField(default=new_pseudonym, max_length=32, unique=True)),
                ("is_active", models.BooleanField(default=True)),
                ("paused", models.BooleanField(default=False)),
                ("keymap", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            "Asset",
            [
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("sha256", models.CharField(max_length=64, unique=True)),
                ("width", models.PositiveIntegerField()),
                ("height", models.PositiveIntegerField()),
                ("bits", models.PositiveSmallIntegerField(default=8)),
                ("presets", models.JSONField(default=dict)),
            ],
        ),
        migrations.CreateModel(
            "Chain",
            [
                _ID,
                ("number", models.PositiveBigIntegerField(default=0)),
                ("sha256", models.CharField(max_length=64)),
            ],
        ),
        migrations.CreateModel(
            "Project",
            [
                _ID,
                ("name", models.CharField(max_length=200)),
                ("policy", models.JSONField(default=dict)),
                ("questionnaire", models.CharField(max_length=16)),
            ],
        ),
        migrations.CreateModel(
            "Release",
            [
                _ID,
                ("name", models.CharField(max_length=200, unique=True)),
                ("made_at", models.DateTimeField()),
                ("manifest_sha256", models.CharField(max_length=64)),
                ("head_number", models.PositiveBigIntegerField()),
                ("head_sha256", models.CharField(max_length=64)),
            ],
        ),
        migrations.CreateModel(
            "SignInAttempt",
            [
                _ID,
                ("who", models.CharField(db_index=True, max_length=64)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            "Event",
            [
                ("number", models.PositiveBigIntegerField(primary_key=True, serialize=False)),
                ("at", models.CharField(max_length=32)),
                ("actor", models.CharField(max_length=32)),
                ("kind", models.CharField(max_length=48)),
                ("object", models.CharField(max_length=96)),
                ("body", models.TextField()),
                ("previous_sha256", models.CharField(max_length=64)),
                ("sha256", models.CharField(max_length=64, unique=True)),
            ],
            options={
                "indexes": [models.Index(fields=["object", "number"], name="events_of_an_object")]
            },
        ),
        migrations.CreateModel(
            "Item",
            [
                ("id", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("source", models.CharField(max_length=64)),
                ("task", models.CharField(max_length=64)),
                ("anatomy", models.CharField(max_length=32)),
                ("modality", models.CharField(max_length=32)),
                ("stratum", models.CharField(max_length=160)),
                (
                    "state",
                    models.CharField(
                        choices=[(state.value, state.value) for state in ReviewState],
                        default=ReviewState.DRAFT,
                        max_length=16,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1)),
                ("reviews", models.PositiveSmallIntegerField(default=0)),
                ("priority", models.IntegerField(default=0)),
                ("lot", models.BigIntegerField()),
                ("gold_defect", models.CharField(blank=True, default="", max_length=32)),
                (
                    "copied_from",
                    models.ForeignKey(
                        "review.item", on_delete=PROTECT, null=True, related_name="gold_copies"
                    ),
                ),
                (
                    "sole_reviewer",
                    models.ForeignKey(
                        settings.AUTH_USER_MODEL,
                        on_delete=PROTECT,
                        db_index=False,
                        null=True,
                        related_name="+",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            "ItemVersion",
            [
                _ID,
                ("number", models.PositiveIntegerField()),
                ("question", models.TextField()),
                ("options", models.JSONField()),
                ("key", models.PositiveSmallIntegerField()),
                ("asks_mark", models.BooleanField(default=False)),
                ("provenance", models.JSONField(default=dict)),
                ("warnings", models.JSONField(default=list)),
                ("content_sha256", models.CharField(max_length=64)),
                ("note", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField()),
                (
                    "author",
                    models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=PROTECT, null=True),
                ),
                (
                    "item",
                    models.ForeignKey("review.item", on_delete=PROTECT, related_name="versions"),
                ),
                (
                    "overlay",
                    models.ForeignKey(
                        "review.asset", on_delete=PROTECT, null=True, related_name="+"
                    ),
                ),
                ("parent", models.ForeignKey("review.itemversion", on_delete=PROTECT, null=True)),
                ("picture", models.ForeignKey("review.asset", on_delete=PROTECT, related_name="+")),
            ],
        ),
        migrations.CreateModel(
            "Claim",
            [
                _ID,
                ("slot", models.PositiveIntegerField()),
                ("token", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("claimed_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("submitted_at", models.DateTimeField(null=True)),
                ("released_at", models.DateTimeField(null=True)),
                ("outcome", models.CharField(blank=True, default="", max_length=16)),
                (
                    "user",
                    models.ForeignKey(
                        settings.AUTH_USER_MODEL,
                        on_delete=PROTECT,
                        db_index=False,
                        related_name="claims",
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        "review.itemversion",
                        on_delete=PROTECT,
                        db_index=False,
                        related_name="claims",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            "BlindAnswer",
            [
                _ID,
                ("option", models.PositiveSmallIntegerField(null=True)),
                ("confidence", models.PositiveSmallIntegerField()),
                ("needs_image", models.CharField(max_length=8)),
                ("image_adequate", models.BooleanField()),
                ("milliseconds", models.PositiveIntegerField(default=0)),
                ("answered_at", models.DateTimeField()),
                (
                    "claim",
                    models.OneToOneField("review.claim", on_delete=PROTECT, related_name="blind"),
                ),
            ],
        ),
        migrations.CreateModel(
            "Draft",
            [
                _ID,
                ("body", models.JSONField(default=dict)),
                ("saved_at", models.DateTimeField()),
                ("user", models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=CASCADE)),
                ("version", models.ForeignKey("review.itemversion", on_delete=CASCADE)),
            ],
        ),
        migrations.CreateModel(
            "Comment",
            [
                _ID,
                ("text", models.TextField()),
                ("resolved", models.BooleanField(default=False)),
                ("written_at", models.DateTimeField()),
                ("author", models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=PROTECT)),
                (
                    "version",
                    models.ForeignKey(
                        "review.itemversion", on_delete=PROTECT, related_name="comments"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            "Adjudication",
            [
                _ID,
                ("outcome", models.CharField(max_length=8)),
                ("rationale", models.TextField()),
                ("decided_at", models.DateTimeField()),
                ("adjudicator", models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=PROTECT)),
                (
                    "version",
                    models.ForeignKey(
                        "review.itemversion", on_delete=PROTECT, related_name="adjudications"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            "AgreementSnapshot",
            [
                _ID,
                ("stratum", models.CharField(max_length=160)),
                ("metric", models.CharField(max_length=32)),
                ("value", models.FloatField(null=True)),
                ("low", models.FloatField(null=True)),
                ("high", models.FloatField(null=True)),
                ("items", models.PositiveIntegerField()),
                ("why_undefined", models.CharField(blank=True, default="", max_length=32)),
                (
                    "release",
                    models.ForeignKey(
                        "review.release", on_delete=PROTECT, related_name="agreement"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            "ReleaseItem",
            [
                _ID,
                (
                    "release",
                    models.ForeignKey("review.release", on_delete=PROTECT, related_name="items"),
                ),
                ("version", models.ForeignKey("review.itemversion", on_delete=PROTECT)),
            ],
        ),
        migrations.CreateModel(
            "Review",
            [
                _ID,
                ("decision", models.CharField(max_length=8)),
                ("checklist", models.JSONField(default=dict)),
                ("verdicts", models.JSONField(default=dict)),
                ("comment", models.TextField(blank=True, default="")),
                ("seconds", models.PositiveIntegerField(default=0)),
                ("submitted_at", models.DateTimeField()),
                (
                    "claim",
                    models.OneToOneField("review.claim", on_delete=PROTECT, related_name="review"),
                ),
            ],
        ),
        migrations.CreateModel(
            "ReviewReason",
            [
                _ID,
                ("code", models.CharField(max_length=32)),
                ("option", models.PositiveSmallIntegerField(null=True)),
                (
                    "review",
                    models.ForeignKey("review.review", on_delete=PROTECT, related_name="reasons"),
                ),
            ],
        ),
        migrations.AddIndex("item", models.Index(fields=["state", "id"], name="list_by_state")),
        migrations.AddIndex(
            "item",
            models.Index(
                fields=["state", "gold_defect", "-reviews", "-priority", "lot", "sole_reviewer"],
                name="queue_order",
            ),
        ),
        migrations.AddIndex("item", models.Index(fields=["stratum", "id"], name="list_by_stratum")),
        migrations.AddIndex("item", models.Index(fields=["source", "id"], name="list_by_source")),
        migrations.AddIndex("item", models.Index(fields=["task", "id"], name="list_by_task")),
        migrations.AddIndex(
            "item", models.Index(fields=["state", "task", "id"], name="list_by_state_and_task")
        ),
        migrations.AddConstraint(
            "itemversion",
            models.UniqueConstraint(fields=("item", "number"), name="one_version_of_a_number"),
        ),
        migrations.AddConstraint(
            "draft",
            models.UniqueConstraint(fields=("version", "user"), name="one_draft_of_a_reviewer"),
        ),
        migrations.AddIndex(
            "claim",
            models.Index(condition=_LIVE, fields=["expires_at"], name="claims_that_may_expire"),
        ),
        migrations.AddIndex(
            "claim", models.Index(fields=["version", "user"], name="claims_on_a_version")
        ),
        migrations.AddIndex(
            "claim", models.Index(fields=["user", "submitted_at"], name="claims_of_a_reviewer")
        ),
        migrations.AddConstraint(
            "claim",
            models.UniqueConstraint(
                condition=models.Q(("released_at__isnull", True)),
                fields=("version", "slot"),
                name="one_holder_of_a_slot",
            ),
        ),
        migrations.AddConstraint(
            "claim",
            models.UniqueConstraint(
                condition=models.Q(("released_at__isnull", True)),
                fields=("version", "user"),
                name="one_claim_of_a_reviewer",
            ),
        ),
        migrations.AddConstraint(
            "claim",
            models.UniqueConstraint(condition=_LIVE, fields=("user",), name="one_item_in_hand"),
        ),
        migrations.AddConstraint(
            "releaseitem",
            models.UniqueConstraint(fields=("release", "version"), name="a_version_once"),
        ),
        migrations.RunPython(_guard),
        migrations.RunPython(_begin_chain),
    ]
