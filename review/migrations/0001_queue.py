"""Tables of a queue, their triggers, and the head of the event chain."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, ClassVar

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.models import Index, Q, UniqueConstraint
from django.db.models.deletion import CASCADE, PROTECT

from medrcube.review.migrations._append_only import guard, guard_against_replacing
from medrcube.review.models.users import Role, new_pseudonym
from medrcube.review.reviewing.state_machine import ReviewState

_UNIQUE = {
    "review_adjudication": ("id = NEW.id",),
    "review_adoption": ("id = NEW.id", "version_id = NEW.version_id"),
    "review_blindanswer": ("id = NEW.id", "claim_id = NEW.claim_id"),
    "review_event": ("number = NEW.number", "sha256 = NEW.sha256"),
    "review_itemversion": ("id = NEW.id", "item_id = NEW.item_id AND number = NEW.number"),
    "review_proposal": ("id = NEW.id", "review_id = NEW.review_id"),
    "review_releaseitem": (
        "id = NEW.id",
        "release_id = NEW.release_id AND version_id = NEW.version_id",
    ),
    "review_releaserecord": ("id = NEW.id", "name = NEW.name"),
    "review_remark": ("id = NEW.id", "item_id = NEW.item_id AND sha256 = NEW.sha256"),
    "review_review": ("id = NEW.id", "claim_id = NEW.claim_id"),
    "review_reviewreason": ("id = NEW.id",),
}
"""Append-only table -> what can meet a row that is there: every unique key of the table."""
_UNRELEASED = Q(("released_at__isnull", True))
_LIVE = Q(("released_at__isnull", True), ("submitted_at__isnull", True))


def _guard(_apps: Apps, schema: BaseDatabaseSchemaEditor) -> None:
    guard(schema, _UNIQUE)
    guard_against_replacing(schema, _UNIQUE)


def _begin_chain(apps: Apps, _schema: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("review", "Chain").objects.create(pk=1, sha256="0" * 64)


def _table(
    model: str,
    /,
    *,
    indexes: Sequence[Index] = (),
    constraints: Sequence[models.BaseConstraint] = (),
    **fields: models.Field[Any, Any],
) -> Operation:
    """Return the operation that creates a table; its key is a number unless a field is the key."""
    if not any(field.primary_key for field in fields.values()):
        number = models.BigAutoField(
            auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
        )
        fields = {"id": number, **fields}
    options = {"indexes": list(indexes), "constraints": list(constraints)}
    return migrations.CreateModel(
        model, list(fields.items()), {name: value for name, value in options.items() if value}
    )


def _to(model: str, **options: Any) -> models.ForeignKey[Any, Any]:
    return models.ForeignKey(f"review.{model}", **{"on_delete": PROTECT, **options})


def _of_one(model: str, **options: Any) -> models.OneToOneField[Any, Any]:
    return models.OneToOneField(f"review.{model}", **{"on_delete": PROTECT, **options})


class Migration(migrations.Migration):
    """The first version."""

    initial = True
    dependencies: ClassVar[list[tuple[str, str]]] = []
    operations: ClassVar[list[Operation]] = [
        _table(
            "User",
            password=models.CharField(max_length=128, verbose_name="password"),
            last_login=models.DateTimeField(blank=True, null=True, verbose_name="last login"),
            email=models.EmailField(max_length=254, unique=True),
            role=models.CharField(choices=Role.choices, default=Role.REVIEWER, max_length=16),
            specialties=models.JSONField(blank=True, default=list),
            pseudonym=models.CharField(default=new_pseudonym, max_length=32, unique=True),
            is_active=models.BooleanField(default=True),
            paused=models.BooleanField(default=False),
            temporary_password=models.BooleanField(default=False),
            single_keys=models.BooleanField(default=True),
            created_at=models.DateTimeField(auto_now_add=True),
        ),
        _table(
            "SecondFactor",
            user=_of_one("user", on_delete=CASCADE, related_name="second_factor"),
            secret=models.CharField(max_length=200),
            last_step=models.BigIntegerField(default=-1),
            confirmed_at=models.DateTimeField(),
        ),
        _table(
            "RecoveryCode",
            factor=_to("secondfactor", on_delete=CASCADE, related_name="codes"),
            digest=models.CharField(max_length=64, unique=True),
        ),
        _table(
            "Identity",
            user=_of_one("user", on_delete=CASCADE, related_name="identity"),
            issuer=models.CharField(max_length=255),
            subject=models.CharField(max_length=255),
            linked_at=models.DateTimeField(),
            constraints=[UniqueConstraint(fields=("issuer", "subject"), name="a_subject_once")],
        ),
        _table(
            "SignInAttempt",
            who=models.CharField(db_index=True, max_length=64),
            at=models.DateTimeField(),
        ),
        _table(
            "Project",
            name=models.CharField(max_length=200),
            policy=models.JSONField(default=dict),
            questionnaire=models.CharField(max_length=16),
        ),
        _table(
            "Specialty",
            name=models.CharField(max_length=48, unique=True),
            anatomies=models.JSONField(default=list),
            modalities=models.JSONField(default=list),
        ),
        _table(
            "Assignment",
            mode=models.CharField(max_length=8),
            source=models.CharField(blank=True, default="", max_length=64),
            task=models.CharField(blank=True, default="", max_length=64),
            anatomy=models.CharField(blank=True, default="", max_length=32),
            modality=models.CharField(blank=True, default="", max_length=32),
            specialty=models.CharField(blank=True, default="", max_length=48),
            reviewers=models.ManyToManyField("review.user", related_name="+"),
            made_at=models.DateTimeField(),
            ended_at=models.DateTimeField(null=True),
            constraints=[
                models.CheckConstraint(
                    condition=Q(("mode__in", ("only", "first"))), name="assignment_mode"
                )
            ],
        ),
        _table(
            "Event",
            number=models.PositiveBigIntegerField(primary_key=True, serialize=False),
            at=models.CharField(max_length=32),
            actor=models.CharField(max_length=32),
            kind=models.CharField(max_length=48),
            object=models.CharField(max_length=96),
            body=models.TextField(),
            previous_sha256=models.CharField(max_length=64),
            sha256=models.CharField(max_length=64, unique=True),
            indexes=[Index(fields=["object", "number"], name="events_of_an_object")],
        ),
        _table(
            "Chain",
            number=models.PositiveBigIntegerField(default=0),
            sha256=models.CharField(max_length=64),
        ),
        _table(
            "Asset",
            id=models.UUIDField(
                default=uuid.uuid4, editable=False, primary_key=True, serialize=False
            ),
            sha256=models.CharField(max_length=64, unique=True),
            width=models.PositiveIntegerField(),
            height=models.PositiveIntegerField(),
            original=models.JSONField(default=dict),
        ),
        _table(
            "Item",
            id=models.CharField(max_length=64, primary_key=True, serialize=False),
            source=models.CharField(max_length=64),
            task=models.CharField(max_length=64),
            anatomy=models.CharField(max_length=32),
            modality=models.CharField(max_length=32),
            case_key=models.CharField(blank=True, db_index=True, default="", max_length=32),
            stratum=models.CharField(max_length=160),
            state=models.CharField(
                choices=[(state.value, state.value) for state in ReviewState],
                default=ReviewState.DRAFT,
                max_length=16,
            ),
            version=models.PositiveIntegerField(default=1),
            reviews=models.PositiveSmallIntegerField(default=0),
            sole_reviewer=_to("user", db_index=False, null=True, related_name="+"),
            for_specialist=models.BooleanField(default=False),
            priority=models.IntegerField(default=0),
            lot=models.BigIntegerField(),
            gold_defect=models.CharField(blank=True, default="", max_length=32),
            copied_from=_to("item", null=True, related_name="gold_copies"),
            indexes=[
                Index(
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
                Index(fields=["state", "id"], name="list_by_state"),
                Index(fields=["task", "id"], name="list_by_task"),
                Index(fields=["state", "task", "id"], name="list_by_state_and_task"),
                Index(fields=["stratum", "id"], name="list_by_stratum"),
                Index(fields=["source", "id"], name="list_by_source"),
            ],
        ),
        _table(
            "Incident",
            item=_to("item", related_name="+"),
            reporter=_to("user", related_name="+"),
            reported_at=models.DateTimeField(),
            closed_at=models.DateTimeField(null=True),
        ),
        migrations.AddField("item", "incident", _to("incident", null=True, related_name="items")),
        _table(
            "Disclosure",
            by=_to("item", db_index=False, related_name="tells"),
            told=_to("item", related_name="told_by"),
            at_sight=models.BooleanField(),
            constraints=[UniqueConstraint(fields=("by", "told"), name="one_disclosure_of_a_pair")],
        ),
        _table(
            "Exposure",
            user=_to("user", db_index=False, related_name="+"),
            item=_to("item", related_name="exposures"),
            by=_to("item", related_name="+"),
            at=models.DateTimeField(),
            constraints=[
                UniqueConstraint(fields=("user", "item", "by"), name="one_exposure_of_a_reviewer")
            ],
        ),
        _table(
            "RawFile",
            item=_to("item", related_name="raw_files"),
            sha256=models.CharField(db_index=True, max_length=64),
            constraints=[
                UniqueConstraint(fields=("item", "sha256"), name="one_raw_file_of_an_item")
            ],
        ),
        _table(
            "Remark",
            item=_to("item", related_name="remarks"),
            text=models.TextField(),
            origin=models.CharField(max_length=60),
            sha256=models.CharField(max_length=64),
            imported_at=models.DateTimeField(),
            constraints=[UniqueConstraint(fields=("item", "sha256"), name="one_remark_of_a_text")],
        ),
        _table(
            "ItemVersion",
            item=_to("item", related_name="versions"),
            number=models.PositiveIntegerField(),
            question=models.TextField(),
            options=models.JSONField(),
            key=models.PositiveSmallIntegerField(),
            target=models.JSONField(null=True),
            picture=_to("asset", related_name="+"),
            overlay=_to("asset", null=True, related_name="+"),
            asks_mark=models.BooleanField(default=False),
            provenance=models.JSONField(default=dict),
            warnings=models.JSONField(default=list),
            content_sha256=models.CharField(max_length=64),
            parent=_to("itemversion", null=True),
            author=_to("user", null=True),
            note=models.TextField(blank=True, default=""),
            created_at=models.DateTimeField(),
            constraints=[
                UniqueConstraint(fields=("item", "number"), name="one_version_of_a_number")
            ],
        ),
        _table(
            "Claim",
            version=_to("itemversion", db_index=False, related_name="claims"),
            user=_to("user", db_index=False, related_name="claims"),
            slot=models.PositiveIntegerField(),
            token=models.UUIDField(default=uuid.uuid4, editable=False, unique=True),
            claimed_at=models.DateTimeField(),
            expires_at=models.DateTimeField(),
            submitted_at=models.DateTimeField(null=True),
            released_at=models.DateTimeField(null=True),
            outcome=models.CharField(blank=True, default="", max_length=16),
            blinded=models.BooleanField(default=True),
            specialist=models.BooleanField(default=False),
            indexes=[
                Index(condition=_LIVE, fields=["expires_at"], name="claims_that_may_expire"),
                Index(fields=["version", "user"], name="claims_on_a_version"),
                Index(fields=["user", "submitted_at"], name="claims_of_a_reviewer"),
            ],
            constraints=[
                UniqueConstraint(
                    condition=_UNRELEASED, fields=("version", "slot"), name="one_holder_of_a_slot"
                ),
                UniqueConstraint(
                    condition=_UNRELEASED,
                    fields=("version", "user"),
                    name="one_claim_of_a_reviewer",
                ),
                UniqueConstraint(condition=_LIVE, fields=("user",), name="one_item_in_hand"),
            ],
        ),
        _table(
            "Draft",
            version=_to("itemversion", on_delete=CASCADE),
            user=_to("user", on_delete=CASCADE),
            body=models.JSONField(default=dict),
            saved_at=models.DateTimeField(),
            constraints=[
                UniqueConstraint(fields=("version", "user"), name="one_draft_of_a_reviewer")
            ],
        ),
        _table(
            "BlindAnswer",
            claim=_of_one("claim", related_name="blind"),
            option=models.PositiveSmallIntegerField(null=True),
            value=models.JSONField(null=True),
            confidence=models.PositiveSmallIntegerField(),
            needs_image=models.CharField(max_length=8),
            image_adequate=models.BooleanField(),
            milliseconds=models.PositiveIntegerField(default=0),
            answered_at=models.DateTimeField(),
        ),
        _table(
            "Review",
            claim=_of_one("claim", related_name="review"),
            decision=models.CharField(max_length=8),
            checklist=models.JSONField(default=dict),
            verdicts=models.JSONField(default=dict),
            comment=models.TextField(blank=True, default=""),
            seconds=models.PositiveIntegerField(default=0),
            submitted_at=models.DateTimeField(),
        ),
        _table(
            "ReviewReason",
            review=_to("review", related_name="reasons"),
            code=models.CharField(max_length=32),
            option=models.PositiveSmallIntegerField(null=True),
        ),
        _table(
            "Proposal",
            review=_of_one("review", related_name="proposal"),
            question=models.TextField(),
            options=models.JSONField(),
            key=models.PositiveSmallIntegerField(),
            flaws=models.JSONField(default=list),
        ),
        _table(
            "Adoption",
            version=_of_one("itemversion", related_name="adoption"),
            proposal=_to("proposal", related_name="adoptions"),
        ),
        _table(
            "Comment",
            version=_to("itemversion", related_name="comments"),
            author=_to("user"),
            text=models.TextField(),
            resolved=models.BooleanField(default=False),
            written_at=models.DateTimeField(),
        ),
        _table(
            "Adjudication",
            version=_to("itemversion", related_name="adjudications"),
            adjudicator=_to("user"),
            outcome=models.CharField(max_length=8),
            rationale=models.TextField(),
            decided_at=models.DateTimeField(),
        ),
        _table(
            "ReleaseRecord",
            name=models.CharField(max_length=200, unique=True),
            made_at=models.DateTimeField(),
            manifest_sha256=models.CharField(max_length=64),
            head_number=models.PositiveBigIntegerField(),
            head_sha256=models.CharField(max_length=64),
        ),
        _table(
            "ReleaseItem",
            release=_to("releaserecord", related_name="items"),
            version=_to("itemversion"),
            constraints=[UniqueConstraint(fields=("release", "version"), name="a_version_once")],
        ),
        _table(
            "AgreementSnapshot",
            release=_to("releaserecord", related_name="agreement"),
            stratum=models.CharField(max_length=160),
            metric=models.CharField(max_length=32),
            value=models.FloatField(null=True),
            low=models.FloatField(null=True),
            high=models.FloatField(null=True),
            items=models.PositiveIntegerField(),
            why_undefined=models.CharField(blank=True, default="", max_length=32),
        ),
        migrations.RunPython(_guard),
        migrations.RunPython(_begin_chain),
    ]
