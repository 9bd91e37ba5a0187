"""Model: remarks by people outside the queue."""

from __future__ import annotations

from django.db import models

__all__ = ["Remark"]


class Remark(models.Model):
    """Remark from outside, shown to reviewers after their blind answer; never changed.

    Attributes:
        text: one paragraph of plain text.
        origin: system that collected it, such as ``site form``, never a person.
        sha256: digest of the text, which makes repeated imports idempotent.
    """

    item = models.ForeignKey("review.Item", on_delete=models.PROTECT, related_name="remarks")
    text = models.TextField()
    origin = models.CharField(max_length=60)
    sha256 = models.CharField(max_length=64)
    imported_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "sha256"], name="one_remark_of_a_text"),
        ]
