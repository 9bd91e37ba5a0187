"""HTML page of a release audit, self-contained: no external host, script or font.

Questions, labels and case names are untrusted text: the template escapes them, and the page's
content security policy forbids scripts and requests. The page holds no date, so that the same
release always gives the same page.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment

import medrcube
from medrcube.build.audit.charts import (
    FEW,
    STEPS,
    cell_anchor,
    count_filled,
    cube_cells,
    regions_of,
    score_bands,
)
from medrcube.build.audit.leakage.source_leakage import ALL_CUES, CUES
from medrcube.build.release.contact_sheets import ThumbnailGallery
from medrcube.templates import page_environment

__all__ = ["audit_page"]

_AXES = (("task", "Task"), ("modality", "Modality"), ("anatomy", "Region"))
_LONGEST = 60
"""Most rows of a table that grows with the number of sources; ``audit.json`` has all."""


def audit_page(audit: Mapping[str, Any], gallery: ThumbnailGallery) -> str:
    """Render the page.

    Args:
        audit: content of ``audit.json`` of a release.
        gallery: its thumbnails.
    """
    profile = audit.get("profile") or None
    rules = {**audit["batch_rules"], **audit.get("open_rules", {})}
    return (
        _environment()
        .get_template("audit.html.j2")
        .render(
            audit=audit,
            rules=rules,
            review=audit["review"],
            profile=profile,
            axes=_AXES,
            cube=cube_cells(audit["by_voxel"], profile),
            filled=count_filled(audit["by_voxel"]),
            anatomies=regions_of(audit["by_voxel"]),
            steps=STEPS,
            few=FEW,
            scores={name: score_bands(rule["rows"]) for name, rule in rules.items()},
            failed=[name for name, rule in rules.items() if rule["holds"] is False],
            cues=(*CUES, ALL_CUES),
            gallery=gallery,
            longest=_LONGEST,
            version=medrcube.__version__,
        )
    )


@cache  # compiling the templates costs more than rendering the page
def _environment() -> Environment:
    environment = page_environment("cards")
    environment.filters["percent"] = _percent
    environment.filters["count"] = lambda value: f"{value:,}"
    environment.filters["anchor"] = cell_anchor
    environment.filters["ranked"] = _ranked
    return environment


def _percent(value: float | None, digits: int = 1) -> str:
    return "\u2013" if value is None else f"{100 * value:.{digits}f}"


def _ranked(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Sort by count, largest first; ties by name."""
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
