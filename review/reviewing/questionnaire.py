"""Questionnaire: closed, versioned lists of decisions, reasons and checklist lines.

Step one is answered without the key and with the overlay off. Step two shows the key and asks for
the checklist and the decision. The codes follow the item-writing flaws of the NBME guide (BMC Med
Educ 2016, 16:559, Table 1) and two flaws specific to ontologies: an option that is synonymous with
the key, and one that is a parent or child of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "CHECKLIST",
    "DANGERS",
    "QUESTIONNAIRE_VERSION",
    "ChecklistLine",
    "Decision",
    "NeedsImage",
    "OptionVerdict",
    "Reason",
]

QUESTIONNAIRE_VERSION = "1"


class Decision(StrEnum):
    """Decision of a reviewer on an item."""

    ACCEPT = "accept"
    REVISE = "revise"
    REJECT = "reject"


class NeedsImage(StrEnum):
    """Whether the question can be answered without the image."""

    YES = "yes"
    NO = "no"
    UNSURE = "unsure"


class Reason(StrEnum):
    """Why an item is not accepted as it is."""

    KEY_WRONG = "KEY_WRONG"
    MULTI_CORRECT = "MULTI_CORRECT"
    NO_CORRECT = "NO_CORRECT"
    NOT_ANSWERABLE_FROM_IMAGE = "NOT_ANSWERABLE_FROM_IMAGE"
    ANSWERABLE_WITHOUT_IMAGE = "ANSWERABLE_WITHOUT_IMAGE"
    IMAGE_QUALITY = "IMAGE_QUALITY"
    WRONG_IMAGE = "WRONG_IMAGE"
    ROI_WRONG = "ROI_WRONG"
    DISTRACTOR_IMPLAUSIBLE = "DISTRACTOR_IMPLAUSIBLE"
    DISTRACTOR_CORRECT = "DISTRACTOR_CORRECT"
    DISTRACTOR_SYNONYM = "DISTRACTOR_SYNONYM"
    DISTRACTOR_GRANULARITY = "DISTRACTOR_GRANULARITY"
    CUE_LENGTH = "CUE_LENGTH"
    CUE_GRAMMAR = "CUE_GRAMMAR"
    CUE_REPEAT = "CUE_REPEAT"
    NEGATIVE_STEM = "NEGATIVE_STEM"
    AMBIGUOUS_STEM = "AMBIGUOUS_STEM"
    TERM_OUTDATED = "TERM_OUTDATED"
    TRIVIAL = "TRIVIAL"
    CLINICALLY_IRRELEVANT = "CLINICALLY_IRRELEVANT"
    DUPLICATE = "DUPLICATE"
    PHI = "PHI"
    UNSAFE = "UNSAFE"
    OTHER = "OTHER"


DANGERS = frozenset({Reason.PHI, Reason.UNSAFE})
"""Reasons of which a single vote quarantines the item immediately."""


class OptionVerdict(StrEnum):
    """Verdict of a reviewer on one distractor."""

    PLAUSIBLE_AND_WRONG = "plausible_and_wrong"
    ALSO_CORRECT = "also_correct"
    IMPLAUSIBLE = "implausible"
    SAME_AS_ANOTHER = "same_as_another"
    OFF_TOPIC = "off_topic"


@dataclass(frozen=True, slots=True)
class ChecklistLine:
    """One line of the checklist: identifier and text."""

    name: str
    text: str


CHECKLIST: tuple[ChecklistLine, ...] = (
    ChecklistLine("key_correct", "The key is correct."),
    ChecklistLine("one_best_answer", "Exactly one option is the best answer."),
    ChecklistLine("stem_clear", "The question is clear."),
    ChecklistLine("clinically_relevant", "The question is clinically relevant."),
    ChecklistLine("roi_correct", "The marked region is right (or nothing is marked)."),
    ChecklistLine("no_identifier", "No name, number or other identifying mark can be seen."),
    ChecklistLine("harmless", "Learning from this item would not cause harm."),
)
