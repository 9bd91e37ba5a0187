"""What a build did: a report for each source, and one for all."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from medrcube.build.incremental.source_state import SourceState
from medrcube.build.llm_proposals.proposing import LlmReport
from medrcube.build.open_items.table import OpenItem
from medrcube.build.profile.distance_report import ProfileReport
from medrcube.build.questions.item_table import Item
from medrcube.build.stages.source_result import SourceBuild, SourceFacts
from medrcube.build.viewer.copies import ViewerReport
from medrcube.sources._formats.tables.rows import OLDER_EDITION

__all__ = ["BuildReport", "SourceReport", "source_reports"]

_NAMED = 3
"""Files that are not in a copy, in a summary; a table names them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport:
    """What one source gave.

    Attributes:
        source: its id.
        layout: layout of the copy, in words.
        taken: which folder was taken as raw root in place of the one given, in words, or empty.
        older: which table of an older edition was read, since the newer cannot be used, and why.
        cases: cases whose files are there.
        absent: cases whose image is not in this copy.
        absent_first: the first files that are not there, for people.
        set_aside: cases and files left out on purpose: by the scan, or since no slice may be shown.
        failed: cases that could not be rendered.
        pictures: images made.
        items: items made.
        open_items: items made beyond the cube.
    """

    source: str
    layout: str
    taken: str
    older: tuple[str, ...]
    cases: int
    absent: int
    absent_first: tuple[str, ...]
    set_aside: int
    failed: int
    pictures: int
    items: int
    open_items: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """What a build did.

    Attributes:
        sources: one report for each source.
        rendered: cases rendered now.
        reused: cases taken from the cache.
        dropped: reasons why no item was made of a fact, with counts.
        shared: pairs of sources that share images, in words.
        failures: what stops a release.
        seconds: wall time.
        warnings: what a reader of the items has to know.
        llm: what a language model cost and gave, where the workspace names one.
        profile: how far the items are from a profile, where the workspace names one.
        viewer: what reviewers may look at beyond the images, unless the workspace keeps none.
        damaged: where a build cache that could not be read has gone, or empty.
    """

    sources: tuple[SourceReport, ...]
    rendered: int
    reused: int
    dropped: Mapping[str, int]
    shared: tuple[str, ...]
    failures: tuple[str, ...]
    seconds: float
    llm: LlmReport | None = None
    profile: ProfileReport | None = None
    viewer: ViewerReport | None = None
    damaged: str = ""
    warnings: tuple[str, ...] = ()


def source_reports(
    source_states: Sequence[SourceState],
    parts: Sequence[SourceBuild],
    items: Sequence[Item],
    open_items: Sequence[OpenItem] = (),
) -> tuple[SourceReport, ...]:
    """What each source gave, in the order of the sources."""
    item_counts = Counter(item.source for item in items)
    open_counts = Counter(item.source for item in open_items)
    return tuple(
        SourceReport(
            source=part.facts.source,
            layout=part.facts.layout,
            taken=source_state.taken,
            older=tuple(
                entry.message for entry in part.facts.set_aside if entry.code == OLDER_EDITION
            ),
            cases=part.facts.cases,
            absent=part.facts.absent,
            absent_first=_first_absent(part.facts),
            set_aside=len(part.facts.set_aside) + _cases_at(part.facts, "select"),
            failed=_cases_at(part.facts, "render"),
            pictures=len(part.samples),
            items=item_counts[part.facts.source],
            open_items=open_counts[part.facts.source],
        )
        for source_state, part in zip(source_states, parts, strict=True)
    )


def _cases_at(facts: SourceFacts, stage: str) -> int:
    """Cases that a stage of rendering gave no image of."""
    return len({problem.case for problem in facts.problems if problem.stage == stage})


def _first_absent(facts: SourceFacts) -> tuple[str, ...]:
    lines = facts.absent_images.split("\n", _NAMED)[:_NAMED]
    return tuple(row[-1] for row in csv.reader(lines) if row)
