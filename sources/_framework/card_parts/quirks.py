"""``[[quirk]]`` of a card: known defects of the data."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase

from medrcube.files.toml_reader import TomlTable

__all__ = ["Quirk", "parse_quirk"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quirk:
    """A known defect of the data.

    Attributes:
        keys: globs of case keys; empty if the note concerns the whole source.
        action: ``drop`` quarantines the cases; ``undiagnosed`` keeps the images but asks nothing
            that depends on the defect: no high-level question, and no location of a finding or
            disease; ``marked`` asks neither for the location of a region nor for findings and
            diseases, because calipers, arrows or words in the image reveal them; ``unseen``
            means that the images do not show what ``fields`` state; ``regions`` gives the number
            of regions in a complete copy, so that their location is not asked if there are fewer;
            ``note`` is only informative.
        fields: card fields that ``unseen`` or ``note`` applies to.
        regions: number of regions for the action ``regions``, two or more; else 0.
        reason: explanation for people.
        evidence: URL or card section that shows it.
    """

    keys: tuple[str, ...]
    action: str
    fields: tuple[str, ...] = ()
    regions: int = 0
    reason: str
    evidence: str

    def names(self, key: str) -> bool:
        """Whether its globs match the case key."""
        return any(fnmatchcase(key, glob) for glob in self.keys)


def parse_quirk(table: TomlTable, field_names: Collection[str]) -> Quirk:
    actions = ("drop", "undiagnosed", "marked", "unseen", "regions", "note")
    action = table.text("action", choices=actions)
    regions = table.integer("regions", default=0)
    if (action == "regions") != (regions > 1):
        table.fail("regions", "two or more, only with the action 'regions'", regions)
    fields = table.texts("fields", default=())
    if action == "unseen" and not fields:
        table.fail("fields", "the fields that the images do not show", fields)
    if fields and action not in ("unseen", "note"):
        table.fail("fields", "no fields, which only 'unseen' and 'note' have", fields)
    for name in fields:
        if name not in field_names:
            table.fail("fields", f"names of [[field]] tables ({', '.join(field_names)})", name)
    return Quirk(
        keys=table.texts("keys", default=()),
        action=action,
        fields=fields,
        regions=regions,
        reason=table.text("reason"),
        evidence=table.text("evidence"),
    )
