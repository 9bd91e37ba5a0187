"""Fixtures for the core of the queue."""

import pytest

from medrcube.review.models import Item
from medrcube.review.reviewing.claims import claim_next
from medrcube.review.reviewing.steps import answer_blind, submit_review
from medrcube.review.reviewing.submissions import BlindSubmission, ReviewSubmission

ANSWER = {"confidence": 2, "needs_image": "yes", "image_adequate": True}


@pytest.fixture
def answer():
    """Make step one: the key, unless told otherwise."""
    return lambda option=0, **fields: BlindSubmission(**{**ANSWER, "option": option, **fields})


@pytest.fixture
def review(answer):
    """Take the next item of a reviewer and review it: gives the claim, or ``None``."""

    def make(user, decision="accept", *, option=0, reasons=None, comment="", now=None):
        claim = claim_next(user, now)
        if claim is None:
            return None
        if reasons is None:
            reasons = () if decision == "accept" else (("AMBIGUOUS_STEM", None),)
        answer_blind(claim.token, user, answer(option), now)
        ruling = ReviewSubmission(decision=decision, reasons=tuple(reasons), comment=comment)
        submit_review(claim.token, user, ruling, now)
        return claim

    return make


@pytest.fixture
def state():
    """Where an item stands now."""
    return lambda item: Item.objects.get(pk=item.pk).state
