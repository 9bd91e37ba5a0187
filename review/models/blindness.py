"""Models: disclosure between items, exposure of reviewers, and privacy incidents."""

from __future__ import annotations

from django.db import models

__all__ = ["Disclosure", "Exposure", "Incident", "RawFile"]


class Disclosure(models.Model):
    """Item that discloses the answer of another one of its case; see ``visibility.disclosure``.

    Attributes:
        by: the disclosing item.
        told: the item whose answer is disclosed.
        at_sight: whether question and options alone disclose it; otherwise key and evidence do.
    """

    by = models.ForeignKey(
        "review.Item", on_delete=models.PROTECT, related_name="tells", db_index=False
    )
    told = models.ForeignKey("review.Item", on_delete=models.PROTECT, related_name="told_by")
    at_sight = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["by", "told"], name="one_disclosure_of_a_pair"),
        ]


class Exposure(models.Model):
    """Reviewer who is no longer blind to an item.

    Attributes:
        item: item whose answer was disclosed.
        by: disclosing item; the item itself if its own key was shown.
    """

    user = models.ForeignKey(
        "review.User", on_delete=models.PROTECT, related_name="+", db_index=False
    )
    item = models.ForeignKey("review.Item", on_delete=models.PROTECT, related_name="exposures")
    by = models.ForeignKey("review.Item", on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "item", "by"], name="one_exposure_of_a_reviewer"
            ),
        ]


class RawFile(models.Model):
    """Digest of a raw file from which an image of an item was made."""

    item = models.ForeignKey("review.Item", on_delete=models.PROTECT, related_name="raw_files")
    sha256 = models.CharField(max_length=64, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "sha256"], name="one_raw_file_of_an_item"),
        ]


class Incident(models.Model):
    """Privacy incident: an image that identifies the patient, and the items quarantined with it.

    Attributes:
        item: item on whose page it was reported.
        reporter: who reported it.
        closed_at: when a manager decided it.
    """

    item = models.ForeignKey("review.Item", on_delete=models.PROTECT, related_name="+")
    reporter = models.ForeignKey("review.User", on_delete=models.PROTECT, related_name="+")
    reported_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)
