"""Models: audit trail (append-only hash chain of events) and frozen releases."""

from __future__ import annotations

from django.db import models

__all__ = ["AgreementSnapshot", "Chain", "Event", "ReleaseItem", "ReleaseRecord"]


class Event(models.Model):
    """Event of the trail; never changed or deleted (triggers), chained by hashes.

    Attributes:
        number: position in the chain, from 1 without gaps.
        actor: pseudonym of the person, or ``system``.
        kind: kind of event, such as ``review.submitted``.
        object: object of the event, such as ``item:4f0c...``.
        body: JSON text, exactly as hashed.
    """

    number = models.PositiveBigIntegerField(primary_key=True)
    at = models.CharField(max_length=32)
    actor = models.CharField(max_length=32)
    kind = models.CharField(max_length=48)
    object = models.CharField(max_length=96)
    body = models.TextField()
    previous_sha256 = models.CharField(max_length=64)
    sha256 = models.CharField(max_length=64, unique=True)

    class Meta:
        indexes = [
            models.Index(fields=["object", "number"], name="events_of_an_object"),
        ]


class Chain(models.Model):
    """Head of the event chain: the single row whose lock serialises writers."""

    number = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64)


class ReleaseRecord(models.Model):
    """Frozen list of accepted versions, with the head of the chain at that time."""

    name = models.CharField(max_length=200, unique=True)
    made_at = models.DateTimeField()
    manifest_sha256 = models.CharField(max_length=64)
    head_number = models.PositiveBigIntegerField()
    head_sha256 = models.CharField(max_length=64)


class ReleaseItem(models.Model):
    """One version in a release."""

    release = models.ForeignKey(ReleaseRecord, on_delete=models.PROTECT, related_name="items")
    version = models.ForeignKey("review.ItemVersion", on_delete=models.PROTECT)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["release", "version"], name="a_version_once"),
        ]


class AgreementSnapshot(models.Model):
    """Agreement of one stratum at a release; ``value`` is ``None`` if undefined."""

    release = models.ForeignKey(ReleaseRecord, on_delete=models.PROTECT, related_name="agreement")
    stratum = models.CharField(max_length=160)
    metric = models.CharField(max_length=32)
    value = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    items = models.PositiveIntegerField()
    why_undefined = models.CharField(max_length=32, blank=True, default="")
