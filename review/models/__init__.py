"""Django models of the review queue, in seven groups."""

from medrcube.review.models.assignment import Assignment, Specialty
from medrcube.review.models.blindness import Disclosure, Exposure, Incident, RawFile
from medrcube.review.models.events import (
    AgreementSnapshot,
    Chain,
    Event,
    ReleaseItem,
    ReleaseRecord,
)
from medrcube.review.models.items import Asset, Item, ItemVersion, Project
from medrcube.review.models.proposals import Adoption, Proposal
from medrcube.review.models.remarks import Remark
from medrcube.review.models.reviews import (
    Adjudication,
    BlindAnswer,
    Claim,
    Comment,
    Draft,
    Review,
    ReviewReason,
    SignInAttempt,
)
from medrcube.review.models.second_factors import Identity, RecoveryCode, SecondFactor
from medrcube.review.models.users import Role, User

__all__ = [
    "Adjudication",
    "Adoption",
    "AgreementSnapshot",
    "Asset",
    "Assignment",
    "BlindAnswer",
    "Chain",
    "Claim",
    "Comment",
    "Disclosure",
    "Draft",
    "Event",
    "Exposure",
    "Identity",
    "Incident",
    "Item",
    "ItemVersion",
    "Project",
    "Proposal",
    "RawFile",
    "RecoveryCode",
    "ReleaseItem",
    "ReleaseRecord",
    "Remark",
    "Review",
    "ReviewReason",
    "Role",
    "SecondFactor",
    "SignInAttempt",
    "Specialty",
    "User",
    "users",
]
