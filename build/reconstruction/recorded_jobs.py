"""Render jobs that execute recipes as written, whatever the current rules are.

A recipe states policy, slices, windows and marks. The pixel hash proves the result, so a job omits
every rule that only decides whether something is asked.
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
    source: Source,
    raw: TreeSnapshot,
    cases: Sequence[Case],
    recipes_of: Mapping[str, Sequence[Recipe]],
) -> Iterator[RenderJob]:
    """Yield a job for each of some cases, with only the wanted images.

    Args:
        source: their source.
        raw: the user's copy.
        cases: cases that the current rules find in it.
        recipes_of: case -> recipes of its images.
    """
    for job in plan_jobs(source, raw.root, cases):
        recipes = recipes_of[job.case.key]
        in_recipes = {recipe.artefact for recipe in recipes}
        if any(artefact.kind == BOXES for artefact in in_recipes):
            in_recipes.add(CLEAN)
        artefacts = tuple(artefact for artefact in job.artefacts if artefact in in_recipes)
        unplanned = sorted(in_recipes - set(artefacts), key=str)
        yield replace(
            _as_recorded(job, recipes),
            artefacts=(
                *artefacts,
                *(artefact for artefact in unplanned if _can_be_drawn(job, artefact)),
            ),
            frames=_frames(job, recipes),
        )


def jobs_of_recipes(
    source: Source, raw: TreeSnapshot, recipes_of: Mapping[str, Sequence[Recipe]]
) -> Iterator[RenderJob]:
    """Yield a job for each case that the current rules set aside, from its recipes and files only.

    A recipe names no mask, so only the clean image and images with recorded boxes can be made.
    """
    cases = [
        case for key, recipes in recipes_of.items() for case in _recorded_case(key, recipes, raw)
    ]
    return jobs_of_cases(source, raw, cases, recipes_of)


def _recorded_case(key: str, recipes: Sequence[Recipe], raw: TreeSnapshot) -> Iterator[Case]:
    """Yield the case of some recipes, if all describe one image whose files are in the copy."""
    images = recipes[0].record["images"]
    member = images[0].get("member")
    if len(images) > 1 or any(_place(recipe) != _place(recipes[0]) for recipe in recipes):
        return
    names = [text_to_name(name) for name in images[0]["files"]]
    if isinstance(member, str | None) and all(name in raw.states for name in names):
        paths = tuple(raw.root / name for name in names)
        yield Case(key=key, images=(ImageRef(paths=paths, member=member),))


def _place(recipe: Recipe) -> tuple[Any, ...]:
    """Return where the images of a recipe are stored, without their frames."""
    return tuple((image["files"], image.get("member")) for image in recipe.record["images"])


def _can_be_drawn(job: RenderJob, artefact: Artefact) -> bool:
    """Whether a case has the data for an artefact that no task uses any longer."""
    if artefact.kind not in REGION_MARKS:
        return artefact == CLEAN
    concepts = zip(job.concepts, job.case.regions, strict=True)
    return (artefact.concept, artefact.field) in {
        (concept, region.field) for concept, region in concepts
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
    """Return a shape without requirements on the parts that a slice shows."""
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
    """Return the display parameters of each image, if all recipes state the same."""
    windows = _only(recipe.record.get("grey") for recipe in recipes)
    if not isinstance(windows, list) or len(windows) != len(job.case.images):
        return ()
    return tuple(numbers if isinstance(numbers, dict) else {} for numbers in windows)


def _frames(job: RenderJob, recipes: Sequence[Recipe]) -> tuple[int, ...]:
    """Return the slices of the release, which may differ from those selected now."""
    free = [n for n, image in enumerate(job.case.images) if image.frame is None]
    if not free or any(len(recipe.frames) != len(job.case.images) for recipe in recipes):
        return ()
    return tuple(
        sorted({recipe.frames[free[0]] for recipe in recipes if recipe.frames[free[0]] >= 0})
    )


def _only(values: Iterable[Any]) -> Any:
    """Return the common value of all; ``None`` if they differ."""
    several: Collection[Any] = list(values)
    first = next(iter(several), None)
    return first if all(value == first for value in several) else None
