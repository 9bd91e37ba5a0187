"""What the review page shows, step by step.

Step one is made from the question, the texts of the options and the opaque id of the picture; the
rest of the version is not even read from the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.utils.crypto import salted_hmac

from medrcube.review.keymap import are_off, keys_of
from medrcube.review.models import Asset, Claim, User
from medrcube.review.questionnaire import CHECKLIST, Decision, OptionVerdict, Reason
from medrcube.review.views import evidence
from medrcube.review.views.evidence import Fact
from medrcube.review.views.forms import CANNOT_TELL, Values
from medrcube.review.views.me import key_help, letters

_YES_NO = (("yes", "Yes"), ("no", "No"))
_SAID = (*_YES_NO, ("cannot_tell", "Cannot tell"))
_SURE = (("1", "1 Guessing"), ("2", "2 Fairly sure"), ("3", "3 Sure"))
_NEEDED = (*_YES_NO, ("unsure", "Unsure"))
_DECISIONS = (
    (Decision.ACCEPT, "Accept", "good as it is"),
    (Decision.REVISE, "Revise", "good after an edit"),
    (Decision.REJECT, "Reject", "not to be used"),
)
_VERDICTS = (
    (OptionVerdict.PLAUSIBLE_AND_WRONG, "Plausible and wrong"),
    (OptionVerdict.ALSO_CORRECT, "Also correct"),
    (OptionVerdict.IMPLAUSIBLE, "Implausible"),
    (OptionVerdict.SAME_AS_ANOTHER, "Same as another"),
    (OptionVerdict.OFF_TOPIC, "Off topic"),
)
_REASONS = {
    Reason.KEY_WRONG: "The key is wrong",
    Reason.MULTI_CORRECT: "More than one option is correct",
    Reason.NO_CORRECT: "No option is correct",
    Reason.NOT_ANSWERABLE_FROM_IMAGE: "Cannot be answered from this picture",
    Reason.ANSWERABLE_WITHOUT_IMAGE: "Can be answered without the picture",
    Reason.IMAGE_QUALITY: "Picture too poor",
    Reason.WRONG_IMAGE: "Wrong picture",
    Reason.ROI_WRONG: "Mark in the wrong place",
    Reason.DISTRACTOR_IMPLAUSIBLE: "A wrong option is implausible",
    Reason.DISTRACTOR_CORRECT: "A wrong option is correct",
    Reason.DISTRACTOR_SYNONYM: "A wrong option means the same as the key",
    Reason.DISTRACTOR_GRANULARITY: "A wrong option is broader or narrower than the key",
    Reason.CUE_LENGTH: "The length gives the key away",
    Reason.CUE_GRAMMAR: "The grammar gives the key away",
    Reason.CUE_REPEAT: "A repeated word gives the key away",
    Reason.NEGATIVE_STEM: "Asked in the negative",
    Reason.AMBIGUOUS_STEM: "The question is ambiguous",
    Reason.TERM_OUTDATED: "A term is outdated",
    Reason.TRIVIAL: "Too easy",
    Reason.CLINICALLY_IRRELEVANT: "Of no clinical relevance",
    Reason.DUPLICATE: "Same as another item",
    Reason.PHI: "A patient can be identified: takes the item out at once",
    Reason.UNSAFE: "Learning it could harm: takes the item out at once",
    Reason.OTHER: "Other: say what in the comment",
}
_ABOUT_AN_OPTION = tuple(code for code in Reason if code.startswith("DISTRACTOR_"))


@dataclass(frozen=True, slots=True)
class Choice:
    """A radio button or checkbox: its field, value and words, and whether it is chosen."""

    name: str
    value: str
    text: str
    chosen: bool
    action: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Choices with a question above them."""

    legend: str
    choices: Sequence[Choice]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """The picture: its own layer, the layer with the mark if it may be seen, and the windows."""

    picture: Asset
    overlay: Asset | None
    marked: bool

    @property
    def presets(self) -> list[tuple[str, str, str]]:
        """Name, centre and width of each window of a 16-bit picture, as an address has them."""
        stored = self.picture.presets if self.picture.bits == 16 else {}
        return [(name, f"{centre:g}", f"{width:g}") for name, (centre, width) in stored.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionSheet:
    """An option after the reveal."""

    letter: str
    text: str
    is_key: bool
    is_mine: bool
    facts: Sequence[Fact]
    conditions: Sequence[str]
    verdicts: Group | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonRow:
    """A reason, its letter, and the options that it may be about."""

    letter: str
    whole: Choice
    options: Sequence[Choice]


def frame(claim: Claim, user: User) -> dict[str, object]:
    """What both steps need: the question, the lease, the keys, and a name for the kept text."""
    of = f"{claim.version_id}:{user.pk}"
    kept = salted_hmac("medrcube.review.draft", of, algorithm="sha256")
    return {
        "claim": claim,
        "question": claim.version.question,
        "draft_name": kept.hexdigest(),
        "keys": keys_of(user.keymap),
        **key_help(user),
        "single_keys": not are_off(user.keymap),
    }


def blind_sheet(claim: Claim, values: Values) -> dict[str, object]:
    """Step one."""
    version = claim.version
    texts = [str(option["text"]) for option in version.options]
    answers = [(str(place), text) for place, text in enumerate(texts)]
    return {
        "pane": Pane(
            picture=version.picture,
            overlay=version.overlay if version.asks_mark else None,
            marked=version.asks_mark,
        ),
        "options": [
            Choice(
                name="option",
                value=value,
                text=text,
                chosen=_is(values, "option", value),
                action=f"option-{place + 1}",
                hint=_letter(place),
            )
            for place, (value, text) in enumerate(answers)
        ],
        "cannot_tell": Choice(
            name="option",
            value=CANNOT_TELL,
            text="I cannot tell",
            chosen=_is(values, "option", CANNOT_TELL),
        ),
        "groups": [
            _group(values, "confidence", "How sure are you?", _SURE),
            _group(values, "needs_image", "Does the question need the picture?", _NEEDED),
            _group(values, "image_adequate", "Is the picture good enough to answer?", _YES_NO),
        ],
    }


def open_sheet(claim: Claim, values: Values) -> dict[str, object]:
    """Step two: the key, what is known, and the questions about the item."""
    version, mine = claim.version, claim.blind.option
    wrong = [place for place in range(len(version.options)) if place != version.key]
    return {
        "pane": Pane(picture=version.picture, overlay=version.overlay, marked=version.asks_mark),
        "options": [
            OptionSheet(
                letter=_letter(place),
                text=str(option["text"]),
                is_key=place == version.key,
                is_mine=place == mine,
                facts=evidence.about(option),
                conditions=evidence.conditions(option),
                verdicts=None
                if place == version.key
                else _group(values, f"verdict.{place}", f"Option {_letter(place)} is", _VERDICTS),
            )
            for place, option in enumerate(version.options)
        ],
        "answered": "cannot tell" if mine is None else _letter(mine),
        "agrees": mine == version.key,
        "provenance": evidence.provenance(version),
        "warnings": evidence.warnings(version),
        "checklist": [_group(values, f"check.{line.name}", line.text, _SAID) for line in CHECKLIST],
        "decisions": [
            Choice("decision", value, text, _is(values, "decision", value), value, hint)
            for value, text, hint in _DECISIONS
        ],
        "reasons": list(_reasons(values, wrong)),
        "comment": next(iter(values.get("comment", ())), ""),
    }


def stored_sheet(claim: Claim) -> dict[str, object]:
    """A review that was sent: what the reader said, to be read only."""
    review = claim.review
    values: dict[str, list[str]] = {"comment": [review.comment], "decision": [review.decision]}
    for index, verdict in review.verdicts.items():
        values[f"verdict.{index}"] = [verdict]
    said = {True: "yes", False: "no", None: "cannot_tell"}
    for name, answer in review.checklist.items():
        values[f"check.{name}"] = [said[answer]]
    values["reason"] = [
        reason.code if reason.option is None else f"{reason.code}:{reason.option}"
        for reason in review.reasons.all()
    ]
    return {**open_sheet(claim, values), "review": review}


def typed(values: Values) -> str:
    """What was written by hand, to be shown where the form itself cannot be."""
    return next(iter(values.get("comment", ())), "")


def _group(values: Values, name: str, legend: str, choices: Iterable[tuple[str, str]]) -> Group:
    made = [Choice(name, str(value), text, _is(values, name, value)) for value, text in choices]
    return Group(legend, made)


def _reasons(values: Values, wrong: Sequence[int]) -> Iterator[ReasonRow]:
    for letter, code in letters():
        reason = Reason(code)
        places = wrong if reason in _ABOUT_AN_OPTION else ()
        yield ReasonRow(
            letter=letter,
            whole=Choice("reason", code, _REASONS[reason], _is(values, "reason", code)),
            options=[
                Choice("reason", value, _letter(place), _is(values, "reason", value))
                for place in places
                if (value := f"{code}:{place}")
            ],
        )


def _is(values: Values, name: str, value: str) -> bool:
    return value in values.get(name, ())


def _letter(place: int) -> str:
    return chr(ord("A") + place)
