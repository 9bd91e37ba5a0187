"""What the forms of the two steps send, as the queue wants it; names of their fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from django.http import QueryDict

from medrcube.review.answers import Answer, Ruling
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.proposals import Wording
from medrcube.review.questionnaire import CHECKLIST, Decision, OptionVerdict

Values = Mapping[str, Sequence[str]]
"""Field -> what is chosen or typed in it; a stored draft has the same shape."""
CANNOT_TELL = "none"
BLIND_FIELDS = ("option", "confidence", "needs_image", "image_adequate")
_SAID = {"yes": True, "no": False, "cannot_tell": None}
_BARRING = {
    OptionVerdict.ALSO_CORRECT: "is correct too",
    OptionVerdict.SAME_AS_ANOTHER: "is the same as another",
}
"""Verdicts on a wrong option with which an item cannot be accepted."""
_WORDING = "wording."
_MANY = 100


def blind_answer(sent: QueryDict) -> Answer:
    """Step one.

    Raises:
        InvalidAnswerError: a question was left open.
    """
    option = sent.get("option", "")
    if option != CANNOT_TELL and not _is_index(option):
        raise InvalidAnswerError("choose an answer, or “cannot tell”")
    confidence = sent.get("confidence", "")
    adequate = sent.get("image_adequate", "")
    if adequate not in ("yes", "no"):
        raise InvalidAnswerError("say whether the picture is good enough: yes or no")
    waited = sent.get("milliseconds", "")
    return Answer(
        option=None if option == CANNOT_TELL else int(option),
        confidence=int(confidence) if _is_index(confidence) else 0,
        needs_image=sent.get("needs_image", ""),
        image_adequate=adequate == "yes",
        # Counted by the browser; nonsense in it costs nobody their answer.
        milliseconds=min(int(waited), 86_400_000) if waited.isascii() and waited.isdigit() else 0,
    )


def wording(sent: QueryDict, before: Wording) -> Wording | None:
    """Another wording than the one before; ``None`` where the form says the same.

    What was not sent stays as it is. Line ends and doubled blanks of an option are no change.
    """
    key = sent.get(f"{_WORDING}key", "")
    found = Wording(
        question=sent.get(f"{_WORDING}question", before.question).replace("\r\n", "\n").strip(),
        options=tuple(
            " ".join(sent.get(f"{_WORDING}option.{place}", text).split())
            for place, text in enumerate(before.options)
        ),
        key=int(key) if _is_index(key) else before.key,
    )
    same = replace(before, options=tuple(" ".join(text.split()) for text in before.options))
    return None if found == replace(same, question=before.question.strip()) else found


def ruling(sent: QueryDict, before: Wording) -> Ruling:
    """Step two.

    Args:
        sent: the form.
        before: what the item says.

    Raises:
        InvalidAnswerError: an item is accepted against a line of the checklist or a verdict.
    """
    wrong = [place for place in range(len(before.options)) if place != before.key]
    checklist = {
        line.name: _SAID[said]
        for line in CHECKLIST
        if (said := sent.get(f"check.{line.name}", "")) in _SAID
    }
    verdicts = {str(index): said for index in wrong if (said := sent.get(f"verdict.{index}", ""))}
    decision = sent.get("decision", "")
    if decision == Decision.ACCEPT:
        _refuse_contradictions(checklist, verdicts)
        # The page says beside the choice that to accept is to say all of this.
        checklist = {**{line.name: True for line in CHECKLIST}, **checklist}
        attested = OptionVerdict.PLAUSIBLE_AND_WRONG.value
        verdicts = {str(index): attested for index in wrong} | verdicts
    return Ruling(
        decision=decision,
        checklist=checklist,
        verdicts=verdicts,
        reasons=tuple(_reasons(sent.getlist("reason"))),
        # Browsers send line ends as CR LF.
        comment=sent.get("comment", "").replace("\r\n", "\n"),
        proposal=wording(sent, before),
    )


def draft(sent: QueryDict, *, blind: bool) -> dict[str, list[str]]:
    """What is typed so far: fields of that step only, so that nothing else comes back in a page.

    Args:
        sent: the form of one step.
        blind: whether that is step one.
    """
    return {
        name: sent.getlist(name)[:_MANY]
        for name in sent
        if (name in BLIND_FIELDS if blind else _is_second(name))
    }


def _is_second(name: str) -> bool:
    first, _, rest = name.partition(".")
    known = {
        "check": {line.name for line in CHECKLIST},
        "verdict": set("0123456789"),
        "wording": {"question", "key", *(f"option.{place}" for place in range(10))},
    }
    return name in ("decision", "reason", "comment") or rest in known.get(first, ())


def _refuse_contradictions(
    checklist: Mapping[str, bool | None], verdicts: Mapping[str, str]
) -> None:
    for line in CHECKLIST:
        if checklist.get(line.name) is False:
            raise InvalidAnswerError(
                f"you answered “no” to “{line.text}”; revise or reject the item, or change that"
            )
    for index, verdict in verdicts.items():
        if verdict in tuple(_BARRING):
            raise InvalidAnswerError(
                f"you say that option {chr(ord('A') + int(index))} "
                f"{_BARRING[OptionVerdict(verdict)]}; revise or reject the item, or change that"
            )


def _reasons(sent: Iterable[str]) -> Iterable[tuple[str, int | None]]:
    """``CODE`` is about the whole item, ``CODE:2`` about one option and stands in for the whole."""
    pairs = dict.fromkeys(value.partition(":")[::2] for value in sent)
    narrowed = {code for code, index in pairs if index}
    for code, index in pairs:
        if index and not _is_index(index):
            raise InvalidAnswerError(f"reason {code}: {index!r} is no option")
        if index or code not in narrowed:
            yield code, int(index) if index else None


def _is_index(text: str) -> bool:
    return len(text) == 1 and text in "0123456789"
