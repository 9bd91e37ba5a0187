"""Second factors, recovery codes, and who people are at the provider of single sign-on."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import migrations, models
from django.db.migrations.operations.base import Operation
from django.db.models.deletion import CASCADE

_KEY = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    """Nobody has any yet."""

    dependencies: ClassVar[list[tuple[str, str]]] = [("review", "0012_proposals")]
    operations: ClassVar[list[Operation]] = [
        migrations.CreateModel(
            name="SecondFactor",
            fields=[
                ("id", _KEY),
                ("secret", models.CharField(max_length=200)),
                ("last_step", models.BigIntegerField(default=-1)),
                ("confirmed_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=CASCADE,
                        related_name="second_factor",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RecoveryCode",
            fields=[
                ("id", _KEY.clone()),
                ("digest", models.CharField(max_length=64, unique=True)),
                (
                    "factor",
                    models.ForeignKey(
                        on_delete=CASCADE, related_name="codes", to="review.secondfactor"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Identity",
            fields=[
                ("id", _KEY.clone()),
                ("issuer", models.CharField(max_length=255)),
                ("subject", models.CharField(max_length=255)),
                ("linked_at", models.DateTimeField()),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=CASCADE, related_name="identity", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("issuer", "subject"), name="a_subject_once")
                ],
            },
        ),
    ]
