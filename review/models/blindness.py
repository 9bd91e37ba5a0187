"""Models of disclosure: which items answer which, and what reviewers have been shown."""

from __future__ import annotations

from django.db import models

__all__ = ["Disclosure", "Exposure", "Incident", "RawFile"]


class Disclosure(models.Model):
    """An item of a case that answers another one of the same case; see ``disclosure.tells``.

    Attributes:
        by: the item that answers.
        told: the item that it answers.
        at_sight: whether its question and options alone do so; otherwise its key and evidence.
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
    """A reviewer who is not blind to an item any more.

    Attributes:
        item: what the reviewer has been told.
        by: the item that told it; the item itself where its own key was shown.
    """

    user = models.ForeignKey(
        "review.User", on_delete=models.PROTECT, related_name="+", db_index=False
    )
    item = models.ForeignKey("review.Item", on_delete=models.PROTECT, related_name="exposures")
    by = models.ForeignKey("review.Item", on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "item", "by"], name="one_exposure_of_a_reader"),
        ]


class RawFile(models.Model):
    """A raw file that an image of an item was made from, by its digest."""

    item = models.ForeignKey("review.Item", on_delete=models.PROTECT, related_name="raw_files")
    sha256 = models.CharField(max_length=64, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "sha256"], name="one_raw_file_of_an_item"),
        ]


class Incident(models.Model):
    """Somebody saw on an image who the patient is; holds the items that went out with it.

    Attributes:
        item: on whose page it was reported.
        reporter: who reported it.
        closed_at: when a manager decided over it.
    """

    item = models.ForeignKey("review.Item", on_delete=models.PROTECT, related_name="+")
    reporter = models.ForeignKey("review.User", on_delete=models.PROTECT, related_name="+")
    reported_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)
