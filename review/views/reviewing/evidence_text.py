"""Evidence and provenance of options and images, as text for reviewers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.ontologies.item_rules import RULES
from medrcube.review.models import ItemVersion

__all__ = [
    "CONDITIONS",
    "EvidenceLine",
    "option_lines",
    "passed_conditions",
    "provenance_lines",
    "warning_lines",
]

CONDITIONS = {
    1: "It differs from every concept that is true here.",
    2: "No concept that is true here implies it.",
    3: "It implies no concept that is true here.",
    4: "It does not look like any concept that is true here.",
    5: "The source gives evidence that it is absent.",
    6: "The evidence covers everything that the image shows.",
    7: "No other reader of the source disputes it.",
    8: "An image of this kind would show it if it were present.",
    9: "Its wording is not part of the wording of the key.",
    10: "It is compatible with the other options.",
    11: "“No finding” is used only if findings were looked for.",
    12: "Exactly one option is true.",
}
"""Safety condition of ``medrcube.ontologies.distractor_safety`` -> text if it is met."""
_STRATEGIES = {
    "key": "the right answer",
    "predefined": "another member of the same exclusive group",
    "knowledge": "from the source's labels, checked with the relation table and the ontologies",
    "llm": "proposed by a language model, checked by the same rules",
    "box": "another numbered box",
    "frame": "another numbered frame",
}
_GRADES = {
    "A": "A: read as absent, or excluded by definition",
    "B": "B: absence is implied by how the source was labelled",
    "C": "C: only not mentioned",
}
_NAMES = {
    "case": "Case",
    "source": "Source",
    "sample": "Image",
    "slice": "Slice",
    "slice_reason": "Reason for this slice",
    "evidence": "Evidence of the label",
    "licence": "Licence",
}
_FOR_PROGRAMS = frozenset({"fingerprint"})
"""Fields that are used only to detect changes at a later import."""
_FLAWS = {rule.id: rule.flaw for rule in RULES}


@dataclass(frozen=True, slots=True)
class EvidenceLine:
    """One line of evidence or provenance."""

    name: str
    value: str


def provenance_lines(version: ItemVersion) -> list[EvidenceLine]:
    """Return the provenance of image and label, as recorded by the build."""
    columns = version.provenance if isinstance(version.provenance, Mapping) else {}
    return [
        EvidenceLine(_NAMES.get(name) or name.replace("_", " ").capitalize(), text)
        for name, value in columns.items()
        if name not in _FOR_PROGRAMS and (text := _as_text(value))
    ]


def option_lines(option: Mapping[str, Any]) -> list[EvidenceLine]:
    """Return the origin and safety of an option."""
    return list(_iter_option_lines(option))


def passed_conditions(option: Mapping[str, Any]) -> list[str]:
    """Return the safety conditions that an option met, as text."""
    passed = option.get("passed") or ()
    return [CONDITIONS.get(number, f"condition {number}") for number in passed]


def warning_lines(version: ItemVersion) -> list[EvidenceLine]:
    """Return the warnings of the item rules: name of the rule, and what is wrong with the item."""
    return [EvidenceLine(str(name), _FLAWS.get(str(name), "")) for name in version.warnings]


def _iter_option_lines(option: Mapping[str, Any]) -> Iterator[EvidenceLine]:
    strategy = str(option.get("strategy") or "")
    if strategy:
        yield EvidenceLine("Chosen as", _STRATEGIES.get(strategy, strategy))
    grade = str(option.get("grade") or "")
    if grade:
        yield EvidenceLine("Evidence that it is wrong", _GRADES.get(grade, grade))
    if isinstance(option.get("similarity"), int | float):
        yield EvidenceLine("Similarity to the key", f"{option['similarity']:.2f} of 1")
    for name, text in (
        ("difficulty", "Difficulty"),
        ("concept", "Concept"),
        ("ids", "Ontology ids"),
        ("named_by", "Wording from"),
        ("word", "Wording in the source"),
    ):
        value = _as_text(option.get(name))
        if value:
            yield EvidenceLine(text, value)


def _as_text(value: Any) -> str:
    """Format any JSON value as one line of text."""
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_as_text(part)}" for name, part in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_as_text(part) for part in value)
    return str(value)
