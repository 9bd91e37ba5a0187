"""Errors of the queue; the views map each to a status code."""

from medrcube.errors import MedrcubeError

__all__ = [
    "ConflictError",
    "IllegalTransitionError",
    "InvalidAnswerError",
    "ReviewError",
    "StaleClaimError",
]


class ReviewError(MedrcubeError):
    """Something about the review queue that a person can mend."""


class IllegalTransitionError(ReviewError):
    """A step that the table of states does not know (HTTP 409)."""


class ConflictError(ReviewError):
    """Somebody else was faster: the item has changed since it was read (HTTP 409)."""


class StaleClaimError(ConflictError):
    """The claim has expired, was given back, or was submitted already (HTTP 409)."""


class InvalidAnswerError(ReviewError):
    """An answer or decision that the questionnaire does not allow (HTTP 422)."""
