"""``[[adopt]]`` of a card: maps image names of the published MedRCube release to cases.

That release has no recipes or hashes. A card states a rule only if both the published name and the
raw name of the same image are known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import Formatter

from medrcube.files.toml_reader import TomlTable

__all__ = ["PublishedNameRule", "parse_published_name_rule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedNameRule:
    """One ``[[adopt]]`` of a card.

    Attributes:
        folder: folder in the published release.
        picture: regular expression that matches an image name in it.
        case: key of the case, with named groups of ``picture`` in braces.
        unproved: how the image rendered here may differ from the published one.
        evidence: source of the rule.
    """

    folder: str
    picture: str
    case: str
    unproved: str
    evidence: str

    def key(self, name: str) -> str | None:
        """Return the case key of an image; ``None`` if the rule does not match its name."""
        match = re.fullmatch(self.picture, name)
        return None if match is None else self.case.format(**match.groupdict(default=""))


def parse_published_name_rule(table: TomlTable) -> PublishedNameRule:
    """Parse one ``[[adopt]]``.

    Raises:
        CardError: a key is missing, ``picture`` is not a regular expression, or ``case`` refers to
            anything but its groups.
    """
    picture = table.text("picture")
    try:
        groups = sorted(re.compile(picture).groupindex)
    except re.error as error:
        table.fail("picture", f"a regular expression ({error})", picture)
    case = table.text("case")
    if not groups or _names(case) != groups:
        expected = (
            ", ".join(f"{{{name}}}" for name in groups)
            or "(?P<name>...) in picture, which has none"
        )
        table.fail("case", f"a text with the named groups of picture, each once: {expected}", case)
    return PublishedNameRule(
        folder=table.text("folder", pattern=r"[A-Za-z0-9._-]+"),
        picture=picture,
        case=case,
        unproved=table.text("unproved"),
        evidence=table.text("evidence"),
    )


def _names(case: str) -> list[str]:
    """Return the names in braces; a format or attribute after a name makes it a different name."""
    try:
        parts = list(Formatter().parse(case))
    except ValueError:
        return []
    return sorted(
        f"{name}{spec or ''}{conversion or ''}"
        for _, name, spec, conversion in parts
        if name is not None
    )
