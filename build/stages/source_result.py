"""Result of one source: samples, geometry, recipes and question candidates.

It depends on the source alone, so it is cached whole: when one card has changed, a build processes
that source and reuses the results of the others.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
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
from medrcube.build.stages.raw_files import raw_files
from medrcube.build.stages.render import RenderedPicture, RenderResult, recipe_id
from medrcube.build.stages.samples import Sample
from medrcube.build.stages.scan import Scan
from medrcube.facts import Case, QuarantineRow
from medrcube.names import escape_bytes, escape_controls
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.contract import Source

__all__ = ["SourceBuild", "UnreadableCase", "build_source", "origin_of", "retry_unreadable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableCase:
    """A case whose files could not be read; tried again by every build."""

    job: RenderJob
    rendered: RenderResult


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
        samples: its pictures.
        geometry: what was measured of the regions on them.
        recipes: how they are made, one JSON object a line.
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
    samples: tuple[Sample, ...]
    geometry: tuple[Geometry, ...]
    recipes: str
    raw_files: str
    queries: tuple[QuestionCandidate, ...]
    open_questions: tuple[OpenQuestion, ...]
    open_barred: Mapping[str, int]
    unread: tuple[UnreadableCase, ...]


def build_source(
    source_scan: Scan,
    tree: TreeSnapshot,
    results: Mapping[str, RenderResult],
    unread: Sequence[UnreadableCase],
) -> SourceBuild:
    """Put together what the cases of a source gave.

    Args:
        source_scan: the scan.
        tree: the raw tree that was scanned.
        results: what became of each case, by its key.
        unread: cases that are to be tried again.

    Raises:
        SourceError: a label or region names a field or value that the card lacks.
        TermError: the card names a concept or group that is in no table.
    """
    card = source_scan.source.card
    samples: list[Sample] = []
    geometry: list[Geometry] = []
    recipes: list[str] = []
    queries: list[QuestionCandidate] = []
    open_asked = OpenAsked()
    grounds = CaseFactsCache(card=card)
    origin = origin_of(source_scan.source, source_scan.layout.layout)
    problems: list[QuarantineRow] = [*source_scan.remarks]
    pictures: list[RenderedPicture] = []
    for case in source_scan.cases:
        pictures.extend(results[case.key].pictures)
        pairs = [
            (_sample(card, case, picture), picture.recipe) for picture in results[case.key].pictures
        ]
        samples.extend(sample for sample, _ in pairs)
        recipes.extend(_line(sample, recipe, origin) for sample, recipe in pairs)
        problems.extend(results[case.key].problems)
        mine = [sample for sample, _ in pairs]
        regions = tuple(geometry_of_case(card, case, mine, results[case.key].geometry))
        geometry.extend(regions)
        queries.extend(derive_questions(card, case, mine, grounds=grounds))
        open_asked.ask(card, case, grounds.of(case), mine, regions)
    problems.extend(open_asked.problems)
    return SourceBuild(
        source=card.id,
        layout=escape_bytes(source_scan.layout.describe()),
        cases=len(source_scan.cases),
        absent=len(source_scan.absent),
        absent_images=_absent_images(source_scan),
        set_aside=source_scan.problems,
        problems=tuple(problems),
        words=count_outcomes(source_scan.outcomes),
        samples=tuple(samples),
        geometry=tuple(geometry),
        recipes="".join(recipes),
        raw_files="".join(file.line() for file in raw_files(source_scan, tree, pictures)),
        queries=tuple(queries),
        open_questions=tuple(open_asked.questions),
        open_barred=dict(open_asked.barred),
        unread=tuple(unread),
    )


def _absent_images(source_scan: Scan) -> str:
    text = io.StringIO()
    rows = zip(source_scan.absent, source_scan.absent_files, strict=True)
    csv.writer(text, lineterminator="\n").writerows(
        (source_scan.source.id, escape_controls(key), escape_controls(file)) for key, file in rows
    )
    return text.getvalue()


def origin_of(source: Source, layout: str) -> dict[str, Any]:
    """What of a source decides its pictures, beside its raw files; stands in every recipe."""
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
