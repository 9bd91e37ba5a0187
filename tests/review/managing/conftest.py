"""Items with a picture, finished reviews, and people who are signed in."""

import io
import itertools
import re
from datetime import timedelta
from hashlib import sha256

import pytest
from django.test import Client
from django.utils import timezone
from PIL import Image, ImageDraw

from medrcube.review.exchange.image_store import store_image
from medrcube.review.models import Item, ItemVersion
from medrcube.review.reviewing.claims import claim_next
from medrcube.review.reviewing.steps import answer_blind, submit_review
from medrcube.review.reviewing.submissions import BlindSubmission, ReviewSubmission

QUESTION = "Which abnormality does this axial MRI slice of the brain show?"
TEXTS = ("Oedema", "Haemorrhage", "Calcification", "Cyst")


def slice_png(*, mark=False):
    """A small slice with a spot, with or without its mark, as PNG."""
    image = Image.new("RGB", (256, 256), "black")
    draw = ImageDraw.Draw(image)
    draw.ellipse((24, 20, 232, 236), fill=(90, 90, 90), outline=(220, 220, 220), width=8)
    draw.ellipse((160, 150, 190, 182), fill=(200, 200, 200))
    if mark:
        draw.ellipse((150, 140, 200, 192), outline=(255, 40, 40), width=3)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture
def add_shown(project):
    """Make a queued item with a picture, its mark and evidence; gives the item."""
    numbers = itertools.count(1)

    def make(*, key=0, question=QUESTION, texts=TEXTS, author=None, **fields):
        number = next(numbers)
        item = Item.objects.create(
            **{
                "id": sha256(f"shown {number}".encode()).hexdigest()[:32],
                "source": "toy",
                "task": "Abnormality Diagnosis",
                "anatomy": "Brain",
                "modality": "MRI",
                "stratum": "MRI | Abnormality Diagnosis | knowledge",
                "state": "queued",
                "lot": number,
                **fields,
            }
        )
        ItemVersion.objects.create(
            item=item,
            number=1,
            question=question,
            options=[
                {"text": text, "concept": text, "strategy": "knowledge", "grade": "A"}
                for text in texts
            ],
            key=key,
            picture=store_image(slice_png()),
            overlay=store_image(slice_png(mark=True)),
            provenance={"source": "toy", "slice": "41 of 155, axial", "licence": "CC-BY-4.0"},
            warnings=["longest-is-key"],
            content_sha256=sha256(item.pk.encode()).hexdigest(),
            author=author,
            created_at=timezone.now(),
        )
        return item

    return make


@pytest.fixture
def review():
    """Take the next item of a reviewer and review it: gives the claim."""

    def make(user, decision="accept", *, option=0, reasons=None, comment="", now=None, seconds=0):
        now = now or timezone.now()
        claim = claim_next(user, now)
        assert claim is not None, "nothing is left for this reviewer"
        if reasons is None:
            reasons = () if decision == "accept" else (("AMBIGUOUS_STEM", None),)
        now += timedelta(seconds=seconds)
        values = {"confidence": 2, "needs_image": "yes", "image_adequate": True}
        answer_blind(claim.token, user, BlindSubmission(option=option, **values), now)
        ruling = ReviewSubmission(decision=decision, reasons=tuple(reasons), comment=comment)
        submit_review(claim.token, user, ruling, now)
        return claim

    return make


@pytest.fixture
def signed_in(person):
    """A client with a session: ``client, user = signed_in("manager")``."""

    def make(role, **fields):
        user = person(role, **fields)
        client = Client(SERVER_NAME="localhost")
        client.force_login(user)
        return client, user

    return make


@pytest.fixture
def disputed(add_shown, person, review):
    """An item in adjudication, with both of its reviewers."""

    def make(**fields):
        item = add_shown(**fields)
        reviewers = person(), person()
        review(reviewers[0])
        review(reviewers[1], "reject", option=1, comment="Option B fits as well.")
        item.refresh_from_db()
        assert item.state == "adjudication"
        return item, reviewers

    return make


@pytest.fixture
def words():
    """Visible text of a page, with single blanks."""

    def of(reply):
        main = reply.content.decode().partition("<main")[2]
        return " ".join(re.sub(r"<[^>]+>", " ", main).split())

    return of
