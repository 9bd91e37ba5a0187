"""Full record of an item for users who may see it: wordings, reviews, decisions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q
from django.http import Http404

from medrcube.review.exchange.remarks import remarks_of
from medrcube.review.models import (
    BlindAnswer,
    Claim,
    Item,
    ItemVersion,
    Review,
    ReviewReason,
    Role,
    User,
)
from medrcube.review.reviewing.open_answers import answer_text, read_target
from medrcube.review.reviewing.questionnaire import CHECKLIST, Decision, OptionVerdict
from medrcube.review.views.managing.wording_diff import ProposalChanges, proposal_changes
from medrcube.review.views.reviewing import evidence_text
from medrcube.review.views.reviewing.open_sheet import judged_answer
from medrcube.review.views.reviewing.sheet_parts import OptionSheet, Pane
from medrcube.review.visibility.privacy_incidents import is_closed
from medrcube.review.wording.option_letters import option_letter

__all__ = [
    "ReviewRecord",
    "current_version",
    "reason_words",
    "reviews_of",
    "took_part",
    "version_context",
    "visible_item",
]

_SHORT = ("PHI", "ROI")
_CODE = re.compile(r"[A-Z]+(_[A-Z]+)*")
_SURE = {1: "guessing", 2: "fairly sure", 3: "sure"}
_TONES = {Decision.ACCEPT: "good", Decision.REVISE: "open", Decision.REJECT: "bad"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRecord:
    """A review as text.

    Attributes:
        tone: CSS class of the tag with the decision.
        claim: claim that the review ended.
        stands: whether it counts, i.e. was not voided or undone.
        blinded: whether the answer had not been disclosed to the reviewer.
        specialist: whether the reviewer was a specialist for the item.
        objections: checklist lines not answered with yes.
        verdicts: verdicts on distractors that are not "plausible and wrong".
        proposed: proposed wording, if any.
    """

    claim: int
    reviewer: str
    version: int
    at: datetime
    decision: str
    tone: str
    stands: bool
    blinded: bool
    specialist: bool
    blind: str
    right: bool
    sure: str
    needs_image: str
    adequate: bool
    reasons: Sequence[str]
    objections: Sequence[str]
    verdicts: Sequence[str]
    comment: str
    seconds: int
    proposed: ProposalChanges | None


def visible_item(item_id: str, user: User) -> Item:
    """Return an item if the user may see it; gold items are visible to managers only.

    Raises:
        Http404: there is no such item for this user.
    """
    item = None if "\0" in item_id else Item.objects.filter(pk=item_id).first()
    if item is None or (item.gold_defect and user.role != Role.MANAGER):
        raise Http404
    return item


def current_version(item: Item) -> ItemVersion:
    """Return the current version."""
    versions = item.versions.select_related("picture", "overlay", "author")
    return versions.get(number=item.version)


def took_part(item: Item, user: User) -> bool:
    """Whether a user wrote or reviewed the current version."""
    number = item.version
    return (
        item.versions.filter(
            Q(author=user) | Q(adoption__proposal__review__claim__user=user), number=number
        ).exists()
        or Review.objects.filter(
            claim__version__item=item, claim__version__number=number, claim__user=user
        ).exists()
    )


def version_context(version: ItemVersion, user: User) -> dict[str, object]:
    """Return a version with key, evidence and image, for the review templates.

    A reported image is visible only to managers, who decide the incident.
    """
    closed = user.role != Role.MANAGER and is_closed(version.picture)
    return {
        "version": version,
        "pane": Pane(picture=version.picture, overlay=version.overlay, marked=True, closed=closed),
        "options": [
            OptionSheet(
                letter=option_letter(place),
                text=str(option["text"]),
                is_key=place == version.key,
                is_mine=False,
                facts=evidence_text.option_lines(option),
                conditions=evidence_text.passed_conditions(option),
                verdicts=None,
            )
            for place, option in enumerate(version.options)
        ],
        "provenance": evidence_text.provenance_lines(version),
        "warnings": evidence_text.warning_lines(version),
        "remarks": remarks_of(version.item_id),
        "answered": "",
        "judged": None if version.target is None else judged_answer(version),
        "reworded": None,
    }


def reviews_of(item: Item, number: int | None = None) -> list[ReviewRecord]:
    """Return the reviews of an item or of one of its versions, oldest first."""
    claims = Claim.objects.filter(version__item=item, review__isnull=False)
    if number is not None:
        claims = claims.filter(version__number=number, released_at=None)
    rows = claims.select_related(
        "version__picture", "version__overlay", "blind", "review__proposal", "user"
    )
    ordered = rows.prefetch_related("review__reasons").order_by("review__submitted_at", "pk")
    return [_review_record(claim) for claim in ordered]


def reason_words(code: str) -> str:
    """Format a reason code: ``KEY_WRONG`` becomes "Key wrong"; any other text stays as it is."""
    if not _CODE.fullmatch(code):
        return code
    words = " ".join(word if word in _SHORT else word.lower() for word in code.split("_"))
    return words[:1].upper() + words[1:]


def _review_record(claim: Claim) -> ReviewRecord:
    review, blind, version = claim.review, claim.blind, claim.version
    option = blind.option
    return ReviewRecord(
        claim=claim.pk,
        reviewer=claim.user.pseudonym,
        version=version.number,
        at=review.submitted_at,
        decision=review.decision,
        tone=_TONES[Decision(review.decision)],
        stands=claim.released_at is None,
        blinded=claim.blinded,
        specialist=claim.specialist,
        blind="cannot tell" if option is None else _answer(version, blind),
        right=option == version.key,
        sure=_SURE.get(blind.confidence, ""),
        needs_image=blind.needs_image,
        adequate=blind.image_adequate,
        reasons=[_reason(reason) for reason in review.reasons.all()],
        objections=list(_objections(review)),
        verdicts=list(_verdicts(review)),
        comment=review.comment,
        seconds=review.seconds,
        proposed=proposal_changes(review, version),
    )


def _answer(version: ItemVersion, blind: BlindAnswer) -> str:
    if version.target is None:
        return _option(version, blind.option or 0)
    return answer_text(read_target(version.target), blind.value)


def _option(version: ItemVersion, place: int) -> str:
    return f"{option_letter(place)} {version.options[place]['text']}"


def _reason(reason: ReviewReason) -> str:
    words = reason_words(reason.code)
    return words if reason.option is None else f"{words}: option {option_letter(reason.option)}"


def _objections(review: Review) -> Iterator[str]:
    for line in CHECKLIST:
        if line.name in review.checklist and review.checklist[line.name] is not True:
            answer = "no" if review.checklist[line.name] is False else "cannot tell"
            yield f"{line.text} {answer.capitalize()}."


def _verdicts(review: Review) -> Iterator[str]:
    for place, verdict in sorted(review.verdicts.items()):
        if verdict != OptionVerdict.PLAUSIBLE_AND_WRONG:
            yield f"Option {option_letter(int(place))}: {verdict.replace('_', ' ')}"
