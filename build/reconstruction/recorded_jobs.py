"""Render jobs that carry out recipes as they are written, whatever the present rules would do.

A recipe states policy, slices, windows and marks. The pixel hash proves what comes of it, so a job
leaves out every rule that only decides whether something is asked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from medrcube.build.incremental.file_states import TreeSnapshot
from medrcube.build.reconstruction.diagnosis import recorded_policy
from medrcube.build.reconstruction.recipes import Recipe
from medrcube.build.reconstruction.recorded_marks import BOXES
from medrcube.build.stages.plan import (
    REGION_MARKS,
    Artefact,
    RenderJob,
    pixel_policy_of,
    plan_jobs,
)
from medrcube.facts import Case, Consensus, ImageRef, MaskFile, Shape
from medrcube.names import text_to_name
from medrcube.sources._framework.contract import Source

__all__ = ["CLEAN", "jobs_of_cases", "jobs_of_recipes"]

CLEAN = Artefact(kind="clean")


def jobs_of_cases(
    source: Source, raw: TreeSnapshot, cases: Sequence[Case], wanted: Mapping[str, Sequence[Recipe]]
) -> Iterator[RenderJob]:
    """A job for each of some cases, with the wanted images alone.

    Args:
        source: their source.
        raw: the user's copy.
        cases: cases that the present rules find in it.
        wanted: case -> recipes of its images.
    """
    for job in plan_jobs(source, raw.root, cases):
        recipes = wanted[job.case.key]
        named = {recipe.artefact for recipe in recipes}
        if any(artefact.kind == BOXES for artefact in named):
            named.add(CLEAN)
        artefacts = tuple(artefact for artefact in job.artefacts if artefact in named)
        unplanned = sorted(named - set(artefacts), key=str)
        yield replace(
            _as_recorded(job, recipes),
            artefacts=(*artefacts, *(it for it in unplanned if _can_be_drawn(job, it))),
            frames=_frames(job, recipes),
        )


def jobs_of_recipes(
    source: Source, raw: TreeSnapshot, wanted: Mapping[str, Sequence[Recipe]]
) -> Iterator[RenderJob]:
    """A job for each case that the present rules set aside, from its recipes and files alone.

    A recipe names no mask, so that it gives the clean image and images with recorded boxes.
    """
    cases = [case for key, recipes in wanted.items() for case in _recorded_case(key, recipes, raw)]
    return jobs_of_cases(source, raw, cases, wanted)


def _recorded_case(key: str, recipes: Sequence[Recipe], raw: TreeSnapshot) -> Iterator[Case]:
    """The case of some recipes, where all are of one image whose files are in the copy."""
    stored = recipes[0].made["images"]
    member = stored[0].get("member")
    if len(stored) > 1 or any(_place(recipe) != _place(recipes[0]) for recipe in recipes):
        return
    names = [text_to_name(name) for name in stored[0]["files"]]
    if isinstance(member, str | None) and all(name in raw.states for name in names):
        paths = tuple(raw.root / name for name in names)
        yield Case(key=key, images=(ImageRef(paths=paths, member=member),))


def _place(recipe: Recipe) -> tuple[Any, ...]:
    """Where the images of a recipe are stored, apart from their frames."""
    return tuple((image["files"], image.get("member")) for image in recipe.made["images"])


def _can_be_drawn(job: RenderJob, artefact: Artefact) -> bool:
    """Whether a case has what an image shows that no task asks for any longer."""
    if artefact.kind not in REGION_MARKS:
        return artefact == CLEAN
    named = zip(job.concepts, job.case.regions, strict=True)
    return (artefact.concept, artefact.field) in {
        (concept, region.field) for concept, region in named
    }


def _as_recorded(job: RenderJob, recipes: Sequence[Recipe]) -> RenderJob:
    policy = _only(recorded_policy(recipe) for recipe in recipes)
    policy = pixel_policy_of(policy or job.policy, job.case)
    plane = job.case.plane or policy.plane
    regions = tuple(
        replace(region, shape=_without_needs(region.shape)) for region in job.case.regions
    )
    return replace(
        job,
        case=replace(job.case, regions=regions),
        policy=policy,
        plane=plane,
        side=None,
        enclosed=None,
        larger=None,
        windows=_windows(job, recipes),
    )


def _without_needs(shape: Shape) -> Shape:
    """A shape whatever its name says of the parts that a slice shows."""
    if isinstance(shape, MaskFile):
        return replace(shape, needs=())
    if isinstance(shape, Consensus):
        readings = tuple(
            replace(reading, needs=()) if isinstance(reading, MaskFile) else reading
            for reading in shape.readings
        )
        return replace(shape, readings=readings)
    return shape


def _windows(job: RenderJob, recipes: Sequence[Recipe]) -> tuple[Mapping[str, Any], ...]:
    """Numbers of the grey scale of each image, where all recipes tell the same."""
    written = _only(recipe.made.get("grey") for recipe in recipes)
    if not isinstance(written, list) or len(written) != len(job.case.images):
        return ()
    return tuple(numbers if isinstance(numbers, dict) else {} for numbers in written)


def _frames(job: RenderJob, recipes: Sequence[Recipe]) -> tuple[int, ...]:
    """Slices of the release: an older edition may have chosen others than this one would."""
    free = [n for n, image in enumerate(job.case.images) if image.frame is None]
    if not free or any(len(recipe.frames) != len(job.case.images) for recipe in recipes):
        return ()
    return tuple(
        sorted({recipe.frames[free[0]] for recipe in recipes if recipe.frames[free[0]] >= 0})
    )


def _only(values: Iterable[Any]) -> Any:
    """The one value that all have; ``None`` where they differ."""
    several: Collection[Any] = list(values)
    first = next(iter(several), None)
    return first if all(value == first for value in several) else None
