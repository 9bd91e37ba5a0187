"""Models: claims, answers and reviews; their constraints are the guarantees of the queue."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

__all__ = [
    "Adjudication",
    "BlindAnswer",
    "Claim",
    "Comment",
    "Draft",
    "Review",
    "ReviewReason",
    "SignInAttempt",
]

_LIVE = Q(released_at__isnull=True)


class Claim(models.Model):
    """Lease of one review slot of a version to one reviewer.

    A claim that ended in a review keeps its slot; one that expired or was given back frees it
    (``released_at``). The partial unique index on (version, slot) therefore guarantees that a
    version never has more reviewers than required, whatever the processes do, and the one on the
    reviewer that nobody holds two items at once.

    Attributes:
        token: token that a submission must present; rejects late submissions.
        outcome: why it was released: expired, skipped, given-back, paused (the reviewer),
            superseded (the item left the queue), voided (the review no longer counts), undone
            (the reviewer undid the review).
        blinded: whether the answer had not been disclosed to the reviewer.
        specialist: whether a specialty of the reviewer covered the item when it was handed out.
    """

    version = models.ForeignKey(
        "review.ItemVersion", on_delete=models.PROTECT, related_name="claims", db_index=False
    )
    user = models.ForeignKey(
        "review.User", on_delete=models.PROTECT, related_name="claims", db_index=False
    )
    slot = models.PositiveIntegerField()
    token = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    claimed_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    submitted_at = models.DateTimeField(null=True)
    released_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=16, blank=True, default="")
    blinded = models.BooleanField(default=True)
    specialist = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["version", "slot"], condition=_LIVE, name="one_holder_of_a_slot"
            ),
            models.UniqueConstraint(
                fields=["version", "user"], condition=_LIVE, name="one_claim_of_a_reviewer"
            ),
            models.UniqueConstraint(
                fields=["user"],
                condition=_LIVE & Q(submitted_at__isnull=True),
                name="one_item_in_hand",
            ),
        ]
        indexes = [
            models.Index(
                fields=["expires_at"],
                condition=_LIVE & Q(submitted_at__isnull=True),
                name="claims_that_may_expire",
            ),
            models.Index(fields=["version", "user"], name="claims_on_a_version"),
            models.Index(fields=["user", "submitted_at"], name="claims_of_a_reviewer"),
        ]


class Draft(models.Model):
    """Unsubmitted form input of a reviewer; survives the claim."""

    version = models.ForeignKey("review.ItemVersion", on_delete=models.CASCADE)
    user = models.ForeignKey("review.User", on_delete=models.CASCADE)
    body = models.JSONField(default=dict)
    saved_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["version", "user"], name="one_draft_of_a_reviewer"),
        ]


class BlindAnswer(models.Model):
    """Step one, stored before the key is sent to the browser; insert only (trigger).

    Attributes:
        option: index of the chosen option; ``None`` for "cannot tell".
        value: the answer itself for an item without options; ``None`` with options.
        confidence: 1 (low) to 3 (high).
        milliseconds: time from display to answer, as measured by the browser.
    """

    claim = models.OneToOneField(Claim, on_delete=models.PROTECT, related_name="blind")
    option = models.PositiveSmallIntegerField(null=True)
    value = models.JSONField(null=True)
    confidence = models.PositiveSmallIntegerField()
    needs_image = models.CharField(max_length=8)
    image_adequate = models.BooleanField()
    milliseconds = models.PositiveIntegerField(default=0)
    answered_at = models.DateTimeField()


class Review(models.Model):
    """Step two: the decision. Valid as long as its claim is not released; insert only (trigger).

    Attributes:
        checklist: name of the line -> true, false or null (cannot tell).
        verdicts: index of the wrong option -> ``OptionVerdict``.
        seconds: time from claim to submission.
    """

    claim = models.OneToOneField(Claim, on_delete=models.PROTECT, related_name="review")
    decision = models.CharField(max_length=8)
    checklist = models.JSONField(default=dict)
    verdicts = models.JSONField(default=dict)
    comment = models.TextField(blank=True, default="")
    seconds = models.PositiveIntegerField(default=0)
    submitted_at = models.DateTimeField()


class ReviewReason(models.Model):
    """A reason code of a review, about one option or the whole item; insert only (trigger)."""

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="reasons")
    code = models.CharField(max_length=32)
    option = models.PositiveSmallIntegerField(null=True)


class Comment(models.Model):
    """Comment on a version, visible to those who may see it after their own review."""

    version = models.ForeignKey(
        "review.ItemVersion", on_delete=models.PROTECT, related_name="comments"
    )
    author = models.ForeignKey("review.User", on_delete=models.PROTECT)
    text = models.TextField()
    resolved = models.BooleanField(default=False)
    written_at = models.DateTimeField()


class Adjudication(models.Model):
    """Decision of a person who did not review the version; insert only (trigger)."""

    version = models.ForeignKey(
        "review.ItemVersion", on_delete=models.PROTECT, related_name="adjudications"
    )
    adjudicator = models.ForeignKey("review.User", on_delete=models.PROTECT)
    outcome = models.CharField(max_length=8)
    rationale = models.TextField()
    decided_at = models.DateTimeField()


class SignInAttempt(models.Model):
    """Failed sign-in, for throttling; ``who`` is a keyed hash of account and address."""

    who = models.CharField(max_length=64, db_index=True)
    at = models.DateTimeField()
