"""Rendering of one case: read, select slices, and make the image of each artefact.

``render_job`` runs in a worker. It writes each image atomically and returns the results as plain
data; a case that cannot be rendered becomes a ``QuarantineRow``, never an exception.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.build.burnt_in.detection import graphics_of
from medrcube.build.incremental.file_states import FileState, file_state
from medrcube.build.pixels.case_image import CaseImage, choose_case_slices, open_case_images
from medrcube.build.pixels.panels import hstack_images
from medrcube.build.pixels.slice_selection import SliceChoice
from medrcube.build.pixels.volume import is_grey
from medrcube.build.regions.draw_shapes import bounding_box
from medrcube.build.stages.plan import RenderJob
from medrcube.build.stages.rendering.artefact_images import (
    ImageOutput,
    make_artefact,
    render_problem,
)
from medrcube.build.stages.rendering.measure_regions import RegionGeometry, measure_regions
from medrcube.build.stages.rendering.recipe import RenderContext, case_origin, frame_names
from medrcube.build.stages.rendering.rendered_picture import RenderResult
from medrcube.errors import MedrcubeError, ReadError, RefusedError, WorkspaceError
from medrcube.facts import QuarantineRow
from medrcube.files.atomic import sha256_of
from medrcube.vocabulary.layers import using

__all__ = ["render_job"]


def render_job(job: RenderJob, images: Path) -> RenderResult:
    """Render every artefact of a case into ``images / job.source``.

    Raises:
        WorkspaceError: the images cannot be written; any other failure becomes a problem.
    """
    with using(job.vocabulary):
        return _render_job(job, images)


def _render_job(job: RenderJob, images: Path) -> RenderResult:
    digests: tuple[tuple[str, str], ...] = ()
    try:
        before = _states(job)
        digests = tuple((str(path), sha256_of(path)) for path in job.case.files())
        output, geometry, problems = _render(job, images, dict(digests))
        _check_unchanged(before, _states(job))
    except WorkspaceError:
        raise
    except RefusedError as error:
        problem = render_problem(job, error.code, str(error), stage="select")
        return RenderResult(case=job.case.key, digests=digests, problems=(problem,))
    except ReadError as error:
        return RenderResult(
            case=job.case.key, problems=(render_problem(job, error.code, str(error)),)
        )
    except MedrcubeError as error:
        return RenderResult(
            case=job.case.key, problems=(render_problem(job, "unreadable", str(error)),)
        )
    except OSError as error:
        return RenderResult(case=job.case.key, problems=(_out_of_reach(job, error),))
    except MemoryError:
        message = (
            "needs more memory than is available; are its files damaged, "
            "or is the machine too small?"
        )
        return RenderResult(
            case=job.case.key, problems=(render_problem(job, "too-large", message),)
        )
    except Exception as error:  # noqa: BLE001  # a broken file must not end a build of thousands
        message = f"unexpected {type(error).__name__} at {_where(error)}; please report it"
        return RenderResult(case=job.case.key, problems=(render_problem(job, "crashed", message),))
    return RenderResult(
        case=job.case.key,
        pictures=tuple(picture for picture, _ in output),
        files=tuple(file for _, file in output),
        geometry=geometry,
        digests=digests,
        problems=problems,
    )


def _states(job: RenderJob) -> dict[Path, FileState | None]:
    return {path: file_state(path) for path in job.case.files()}


def _check_unchanged(
    before: Mapping[Path, FileState | None], now: Mapping[Path, FileState | None]
) -> None:
    """Reject the images if the raw files have changed since their digests were taken."""
    changed = sorted(path.name for path, state in before.items() if now[path] != state)
    if changed:
        raise ReadError(
            f"{changed[0]}: changed while its case was being rendered, "
            "so its images are unreliable; build again when nothing writes to the raw tree",
            code="changed",
        )


def _render(
    job: RenderJob, images: Path, digests: Mapping[str, str]
) -> tuple[tuple[ImageOutput, ...], tuple[RegionGeometry, ...], tuple[QuarantineRow, ...]]:
    case_images = open_case_images(job)
    output: list[ImageOutput] = []
    regions: list[RegionGeometry] = []
    problems: list[QuarantineRow] = []
    for code, reason in filter(None, (case_image.unplaced for case_image in case_images)):
        message = f"{reason}; the image is kept, and no place is asked of it"
        problems.append(render_problem(job, code, message, stage="compose"))
    choices = choose_case_slices(job, case_images)
    for code, reason in {slice_choice.instead for slice_choice in choices if slice_choice.instead}:
        message = f"{reason}; another slice is shown, of which the case states no less"
        problems.append(render_problem(job, code, message, stage="compose"))
    origin = case_origin(job, digests)
    for choice in choices:
        marker = f".s{choice.index:04d}" if len(choices) > 1 else ""
        panels = [case_image.picture(choice.index) for case_image in case_images]
        clean = hstack_images(panels)
        masks = case_images[0].masks_on(choice.index) if len(case_images) == 1 else {}
        graphics = _graphics(job, case_images, choice, clean, masks)
        if choice is choices[-1]:
            case_images = [case_image.without_pixels() for case_image in case_images]
        if clean.min() == clean.max():
            raise ReadError(
                f"slice {choice.index} is blank: every pixel is {clean.flat[0]}", code="blank"
            )
        measured = measure_regions(
            case_images[0], choice.index, frame_names(job, choice), clean, masks
        )
        regions += measured
        scene = RenderContext(
            job=job,
            case_images=case_images,
            panels=panels,
            choice=choice,
            regions=measured,
            origin=origin,
            marker=marker,
            graphics=graphics,
            grey=round(_mean(clean), 1),
            colour=clean.ndim == 3 and not is_grey(clean),
        )
        for artefact in job.artefacts:
            outcome = make_artefact(scene, artefact, clean, masks, images)
            if isinstance(outcome, QuarantineRow):
                problems.append(outcome)
            elif outcome is not None:
                output.append(outcome)
    return tuple(output), tuple(regions), tuple(problems)


def _mean(picture: NDArray[np.uint8]) -> float:
    """Mean of all values; the integer sum is exact and takes half the time of floats."""
    width = np.uint32 if picture.size < 1 << 24 else np.uint64
    return int(np.add.reduce(picture, axis=None, dtype=width)) / picture.size


def _graphics(
    job: RenderJob,
    case_images: Sequence[CaseImage],
    choice: SliceChoice,
    clean: NDArray[np.uint8],
    masks: Mapping[int, NDArray[np.bool_]],
) -> str:
    """Detect marks burnt into an image, before a coloured image is converted to grey."""
    detector = job.policy.burnt_in
    if detector == "none" or (
        job.case.modality is not None and job.case.modality.burnt_in != detector
    ):
        return ""
    slice_pixels = case_images[0].volume.slices[choice.index] if len(case_images) == 1 else clean
    searched = (
        slice_pixels
        if case_images[0].greys is None and slice_pixels.shape[:2] == clean.shape[:2]
        else clean
    )
    regions = [bounding_box(mask) for mask in masks.values() if mask.any()]
    return graphics_of(searched, detector, regions)


def _out_of_reach(job: RenderJob, error: OSError) -> QuarantineRow:
    """Report a raw file that existed when the tree was scanned but cannot be read now."""
    name = Path(os.fsdecode(error.filename)).name if isinstance(error.filename, str) else "a file"
    if isinstance(error, FileNotFoundError):
        return render_problem(job, "missing-file", f"{name}: the file is missing; get it again")
    message = f"{name}: cannot be read ({error.strerror}); expected a file that you may read"
    return render_problem(job, "unreadable", message)


def _where(error: Exception) -> str:
    """Return the line of code that failed, without the error text, which may quote a header."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"
