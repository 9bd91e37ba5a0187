"""Django forms of the two steps of a review."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from django import forms
from django.http import QueryDict

from medrcube.forms.protocol import Json
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.reviewing.open_answers import (
    ANSWER_FIELDS,
    option_of,
    read_answer,
    read_target,
)
from medrcube.review.reviewing.questionnaire import CHECKLIST, Decision, OptionVerdict
from medrcube.review.reviewing.submissions import (
    BlindSubmission,
    ReviewSubmission,
    check_blind_submission,
    check_review_submission,
)
from medrcube.review.views.forms import FormValues, TextField
from medrcube.review.wording.option_letters import option_letter
from medrcube.review.wording.proposals import Wording

__all__ = [
    "CANNOT_TELL",
    "BlindForm",
    "DraftValues",
    "GiveBackForm",
    "ProposalForm",
    "ReviewForm",
    "StepForm",
]

DraftValues = Mapping[str, Sequence[str]]
"""Field -> chosen or typed values, as in a stored draft."""
CANNOT_TELL = "none"
_DIGITS = "0123456789"
_SAID = {"yes": True, "no": False, "cannot_tell": None}
_BARRING = {
    OptionVerdict.ALSO_CORRECT: "is correct too",
    OptionVerdict.SAME_AS_ANOTHER: "is the same as another",
}
"""Verdicts on a distractor that are incompatible with acceptance."""
_LONGEST_WAIT = 86_400_000
_MANY = 100


class RequiredChoice(forms.ChoiceField):
    """Required choice; the same message covers a missing and an invalid answer."""

    def __init__(self, answers: Iterable[str], sentence: str) -> None:
        super().__init__(
            choices=[(answer, answer) for answer in answers],
            error_messages={"required": sentence, "invalid_choice": sentence},
        )


class DigitField(forms.Field):
    """Index of an option or a scale value; ``None`` if the text is not a digit."""

    def __init__(self) -> None:
        super().__init__(required=False)

    def to_python(self, value: Any) -> int | None:
        """Parse a single digit; anything else is ``None``."""
        return int(value) if value and len(value) == 1 and value in _DIGITS else None


class ElapsedField(forms.Field):
    """Milliseconds measured by the browser; an invalid value does not invalidate the answer."""

    def __init__(self) -> None:
        super().__init__(required=False)

    def to_python(self, value: Any) -> int:
        """Parse the milliseconds, at most one day."""
        counted = value and value.isascii() and value.isdigit()
        return min(int(value[:10]), _LONGEST_WAIT) if counted else 0


class ReasonsField(forms.Field):
    """Reasons: ``CODE`` is about the whole item; ``CODE:2``, about one option, replaces it."""

    widget = forms.MultipleHiddenInput

    def __init__(self) -> None:
        super().__init__(required=False)

    def to_python(self, value: Any) -> tuple[tuple[str, int | None], ...]:
        """Parse the (code, option) pairs, without duplicates, in the order sent."""
        return tuple(self._pairs(value or ()))

    @staticmethod
    def _pairs(texts: Iterable[str]) -> Iterator[tuple[str, int | None]]:
        pairs = dict.fromkeys(value.partition(":")[::2] for value in texts)
        narrowed = {code for code, index in pairs if index}
        for code, index in pairs:
            if index and (len(index) != 1 or index not in _DIGITS):
                raise forms.ValidationError(f"reason {code}: {index!r} is not an option")
            if index or code not in narrowed:
                yield code, int(index) if index else None


class StepForm(forms.Form):
    """Form of one review step."""

    @classmethod
    def draft_values(cls, post_data: QueryDict) -> dict[str, list[str]]:
        """Return the draft values of this step's fields; others must not return in a page."""
        return {
            name: post_data.getlist(name)[:_MANY]
            for name in post_data
            if name in cls.draft_fields()
        }

    @classmethod
    def draft_fields(cls) -> frozenset[str]:
        """Return the names of the fields that are kept in a draft."""
        return frozenset(cls.base_fields)

    def read(self) -> FormValues:
        """Return the cleaned values by field name.

        Raises:
            InvalidAnswerError: states what is wrong with the first invalid field.
        """
        if self.is_valid():
            return self.cleaned_data
        raise InvalidAnswerError(" ".join(map(str, next(iter(self.errors.values())))))


