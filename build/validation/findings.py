"""Fault kinds of a release, with advice, and the log that counts them.

The first examples of each kind of fault are kept and the rest counted, so that even a million
faults fit on one page.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["FAULT_KINDS", "Fault", "FaultKind", "FaultLog"]

Level = Literal["error", "warning"]

EXAMPLES = 3
"""Number of examples kept for each fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """One kind of fault.

    Attributes:
        title: what is wrong.
        advice: what to do.
        level: its severity in a release made by medrcube.
        foreign: its severity in a release without proofs, such as the published one.
    """

    title: str
    advice: str
    level: Level = "error"
    foreign: Level = "error"


@dataclass(slots=True, kw_only=True)
class Fault:
    """One kind of fault that was found.

    Attributes:
        check: its name.
        level: its severity here.
        title: what is wrong.
        advice: what to do.
        count: number of occurrences.
        examples: the first occurrences.
    """

    check: str
    level: Level
    title: str
    advice: str
    count: int = 0
    examples: list[str] = field(default_factory=list)


class FaultLog:
    """Collects faults, by kind."""

    def __init__(self, *, foreign: bool) -> None:
        self.foreign = foreign
        self._faults: dict[str, Fault] = {}

    def add(self, check: str, example: str, *, count: int = 1) -> None:
        """Record a fault; ``check`` is a key of ``FAULT_KINDS``."""
        kind = FAULT_KINDS[check]
        level = kind.foreign if self.foreign else kind.level
        finding = self._faults.get(check) or Fault(
            check=check, level=level, title=kind.title, advice=kind.advice
        )
        self._note(finding, [example], count)

    def add_contract(
        self, rule: str, level: Level, message: str, examples: list[str], *, count: int
    ) -> None:
        """Record a contract rule that fails."""
        title, _, advice = message.partition("; ")
        finding = Fault(check=f"contract {rule}", level=level, title=title, advice=advice)
        self._note(finding, examples, count)

    def sorted(self) -> tuple[Fault, ...]:
        """Return the faults, errors first, then in the order of ``FAULT_KINDS``: causes first."""
        place = {check: number for number, check in enumerate(FAULT_KINDS)}
        return tuple(
            sorted(
                self._faults.values(),
                key=lambda fault: (
                    fault.level != "error",
                    place.get(fault.check, len(place)),
                    fault.check,
                ),
            )
        )

    def _note(self, finding: Fault, examples: list[str], count: int) -> None:
        self._faults[finding.check] = finding
        finding.count += count
        finding.examples += examples[: max(EXAMPLES - len(finding.examples), 0)]


_AGAIN = "release again, or download the release again"
_WARN: Level = "warning"

