"""Truth of reworded options according to the build's term and relation tables.

Only the item itself is used: its key, and the evidence against its distractors. Other items of the
case are not consulted, because their keys must not be revealed to a reviewer who is typing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from medrcube.facts import Grade, Scope
from medrcube.ontologies.distractor_safety import (
    CaseFacts,
    DistractorRequest,
    Evidence,
    SafetyRules,
    judge_distractor,
    option_conflict,
)
from medrcube.ontologies.item_rules import ERROR, WARNING, Flaw, RuleLevel
from medrcube.review.models import ItemVersion
from medrcube.review.wording.option_letters import option_letter
from medrcube.taxonomy import Anatomy, Modality

__all__ = ["TRUTH", "OptionChange", "truth_flaws"]

TRUTH = "option-truth"
"""The rule: a distractor is false by evidence, and the key is what the source states."""

_WHY = {
    "identity": "it means the same as the key",
    "implied": "it is true wherever the key is",
    "implies-true": "it is a kind of the key",
    "look-alike": "it looks like the key in an image",
    "relations-unreviewed": "nobody has reviewed what it implies, and it was not read as absent",
    "no-evidence": "nothing that the source says rules it out in this image",
    "accompanies": "it often occurs together with the key, and nothing rules it out",
    "not-visible": "an image of this kind does not show it",
    "also-shown": "an image of this kind shows it as well",
    "rest-class": "it is a residual category",
    "composite": "it names more than one thing",
    "words": "its words are part of the key's words, or the other way round",
    "no-finding": "the source did not look for everything that it denies",
}
"""Condition of ``medrcube.ontologies.distractor_safety`` -> text of why it fails."""
_CLASH = {
    "same": "it means the same as option {other}",
    "implied": "it implies option {other}, or the reverse",
    "kind": "it is of another kind than option {other}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionChange:
    """An option with a new text.

    Attributes:
        place: index of the option.
        text: the new text.
        concept: concept that the new text names; empty if it is in no table.
    """

    place: int
    text: str
    concept: str

    @property
    def name(self) -> str:
        """Return the option's name in messages."""
        return f"option {option_letter(self.place)}"


def truth_flaws(
    version: ItemVersion,
    changed: Sequence[OptionChange],
    concepts: Sequence[str],
    rules: SafetyRules,
) -> Iterator[Flaw]:
    """Yield the reasons why reworded options may not have the intended truth value.

    Args:
        version: the current version.
        changed: options with a new text; the index of the key is unchanged.
        concepts: concepts of all options after the change.
        rules: safety rules with the tables of the build.
    """
    request = _safety_request(version, rules)
    for change in changed if request else ():
        assert request is not None  # noqa: S101
        if not change.concept:
            yield _flaw(
                f"{change.name}: {change.text!r} is not in the term table, so only you can judge "
                "whether it is right or wrong here",
                WARNING,
            )
        elif change.place == version.key:
            if not rules.entailment.same(change.concept, request.key):
                yield _flaw(
                    f"{change.name}, the key: {change.text!r} is not what the source states"
                )
        else:
            yield from _evidence_flaws(change, request, rules)
            yield from _clash_flaws(change, version.key, concepts, request, rules)


def _evidence_flaws(
    change: OptionChange, request: DistractorRequest, rules: SafetyRules
) -> Iterator[Flaw]:
    reason = judge_distractor(change.concept, request, rules).reason
    if reason:
        yield _flaw(f"{change.name}: {_WHY.get(reason, reason)}")


def _clash_flaws(
    change: OptionChange,
    key: int,
    concepts: Sequence[str],
    request: DistractorRequest,
    rules: SafetyRules,
) -> Iterator[Flaw]:
    for other, beside in enumerate(concepts):
        if beside and other not in (change.place, key):
            words = _CLASH.get(option_conflict(change.concept, beside, request, rules))
            if words:
                yield _flaw(f"{change.name}: {words.format(other=option_letter(other))}")


def _safety_request(version: ItemVersion, rules: SafetyRules) -> DistractorRequest | None:
    """Return the key and the concepts its options show absent; ``None`` if in no table."""
    item, key = version.item, str(version.options[version.key].get("concept") or "")
    is_known = item.anatomy in Anatomy and item.modality in Modality
    if key not in rules.terms or not is_known:
        return None
    absent = {
        str(option["concept"]): _evidence(Grade(option["grade"]))
        for place, option in enumerate(version.options)
        if place != version.key
        and option.get("concept") in rules.terms
        and option.get("grade") in tuple(Grade)
    }
    group = str(version.provenance.get("group") or "")
    return DistractorRequest(
        key=key,
        ground=CaseFacts(
            present={key: _evidence(Grade.A)},
            absent=absent,
            unknown=frozenset(),
            anatomy=Anatomy(item.anatomy),
            modality=Modality(item.modality),
        ),
        scope=Scope.IMAGE,
        group=group if group in rules.relations.groups() else None,
    )


def _evidence(grade: Grade) -> Evidence:
    return Evidence(field="", scope=Scope.IMAGE, grade=grade)


def _flaw(message: str, level: RuleLevel = ERROR) -> Flaw:
    return Flaw(rule=TRUTH, level=level, message=message)
