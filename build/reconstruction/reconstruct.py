"""Reconstruction of withheld images from the user's own copy of the raw data.

The build's own stages scan, plan and render into a temporary folder. An image is written into the
tree only if its pixel hash is the published one. Nothing else in the tree changes, except that it
is marked as private once it contains a restricted image, and that images in a release with shards
move from loose files into their shard once all of them are there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medrcube.build.execution.local import RenderEngine
from medrcube.build.execution.progress import Stages
from medrcube.build.incremental.file_states import TreeSnapshot
from medrcube.build.pixels.png_encoder import encode_png
from medrcube.build.reconstruction.complete_shards import complete_shards
from medrcube.build.reconstruction.diagnosis import changes_of, diagnose, same_layout
from medrcube.build.reconstruction.outcomes import (
    PictureOutcome,
    RawFileDifference,
    Reconstruction,
    SourceOutcome,
    Status,
)
from medrcube.build.reconstruction.recipes import Recipe, read_recipes
from medrcube.build.reconstruction.recorded_jobs import CLEAN, jobs_of_cases, jobs_of_recipes
from medrcube.build.reconstruction.recorded_marks import BOXES, draw_recorded_boxes
from medrcube.build.reconstruction.safe_writes import (
    lock_tree,
    place_picture,
    safe_path,
    stored_hash,
)
from medrcube.build.reconstruction.scan_causes import other_causes, problem_of
from medrcube.build.release.editions.private_edition import mark_private
from medrcube.build.stages.plan import RenderJob
from medrcube.build.stages.rendering.rendered_picture import RenderedPicture, RenderResult
from medrcube.build.stages.scan import Scan, inspect_trees, scan
from medrcube.build.stages.shard_result import origin_of
from medrcube.errors import SourceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.names import text_to_name
from medrcube.release_format.images import open_images
from medrcube.sources._framework.contract import Source
from medrcube.sources.registry import layer_folders
from medrcube.vocabulary.layers import using_vocabulary

__all__ = ["already_present", "pictures_and_recipes", "reconstruct"]

_NO_KEY = b""
"""Key for patient hashes, which do not leave the scan."""


def reconstruct(
    release: Path,
    roots: Mapping[str, Path],
    sources: Mapping[str, Source],
    engine: RenderEngine,
    stages: Stages,
) -> Reconstruction:
    """Write every image into a release that the raw data reproduce exactly.

    Images that are present with the right pixels are kept, so repeating the call resumes an
    interrupted one.

    Args:
        release: a release made by medrcube.
        roots: source id -> the user's own copy of its raw data, in any layout of its card.
        sources: registry.
        engine: engine that renders the images.
        stages: progress display.

    Raises:
        ReleaseError: the tree breaks its rules, or one of its paths leads out of it.
        SourceError: a raw root is not a folder.
        MedrcubeError: a source of ``roots`` does not exist.
        WorkspaceError: the tree cannot be written, or another process is using it.
    """
    tree = release.resolve()
    raw = inspect_trees(sources, roots, stages)
    images, recipes = pictures_and_recipes(tree)
    known_recipes = [recipes[image] for image in images if image in recipes]
    layers = layer_folders(source.folder for source in sources.values())
    with lock_tree(tree), using_vocabulary(layers):
        outcomes = dict(already_present(tree, known_recipes, stages))
        lacking = [recipe for recipe in known_recipes if recipe.image not in outcomes]
        if any(recipe.restricted and recipe.image in outcomes for recipe in known_recipes):
            mark_private(tree)
        orders: list[_SourceOrder] = []
        with stages.stage("scan", len(raw)) as advance:
            for name, where in raw.items():
                mine = [recipe for recipe in lacking if recipe.source == name]
                if mine:
                    orders.append(_order(sources[name], where, mine))
                advance()
        _render(tree, orders, outcomes, engine, stages)
        completed = complete_shards(tree)
    for recipe in lacking:
        if recipe.image not in outcomes:
            outcomes[recipe.image] = _not_given(recipe, sources)
    without = "no recipe says how it was made"
    for image in images:
        if image not in recipes:
            outcomes[image] = PictureOutcome(image=image, status=Status.NO_RECIPE, detail=without)
    report = _report(images, recipes, outcomes, orders, sources)
    return replace(report, shards=completed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SourceOrder:
    """Images to reconstruct of one source.

    Attributes:
        source: the source.
        raw: the user's copy.
        source_scan: its scan, or ``None`` if the copy was rejected.
        refused: why it was rejected.
        origin: result of ``origin_of``.
        recipes_of: case -> recipes of its images.
        keys: the wanted cases that the current rules find in the copy.
    """

    source: Source
    raw: TreeSnapshot
    source_scan: Scan | None
    refused: str = ""
    origin: Mapping[str, Any] = field(default_factory=dict)
    recipes_of: Mapping[str, Sequence[Recipe]]
    keys: frozenset[str] = frozenset()

    def jobs(self) -> Iterator[RenderJob]:
        """Yield a job for every wanted case whose files are present."""
        if self.source_scan is None:
            return
        cases = [case for case in self.source_scan.cases if case.key in self.keys]
        yield from jobs_of_cases(self.source, self.raw, cases, self.recipes_of)
        aside = {key: recipes for key, recipes in self.recipes_of.items() if key not in self.keys}
        yield from jobs_of_recipes(self.source, self.raw, aside)


def pictures_and_recipes(tree: Path) -> tuple[Sequence[str], Mapping[str, Recipe]]:
    """Return the images that the items of a release name, and the recipe of each that has one.

    Raises:
        ReleaseError: the tree breaks its rules, or one of its paths leads out of it.
    """
    images = sorted({item.image for item in load_benchmark(tree).items if item.image})
    recipes = {recipe.image: recipe for recipe in read_recipes(tree)}
    for image in images:
        safe_path(tree, image)
    return images, recipes


def already_present(
    tree: Path, recipes: Sequence[Recipe], stages: Stages
) -> Iterator[tuple[str, PictureOutcome]]:
    """Yield the images whose pixels are already in the tree."""
    with stages.stage("check", len(recipes)) as advance, ThreadPoolExecutor() as pool:
        images = open_images(tree)
        hashes = pool.map(stored_hash, repeat(images), [recipe.image for recipe in recipes])
        for recipe, digest in zip(recipes, hashes, strict=True):
            if digest == recipe.pixel_sha256:
                yield recipe.image, _outcome(recipe, Status.ALREADY_THERE)
            advance()


def _order(source: Source, raw: TreeSnapshot, recipes: Sequence[Recipe]) -> _SourceOrder:
    by_case: dict[str, list[Recipe]] = {}
    for recipe in recipes:
        by_case.setdefault(recipe.case, []).append(recipe)
    try:
        source_scan = scan(source, raw.root, _NO_KEY, tree=raw)
    except SourceError as error:
        return _SourceOrder(
            source=source, raw=raw, source_scan=None, refused=str(error), recipes_of=by_case
        )
    origin = origin_of(source, source_scan.layout.layout)
    return _SourceOrder(
        source=source,
        raw=raw,
        source_scan=source_scan,
        origin=origin,
        recipes_of=by_case,
        keys=frozenset(case.key for case in source_scan.cases if case.key in by_case),
    )


def _render(
    tree: Path,
    orders: Sequence[_SourceOrder],
    outcomes: dict[str, PictureOutcome],
    engine: RenderEngine,
    stages: Stages,
) -> None:
    by_source = {order.source.id: order for order in orders}
    jobs = [job for order in orders for job in order.jobs()]
    with (
        tempfile.TemporaryDirectory(prefix="medrcube-") as folder,
        stages.stage("render", len(jobs)) as advance,
    ):
        for job, rendered in engine.run(jobs, Path(folder)):
            result = _RenderedJob(job=job, rendered=rendered, folder=Path(folder))
            order = by_source[job.source]
            is_found = job.case.key in order.keys
            for recipe in order.recipes_of[job.case.key]:
                changed = changes_of(recipe, order.origin)
                outcome = _place(tree, recipe, result, changed)
                if is_found or outcome.status is Status.REBUILT:
                    outcomes[recipe.image] = outcome
            result.clear()
            advance()
    for order in orders:
        for case, recipes in order.recipes_of.items():
            for recipe in recipes:
                if recipe.image not in outcomes:
                    outcomes[recipe.image] = _absent(recipe, case, order)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RenderedJob:
    """Result of a job, and the folder of its images."""

    job: RenderJob
    rendered: RenderResult
    folder: Path

    def picture(self, recipe: Recipe) -> RenderedPicture | None:
        """Return the image with the recipe's mark and slice; else that of another slice."""
        alike = [
            picture for picture in self.rendered.pictures if picture.artefact == recipe.artefact
        ]
        frames = "+".join(map(str, recipe.frames))
        exact = next((picture for picture in alike if picture.frames == frames), None)
        return alike[0] if exact is None and len(alike) == 1 else exact

    def clean(self, recipe: Recipe) -> NDArray[np.uint8] | None:
        """Return the pixels of the clean image of the recipe's slice."""
        frames = "+".join(map(str, recipe.frames))
        for picture in self.rendered.pictures:
            if picture.artefact == CLEAN and picture.frames == frames:
                with Image.open(self.folder / picture.path, formats=("PNG",)) as file:
                    return np.asarray(file)
        return None

    def clear(self) -> None:
        """Delete the images: restricted images stay on disk no longer than needed."""
        for picture in self.rendered.pictures:
            (self.folder / picture.path).unlink()


