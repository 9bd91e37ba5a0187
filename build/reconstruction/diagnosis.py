"""Diagnosis of a reconstruction mismatch: the first stage that differs from the recipe.

Stages are compared in the order in which an image is rendered, by the parameters in the recipe of
the release and those of the new recipe.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from medrcube.build.reconstruction.outcomes import PictureOutcome, RawFileDifference, Status
from medrcube.build.reconstruction.recipes import RECIPES, Recipe
from medrcube.build.stages.plan import RenderJob
from medrcube.build.stages.rendering.recipe import EPOCH
from medrcube.build.stages.rendering.rendered_picture import RenderedPicture, RenderResult
from medrcube.errors import MedrcubeError
from medrcube.files.atomic import sha256_of
from medrcube.files.toml_reader import TomlTable
from medrcube.names import name_to_text
from medrcube.sources._framework.card_parts.pixels import PixelPolicy, pixel_policy

__all__ = ["changes_of", "diagnose", "recorded_policy", "same_layout"]

_USE_OLDER = "to make it, install the version of medrcube that README.md of the release names"
_LONGEST = 160
"""Most characters of a value that a detail shows."""


def diagnose(
    recipe: Recipe,
    job: RenderJob,
    rendered: RenderResult,
    picture: RenderedPicture | None,
    changed: Sequence[str],
) -> PictureOutcome:
    """Return why a case did not reproduce the published image.

    Args:
        recipe: recipe of the release.
        job: the render job.
        rendered: its result.
        picture: the image rendered in place of the published one, if any.
        changed: changes of the source since the release, from ``changes_of``.
    """
    raw = _other_files(recipe, job, rendered)
    problem = next((failure for failure in rendered.problems if failure.stage != "compose"), None)
    status, stage = Status.HASH_DIFFERS, ""
    if raw:
        status, detail = Status.RAW_FILE_DIFFERS, _describe(raw)
    elif problem is not None:
        status, detail = Status.NOT_RENDERED, problem.message
    elif (policy := _policy_difference(recipe, job)) is not None:
        stage, detail = "card", policy
    elif picture is None:
        stage, detail = _not_made(recipe, job, rendered)
    else:
        stage, detail = _first_difference(recipe, picture)
    return PictureOutcome(
        image=recipe.image,
        status=status,
        case=recipe.case,
        stage=stage,
        detail="; ".join((detail, *changed)),
        raw=raw,
    )


def changes_of(recipe: Recipe, now: Mapping[str, Any]) -> tuple[str, ...]:
    """Return how the source differs from its state at the time of the release, in words.

    Args:
        recipe: recipe of an image in the release.
        now: result of ``origin_of`` for the source and this copy.
    """
    origin = _origin(recipe)
    layout = (
        f"the release was made of layout {_text(origin.get('layout'))}, this copy has "
        f"layout {now['layout']!r}"
    )
    sentences = {
        "layout": layout,
        **{
            part: f"the {part} of {recipe.source} has changed since the release: digest "
            f"{_text(origin.get(part))} then, {now[part]!r} now"
            for part in ("card", "adapter")
        },
    }
    changed = [
        text for name, text in sentences.items() if name in origin and origin[name] != now[name]
    ]
    if recipe.record.get("epoch", EPOCH) != EPOCH:
        changed.append(
            f"renderer epoch {_text(recipe.record['epoch'])} made it, this is epoch {EPOCH}"
        )
    return (*changed, _USE_OLDER) if changed else ()


def recorded_policy(recipe: Recipe) -> PixelPolicy | None:
    """Return the pixel policy at the time of the release; ``None`` if absent or invalid here.

    A key that the recipe lacks was introduced after the release, and has its default.
    """
    policy = _origin(recipe).get("policy")
    if not isinstance(policy, dict):
        return None
    try:
        table = TomlTable(Path(RECIPES), policy)
        pixels = pixel_policy(table)
        table.finish()
    except (MedrcubeError, TypeError):
        return None
    return pixels


def same_layout(recipe: Recipe, layout: str) -> bool:
    """Whether raw files of this copy have the same names as in the copy used for the release."""
    return _origin(recipe).get("layout") in (None, layout)


def _origin(recipe: Recipe) -> Mapping[str, Any]:
    """Return layout, card, adapter and policy at the time of the release, if recorded."""
    origin = recipe.record.get("origin")
    return origin if isinstance(origin, dict) else {}


def _policy_difference(recipe: Recipe, job: RenderJob) -> str | None:
    was = _origin(recipe).get("policy")
    if not isinstance(was, dict):
        return None
    for name, now in asdict(job.policy).items():
        if name in was and was[name] != now:
            difference = f"{_text(was.get(name))} in the release, {_text(now)} now"
            return f"the card's pixels.{name}: {difference}"
    return None


def _first_difference(recipe: Recipe, picture: RenderedPicture) -> tuple[str, str]:
    was = recipe.record
    now: Mapping[str, Any] = json.loads(json.dumps(picture.recipe))
    stages = (
        ("orientation", "plane", was.get("plane"), now["plane"]),
        ("orientation", "orient", was.get("orient"), now["orient"]),
        ("slice", "frame", list(recipe.frames), [image["frame"] for image in now["images"]]),
        ("window", "grey values", was.get("grey"), now["grey"]),
        ("window", "colour", was.get("colour"), now["colour"]),
        ("scale", "spacing in mm", was.get("spacing_mm"), now["spacing_mm"]),
        ("overlay", "boxes", was["mark"].get("boxes"), now["mark"]["boxes"]),
        ("epoch", "epoch of the engine", was.get("epoch"), EPOCH),
    )
    for stage, name, before, after in stages:
        if before != after:
            return stage, f"{name}: {_text(before)} in the release, {_text(after)} now"
    return "pixels", (
        "all values of the recipe match but the pixels differ; is another version of a decoder "
        "installed here?"
    )


def _not_made(recipe: Recipe, job: RenderJob, rendered: RenderResult) -> tuple[str, str]:
    """Return the stage that gave no image where the release has one, and why."""
    mark = recipe.artefact
    if mark not in job.artefacts:
        missing = f"no image of kind {mark.kind!r} with {mark.concept!r} ({mark.field}) is planned"
        return "plan", f"{missing} of this case: its labels or marks are different here"
    problem = next(iter(rendered.problems), None)
    if problem is not None:
        return "overlay", problem.message
    frames = [picture.frames for picture in rendered.pictures]
    recorded = "+".join(map(str, recipe.frames))
    return "slice", f"frame {recorded} in the release, {', '.join(frames) or 'none'} now"


def _other_files(
    recipe: Recipe, job: RenderJob, rendered: RenderResult
) -> tuple[RawFileDifference, ...]:
    """Return raw files whose content differs from the release; their names may differ."""
    digests = dict(rendered.digests)
    digest_of: dict[str, str] = {}
    for path in job.case.files():
        name = name_to_text(path.relative_to(job.root).as_posix())
        try:
            digest_of[name] = digests.get(str(path)) or sha256_of(path)
        except OSError:
            continue
    first = name_to_text(job.case.images[0].paths[0].relative_to(job.root).as_posix())
    others: list[RawFileDifference] = []
    for name, digest in recipe.files.items():
        here = first if name == recipe.first and name not in digest_of else name
        if digest_of.get(here) != digest and digest not in digest_of.values():
            others.append(
                RawFileDifference(
                    name=name,
                    recorded=digest,
                    found=digest_of.get(here),
                    found_name=here if here != name and here in digest_of else None,
                )
            )
    recorded = set(recipe.files.values())
    others += [
        RawFileDifference(name=name, recorded=None, found=digest)
        for name, digest in digest_of.items()
        if digest not in recorded
        and name not in {other_file.found_name or other_file.name for other_file in others}
    ]
    return tuple(others)


def _describe(raw: Sequence[RawFileDifference]) -> str:
    file = raw[0]
    more = f" (and {len(raw) - 1} more)" if len(raw) > 1 else ""
    if file.recorded is None:
        return f"{file.name}: belongs to the case here and did not in the release{more}"
    if file.found is None:
        return f"{file.name}: belonged to the case in the release and does not here{more}"
    name = f" ({file.found_name} here)" if file.found_name else ""
    return (
        f"{file.name}{name}: SHA-256 is {file.found}, the release recorded {file.recorded}{more}; "
        "a damaged file, or another edition of the data?"
    )


def _text(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
