"""Errors of the queue; the views map each class to an HTTP status."""

from medrcube.errors import MedrcubeError

__all__ = [
    "ConflictError",
    "IllegalTransitionError",
    "InvalidAnswerError",
    "ReviewError",
    "StaleClaimError",
]


class ReviewError(MedrcubeError):
    """An error of the review queue that a person can resolve."""


class IllegalTransitionError(ReviewError):
    """A transition that the state machine does not allow (HTTP 409)."""


class ConflictError(ReviewError):
    """Concurrent change: the item has changed since it was read (HTTP 409)."""


class StaleClaimError(ConflictError):
    """The claim has expired, was given back, or was already submitted (HTTP 409)."""


class InvalidAnswerError(ReviewError):
    """An answer or decision that the questionnaire does not allow (HTTP 422)."""
