"""Options and provenance of a gold item, made consistent with its defect.

A reviewer sees how similar each option is to the key, where it comes from and what the label is
based on. All of this is copied from a real item with the same options and key, except for facts
about the image itself, which are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from medrcube.ontologies.terms import load_terms
from medrcube.review.models import ItemVersion
from medrcube.review.quality.real_items import RealItems
from medrcube.review.wording.lint_facts import concept_of_text

__all__ = ["DefectRecord", "move_key", "option_naming", "record_of_edit"]

_OF_KEY = ("strategy", "grade", "passed", "similarity", "difficulty")
"""Attributes of an option that state whether it is the key, or its distance from the key."""
_OF_NAME = ("text", "concept", "ids", "versions", "named_by", "word")
"""Attributes of an option that follow from the concept it names."""
_OF_LABEL = ("evidence", "concept", "group", "strategy", "difficulty", "marked")
"""Provenance fields that follow from options and key; the others are about the image."""
_HIDDEN = frozenset({"fingerprint", "licence", "sample", "wording"})
"""Provenance fields that carry no information about the image."""
_WORD = re.compile(r"[^\W_]{2,}")
DefectRecord = tuple[list[dict[str, Any]], int, dict[str, Any]]
"""Options, key and provenance of a defective version."""


def move_key(version: ItemVersion, key: int, seed: int, real: RealItems) -> DefectRecord | None:
    """Move the key to another option, and show what a real item with that key shows.

    Return ``None`` if there is no such item, or if facts about the image name the old key. Boxes
    and frames have no concept; for them the two options swap their attributes.

    Args:
        version: a sound version.
        key: index of the new key.
        seed: seed for drawing the real item, if there are several.
        real: items of the same source and task.
    """
    options = version.options
    if not any(option.get("concept") for option in options):
        wrong = [option for place, option in enumerate(options) if place != version.key]
        alike = all(_of_key(option) == _of_key(wrong[0]) for option in wrong)
        return _swap_keys(version, key) if alike else None
    if _names_old_key(version, options[version.key], options[key]):
        return None
    like = real.asking(options, key, f"{seed}|{version.item_id}")
    if like is None or ("marked" in like.provenance) != ("marked" in version.provenance):
        return None
    key_columns = {str(option.get("concept")): _of_key(option) for option in like.options}
    changed = [
        {name: value for name, value in option.items() if name not in _OF_KEY}
        | key_columns[str(option["concept"])]
        for option in options
    ]
    label_columns = {name: value for name, value in like.provenance.items() if name in _OF_LABEL}
    own = {name: value for name, value in version.provenance.items() if name not in _OF_LABEL}
    order = [
        *version.provenance,
        *(name for name in label_columns if name not in version.provenance),
    ]
    together = own | label_columns
    return changed, key, {name: together[name] for name in order if name in together}


def record_of_edit(
    version: ItemVersion, options: Sequence[Mapping[str, Any]], key: int
) -> DefectRecord:
    """Return the options, key and provenance for a defective wording written by a manager.

    If the key moves, they are those of a real item, or else the two options swap their attributes.

    Args:
        version: version of the copied item.
        options: its options with the new texts.
        key: index of the new key.
    """
    real = RealItems(version.item.source, version.item.task)
    changed = [dict(option) for option in options]
    for option, old in zip(changed, version.options, strict=True):
        concept = concept_of_text(str(option["text"])) if option["text"] != old["text"] else ""
        if concept:
            option.update(
                option_naming(option, concept, real, anyhow=True) or {}, text=option["text"]
            )
    if key == version.key:
        return changed, key, dict(version.provenance)
    reworded = ItemVersion(
        item=version.item, options=changed, key=version.key, provenance=version.provenance
    )
    return move_key(reworded, key, 0, real) or _swap_keys(reworded, key)


def _swap_keys(version: ItemVersion, key: int) -> DefectRecord:
    """Swap the attributes of the old and the new key."""
    changed = [dict(option) for option in version.options]
    old, new = changed[version.key], changed[key]
    for name in _OF_KEY:
        if name in old or name in new:
            old[name], new[name] = new.get(name), old.get(name)
    words = [
        (str(old.get(name) or ""), str(new.get(name) or "")) for name in ("word", "concept", "text")
    ]
    words.append((f"box {version.key + 1} of", f"box {key + 1} of"))
    provenance = {
        name: _replace_first(str(value), words) if name in _OF_LABEL else value
        for name, value in version.provenance.items()
    }
    return changed, key, provenance


def _of_key(option: Mapping[str, Any]) -> dict[str, Any]:
    return {name: option[name] for name in _OF_KEY if name in option}


def _names_old_key(version: ItemVersion, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether facts about the image name the old key, such as "axial" in the case name."""
    texts = (
        str(value)
        for name, value in version.provenance.items()
        if name not in _OF_LABEL and name not in _HIDDEN
    )
    return bool(_words(*texts) & (_option_words(old) - _option_words(new)))


def _option_words(option: Mapping[str, Any]) -> set[str]:
    return _words(*(str(option.get(name) or "") for name in ("text", "concept", "word")))


def _words(*texts: str) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text.casefold())}


def _replace_first(value: str, words: Sequence[tuple[str, str]]) -> str:
    """Replace the first of the words that a text contains."""
    for old, new in words:
        if old and old in value:
            return value.replace(old, new)
    return value


def option_naming(
    option: Mapping[str, Any], label: str, real: RealItems, *, anyhow: bool = False
) -> dict[str, Any] | None:
    """Return the name attributes of an option for another concept, as real items have them.

    ``None`` if no item of the source names the concept although the source words its own options.
    """
    there = real.naming(label, option)
    if there is not None:
        return {name: there[name] for name in _OF_NAME if name in there}
    if not anyhow and (option.get("word") or option.get("named_by")):
        return None
    term = load_terms()[label]
    ids = term.ids()
    columns = {
        "text": term.name[:1].upper() + term.name[1:],
        "concept": label,
        "ids": [f"{ontology}:{value}" for ontology, value in ids.items()],
        "versions": ["" for _ in ids],
        "word": "",
        "named_by": "",
    }
    return {name: columns[name] for name in columns if name == "text" or name in option}
