"""The whole build, stage by stage: scan, verify, plan, render, derive, compose, audit.

Each stage is a function of its inputs. Pictures are written as they are made; the tables are
written at the end, each atomically, so a build that is killed leaves pictures and a cache that
the next one uses, and never half a table.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from medrcube.build.audit import audit
from medrcube.build.cache import BuildCache
from medrcube.build.compose import compose
from medrcube.build.derive import Query, derive
from medrcube.build.engine import Engine
from medrcube.build.items import Item, items_to_frame
from medrcube.build.overlap import shared_images
from medrcube.build.plan import Job, plan
from medrcube.build.render import Picture, Rendered, recipe_id
from medrcube.build.repeats import bar_repeats
from medrcube.build.samples import Sample, samples_to_frame
from medrcube.build.sampling import select
from medrcube.build.scan import Scan, scan
from medrcube.errors import MedrcubeError
from medrcube.files import replacing, sweep, write_text
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.records import Case, Problem
from medrcube.sources.card import Card
from medrcube.sources.contract import Source
from medrcube.sources.registry import get_source
from medrcube.workspace import BuildSettings, Workspace, patient_key


class Stages(Protocol):
    """Shows progress; ``medrcube.console.Reporter`` is one."""

    def stage(self, name: str, total: int) -> AbstractContextManager[Any]:
        """A context whose value is called with the number of units done."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport:
    """What one source gave.

    Attributes:
        source: its id.
        layout: layout of the copy, in words.
        cases: cases whose files are there.
        absent: cases whose image is not in this copy.
        set_aside: cases and files left out on purpose, by code.
        failed: cases that could not be rendered.
        pictures: pictures made.
        items: items made.
    """

    source: str
    layout: str
    cases: int
    absent: int
    set_aside: int
    failed: int
    pictures: int
    items: int


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
    """

    sources: tuple[SourceReport, ...]
    rendered: int
    reused: int
    dropped: Mapping[str, int]
    shared: tuple[str, ...]
    failures: tuple[str, ...]
    seconds: float


def build(
    workspace: Workspace, sources: Mapping[str, Source], engine: Engine, stages: Stages
) -> BuildReport:
    """Build samples and items of every source that the workspace names.

    Raises:
        MedrcubeError: no source is named, or a raw tree is not what its card says; nothing that
            an earlier build wrote is changed then.
    """
    started = time.monotonic()
    if not workspace.sources:
        raise MedrcubeError(
            f"{workspace.root}: no source to build; name one in medrcube.toml or with  "
            "--source ID=ROOT"
        )
    with BuildCache(workspace.cache) as cache:
        sweep(workspace.root)
        sweep(workspace.images)
        scans = _scan_all(workspace, sources, cache, stages)
        jobs = [job for found in scans for job in plan(found.source, found.root, found.cases)]
        results, reused = _render_all(workspace, cache, jobs, engine, stages)
        samples, recipes = _samples(scans, results)
        queries, problems = _derive_all(scans, results, samples)
        items, dropped = _compose(workspace.settings, queries, samples)
        verdict = audit(samples, items, problems, {s.source.id: len(s.absent) for s in scans})
        reports = _reports(scans, problems, samples, items)
        failures = [*verdict["failures"], *_gate(reports, workspace.settings.quarantine_gate)]
        shared = shared_images([found.source.card for found in scans], samples)
        verdict = {
            **verdict,
            "dropped": dropped,
            "failures": failures,
            "shared_images": [asdict(pair) for pair in shared],
        }
        outcome = _Outcome(
            samples=samples, items=items, problems=problems, recipes=recipes, verdict=verdict
        )
        _write_tables(workspace, outcome)
    return BuildReport(
        sources=reports,
        rendered=len(jobs) - reused,
        reused=reused,
        dropped=dropped,
        shared=tuple(pair.describe() for pair in shared),
        failures=tuple(failures),
        seconds=time.monotonic() - started,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """Everything that is written at the end of a build."""

    samples: Sequence[Sample]
    items: Sequence[Item]
    problems: Sequence[Problem]
    recipes: Sequence[Mapping[str, Any]]
    verdict: Mapping[str, Any]


def _scan_all(
    workspace: Workspace, sources: Mapping[str, Source], cache: BuildCache, stages: Stages
) -> list[Scan]:
    named = [(get_source(sources, name), root) for name, root in sorted(workspace.sources.items())]
    key = patient_key(workspace)
    scans: list[Scan] = []
    with stages.stage("scan", len(named)) as advance:
        for source, root in named:
            scans.append(scan(source, root, key, cache))
            advance()
    return scans


def _compose(
    settings: BuildSettings, queries: Sequence[Query], samples: Sequence[Sample]
) -> tuple[Sequence[Item], Mapping[str, int]]:
    composed = compose(
        queries,
        load_terms(),
        load_relations(),
        options=settings.options,
        evidence=settings.evidence,
        seed=settings.seed,
    )
    items = select(
        composed.items, samples, per_cell=settings.items_per_cell or None, seed=settings.seed
    )
    return items, dict(sorted(composed.dropped.items()))


def _render_all(
    workspace: Workspace, cache: BuildCache, jobs: Sequence[Job], engine: Engine, stages: Stages
) -> tuple[dict[tuple[str, str], Rendered], int]:
    """Render what is new and take the rest from the cache; by source and case key."""
    results: dict[tuple[str, str], Rendered] = {}
    new: list[Job] = []
    with stages.stage("render", len(jobs)) as advance:
        for job in jobs:
            known = cache.find(job, workspace.images)
            if known is None:
                new.append(job)
            else:
                results[job.source, job.case.key] = known
                advance()
        # Large files first: no worker is left alone with one at the end.
        new.sort(key=lambda job: -sum(map(_size, job.case.files())))
        for job, rendered in engine.run(new, workspace.images):
            cache.keep(job, rendered)
            results[job.source, job.case.key] = rendered
            advance()
    sweep(workspace.images)  # a worker that died may have been writing
    return results, len(jobs) - len(new)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # gone since the scan; its case will say so
        return 0


def _samples(
    scans: Sequence[Scan], results: Mapping[tuple[str, str], Rendered]
) -> tuple[list[Sample], list[Mapping[str, Any]]]:
    samples: list[Sample] = []
    recipes: list[Mapping[str, Any]] = []
    for found in scans:
        for case in found.cases:
            for picture in results[found.source.id, case.key].pictures:
                sample = _sample(found.source.card, case, picture)
                samples.append(sample)
                recipes.append({"sample": sample.id, "image": sample.image, **picture.recipe})
    return samples, recipes


def _sample(card: Card, case: Case, picture: Picture) -> Sample:
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
    )


def _may_pass_on(card: Card, case: Case) -> bool:
    return card.access.redistribute if case.redistribute is None else case.redistribute


def _derive_all(
    scans: Sequence[Scan],
    results: Mapping[tuple[str, str], Rendered],
    samples: Sequence[Sample],
) -> tuple[list[Query], list[Problem]]:
    by_case: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        by_case.setdefault((sample.source, sample.case), []).append(sample)
    queries: list[Query] = []
    problems: list[Problem] = []
    for found in scans:
        card = found.source.card
        problems.extend(found.problems)
        for case in found.cases:
            problems.extend(results[card.id, case.key].problems)
            queries.extend(derive(card, case, by_case.get((card.id, case.key), [])))
    return bar_repeats(queries), problems


def _reports(
    scans: Sequence[Scan],
    problems: Sequence[Problem],
    samples: Sequence[Sample],
    items: Sequence[Item],
) -> tuple[SourceReport, ...]:
    pictures = Counter(sample.source for sample in samples)
    made = Counter(item.source for item in items)
    failed = {(p.source, p.case) for p in problems if p.stage == "render"}
    return tuple(
        SourceReport(
            source=found.source.id,
            layout=found.layout.describe(),
            cases=len(found.cases),
            absent=len(found.absent),
            set_aside=len(found.problems),
            failed=sum(source == found.source.id for source, _ in failed),
            pictures=pictures[found.source.id],
            items=made[found.source.id],
        )
        for found in scans
    )


def _gate(reports: Sequence[SourceReport], gate: float) -> list[str]:
    return [
        f"{report.source}: {report.failed} of {report.cases} cases could not be rendered, more "
        f"than the gate of {gate:.0%}; see quarantine.parquet"
        for report in reports
        if report.cases and report.failed / report.cases > gate
    ]


def _write_tables(workspace: Workspace, outcome: _Outcome) -> None:
    write_parquet(workspace.samples, samples_to_frame(outcome.samples))
    write_parquet(workspace.items, items_to_frame(outcome.items))
    columns = list(Problem.__dataclass_fields__)
    rows = [asdict(problem) for problem in outcome.problems]
    write_parquet(workspace.quarantine, pd.DataFrame(rows, columns=columns, dtype="str"))
    lines = "".join(json.dumps(recipe, sort_keys=True) + "\n" for recipe in outcome.recipes)
    write_text(workspace.recipes, lines)
    write_text(workspace.audit, json.dumps(outcome.verdict, indent=2, sort_keys=True) + "\n")


def write_parquet(path: Path, frame: pd.DataFrame) -> None:
    """Write a table atomically."""
    with replacing(path) as temporary:
        frame.to_parquet(temporary, index=False)
