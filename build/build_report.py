"""Build report: one record for each source, and one for the whole build."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from medrcube.build.incremental.source_state import SourceState
from medrcube.build.llm_proposals.proposing import LlmReport
from medrcube.build.open_items.table import OpenItem
from medrcube.build.profile.distance_report import ProfileReport
from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.stages.reasons import reason_lines
from medrcube.build.stages.source_result import SourceBuild, SourceFacts
from medrcube.build.viewer.copies import ViewerReport
from medrcube.sources._formats.tables.rows import OLDER_EDITION

__all__ = ["BuildReport", "SourceReport", "source_reports"]

_LIST_LIMIT = 3
"""Most missing files that a summary names; the table of absent images names all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport:
    """Outcome of one source.

    Attributes:
        source: id of the source.
        layout: layout of the copy, in words.
        taken: which folder was used as raw root instead of the given one, in words; else empty.
        older: which table of an older edition was read because the newer one is unusable, and why;
            else empty.
        cases: number of cases whose files are all present.
        absent: number of cases whose image is missing from this copy.
        absent_first: the first missing files, for display.
        set_aside: number of cases and files excluded on purpose: by the scan, or because no slice
            may be shown.
        failed: number of cases that could not be rendered.
        pictures: number of images.
        items: number of items.
        open_items: number of items beyond the cube.
        reasons: for the most frequent codes of what was set aside or failed, the number, the code
            and the most frequent message.
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
    reasons: tuple[str, ...] = ()

    @property
    def is_poor(self) -> bool:
        """Whether more was set aside or failed than became an image, though some did."""
        return 0 < self.cases - self.failed < self.set_aside + self.failed


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """Outcome of a build.

    Attributes:
        sources: one report for each source.
        rendered: number of cases rendered by this build.
        reused: number of cases taken from the cache.
        dropped: reason -> number of facts that did not become an item.
        shared: pairs of sources that share images, in words.
        failures: problems that prevent a release.
        seconds: wall time.
        warnings: what users of the items have to know.
        llm: cost and yield of a language model, if the workspace names one.
        profile: distance of the items from a profile, if the workspace names one.
        viewer: what reviewers can open in addition to the images, if the workspace keeps viewer
            copies.
        damaged: where an unreadable build cache was moved to, or empty.
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
    items: Sequence[ChoiceItem],
    open_items: Sequence[OpenItem] = (),
) -> tuple[SourceReport, ...]:
    """Return the report of each source, in the order of the sources."""
    item_counts = Counter(item.source for item in items)
    open_counts = Counter(item.source for item in open_items)
    return tuple(
        SourceReport(
            source=part.facts.source,
            layout=part.facts.layout,
            taken=source_state.root_note,
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
            reasons=reason_lines((*part.facts.set_aside, *part.facts.problems)),
        )
        for source_state, part in zip(source_states, parts, strict=True)
    )


def _cases_at(facts: SourceFacts, stage: str) -> int:
    """Count the cases for which a stage of rendering made no image."""
    return len({problem.case for problem in facts.problems if problem.stage == stage})


def _first_absent(facts: SourceFacts) -> tuple[str, ...]:
    lines = facts.absent_images.split("\n", _LIST_LIMIT)[:_LIST_LIMIT]
    return tuple(row[-1] for row in csv.reader(lines) if row)
