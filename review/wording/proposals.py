"""Wordings proposed by reviewers, and the item rules that they violate.

The rules are those of the build, run by the same code. A violated rule does not block a proposal:
it is shown while the reviewer types, stored with the proposal, and shown to the person who decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from medrcube.ontologies.item_rules import ERROR, Flaw, ItemText, lint
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.models import ItemVersion
from medrcube.review.wording.lint_facts import facts_of_version, safety_rules
from medrcube.review.wording.option_letters import option_letter
from medrcube.review.wording.option_truth import TRUTH, OptionChange, truth_flaws

__all__ = [
    "LONGEST_OPTION",
    "LONGEST_QUESTION",
    "Wording",
    "check_wording",
    "draft_as",
    "flaws_of",
    "flaws_to_json",
    "wording_of",
]

LONGEST_QUESTION = 10_000
LONGEST_OPTION = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """Proposed wording of an item.

    Attributes:
        options: option texts, as many as the item has and in its order.
        key: index of the right option.
    """

    question: str
    options: tuple[str, ...]
    key: int

    def to_json(self) -> dict[str, Any]:
        """Return the wording as stored in the trail."""
        return {"question": self.question, "options": list(self.options), "key": self.key}


def wording_of(version: ItemVersion) -> Wording:
    """Return the wording of a version."""
    texts = tuple(str(option["text"]) for option in version.options)
    return Wording(question=version.question, options=texts, key=version.key)


def check_wording(wording: Wording, options: int) -> None:
    """Reject a wording that cannot be an item.

    Raises:
        InvalidAnswerError: a text is empty or too long, or the key is not one of the options.
    """
    if len(wording.options) != options or not 0 <= wording.key < options:
        raise InvalidAnswerError(
            f"proposed wording: {len(wording.options)} options with key {wording.key}, "
            f"expected {options} options and one of them as the key"
        )
    texts = [("the question", wording.question, LONGEST_QUESTION)]
    for place, text in enumerate(wording.options):
        texts.append((f"option {option_letter(place)}", text, LONGEST_OPTION))
    for name, text, longest in texts:
        if not text:
            raise InvalidAnswerError(f"proposed wording: {name} is empty; write it, or restore it")
        if len(text) > longest:
            raise InvalidAnswerError(
                f"proposed wording: {name} has {len(text)} characters; expected at most {longest}"
            )


def draft_as(version: ItemVersion, wording: Wording, concepts: Sequence[str]) -> ItemText:
    """Return a wording of a version in the form that the item rules check.

    Args:
        version: supplies everything that the rules need besides.
        wording: question, options and key.
        concepts: label in the term table of each option, or empty.
    """
    facts = facts_of_version(version)
    return facts.draft(wording.question, wording.options, wording.key, concepts)


def flaws_of(version: ItemVersion, wording: Wording) -> tuple[Flaw, ...]:
    """Return the item rules that a wording violates, errors first.

    Errors that the version already has are omitted: a built item has none, so they would reveal a
    gold item whose defect is two right options.
    """
    before, facts = wording_of(version), facts_of_version(version)
    built = draft_as(version, before, facts.concepts)
    there = [flaw for flaw in lint(built) if flaw.level == ERROR]
    concepts = facts.concepts_of(wording.options)
    flaws = [flaw for flaw in lint(draft_as(version, wording, concepts)) if flaw not in there]
    if wording.key == before.key:
        changed = [
            OptionChange(place=place, text=text, concept=concepts[place])
            for place, text in enumerate(wording.options)
            if text != before.options[place]
        ]
        flaws += truth_flaws(version, changed, concepts, safety_rules())
    else:
        answer = before.options[before.key]
        message = f"the key is moved, but according to the source {answer!r} is right"
        flaws.append(Flaw(rule=TRUTH, level=ERROR, message=message))
    return tuple(sorted(flaws, key=lambda flaw: flaw.level != ERROR))


def flaws_to_json(flaws: Sequence[Flaw]) -> list[dict[str, str]]:
    """Return the flaws as stored: rule, level and message of each."""
    return [asdict(flaw) for flaw in flaws]
