"""Defects that can be inserted into a sound item, and the codes that name them.

Each defect could occur in a real source or build: the details shown with the key support the wrong
label as they would a right one, and no item rule is violated that would reject the item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any, Literal

from medrcube.ontologies.item_rules import ERROR, Flaw, lint
from medrcube.ontologies.label_words import normalise
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.review.models import ItemVersion
from medrcube.review.quality.defect_records import DefectRecord, move_key, option_naming
from medrcube.review.quality.real_items import RealItems
from medrcube.review.reviewing.questionnaire import OptionVerdict, Reason
from medrcube.review.wording.proposals import Wording, draft_as

__all__ = [
    "DEFECT_KINDS",
    "FITTING_CODES",
    "SOUND",
    "DefectKind",
    "DefectiveCopy",
    "defective_copies",
    "kind_of",
    "sound_copy",
]

DefectKind = Literal["wrong-key", "second-right", "wrong-box", "sound", "other"]
DEFECT_KINDS: tuple[DefectKind, ...] = ("wrong-key", "second-right", "wrong-box")
"""Defects that are generated automatically."""
SOUND = "SOUND"
"""Code of a gold item without a defect; refusing it is a false alarm."""
FITTING_CODES: Mapping[DefectKind, frozenset[str]] = {
    "wrong-key": frozenset({Reason.KEY_WRONG}),
    "second-right": frozenset(
        {
            Reason.MULTI_CORRECT,
            Reason.DISTRACTOR_CORRECT,
            Reason.DISTRACTOR_SYNONYM,
            Reason.DISTRACTOR_GRANULARITY,
            OptionVerdict.ALSO_CORRECT,
            OptionVerdict.SAME_AS_ANOTHER,
        }
    ),
    "wrong-box": frozenset({Reason.ROI_WRONG, Reason.KEY_WRONG}),
}
"""Reasons, and verdicts on an option, that identify a defect."""
_DEFECTS: Mapping[DefectKind, Reason] = {
    "wrong-key": Reason.KEY_WRONG,
    "second-right": Reason.MULTI_CORRECT,
    "wrong-box": Reason.ROI_WRONG,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DefectiveCopy:
    """A version with a defect.

    Attributes:
        defect: reason code of the defect; ``SOUND`` for none.
        warnings: item rules for which it gets a warning.
    """

    defect: str
    options: list[dict[str, Any]]
    key: int
    provenance: dict[str, Any]
    warnings: list[str]


def kind_of(defect: str) -> DefectKind:
    """Return the kind of gold item of a code; ``other`` if a manager chose another code."""
    if defect == SOUND:
        return "sound"
    kinds = (kind for kind, codes in FITTING_CODES.items() if defect in codes)
    return "wrong-box" if defect == Reason.ROI_WRONG else next(kinds, "other")


def defective_copies(
    version: ItemVersion, kind: DefectKind, seed: int, present: Sequence[str], real: RealItems
) -> Iterator[DefectiveCopy]:
    """Yield defective copies of a version in random order; none if the kind does not apply.

    Args:
        version: version that is sound as far as is known.
        kind: kind of defect.
        seed: seed of the draw.
        present: concepts that are present according to other items of the same image.
        real: items of the same source and task.
    """
    boxes = any(option.get("strategy") == "box" for option in version.options)
    wrong = [place for place in range(len(version.options)) if place != version.key]
    wrong.sort(key=lambda place: sha256(f"{seed}|{version.item_id}|{place}".encode()).digest())
    if kind == "second-right":
        records = _second_right(version, wrong, present, real)
    elif kind == "wrong-box" and not (version.asks_mark or version.overlay is None):
        return  # the mark of the question would have to move
    elif boxes == (kind == "wrong-box"):
        sure = (place for place in wrong if _is_sure(version.options[place]))
        records = filter(None, (move_key(version, place, seed, real) for place in sure))
    else:
        return
    for changed, key, provenance in records:
        warnings = _rule_warnings(version, changed, key, meant=kind == "second-right")
        if warnings is not None:
            yield DefectiveCopy(
                defect=_DEFECTS[kind],
                options=changed,
                key=key,
                provenance=provenance,
                warnings=warnings,
            )


def _second_right(
    version: ItemVersion, wrong: Sequence[int], present: Sequence[str], real: RealItems
) -> Iterator[DefectRecord]:
    """Make a distractor true: a synonym of the key, or another concept that is present."""
    options = version.options
    key = str(options[version.key].get("concept") or "")
    texts = {normalise(str(option["text"])) for option in options}
    terms = load_terms()
    for label in (*present, *_true_with(key)):
        if label not in terms:
            continue
        for place in wrong:
            name = option_naming(options[place], label, real)
            if name is None or normalise(str(name["text"])) in texts:
                continue
            changed = [dict(option) for option in options]
            changed[place].update(name)
            yield changed, version.key, dict(version.provenance)


@cache
def _true_with(key: str) -> tuple[str, ...]:
    """Return the synonyms of a concept, then the concepts it implies, from the relation table."""
    terms, relations = load_terms(), load_relations()
    if key not in terms:
        return ()
    same = sorted(relations.synonyms(key) - {key})
    above = sorted(relations.closure(key) - set(same) - {key})
    kind = terms[key].kind
    return tuple(label for label in (*same, *above) if label in terms and terms[label].kind == kind)


def _is_sure(option: Mapping[str, Any]) -> bool:
    """Whether the option is known to be false, because it was read as absent or by implication."""
    return option.get("grade") in ("A", "B")


def _rule_warnings(
    version: ItemVersion, options: Sequence[Mapping[str, Any]], key: int, *, meant: bool
) -> list[str] | None:
    """Return the warnings of the item rules; ``None`` if a rule is violated that rejects the item.

    Existing warnings of the version are kept unless the change resolves them, because the build
    knows more about an item. If two options are meant to be true, only their wording is checked,
    because the defect is that they are one concept or one a subtype of the other.
    """
    before = _flaws(version, version.options, version.key, meant=meant)
    after = _flaws(version, options, key, meant=meant)
    if any(flaw.level == ERROR for flaw in after):
        return None
    old, new = ({flaw.rule for flaw in flaws} for flaws in (before, after))
    unchanged = [rule for rule in version.warnings if rule not in old or rule in new]
    return list(dict.fromkeys([*unchanged, *(f.rule for f in after if f.rule not in old)]))


def _flaws(
    version: ItemVersion, options: Sequence[Mapping[str, Any]], key: int, *, meant: bool
) -> Sequence[Flaw]:
    terms = load_terms()
    texts = tuple(str(option["text"]) for option in options)
    concepts = ["" if meant else str(option.get("concept") or "") for option in options]
    wording = Wording(question=version.question, options=texts, key=key)
    draft = draft_as(version, wording, [label if label in terms else "" for label in concepts])
    return lint(draft)


def sound_copy(version: ItemVersion) -> DefectiveCopy:
    """Return a copy without a defect."""
    return DefectiveCopy(
        defect=SOUND,
        options=list(version.options),
        key=version.key,
        provenance=dict(version.provenance),
        warnings=list(version.warnings),
    )
