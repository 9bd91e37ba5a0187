"""Models of assignments and specialties."""

from __future__ import annotations

from django.db import models

__all__ = ["Assignment", "Specialty"]


class Specialty(models.Model):
    """A specialty that this project has added to the vocabulary of ``specialties.toml``.

    Attributes:
        anatomies: values of the taxonomy; empty for all.
        modalities: the same.
    """

    name = models.CharField(max_length=48, unique=True)
    anatomies = models.JSONField(default=list)
    modalities = models.JSONField(default=list)


class Assignment(models.Model):
    """Items that go to some reviewers only, or to them first; ended ones stay on record.

    Attributes:
        mode: ``only`` or ``first``.
        source: of the items; a blank column matches all.
        specialty: everybody who has it is a reviewer of the assignment, beside those named.
    """

    mode = models.CharField(max_length=8)
    source = models.CharField(max_length=64, blank=True, default="")
    task = models.CharField(max_length=64, blank=True, default="")
    anatomy = models.CharField(max_length=32, blank=True, default="")
    modality = models.CharField(max_length=32, blank=True, default="")
    specialty = models.CharField(max_length=48, blank=True, default="")
    readers: models.ManyToManyField[models.Model, models.Model] = models.ManyToManyField(
        "review.User", related_name="+"
    )
    made_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(mode__in=("only", "first")), name="assignment_mode"
            ),
        ]
