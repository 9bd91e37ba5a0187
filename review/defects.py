"""Defects that can be put into a sound item: each a trap whose right decision is known.

Every one is such as a source or a build might really have: what is shown beside the key tells of
the wrong label as it would of a right one, and no item rule is broken that stops an item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any, Literal

from medrcube.ontologies.lint import ERROR, lint
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.ontologies.words import normalise
from medrcube.review.models import ItemVersion
from medrcube.review.proposals import Wording, draft_as
from medrcube.review.questionnaire import OptionVerdict, Reason

__all__ = ["FITTING", "KINDS", "SOUND", "Kind", "Trap", "kind_of", "sound", "traps"]

Kind = Literal["wrong-key", "second-right", "wrong-box", "sound", "other"]
KINDS: tuple[Kind, ...] = ("wrong-key", "second-right", "wrong-box")
"""Defects that are made by themselves."""
SOUND = "SOUND"
"""Stands for the defect of a gold item that has none: who refuses it raises a false alarm."""
FITTING: Mapping[Kind, frozenset[str]] = {
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
"""Reasons, and verdicts on an option, that name a defect."""
_DEFECTS: Mapping[Kind, Reason] = {
    "wrong-key": Reason.KEY_WRONG,
    "second-right": Reason.MULTI_CORRECT,
    "wrong-box": Reason.ROI_WRONG,
}
_OF_KEY = ("strategy", "grade", "passed", "similarity", "difficulty")
"""What of an option says whether it is the key."""
_APART = frozenset({"case", "source", "licence", "sample", "fingerprint", "split", "slice"})
"""What of the provenance does not speak of the label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """A version with a defect.

    Attributes:
        defect: reason code that names it; ``SOUND`` for none.
        warnings: item rules that it bends.
    """

    defect: str
    options: list[dict[str, Any]]
    key: int
    provenance: dict[str, Any]
    warnings: list[str]


def kind_of(defect: str) -> Kind:
    """What kind of gold item a code stands for; ``other`` where a manager chose another one."""
    if defect == SOUND:
        return "sound"
    found = (kind for kind, codes in FITTING.items() if defect in codes)
    return "wrong-box" if defect == Reason.ROI_WRONG else next(found, "other")


def traps(version: ItemVersion, kind: Kind, seed: int, present: Sequence[str]) -> Iterator[Trap]:
    """Defective twins of a version, in an order drawn by lot; none where the kind does not fit.

    Args:
        version: sound, as far as is known.
        kind: of the defect.
        seed: of the draw.
        present: concepts that other items of the same picture say are there.
    """
    options = [dict(option) for option in version.options]
    boxes = any(option.get("strategy") == "box" for option in options)
    wrong = [place for place in range(len(options)) if place != version.key]
    wrong.sort(key=lambda place: sha256(f"{seed}|{version.item_id}|{place}".encode()).digest())
    if kind == "second-right":
        made = _second_right(version, options, wrong, present)
    elif boxes == (kind == "wrong-box"):
        made = (_moved(version, options, place) for place in wrong if _is_sure(options[place]))
    else:
        return
    for changed, key, provenance in made:
        warnings = _bent(version, changed, key, meant=kind == "second-right")
        if warnings is not None:
            yield Trap(
                defect=_DEFECTS[kind],
                options=changed,
                key=key,
                provenance=provenance,
                warnings=warnings,
            )


_Made = tuple[list[dict[str, Any]], int, dict[str, Any]]


def _moved(version: ItemVersion, options: Sequence[Mapping[str, Any]], key: int) -> _Made:
    """The key is another option, and all that speaks of the label speaks of that one."""
    changed = [dict(option) for option in options]
    old, new = changed[version.key], changed[key]
    for name in _OF_KEY:
        if name in old and name in new:
            old[name], new[name] = new[name], old[name]
    words = [
        (str(old.get(name) or ""), str(new.get(name) or "")) for name in ("word", "concept", "text")
    ]
    words.append((f"box {version.key + 1} of", f"box {key + 1} of"))
    provenance = {
        name: value if name in _APART else _said(str(value), words)
        for name, value in version.provenance.items()
    }
    return changed, key, provenance


def _said(value: str, words: Sequence[tuple[str, str]]) -> str:
    """A text with the first of the words that it holds replaced."""
    for old, new in words:
        if old and old in value:
            return value.replace(old, new)
    return value


def _second_right(
    version: ItemVersion,
    options: Sequence[Mapping[str, Any]],
    wrong: Sequence[int],
    present: Sequence[str],
) -> Iterator[_Made]:
    """A wrong option says what is true as well: the key in other words, or what is there too."""
    key = str(options[version.key].get("concept") or "")
    known = {normalise(str(option["text"])) for option in options}
    terms = load_terms()
    for label in (*present, *_true_with(key)):
        term = terms.get(label)
        if term is None or normalise(term.name) in known:
            continue
        for place in wrong:
            changed = [dict(option) for option in options]
            text = term.name[:1].upper() + term.name[1:]
            ids = [f"{ontology}:{value}" for ontology, value in term.ids().items()]
            told = {"text": text, "concept": label, "ids": ids, "word": "", "named_by": ""}
            changed[place].update({name: told[name] for name in told if name in changed[place]})
            changed[place]["text"] = text
            yield changed, version.key, dict(version.provenance)


@cache
def _true_with(key: str) -> tuple[str, ...]:
    """Synonyms of a concept, then what it implies, by the relation table."""
    terms, relations = load_terms(), load_relations()
    if key not in terms:
        return ()
    same = sorted(relations.synonyms(key) - {key})
    above = sorted(relations.closure(key) - set(same) - {key})
    kind = terms[key].kind
    return tuple(label for label in (*same, *above) if label in terms and terms[label].kind == kind)


def _is_sure(option: Mapping[str, Any]) -> bool:
    """Whether the option is wrong by what somebody has read, or by what it is implied by."""
    return option.get("grade") in ("A", "B")


def _bent(
    version: ItemVersion, options: Sequence[Mapping[str, Any]], key: int, *, meant: bool
) -> list[str] | None:
    """Warnings of the item rules; ``None`` where one is broken that stops an item.

    Where two options are meant to be true the rules look at their words alone, since that they are
    one concept, or one a kind of the other, is the defect.
    """
    terms = load_terms()
    texts = tuple(str(option["text"]) for option in options)
    concepts = ["" if meant else str(option.get("concept") or "") for option in options]
    wording = Wording(question=version.question, options=texts, key=key)
    draft = draft_as(version, wording, [label if label in terms else "" for label in concepts])
    flaws = lint(draft)
    if any(flaw.level == ERROR for flaw in flaws):
        return None
    return list(dict.fromkeys(flaw.rule for flaw in flaws))


def sound(version: ItemVersion) -> Trap:
    """A copy without a defect."""
    return Trap(
        defect=SOUND,
        options=list(version.options),
        key=version.key,
        provenance=dict(version.provenance),
        warnings=list(version.warnings),
    )
