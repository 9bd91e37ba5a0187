"""Models: assignments and specialties."""

from __future__ import annotations

from django.db import models

__all__ = ["Assignment", "Specialty"]


class Specialty(models.Model):
    """Specialty that this project has added to the vocabulary of ``specialties.toml``.

    Attributes:
        anatomies: values of the taxonomy; empty for all.
        modalities: values of the taxonomy; empty for all.
    """

    name = models.CharField(max_length=48, unique=True)
    anatomies = models.JSONField(default=list)
    modalities = models.JSONField(default=list)


class Assignment(models.Model):
    """Exclusive or preferential assignment of items to reviewers; ended ones stay on record.

    Attributes:
        mode: ``only`` or ``first``.
        source: source of the items; a blank column matches everything.
        specialty: everybody with this specialty is included in addition to the named reviewers.
    """

    mode = models.CharField(max_length=8)
    source = models.CharField(max_length=64, blank=True, default="")
    task = models.CharField(max_length=64, blank=True, default="")
    anatomy = models.CharField(max_length=32, blank=True, default="")
    modality = models.CharField(max_length=32, blank=True, default="")
    specialty = models.CharField(max_length=48, blank=True, default="")
    reviewers: models.ManyToManyField[models.Model, models.Model] = models.ManyToManyField(
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
