"""Result of one source: samples, geometry, recipes and question candidates of all its shards.

It depends on the source alone, so it is cached: if one card has changed, a build processes that
source and reuses the results of the others.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from pathlib import Path

from medrcube.build.asked_columns import AskedTable
from medrcube.build.column_blocks import Spool
from medrcube.build.execution.local import RenderEngine
from medrcube.build.incremental.file_states import TreeSnapshot
from medrcube.build.incremental.kept_scan import KeptScan
from medrcube.build.open_items.question import OpenQuestion
from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.record_columns import RecordTable
from medrcube.build.stages.geometry_table import GEOMETRY, Geometry
from medrcube.build.stages.raw_files import files_of_source
from medrcube.build.stages.samples import SAMPLES, Sample
from medrcube.build.stages.shard_result import ShardBuild, TablesInSpool, UnreadableCase
from medrcube.facts import QuarantineRow
from medrcube.names import escape_bytes, escape_controls

__all__ = ["Chained", "SourceBuild", "SourceFacts", "join_shards", "retry_unreadable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """Result of one source except its images, as stored in the cache.

    Attributes:
        source: id of the source.
        layout: layout of the copy, in words.
        cases: number of cases whose files are present.
        absent: number of cases whose image is not in this copy.
        absent_images: each of them as ``source,case,file``, one a line.
        set_aside: problems found by the scan.
        problems: rendering problems, and remarks of the scan.
        words: field -> outcome of the text check -> number of labels.
        raw_files: the raw files that its facts and the copy's layout depend on, one a line.
        open_barred: ``task: reason`` -> number of questions that rules barred.
        unread: cases to retry.
    """

    source: str
    layout: str
    cases: int
    absent: int
    absent_images: str
    set_aside: tuple[QuarantineRow, ...]
    problems: tuple[QuarantineRow, ...]
    words: Mapping[str, Mapping[str, int]]
    raw_files: str
    open_barred: Mapping[str, int]
    unread: tuple[UnreadableCase, ...]

    @classmethod
    def of(
        cls, kept_scan: KeptScan, tree: TreeSnapshot, shards: Iterable[ShardBuild]
    ) -> SourceFacts:
        """Combine the results of a scan and of all shards.

        Args:
            kept_scan: the cached scan.
            tree: the scanned raw tree.
            shards: shards of all its cases, in order.
        """
        head = kept_scan.head
        shards = list(shards)
        bar_counts: Counter[str] = Counter()
        for shard in shards:
            bar_counts.update(shard.open_barred)
        in_images = {name for shard in shards for name in shard.other_files}
        return cls(
            source=kept_scan.source.id,
            layout=escape_bytes(head.layout.describe()),
            cases=head.cases,
            absent=len(head.absent),
            absent_images=_absent_images(kept_scan),
            set_aside=head.problems,
            problems=(
                *head.remarks,
                *(problem for shard in shards for problem in shard.problems),
                *(problem for shard in shards for problem in shard.rule_problems),
            ),
            words=head.words,
            raw_files="".join(
                file.line()
                for file in files_of_source(
                    kept_scan.source, head.layout.layout, tree, dict(head.sidecars), in_images
                )
            ),
            open_barred=dict(bar_counts),
            unread=tuple(case for shard in shards for case in shard.unread),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceBuild:
    """Result of one source.

    Attributes:
        facts: everything except images.
        samples: its samples.
        geometry: geometry of the regions on them.
        recipes: recipes of the images, one JSON object a line; one text for each shard.
        raw_files: the raw files that images, facts and the copy's layout depend on, likewise.
        queries: all question candidates.
        open_questions: questions made by the rules of open tasks.
    """

    facts: SourceFacts
    samples: RecordTable[Sample]
    geometry: RecordTable[Geometry]
    recipes: Iterable[str]
    raw_files: Iterable[str]
    queries: AskedTable[QuestionCandidate]
    open_questions: AskedTable[OpenQuestion]

    def once_asked(self) -> SourceBuild:
        """Return a copy without the questions, which are not needed once items are composed."""
        return replace(
            self,
            queries=AskedTable.unpack(QuestionCandidate, self.samples, ()),
            open_questions=AskedTable.unpack(OpenQuestion, self.samples, ()),
        )


def join_shards(
    facts: SourceFacts,
    shards: Sequence[ShardBuild],
    tables: Sequence[TablesInSpool],
    *,
    recipes: Iterable[str],
    raw_files: Iterable[str],
    spool: Spool,
) -> SourceBuild:
    """Join the results of the shards of a source.

    Args:
        facts: result of the source except its images.
        shards: its shards, in order.
        tables: tables of the shards, in order.
        recipes: see ``SourceBuild``.
        raw_files: raw files that the images are made of, one a line.
        spool: where the joined tables are kept.

    Raises:
        ValueError: a shard is damaged.
        pickle.UnpicklingError: the same.
    """
    counts: list[int] = []

    def samples_of_shards() -> Iterator[RecordTable[Sample]]:
        for shard in tables:
            table = SAMPLES.unpack(shard.samples.read())
            counts.append(len(table))
            yield table

    samples = SAMPLES.spool(samples_of_shards(), spool)
    geometry = (GEOMETRY.unpack(shard.geometry.read()) for shard in tables)
    first = [0, *accumulate(counts)][: len(counts)]
    return SourceBuild(
        facts=facts,
        samples=samples,
        geometry=GEOMETRY.spool(geometry, spool),
        recipes=recipes,
        raw_files=Chained((raw_files, (facts.raw_files,))),
        queries=AskedTable.unpack(
            QuestionCandidate,
            samples,
            zip((shard.queries for shard in shards), first, strict=True),
        ),
        open_questions=AskedTable.unpack(
            OpenQuestion,
            samples,
            zip((shard.open_questions for shard in shards), first, strict=True),
        ),
    )


@dataclass(frozen=True, slots=True)
class Chained(Iterable[str]):
    """Texts of several sources, concatenated; can be iterated repeatedly."""

    parts: Sequence[Iterable[str]]

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self.parts)


def retry_unreadable(unread: Sequence[UnreadableCase], engine: RenderEngine, images: Path) -> bool:
    """Retry the cases that could not be read; return whether each fails as before."""
    before = {(case.job.source, case.job.case.key): case.rendered for case in unread}
    again = engine.run([case.job for case in unread], images)
    return all(rendered == before[job.source, job.case.key] for job, rendered in again)


def _absent_images(kept_scan: KeptScan) -> str:
    text = io.StringIO()
    rows = zip(kept_scan.head.absent, kept_scan.head.absent_files, strict=True)
    csv.writer(text, lineterminator="\n").writerows(
        (kept_scan.source.id, escape_controls(key), escape_controls(file)) for key, file in rows
    )
    return text.getvalue()
