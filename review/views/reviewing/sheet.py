"""Template contexts of the review page, by step.

Step one uses the question, the option texts and the opaque id of the image; the rest of the version
is not even read from the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from django.utils import timezone
from django.utils.crypto import salted_hmac

from medrcube.review.accounts.key_bindings import REASON_KEYS, key_rows
from medrcube.review.assigning.outlook import workload_of
from medrcube.review.exchange.remarks import remarks_of
from medrcube.review.models import Claim, Review, User
from medrcube.review.reviewing.questionnaire import (
    CHECKLIST,
    DANGERS,
    Decision,
    OptionVerdict,
    Reason,
)
from medrcube.review.reviewing.step_forms import CANNOT_TELL, DraftValues
from medrcube.review.reviewing.voiding import undo_until
from medrcube.review.views.managing.wording_diff import (
    ProposalChanges,
    proposal_changes,
    rewording_of,
)
from medrcube.review.views.reviewing import evidence_text
from medrcube.review.views.reviewing.open_sheet import answer_fields, judged_answer
from medrcube.review.views.reviewing.sheet_parts import (
    KEYS,
    ChoiceGroup,
    ChoiceInput,
    OptionSheet,
    Pane,
    ReasonRow,
    WordingRow,
    WordingSheet,
)
from medrcube.review.visibility import originals
from medrcube.review.visibility.privacy_incidents import is_closed
from medrcube.review.wording.guidelines import guideline_of
from medrcube.review.wording.option_letters import option_letter
from medrcube.review.wording.proposals import Wording, wording_of

__all__ = ["blind_sheet", "form_values", "open_sheet", "page_context", "stored_sheet", "typed_text"]

_YES_NO = (("yes", "Yes"), ("no", "No"))
_SAID = (*_YES_NO, ("cannot_tell", "Cannot tell"))
_SURE = (("1", "Guessing"), ("2", "Fairly sure"), ("3", "Sure"))
_NEEDED = (*_YES_NO, ("unsure", "Unsure"))
_DECISIONS = (
    (Decision.ACCEPT, "Accept", "acceptable as it is"),
    (Decision.REVISE, "Revise", "acceptable after an edit"),
    (Decision.REJECT, "Reject", "must not be used"),
)
_VERDICTS = (
    (OptionVerdict.PLAUSIBLE_AND_WRONG, "Plausible and wrong"),
    (OptionVerdict.ALSO_CORRECT, "Also correct"),
    (OptionVerdict.IMPLAUSIBLE, "Implausible"),
    (OptionVerdict.SAME_AS_ANOTHER, "Same as another"),
    (OptionVerdict.OFF_TOPIC, "Off topic"),
)
_REASONS = {
    Reason.KEY_WRONG: "Key is wrong",
    Reason.MULTI_CORRECT: "Several correct",
    Reason.NO_CORRECT: "No option correct",
    Reason.NOT_ANSWERABLE_FROM_IMAGE: "Not in the image",
    Reason.ANSWERABLE_WITHOUT_IMAGE: "Needs no image",
    Reason.IMAGE_QUALITY: "Poor image",
    Reason.WRONG_IMAGE: "Wrong image",
    Reason.ROI_WRONG: "Mark misplaced",
    Reason.DISTRACTOR_IMPLAUSIBLE: "Implausible option",
    Reason.DISTRACTOR_CORRECT: "Option also correct",
    Reason.DISTRACTOR_SYNONYM: "Synonym of the key",
    Reason.DISTRACTOR_GRANULARITY: "Broader or narrower",
    Reason.CUE_LENGTH: "Cue: length",
    Reason.CUE_GRAMMAR: "Cue: grammar",
    Reason.CUE_REPEAT: "Cue: repeated word",
    Reason.NEGATIVE_STEM: "Negative question",
    Reason.AMBIGUOUS_STEM: "Ambiguous question",
    Reason.TERM_OUTDATED: "Outdated term",
    Reason.TRIVIAL: "Too easy",
    Reason.CLINICALLY_IRRELEVANT: "Clinically irrelevant",
    Reason.DUPLICATE: "Duplicate item",
    Reason.PHI: "Patient identifiable",
    Reason.UNSAFE: "Unsafe to learn from",
    Reason.OTHER: "Other (comment)",
}
_ABOUT_AN_OPTION = tuple(code for code in Reason if code.startswith("DISTRACTOR_"))


def page_context(claim: Claim, user: User) -> dict[str, object]:
    """Return the context of both steps: question, lease, keys, and storage name of the draft."""
    of = f"{claim.version_id}:{user.pk}"
    draft_name = salted_hmac("medrcube.review.draft", of, algorithm="sha256")
    return {
        "claim": claim,
        "disabled": False,
        "error": "",
        "question": claim.version.question,
        "draft_name": draft_name.hexdigest(),
        "keys": KEYS,
        "key_rows": key_rows(),
        "user": user,
        "outlook": workload_of(user),
        "guideline": guideline_of(claim.version.item.task),
    }


def blind_sheet(claim: Claim, values: DraftValues) -> dict[str, object]:
    """Return the context of step one."""
    version = claim.version
    texts = [str(option["text"]) for option in version.options]
    answers = [(str(place), text) for place, text in enumerate(texts)]
    return {
        "pane": Pane(
            picture=version.picture,
            overlay=version.overlay if version.asks_mark else None,
            marked=version.asks_mark,
            deep=not originals.discloses(version.item.task, version.picture.original),
        ),
        "answer": None if version.target is None else answer_fields(version, values),
        "options": [
            ChoiceInput(
                name="option",
                value=value,
                text=text,
                chosen=_is_chosen(values, "option", value),
                action=f"option-{place + 1}",
                hint=option_letter(place),
            )
            for place, (value, text) in enumerate(answers if version.target is None else ())
        ],
        "cannot_tell": ChoiceInput(
            name="option",
            value=CANNOT_TELL,
            text="I cannot tell",
            chosen=_is_chosen(values, "option", CANNOT_TELL),
            action="cannot-tell",
        ),
        "groups": [
            _group(values, "confidence", "How sure are you?", _SURE, "confidence"),
            _group(values, "needs_image", "Does the question need the image?", _NEEDED, "needs"),
            _group(
                values,
                "image_adequate",
                "Is the image good enough to answer?",
                _YES_NO,
                "adequate",
            ),
        ],
    }


def open_sheet(claim: Claim, values: DraftValues) -> dict[str, object]:
    """Return the context of step two: key, evidence, and questions about the item."""
    version, mine = claim.version, claim.blind.option
    wrong = [place for place in range(len(version.options)) if place != version.key]
    if version.target is not None:
        wrong = []
    return {
        "pane": Pane(picture=version.picture, overlay=version.overlay, marked=version.asks_mark),
        "options": [
            OptionSheet(
                letter=option_letter(place),
                text=str(option["text"]),
                is_key=place == version.key,
                is_mine=place == mine,
                facts=evidence_text.option_lines(option),
                conditions=evidence_text.passed_conditions(option),
                verdicts=_group(
                    values, f"verdict.{place}", f"Option {option_letter(place)} is", _VERDICTS
                )
                if place in wrong
                else None,
            )
            for place, option in enumerate(version.options)
        ],
        "answered": "cannot tell" if mine is None else option_letter(mine),
        "agrees": mine == version.key,
        "judged": None if version.target is None else judged_answer(version, claim.blind),
        "provenance": evidence_text.provenance_lines(version),
        "warnings": evidence_text.warning_lines(version),
        "remarks": remarks_of(version.item_id),
        "checklist": [_group(values, f"check.{line.name}", line.text, _SAID) for line in CHECKLIST],
        "checklist_open": True,
        "decisions": [
            ChoiceInput("decision", value, text, _is_chosen(values, "decision", value), value, hint)
            for value, text, hint in _DECISIONS
        ],
        "reasons": list(_reasons(values, wrong)),
        "comment": next(iter(values.get("comment", ())), ""),
        "wording": _wording(values, wording_of(version)),
        "reworded": rewording_of(version),
    }


def stored_sheet(claim: Claim) -> dict[str, object]:
    """Return the context of a submitted review, read-only."""
    return {
        **open_sheet(claim, form_values(claim.review)),
        "pane": Pane(
            picture=claim.version.picture,
            overlay=claim.version.overlay,
            marked=claim.version.asks_mark,
            closed=is_closed(claim.version.picture),
        ),
        "review": claim.review,
        "proposed": proposal_changes(claim.review, claim.version),
        "others": [] if undo_until(claim, timezone.now()) else list(_others(claim)),
    }


def _others(claim: Claim) -> Iterator[ProposalChanges]:
    """Yield the wordings that others proposed; the reviewer's own decision is already final.

    Nothing is shown for gold items, which have more reviewers than others.
    """
    reviews = Review.objects.filter(
        claim__version=claim.version_id,
        claim__version__item__gold_defect="",
        claim__released_at=None,
        proposal__isnull=False,
    ).exclude(pk=claim.review.pk)
    for review in reviews.select_related("proposal").order_by("pk"):
        changes = proposal_changes(review, claim.version)
        if changes is not None:
            yield changes


def form_values(review: Review) -> dict[str, list[str]]:
    """Return a review as form values of step two."""
    values: dict[str, list[str]] = {"comment": [review.comment], "decision": [review.decision]}
    for index, verdict in review.verdicts.items():
        values[f"verdict.{index}"] = [verdict]
    values_of_answer = {True: "yes", False: "no", None: "cannot_tell"}
    for name, answer in review.checklist.items():
        values[f"check.{name}"] = [values_of_answer[answer]]
    values["reason"] = [
        reason.code if reason.option is None else f"{reason.code}:{reason.option}"
        for reason in review.reasons.all()
    ]
    proposal = getattr(review, "proposal", None)
    if proposal is not None:
        values["wording.question"] = [proposal.question]
        values["wording.key"] = [str(proposal.key)]
        for place, text in enumerate(proposal.options):
            values[f"wording.option.{place}"] = [text]
    return values


def typed_text(values: DraftValues, now: Wording) -> str:
    """Return the free text of a form, to be shown if the form itself cannot be.

    Args:
        values: submitted values.
        now: initial wording of the form; fields equal to it were not edited.
    """
    initial_texts = {
        "comment": "",
        "wording.question": now.question,
        **{f"wording.option.{place}": text for place, text in enumerate(now.options)},
    }
    texts = {name: next(iter(values.get(name, ())), "") for name in initial_texts}
    return "\n".join(text for name, text in texts.items() if text and text != initial_texts[name])


def _wording(values: DraftValues, now: Wording) -> WordingSheet:
    def text_of(name: str, usual: str) -> str:
        return next(iter(values.get(f"wording.{name}", ())), usual)

    key = text_of("key", str(now.key))
    rows = [
        WordingRow(
            option_letter(place), f"wording.option.{place}", text_of(f"option.{place}", text), text
        )
        for place, text in enumerate(now.options)
    ]
    return WordingSheet(
        question=text_of("question", now.question),
        was=now.question,
        rows=rows,
        key=int(key) if key.isdigit() else now.key,
        old_key=now.key,
    )


def _group(
    values: DraftValues,
    name: str,
    legend: str,
    choices: Iterable[tuple[str, str]],
    action: str = "",
) -> ChoiceGroup:
    """Build a group of choices; without ``action`` none of them has a key."""
    return ChoiceGroup(
        name,
        legend,
        [
            ChoiceInput(
                name, value, text, _is_chosen(values, name, value), action and f"{action}-{value}"
            )
            for value, text in choices
        ],
    )


def _reasons(values: DraftValues, wrong: Sequence[int]) -> Iterator[ReasonRow]:
    for code, letter in REASON_KEYS.items():
        reason = Reason(code)
        places = wrong if reason in _ABOUT_AN_OPTION else ()
        yield ReasonRow(
            letter=letter,
            whole=ChoiceInput("reason", code, _REASONS[reason], _is_chosen(values, "reason", code)),
            options=[
                ChoiceInput(
                    "reason", value, option_letter(place), _is_chosen(values, "reason", value)
                )
                for place in places
                if (value := f"{code}:{place}")
            ],
            grave=reason in DANGERS,
        )


def _is_chosen(values: DraftValues, name: str, value: str) -> bool:
    return value in values.get(name, ())