def _place(
    tree: Path, recipe: Recipe, result: _RenderedJob, changed: Sequence[str]
) -> PictureOutcome:
    picture = result.picture(recipe)
    if picture is not None and picture.pixel_sha256 == recipe.pixel_sha256:
        data = (result.folder / picture.path).read_bytes()
    else:
        clean = result.clean(recipe) if recipe.artefact.kind == BOXES else None
        pixels = None if clean is None else draw_recorded_boxes(recipe, clean)
        if pixels is None:
            return diagnose(recipe, result.job, result.rendered, picture, changed)
        data = encode_png(pixels, spend=True)
    if recipe.restricted:
        mark_private(tree)
    place_picture(tree, recipe.image, data)
    return _outcome(recipe, Status.REBUILT)


def _absent(recipe: Recipe, case: str, order: _SourceOrder) -> PictureOutcome:
    """Return why there is nothing to render."""
    if order.source_scan is None:
        missing = _missing(recipe, order)
        status = Status.RAW_FILE_MISSING if missing else Status.RAW_TREE_REFUSED
        return _outcome(recipe, status, _missing_text(missing) or order.refused, missing)
    changed = changes_of(recipe, order.origin)
    problems = order.source_scan.problems
    problem = problem_of(case, problems)
    if problem is not None and problem.code not in ("mask-missing", "outside-root"):
        detail = f"{problem.message} ({problem.code})"
        return _outcome(recipe, Status.CASE_MISSING, "; ".join((detail, *changed)))
    same = same_layout(recipe, order.source_scan.layout.layout)
    missing = _missing(recipe, order) if same else ()
    if missing or problem is not None or case in order.source_scan.absent:
        detail = problem.message if problem else _missing_text(missing) or _NOT_HERE
        return _outcome(recipe, Status.RAW_FILE_MISSING, "; ".join((detail, *changed)), missing)
    detail = "no case of this copy has that key, though its raw files are there"
    detail = (
        detail
        if same
        else f"layout {order.source_scan.layout.layout!r} of this copy has no such case"
    )
    detail = "; ".join((detail, *other_causes(problems), *changed))
    return _outcome(recipe, Status.CASE_MISSING, detail)


