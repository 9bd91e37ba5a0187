"""``[gate]`` of a card: share of cases that may be lost before the source fails."""

from __future__ import annotations

from dataclasses import dataclass

from medrcube.files.toml_reader import TomlTable

__all__ = ["USUAL_SHARE", "Gate", "parse_gate"]

USUAL_SHARE = 0.05
"""Default share if neither the workspace nor the card states one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Tolerated share of lost cases of a source.

    Attributes:
        share: largest tolerated share of cases with an unusable row or a failed rendering.
        reason: why this many are lost, for people.
        evidence: URL, DOI or title that shows it.
    """

    share: float
    reason: str
    evidence: str


def parse_gate(table: TomlTable) -> Gate:
    """Parse ``[gate]``."""
    share = table.number("share")
    if not 0 <= share <= 1:
        table.fail("share", "a share between 0 and 1", share)
    return Gate(share=share, reason=table.text("reason"), evidence=table.text("evidence"))
