"""Submissions of the two review steps, and their validation against the questionnaire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from medrcube.forms.protocol import Json
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.reviewing.questionnaire import (
    CHECKLIST,
    Decision,
    NeedsImage,
    OptionVerdict,
    Reason,
)
from medrcube.review.wording.proposals import Wording, check_wording

__all__ = [
    "BlindSubmission",
    "ReviewSubmission",
    "check_blind_submission",
    "check_review_submission",
]

_LONGEST_TEXT = 10_000
_LONGEST_WAIT = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindSubmission:
    """Step one: the answer of the reviewer before the key is shown.

    Attributes:
        option: index of an option; ``None`` for "cannot tell".
        value: answer to an item without options, in the format of its answer form; else ``None``.
        confidence: 1 (low) to 3 (high).
        needs_image: one of ``NeedsImage``.
        milliseconds: time from display to answer, as measured by the browser.
    """

    option: int | None
    confidence: int
    needs_image: str
    image_adequate: bool
    milliseconds: int = 0
    value: Json | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSubmission:
    """Step two: the decision of the reviewer after the key is shown.

    Attributes:
        checklist: name of the line -> yes, no, or ``None`` for "cannot tell".
        verdicts: index of an option, as text -> one of ``OptionVerdict``.
        reasons: (code, index of the option or ``None``); at least one unless accepted.
        proposal: proposed wording, if the item should be revised.
    """

    decision: str
    checklist: Mapping[str, bool | None] = field(default_factory=dict)
    verdicts: Mapping[str, str] = field(default_factory=dict)
    reasons: tuple[tuple[str, int | None], ...] = ()
    comment: str = ""
    proposal: Wording | None = None


def check_blind_submission(answer: BlindSubmission, options: int) -> None:
    """Reject an answer that the form does not offer.

    Raises:
        InvalidAnswerError: names the field.
    """
    if answer.option is not None and not 0 <= answer.option < options:
        raise InvalidAnswerError(f"option {answer.option}: the item has {options} options")
    if answer.confidence not in (1, 2, 3):
        raise InvalidAnswerError("state how sure you are: 1, 2 or 3")
    if answer.needs_image not in tuple(NeedsImage):
        raise InvalidAnswerError("state whether the question needs the image: yes, no or unsure")
    if not 0 <= answer.milliseconds <= _LONGEST_WAIT:
        raise InvalidAnswerError(f"{answer.milliseconds} ms is not a valid answer time")


def check_review_submission(ruling: ReviewSubmission, options: int) -> None:
    """Reject a decision that is incomplete or that the form does not offer.

    Raises:
        InvalidAnswerError: names the field.
    """
    if ruling.decision not in tuple(Decision):
        raise InvalidAnswerError("decide: accept, revise or reject")
    unknown = set(ruling.checklist) - {line.name for line in CHECKLIST}
    if unknown:
        raise InvalidAnswerError(f"{min(unknown)!r} is not a line of the checklist")
    for name, answer in ruling.checklist.items():
        if answer not in (True, False, None):
            raise InvalidAnswerError(f"{name}: yes, no or cannot tell")
    indices = {str(index) for index in range(options)}
    for index, verdict in ruling.verdicts.items():
        if index not in indices or verdict not in tuple(OptionVerdict):
            raise InvalidAnswerError(f"option {index}: {verdict!r} is not a verdict on an option")
    if len(ruling.comment) > _LONGEST_TEXT:
        raise InvalidAnswerError(f"a comment has at most {_LONGEST_TEXT} characters")
    _check_reasons(ruling, options)
    if ruling.proposal is not None:
        check_wording(ruling.proposal, options)
        if ruling.decision != Decision.REVISE:
            raise InvalidAnswerError(
                "you propose another wording: choose Revise, or restore the original wording"
            )


def _check_reasons(ruling: ReviewSubmission, options: int) -> None:
    if ruling.decision != Decision.ACCEPT and not ruling.reasons:
        raise InvalidAnswerError("give at least one reason for not accepting the item as it is")
    if len(set(ruling.reasons)) != len(ruling.reasons):
        raise InvalidAnswerError("a reason is given twice for the same option")
    for code, option in ruling.reasons:
        if code not in tuple(Reason):
            raise InvalidAnswerError(f"{code!r} is not a reason code")
        if option is not None and not 0 <= option < options:
            raise InvalidAnswerError(f"reason {code}: option {option} of {options}")
    if any(code == Reason.OTHER for code, _ in ruling.reasons) and not ruling.comment.strip():
        raise InvalidAnswerError("the reason OTHER needs a comment")
