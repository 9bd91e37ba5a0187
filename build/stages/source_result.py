"""Result of one source: samples, geometry, recipes and question candidates.

It depends on the source alone, so it is cached: when one card has changed, a build processes that
source and reuses the results of the others. It is put together from shards, runs of consecutive
cases that depend on nothing but themselves and the source's card, adapter and words; see
``build.incremental.shards``.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from medrcube.build.execution.local import RenderEngine
from medrcube.build.incremental.file_states import TreeSnapshot
from medrcube.build.open_items.asking import OpenAsked
from medrcube.build.open_items.question import OpenQuestion
from medrcube.build.questions.fact_rules import CaseFactsCache, QuestionCandidate, derive_questions
from medrcube.build.stages.contradictions import count_outcomes
from medrcube.build.stages.geometry_table import Geometry, geometry_of_case
from medrcube.build.stages.plan import RenderJob
from medrcube.build.stages.raw_files import digests_of, raw_files
from medrcube.build.stages.render import RenderedPicture, RenderResult, recipe_id
from medrcube.build.stages.samples import Sample
from medrcube.build.stages.scan import Scan
from medrcube.facts import Case, QuarantineRow
from medrcube.names import escape_bytes, escape_controls
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.contract import Source

__all__ = [
    "ShardBuild",
    "ShardBuilder",
    "SourceBuild",
    "UnreadableCase",
    "join_shards",
    "origin_of",
    "retry_unreadable",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableCase:
    """A case whose files could not be read; tried again by every build."""

    job: RenderJob
    rendered: RenderResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardBuild:
    """What consecutive cases of a source give.

    Attributes:
        samples: their images.
        geometry: what was measured of the regions on them.
        recipes: how they are made, one JSON object a line.
        files: raw files that they are made of, by name, with their digests.
        problems: problems of rendering.
        rule_problems: cases of which the rule of an open task failed.
        queries: everything that may be asked of them.
        open_questions: what the rules of open tasks ask of them.
        open_barred: ``task: reason`` -> number of questions that these rules have barred.
        unread: cases that are to be tried again.
    """

    samples: tuple[Sample, ...]
    geometry: tuple[Geometry, ...]
    recipes: str
    files: Mapping[str, str]
    problems: tuple[QuarantineRow, ...]
    rule_problems: tuple[QuarantineRow, ...]
    queries: tuple[QuestionCandidate, ...]
    open_questions: tuple[OpenQuestion, ...]
    open_barred: Mapping[str, int]
    unread: tuple[UnreadableCase, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceBuild:
    """What one source gives.

    Attributes:
        source: its id.
        layout: layout of the copy, in words.
        cases: number of cases whose files are there.
        absent: number of cases whose image is not in this copy.
        absent_images: each of them as ``source,case,file``, one a line.
        set_aside: problems of the scan.
        problems: problems of rendering, and remarks of the scan.
        words: field -> outcome -> number of labels, of what the words did to them.
        samples: its images.
        geometry: what was measured of the regions on them.
        recipes: how they are made, one JSON object a line; a text for each shard.
        raw_files: the raw files that they and the copy's layout rest on, likewise.
        queries: everything that may be asked of them.
        open_questions: what the rules of open tasks ask of them.
        open_barred: ``task: reason`` -> number of questions that these rules have barred.
        unread: cases that are to be tried again.
    """

    source: str
    layout: str
    cases: int
    absent: int
    absent_images: str
    set_aside: tuple[QuarantineRow, ...]
    problems: tuple[QuarantineRow, ...]
    words: Mapping[str, Mapping[str, int]]
    samples: tuple[Sample, ...] = ()
    geometry: tuple[Geometry, ...] = ()
    recipes: tuple[str, ...] = ()
    raw_files: str
    queries: tuple[QuestionCandidate, ...] = ()
    open_questions: tuple[OpenQuestion, ...] = ()
    open_barred: Mapping[str, int]
    unread: tuple[UnreadableCase, ...]

    def without_shards(self) -> SourceBuild:
        """The same without what ``with_shards`` puts back."""
        return replace(self, samples=(), geometry=(), recipes=(), queries=(), open_questions=())

    def with_shards(self, shards: Sequence[ShardBuild]) -> SourceBuild:
        """The same with the images of its shards and what may be asked of them, in order."""
        return replace(
            self,
            samples=tuple(sample for shard in shards for sample in shard.samples),
            geometry=tuple(row for shard in shards for row in shard.geometry),
            recipes=tuple(shard.recipes for shard in shards),
            queries=tuple(query for shard in shards for query in shard.queries),
            open_questions=tuple(asked for shard in shards for asked in shard.open_questions),
        )


class ShardBuilder:
    """Puts together what cases of one source gave; equal facts are told once for all of them."""

    def __init__(self, source_scan: Scan) -> None:
        self._card = source_scan.source.card
        self._grounds = CaseFactsCache(card=self._card)
        self._origin = origin_of(source_scan.source, source_scan.layout.layout)

    def build(
        self,
        cases: Sequence[Case],
        results: Mapping[str, RenderResult],
        unread: Sequence[UnreadableCase],
    ) -> ShardBuild:
        """What consecutive cases give.

        Args:
            cases: the cases.
            results: what became of each, by its key.
            unread: those that are to be tried again.

        Raises:
            SourceError: a label or region names a field or value that the card lacks.
            TermError: the card names a concept or group that is in no table.
        """
        card, grounds = self._card, self._grounds
        samples: list[Sample] = []
        geometry: list[Geometry] = []
        recipes: list[str] = []
        queries: list[QuestionCandidate] = []
        open_asked = OpenAsked()
        problems: list[QuarantineRow] = []
        files: dict[str, str] = {}
        for case in cases:
            result = results[case.key]
            files.update(digests_of(result.pictures))
            pairs = [(_sample(card, case, picture), picture.recipe) for picture in result.pictures]
            samples.extend(sample for sample, _ in pairs)
            recipes.extend(_line(sample, recipe, self._origin) for sample, recipe in pairs)
            problems.extend(result.problems)
            mine = [sample for sample, _ in pairs]
            regions = tuple(geometry_of_case(card, case, mine, result.geometry))
            geometry.extend(regions)
            queries.extend(derive_questions(card, case, mine, grounds=grounds))
            open_asked.ask(card, case, grounds.of(case), mine, regions)
        return ShardBuild(
            samples=tuple(samples),
            geometry=tuple(geometry),
            recipes="".join(recipes),
            files=files,
            problems=tuple(problems),
            rule_problems=tuple(open_asked.problems),
            queries=tuple(queries),
            open_questions=tuple(open_asked.questions),
            open_barred=dict(open_asked.barred),
            unread=tuple(unread),
        )


def join_shards(source_scan: Scan, tree: TreeSnapshot, shards: Sequence[ShardBuild]) -> SourceBuild:
    """What a source gives, from what all its cases gave in their order.

    Args:
        source_scan: the scan.
        tree: the raw tree that was scanned.
        shards: of all its cases.
    """
    digests = {name: digest for shard in shards for name, digest in shard.files.items()}
    barred: Counter[str] = Counter()
    for shard in shards:
        barred.update(shard.open_barred)
    alone = SourceBuild(
        source=source_scan.source.id,
        layout=escape_bytes(source_scan.layout.describe()),
        cases=len(source_scan.cases),
        absent=len(source_scan.absent),
        absent_images=_absent_images(source_scan),
        set_aside=source_scan.problems,
        problems=(
            *source_scan.remarks,
            *(problem for shard in shards for problem in shard.problems),
            *(problem for shard in shards for problem in shard.rule_problems),
        ),
        words=count_outcomes(source_scan.outcomes),
        raw_files="".join(file.line() for file in raw_files(source_scan, tree, digests)),
        open_barred=dict(barred),
        unread=tuple(case for shard in shards for case in shard.unread),
    )
    return alone.with_shards(shards)


def _absent_images(source_scan: Scan) -> str:
    text = io.StringIO()
    rows = zip(source_scan.absent, source_scan.absent_files, strict=True)
    csv.writer(text, lineterminator="\n").writerows(
        (source_scan.source.id, escape_controls(key), escape_controls(file)) for key, file in rows
    )
    return text.getvalue()


def origin_of(source: Source, layout: str) -> dict[str, Any]:
    """What of a source decides its images, beside its raw files; stands in every recipe."""
    adapter = (source.folder / "adapter.py").read_bytes()
    return {
        "layout": layout,
        "card": source.card.fingerprint[:16],
        "adapter": hashlib.sha256(adapter).hexdigest()[:16],
        "policy": asdict(source.card.pixels),
    }


def retry_unreadable(unread: Sequence[UnreadableCase], engine: RenderEngine, images: Path) -> bool:
    """Try cases again that could not be read; whether each fails as it did."""
    before = {(case.job.source, case.job.case.key): case.rendered for case in unread}
    again = engine.run([case.job for case in unread], images)
    return all(rendered == before[job.source, job.case.key] for job, rendered in again)


def _line(sample: Sample, recipe: Mapping[str, Any], origin: Mapping[str, Any]) -> str:
    entry = {"sample": sample.id, "image": sample.image, "origin": origin, **recipe}
    return json.dumps(entry, sort_keys=True) + "\n"


def _sample(card: Card, case: Case, picture: RenderedPicture) -> Sample:
    artefact = picture.artefact
    identity = [card.id, case.key, artefact.kind, artefact.field, artefact.concept, picture.frames]
    return Sample(
        id=hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16],
        source=card.id,
        case=case.key,
        artefact=artefact.kind,
        field=artefact.field,
        marked=artefact.concept,
        truth=str(picture.truth or ""),
        choices=picture.choices,
        area=picture.area,
        regions=picture.regions,
        image=f"images/{picture.path}",
        pixel_sha256=picture.pixel_sha256,
        perceptual_hash=picture.perceptual_hash,
        graphics=picture.graphics,
        width=picture.width,
        height=picture.height,
        anatomy=case.anatomy or card.anatomy,
        modality=case.modality or card.modality,
        patient=case.patient or "",
        split=case.split or "",
        scope=(case.shows or card.shows).name.lower(),
        licence=case.licence or card.access.licence,
        redistribute=_may_pass_on(card, case),
        frames=picture.frames,
        reason=picture.reason,
        recipe=recipe_id(picture.recipe),
        file_bytes=picture.bytes,
        grey=picture.grey,
        colour=picture.colour,
        boxes=", ".join(" ".join(map(str, box)) for box in picture.boxes),
    )


def _may_pass_on(card: Card, case: Case) -> bool:
    return card.access.redistribute if case.redistribute is None else case.redistribute
