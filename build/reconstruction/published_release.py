"""Reconstruction of the release of MedRCube's authors, which has no hashes to verify against.

It names neither raw files nor hashes. If the card of a source states how published names derive
from raw names, a case can be matched by name only: such an image is placed only on request and
marked as unproved. Without a rule nothing is guessed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from medrcube.build.execution.local import RenderEngine
from medrcube.build.execution.progress import Stages
from medrcube.build.reconstruction.outcomes import (
    PictureOutcome,
    Reconstruction,
    SourceOutcome,
    Status,
)
from medrcube.build.reconstruction.recipes import RECIPES
from medrcube.build.reconstruction.safe_writes import lock_tree, place_picture, safe_path
from medrcube.build.release.editions.private_edition import mark_private
from medrcube.build.stages.plan import Artefact, RenderJob, plan_jobs
from medrcube.build.stages.rendering.rendered_picture import RenderResult
from medrcube.build.stages.scan import Scan, inspect_trees, scan
from medrcube.errors import ReleaseError
from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.dataset import load_benchmark
from medrcube.release_format.tree import stat_file
from medrcube.sources._framework.contract import Source
from medrcube.sources._framework.upstream_names import PublishedNameRule
from medrcube.sources.registry import layer_folders
from medrcube.vocabulary.layers import using_vocabulary

__all__ = ["adopt"]

_CLEAN = Artefact(kind="clean")


def adopt(
    release: Path,
    roots: Mapping[str, Path],
    sources: Mapping[str, Source],
    engine: RenderEngine,
    stages: Stages,
    *,
    place: bool = False,
) -> Reconstruction:
    """Match the images that the published release lacks with raw files, by the rules of cards.

    Args:
        release: the published release.
        roots: source id -> the user's own copy of its raw data.
        sources: registry.
        engine: engine that renders the images.
        stages: progress display.
        place: whether to write the clean image of each matched case into the tree, although it is
            unproved.

    Raises:
        ReleaseError: the tree breaks its rules, leads out of itself, or has recipes.
        SourceError: a raw tree fits no layout of its card.
        MedrcubeError: a source of ``roots`` does not exist.
        WorkspaceError: the tree cannot be written, or another process is using it.
    """
    tree = release.resolve()
    if stat_file(tree, tree / RECIPES) is not None:
        raise ReleaseError(
            f"{tree / RECIPES}: this release has recipes, which prove every image; leave out "
            "--adopt"
        )
    scans: dict[str, Scan] = {}
    raw = inspect_trees(sources, roots, stages)
    folders = _folders(load_benchmark(tree).items)
    rules = {
        rule.folder: (source, rule) for source in sources.values() for rule in source.card.adopt
    }
    layers = layer_folders(source.folder for source in sources.values())
    with lock_tree(tree), using_vocabulary(layers):
        outcomes_of_sources: list[SourceOutcome] = []
        for folder, items in folders.items():
            if folder not in rules:
                outcomes_of_sources.append(_no_rule(tree, folder, items, sorted(rules)))
                continue
            source, rule = rules[folder]
            if source.id in raw and source.id not in scans:
                scans[source.id] = scan(source, raw[source.id].root, b"", tree=raw[source.id])
            match = _Match(tree=tree, source=source, rule=rule, source_scan=scans.get(source.id))
            outcomes, lacking = match.by_name(items)
            if place:
                outcomes |= match.place(lacking, engine, stages)
            notes = _notes(match, outcomes)
            outcomes_of_sources.append(
                SourceOutcome(
                    source=source.id,
                    pictures=tuple(outcomes[name] for name in sorted(outcomes)),
                    notes=tuple(notes),
                )
            )
    return Reconstruction(sources=tuple(outcomes_of_sources))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Match:
    """One folder of the release, its rule, and the scan of the copy if one was given."""

    tree: Path
    source: Source
    rule: PublishedNameRule
    source_scan: Scan | None

    def by_name(
        self, items: Mapping[str, BenchmarkItem]
    ) -> tuple[dict[str, PictureOutcome], Mapping[str, Sequence[BenchmarkItem]]]:
        """Return the outcomes decided by name, and the items of each case that could be placed."""
        cases = {case.key for case in self.source_scan.cases} if self.source_scan else set()
        outcomes: dict[str, PictureOutcome] = {}
        lacking: dict[str, list[BenchmarkItem]] = {}
        for name, item in items.items():
            outcomes[name] = self._look(name, item, cases)
            if outcomes[name].status is Status.MATCHED_BY_NAME:
                lacking.setdefault(outcomes[name].case, []).append(item)
        return outcomes, lacking

    def place(
        self, lacking: Mapping[str, Sequence[BenchmarkItem]], engine: RenderEngine, stages: Stages
    ) -> dict[str, PictureOutcome]:
        """Render the clean image of each case and write it to the paths that its items name."""
        if self.source_scan is None:
            return {}
        cases = [case for case in self.source_scan.cases if case.key in lacking]
        jobs = [
            replace(job, artefacts=(_CLEAN,))
            for job in plan_jobs(self.source, self.source_scan.root, cases)
        ]
        outcomes: dict[str, PictureOutcome] = {}
        with (
            tempfile.TemporaryDirectory(prefix="medrcube-") as folder,
            stages.stage("render", len(jobs)) as advance,
        ):
            for job, rendered in engine.run(jobs, Path(folder)):
                for item in lacking[job.case.key]:
                    outcome = self._put(item, job, rendered, Path(folder))
                    outcomes[outcome.image] = outcome
                advance()
        return outcomes

    def _look(self, name: str, item: BenchmarkItem, cases: set[str]) -> PictureOutcome:
        if item.image is None:
            return _unnamed(name)
        target = safe_path(self.tree, item.image)
        if target.is_file():
            detail = "the published release has no hash to hold it against"
            return PictureOutcome(image=name, status=Status.THERE_UNPROVED, detail=detail)
        case = self.rule.key(target.name)
        if case is None:
            detail = f"is not a name like {self.rule.picture}"
            return PictureOutcome(image=name, status=Status.NAME_NOT_UNDERSTOOD, detail=detail)
        if self.source_scan is None:
            detail = f"name your own copy:  --source {self.source.id}=ROOT"
            return PictureOutcome(
                image=name, status=Status.SOURCE_NOT_GIVEN, case=case, detail=detail
            )
        if case not in cases:
            detail = "this copy has no such case"
            return PictureOutcome(image=name, status=Status.CASE_MISSING, case=case, detail=detail)
        detail = f"by name, unproved, and not placed: {self.rule.unproved}; --by-name places it"
        return PictureOutcome(image=name, status=Status.MATCHED_BY_NAME, case=case, detail=detail)

    def _put(
        self, item: BenchmarkItem, job: RenderJob, rendered: RenderResult, folder: Path
    ) -> PictureOutcome:
        image, case = str(item.image), job.case.key
        if len(rendered.pictures) != 1:
            detail = "; ".join(problem.message for problem in rendered.problems) or (
                f"the case gives {len(rendered.pictures)} images, and the name does not say which"
            )
            return PictureOutcome(image=image, status=Status.NOT_RENDERED, case=case, detail=detail)
        if item.restricted or not self.source.card.access.redistribute:
            mark_private(self.tree)
        data = (folder / rendered.pictures[0].path).read_bytes()
        place_picture(self.tree, image, data)
        detail = f"by name, unproved: {self.rule.unproved}"
        return PictureOutcome(image=image, status=Status.PLACED_BY_NAME, case=case, detail=detail)


def _folders(items: Sequence[BenchmarkItem]) -> Mapping[str, Mapping[str, BenchmarkItem]]:
    """Return items by folder of the release and image; items without an image, by their name."""
    folders: dict[str, dict[str, BenchmarkItem]] = {}
    for item in items:
        folder = item.image.partition("/")[0] if item.image else item.dataset
        folders.setdefault(folder, {}).setdefault(item.image or item.name, item)
    return dict(sorted(folders.items()))


def _no_rule(
    tree: Path, folder: str, items: Mapping[str, BenchmarkItem], folders: Sequence[str]
) -> SourceOutcome:
    detail = (
        f"no rule is known that leads from an image of {folder} to a raw file "
        f"(known: {', '.join(folders) or 'none'}), and nothing is guessed"
    )
    pictures: list[PictureOutcome] = []
    for name, item in sorted(items.items()):
        if item.image is None:
            pictures.append(_unnamed(name))
        elif safe_path(tree, item.image).is_file():
            pictures.append(PictureOutcome(image=name, status=Status.THERE_UNPROVED))
        else:
            pictures.append(PictureOutcome(image=name, status=Status.NO_RULE, detail=detail))
    return SourceOutcome(source=folder, pictures=tuple(pictures))


def _unnamed(name: str) -> PictureOutcome:
    detail = "the item names no image, so nothing says which one belongs to it"
    return PictureOutcome(image=name, status=Status.NO_PICTURE_NAMED, detail=detail)


def _notes(match: _Match, outcomes: Mapping[str, PictureOutcome]) -> Iterator[str]:
    rule = match.rule
    yield (
        f"{match.source.id}: matched by name alone, {rule.picture} to {rule.case!r} "
        f"({rule.evidence})"
    )
    if match.source_scan is not None:
        yield match.source_scan.layout.describe()
    statuses = {outcome.status for outcome in outcomes.values()}
    if Status.SOURCE_NOT_GIVEN in statuses:
        for number, step in enumerate(match.source.card.access.steps, 1):
            yield f"  {number}. {step}"
