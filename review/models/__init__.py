"""Tables of the review queue, in four groups."""

from medrcube.review.models.items import Asset, Item, ItemVersion, Project
from medrcube.review.models.people import Role, User
from medrcube.review.models.trail import AgreementSnapshot, Chain, Event, Release, ReleaseItem
from medrcube.review.models.work import (
    Adjudication,
    BlindAnswer,
    Claim,
    Comment,
    Draft,
    Review,
    ReviewReason,
    SignInAttempt,
)

__all__ = [
    "Adjudication",
    "AgreementSnapshot",
    "Asset",
    "BlindAnswer",
    "Chain",
    "Claim",
    "Comment",
    "Draft",
    "Event",
    "Item",
    "ItemVersion",
    "Project",
    "Release",
    "ReleaseItem",
    "Review",
    "ReviewReason",
    "Role",
    "SignInAttempt",
    "User",
]
