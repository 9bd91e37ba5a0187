"""Model of remarks by people outside the queue."""

from __future__ import annotations

from django.db import models

__all__ = ["Remark"]


class Remark(models.Model):
    """A remark from outside, shown to whoever has answered the item blind; never changed.

    Attributes:
        text: one paragraph of plain text.
        origin: what collected it, such as ``site form``; never a person.
        sha256: digest of the text, so that a file that is imported again adds nothing.
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
