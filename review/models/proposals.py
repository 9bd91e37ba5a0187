"""Models: wordings proposed by reviewers."""

from __future__ import annotations

from django.db import models

__all__ = ["Adoption", "Proposal"]


class Proposal(models.Model):
    """Wording proposed with a review; insert only (trigger).

    Attributes:
        options: option texts, in the order of the version.
        flaws: item rules that it violated when submitted: rule, level and message of each.
    """

    review = models.OneToOneField(
        "review.Review", on_delete=models.PROTECT, related_name="proposal"
    )
    question = models.TextField()
    options = models.JSONField()
    key = models.PositiveSmallIntegerField()
    flaws = models.JSONField(default=list)


class Adoption(models.Model):
    """Version made from a proposal, whose author does not review it. Insert only."""

    version = models.OneToOneField(
        "review.ItemVersion", on_delete=models.PROTECT, related_name="adoption"
    )
    proposal = models.ForeignKey(Proposal, on_delete=models.PROTECT, related_name="adoptions")