FAULT_KINDS: dict[str, FaultKind] = {
    # Harmful even if nothing else is read
    "restricted-picture": FaultKind(
        title="a public tree contains an image that may not be redistributed",
        advice="remove it before you share the tree, or mark the tree as private (PRIVATE.md)",
    ),
    # The tree
    "link": FaultKind(
        title="the tree contains a symbolic link", advice="replace it with the file itself"
    ),
    "special": FaultKind(title="not a regular file", advice="remove it"),
    "file-name": FaultKind(
        title="a file name contains unprintable characters", advice="rename or remove it"
    ),
    "too-many-files": FaultKind(title="the tree is too large to be a release", advice=_AGAIN),
    # SHA256SUMS
    "sums": FaultKind(title="a checksum list cannot be read", advice=_AGAIN),
    "digest": FaultKind(title="a file differs from the released one", advice=_AGAIN),
    "file-missing": FaultKind(title="a listed file is missing", advice=_AGAIN),
    "file-extra": FaultKind(
        title="a file is not in any checksum list", advice="remove it, or release again"
    ),
    "shard": FaultKind(
        title="an image shard differs from the released one",
        advice="download this shard again, or release again",
    ),
    "shard-table": FaultKind(title="the index of an image shard cannot be read", advice=_AGAIN),
    "restricted-missing": FaultKind(
        title="restricted images are missing from this private tree",
        advice="rebuild them from your own copies:  medrcube reconstruct",
        level=_WARN,
        foreign=_WARN,
    ),
    # Tables
    "vocabulary": FaultKind(title="vocabulary.json cannot be read", advice=_AGAIN),
    "table": FaultKind(title="a table of items cannot be read", advice=_AGAIN),
    "table-place": FaultKind(
        title="a table of items is outside the folder of a source",
        advice="move it to <SOURCE>/ or remove it: the published evaluator counts a test.json",
    ),
    "row": FaultKind(title="a row is not an item", advice="remove it from its table"),
    "field": FaultKind(title="a field has an invalid value", advice="correct the field"),
    "fields": FaultKind(
        title="an item does not have exactly the published fields",
        advice="add the missing fields and remove the others",
        foreign=_WARN,
    ),
    "task": FaultKind(title="unknown task", advice="use the published spelling"),
    "modality": FaultKind(title="unknown modality", advice="use the published spelling"),
    "parts": FaultKind(title="unknown region", advice="use the published spelling"),
    "spelling": FaultKind(
        title="a taxonomy term has a nonstandard spelling",
        advice="use the published spelling, which other tools expect",
        foreign=_WARN,
    ),
    "options": FaultKind(
        title="the options are not two to four distinct texts", advice="correct or remove the item"
    ),
    "empty-option": FaultKind(title="an option is empty", advice="omit the field", foreign=_WARN),
    "key": FaultKind(
        title="the key is not exactly one option", advice="correct or remove the item"
    ),
    "target": FaultKind(
        title="the target of an open answer breaks a rule of its form",
        advice="correct or remove the item",
    ),
    "key-text": FaultKind(
        title="the key and its option differ in white space",
        advice="make them equal: the published evaluator compares them verbatim",
    ),
    "image-path": FaultKind(
        title="image_path points outside the folder", advice="write pictures/<name>"
    ),
    "folder": FaultKind(
        title="dataset is not the name of the folder", advice="rename one", foreign=_WARN
    ),
    "errata": FaultKind(
        title="errata.csv has an invalid row, or one that matches no item of this release",
        advice="correct the row, or write it with  medrcube errata add",
    ),
    # Images
    "picture-missing": FaultKind(
        title="the image of an unrestricted item is missing", advice=_AGAIN
    ),
    "picture-damaged": FaultKind(title="an image cannot be decoded", advice=_AGAIN),
    "picture-format": FaultKind(
        title="an image is not an 8-bit grey or colour PNG",
        advice="write 8-bit PNG: other tools clip larger values",
    ),
    "picture-extras": FaultKind(
        title="an image file contains more than its pixels",
        advice="write it again without metadata, which may identify a patient",
        foreign=_WARN,
    ),
    "picture-text": FaultKind(
        title="an image contains text or EXIF",
        advice="write it again without metadata, which may identify a patient",
    ),
    "picture-size": FaultKind(title="an image is implausibly large", advice="inspect the source"),
    "pixel-hash": FaultKind(title="the pixels do not match the recipe", advice=_AGAIN),
    # Proofs
    "format": FaultKind(
        title="the release has a format that this version of medrcube does not support",
        advice="validate it with the version named in its README.md, or a later one",
    ),
    "proof-missing": FaultKind(title="a required file of the release is missing", advice=_AGAIN),
    "recipes": FaultKind(title="recipes.jsonl cannot be read", advice=_AGAIN),
    "recipe-missing": FaultKind(title="an image has no recipe", advice=_AGAIN),
    "recipe-unused": FaultKind(title="a recipe belongs to no image of an item", advice=_AGAIN),
    "restricted-flag": FaultKind(
        title="the files disagree on whether an image may be redistributed", advice=_AGAIN
    ),
    "items-table": FaultKind(title="items.parquet cannot be read", advice=_AGAIN),
    "items-differ": FaultKind(title="items.parquet and test.json disagree", advice=_AGAIN),
    "audit": FaultKind(title="audit.json cannot be read", advice=_AGAIN),
    "audit-failed": FaultKind(
        title="the audit failed", advice="correct the items, and release again"
    ),
    "audit-count": FaultKind(title="audit.json and the items disagree", advice=_AGAIN),
    "licence-table": FaultKind(title="licences.csv lacks the licence of an item", advice=_AGAIN),
    "item-facts": FaultKind(title="items.csv lacks required values of an item", advice=_AGAIN),
    "unit": FaultKind(
        title="items.csv has an impossible unit: all images of a case belong to one unit",
        advice=_AGAIN,
    ),
    "sets": FaultKind(
        title="sets.json lists items that are not in this release or do not form a set",
        advice=_AGAIN,
    ),
    # The Parquet edition
    "edition": FaultKind(title="a file of the Parquet edition cannot be read", advice=_AGAIN),
    "edition-differs": FaultKind(title="the Parquet edition and test.json disagree", advice=_AGAIN),
    # Engines
    "gx-disagrees": FaultKind(
        title="Great Expectations and the contracts disagree", advice="please report it"
    ),
}
"""Every kind of fault except the contracts, by name, in reporting order."""