class BlindForm(StepForm):
    """Form of step one; ``answer`` contains the submission."""

    option = RequiredChoice([CANNOT_TELL, *_DIGITS], "choose an answer, or “I cannot tell”")
    image_adequate = RequiredChoice(
        ("yes", "no"), "state whether the image is good enough: yes or no"
    )
    confidence = DigitField()
    needs_image = TextField()
    milliseconds = ElapsedField()

    def __init__(
        self, post_data: QueryDict, options: int, target: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(post_data)
        self._options = options
        self._post_data = post_data
        self._target = None if target is None else read_target(target)
        self.fields["option"].required = self._target is None

    @classmethod
    def draft_fields(cls) -> frozenset[str]:
        """Return the fields that the reviewer fills in."""
        return (super().draft_fields() | ANSWER_FIELDS) - {"milliseconds"}

    def clean(self) -> dict[str, Any]:
        """Build the answer and validate it against the questionnaire."""
        data = self.cleaned_data
        if self.errors:
            return data
        option, value = self._answer(data["option"])
        answer = BlindSubmission(
            option=option,
            value=value,
            confidence=data["confidence"] or 0,
            needs_image=data["needs_image"],
            image_adequate=data["image_adequate"] == "yes",
            milliseconds=data["milliseconds"],
        )
        with _refusals():
            check_blind_submission(answer, self._options)
        return {**data, "answer": answer}

    def _answer(self, option: str) -> tuple[int | None, Json | None]:
        """Return the option, and the answer itself if the item has no options."""
        if option == CANNOT_TELL:
            return None, None
        if self._target is None:
            return int(option), None
        with _refusals():
            value = read_answer(self._target, dict(self._post_data.lists()))
        return option_of(self._target, value), value


class ProposalForm(StepForm):
    """Form of a proposed wording; ``proposal`` is ``None`` if it is unchanged.

    Fields that were not sent are unchanged. Line ends and doubled spaces in an option are ignored.
    """

    def __init__(self, post_data: QueryDict, before: Wording) -> None:
        super().__init__(post_data)
        self._before = before
        self.fields.update(_wording_fields(len(before.options)))

    def clean(self) -> dict[str, Any]:
        """Build the proposed wording from its fields."""
        before, data = self._before, self.cleaned_data
        key = data.get("wording.key")
        proposal = Wording(
            question=self._text("wording.question", before.question).strip(),
            options=tuple(
                _single(self._text(f"wording.option.{place}", text))
                for place, text in enumerate(before.options)
            ),
            key=before.key if key is None else key,
        )
        same = replace(
            before,
            question=before.question.strip(),
            options=tuple(_single(text) for text in before.options),
        )
        return {**data, "proposal": None if proposal == same else proposal}

    def _text(self, name: str, before: str) -> str:
        return str(self.cleaned_data.get(name, "")) if name in self.data else before


class ReviewForm(ProposalForm):
    """Form of step two; ``ruling`` contains the submission, ``then`` the next action."""

    decision = TextField()
    reason = ReasonsField()
    comment = TextField()
    then = TextField()

    def __init__(self, post_data: QueryDict, before: Wording) -> None:
        super().__init__(post_data, before)
        self.fields.update(_review_fields(len(before.options)))

    @classmethod
    def draft_fields(cls) -> frozenset[str]:
        """Return all fields except the next action; options are numbered with a single digit."""
        most = len(_DIGITS)
        several = {*_wording_fields(most), *_review_fields(most)}
        return (super().draft_fields() | several) - {"then"}

    def clean(self) -> dict[str, Any]:
        """Build the decision and validate it against the questionnaire and for consistency."""
        data = super().clean()
        if self.errors:
            return data
        wrong = [str(p) for p in range(len(self._before.options)) if p != self._before.key]
        lines = {line.name: data[f"check.{line.name}"] for line in CHECKLIST}
        checklist = {name: _SAID[value] for name, value in lines.items() if value in _SAID}
        verdicts = {index: value for index in wrong if (value := data[f"verdict.{index}"])}
        if data["decision"] == Decision.ACCEPT:
            _refuse_contradictions(checklist, verdicts)
            # The page states that accepting implies a yes to every line.
            checklist = {**{line.name: True for line in CHECKLIST}, **checklist}
            attested = OptionVerdict.PLAUSIBLE_AND_WRONG.value
            verdicts = dict.fromkeys(wrong, attested) | verdicts
        ruling = ReviewSubmission(
            decision=data["decision"],
            checklist=checklist,
            verdicts=verdicts,
            reasons=data["reason"],
            comment=data["comment"],
            proposal=data["proposal"],
        )
        with _refusals():
            check_review_submission(ruling, len(self._before.options))
        return {**data, "ruling": ruling}


class GiveBackForm(StepForm):
    """Form to give back an item, permanently or for the time being."""

    not_my_field = forms.BooleanField(required=False)


def _wording_fields(options: int) -> dict[str, forms.Field]:
    texts = {f"wording.option.{place}": TextField() for place in range(options)}
    return {"wording.question": TextField(), **texts, "wording.key": DigitField()}


def _review_fields(options: int) -> dict[str, forms.Field]:
    checks = {f"check.{line.name}": TextField() for line in CHECKLIST}
    return {**checks, **{f"verdict.{place}": TextField() for place in range(options)}}


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn errors of the queue into validation errors of the form."""
    try:
        yield
    except InvalidAnswerError as error:
        raise forms.ValidationError(str(error)) from error


def _refuse_contradictions(
    checklist: Mapping[str, bool | None], verdicts: Mapping[str, str]
) -> None:
    for line in CHECKLIST:
        if checklist.get(line.name) is False:
            raise forms.ValidationError(
                f"you answered “no” to “{line.text}”; revise or reject the item, or change your "
                "answer"
            )
    for index, verdict in verdicts.items():
        if verdict in tuple(_BARRING):
            raise forms.ValidationError(
                f"you marked that option {option_letter(int(index))} "
                f"{_BARRING[OptionVerdict(verdict)]}; revise or reject the item, or change your "
                "answer"
            )


def _single(text: str) -> str:
    return " ".join(text.split())
