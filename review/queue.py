"""Who reviews what: claims with leases, and the fenced submit of both steps."""

from __future__ import annotations

from medrcube.review.answers import Answer, Ruling
from medrcube.review.claiming import claim_next, free_overdue, give_back, held, renew
from medrcube.review.steps import answer_blind, submit

__all__ = [
    "Answer",
    "Ruling",
    "answer_blind",
    "claim_next",
    "free_overdue",
    "give_back",
    "held",
    "renew",
    "submit",
]