_NOT_HERE = "a raw file of the case is not in this copy"


def _missing_text(missing: Sequence[RawFileDifference]) -> str:
    """Return which raw files are missing, in words; empty if none is."""
    return f"{', '.join(file.name for file in missing[:3])}: {_NOT_HERE}" if missing else ""


def _missing(recipe: Recipe, order: _SourceOrder) -> tuple[RawFileDifference, ...]:
    return tuple(
        RawFileDifference(name=name, recorded=digest)
        for name, digest in recipe.files.items()
        if text_to_name(name) not in order.raw.states
    )


def _not_given(recipe: Recipe, sources: Mapping[str, Source]) -> PictureOutcome:
    if recipe.source in sources:
        detail = f"name your own copy:  --source {recipe.source}=ROOT"
        return _outcome(recipe, Status.SOURCE_NOT_GIVEN, detail)
    detail = f"no source is called {recipe.source!r} here; is it in a folder for  --source-path ?"
    return _outcome(recipe, Status.UNKNOWN_SOURCE, detail)


def _report(
    images: Sequence[str],
    recipes: Mapping[str, Recipe],
    outcomes: Mapping[str, PictureOutcome],
    orders: Sequence[_SourceOrder],
    sources: Mapping[str, Source],
) -> Reconstruction:
    ids = {name.upper(): name for name in sources}
    by_source: dict[str, list[PictureOutcome]] = {}
    for image in images:
        folder = image.partition("/")[0]
        name = recipes[image].source if image in recipes else ids.get(folder, folder)
        by_source.setdefault(name, []).append(outcomes[image])
    scanned = {order.source.id: order for order in orders}
    return Reconstruction(
        sources=tuple(
            SourceOutcome(
                source=name,
                pictures=tuple(pictures),
                notes=tuple(_notes(name, pictures, scanned.get(name), sources)),
            )
            for name, pictures in sorted(by_source.items())
        )
    )


def _notes(
    name: str,
    pictures: Sequence[PictureOutcome],
    order: _SourceOrder | None,
    sources: Mapping[str, Source],
) -> Iterator[str]:
    if order is not None and order.source_scan is not None:
        yield order.source_scan.layout.describe()
    elif order is not None and all(outcome.detail != order.refused for outcome in pictures):
        yield order.refused
    if any(outcome.status is Status.SOURCE_NOT_GIVEN for outcome in pictures):
        access = sources[name].card.access
        yield f"{name}: how to get the data ({access.mode}, {access.licence}):"
        yield from (f"  {number}. {step}" for number, step in enumerate(access.steps, 1))


def _outcome(
    recipe: Recipe, status: Status, detail: str = "", raw: tuple[RawFileDifference, ...] = ()
) -> PictureOutcome:
    return PictureOutcome(
        image=recipe.image, status=status, case=recipe.case, detail=detail, raw=raw
    )
