"""COCA, gated part: the slice of each scan with the largest calcium mark, and one without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from medrcube.errors import ReadError, RowError
from medrcube.facts import Case, ImageRef, Label, Outline, Polygons, Region, Skip
from medrcube.sources._formats.annotations.osirix_plist import OsirixRoi, read_rois_if_any
from medrcube.sources._formats.annotations.osirix_slices import MarkedStack, place_marks
from medrcube.sources._formats.dicom.headers import in_slice_order
from medrcube.sources._formats.tables.rows import cases_or_skip
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
_LEAST_MM2 = CARD.number("least_calcium_mm2")
_AGREEMENT = CARD.number("least_agreement")
_CALCIUM_HU = CARD.number("calcium_hu")
_LEAST_SHARE = CARD.number("least_calcium_share")
_MOST_BLOOD_HU = CARD.number("most_blood_hu")
_RIGHT_TO_LEFT = CARD.names("right_to_left")
_PATIENT = CARD.pattern("patient")


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the cases by patient number."""
    del layout
    marks = {path.stem: path for path in root.part("marks")}
    scans: dict[str, list[Path]] = {}
    for path in root.part("slices"):
        scans.setdefault(path.parents[1].name, []).append(path)
    for number, paths in sorted(scans.items(), key=lambda scan: (len(scan[0]), scan[0])):
        key, files = f"patient-{number}", tuple(sorted(paths))
        try:
            make = partial(_patient, number, files, marks.get(number))
            yield from cases_or_skip(make, key=key, paths=files)
        except ReadError as error:  # one damaged header must not affect other scans
            yield Skip(key=key, reason=str(error), paths=files)
    reason = "the scan of this file of marks is not there"
    for number in sorted(marks.keys() - scans.keys()):
        yield Skip(key=f"patient-{number}", reason=reason, paths=(marks[number],))


def frames(case: Case, volume: Any) -> list[int]:
    """Return the only slice, if its marks are on calcium and there is no contrast medium.

    Raises:
        ReadError: code ``contrast`` or ``not-calcium``.
    """
    from medrcube.build.regions.rasterize import rasterise  # noqa: PLC0415  # needs an extra

    units = volume.slices[0] * volume.greys.slope + volume.greys.intercept
    rows, columns = units.shape
    middle = units[rows // 3 : 2 * rows // 3, columns // 3 : 2 * columns // 3]
    blood = float(np.median(middle[middle > 0])) if (middle > 0).any() else 0.0
    if blood > _MOST_BLOOD_HU:
        raise ReadError(
            f"{case.key}: half of the tissue in the middle has {blood:.0f} HU or more; expected at "
            f"most {_MOST_BLOOD_HU:.0f}, as the card assumes of scans without contrast medium",
            code="contrast",
        )
    for region in case.regions:
        mask = rasterise(region.shape, volume)[0]
        share = float(np.mean(units[mask] >= _CALCIUM_HU)) if mask.any() else 0.0
        if share < _LEAST_SHARE:
            raise ReadError(
                f"{region.evidence}: {100 * share:.0f} % of its pixels reach {_CALCIUM_HU:.0f} HU; "
                f"expected {100 * _LEAST_SHARE:.0f} %: is this another slice or scan?",
                code="not-calcium",
            )
    return [0]


def _patient(number: str, files: tuple[Path, ...], table: Path | None) -> Iterator[Case | Skip]:
    key = f"patient-{number}"
    if not _PATIENT.fullmatch(number) or len({path.parent for path in files}) > 1:
        raise RowError("not one series in a folder with a number: which one was marked is unknown")
    rois = () if table is None else read_rois_if_any(table)
    marks = [roi for roi in rois if len(roi.points) > 2 and (roi.area > 0 or not roi.corners)]
    bare = [roi for roi in rois if roi not in marks]
    if marks:
        _check_sides(marks)
        stack = place_marks(files, marks, bare, least_agreement=_AGREEMENT)
        shown_cases = [*_calcified(key, stack), *_clear(key, stack)]
    else:
        middle = in_slice_order(files)[len(files) // 2]
        shown_cases = [Case(key=f"{key}-unread", images=(ImageRef(paths=(middle,)),))]
    sidecars = (table,) if table and marks else ()
    used = {path for case in shown_cases for path in case.files()}
    for case in shown_cases:  # the choice of the slice depends on the positions of all slices
        (image,) = case.images
        others = tuple(path for path in files if path not in image.paths)
        whole = (replace(image, parts=others),)
        yield replace(case, images=whole, patient=key, sidecars=sidecars, series=files)
    rest = tuple(path for path in files if path not in used)
    least = f"of {_LEAST_MM2:g} square mm or more"
    reason = f"shown are at most two slices with marks {least}, and one without any around it"
    yield Skip(key=f"{key}-other-slices", reason=reason, paths=rest)


def _calcified(key: str, stack: MarkedStack) -> Iterator[Case]:
    """Yield the slice with the largest mark, and the next with a single mark of a named artery.

    Slices with a single mark are preferred. Location and artery are asked on separate slices.
    """
    ranked = sorted(range(len(stack.paths)), key=lambda k: _rank(stack.marks[k]), reverse=True)
    lesion_slices = [k for k in ranked if _rank(stack.marks[k])[1] >= _LEAST_MM2]
    if not lesion_slices:
        return
    first, *rest = lesion_slices
    yield _slice_case(f"{key}-calcium", stack, first, "calcium")
    for k in rest:
        if len(stack.marks[k]) == 1 and stack.marks[k][0].name in _RIGHT_TO_LEFT:
            yield _slice_case(f"{key}-artery", stack, k, "artery")
            return


def _rank(marks: Sequence[OsirixRoi]) -> tuple[bool, float]:
    largest = max((mark.area for mark in marks), default=0.0)
    return len(marks) == 1 and largest >= _LEAST_MM2, largest


def _slice_case(key: str, stack: MarkedStack, k: int, field: str) -> Case:
    regions = tuple(
        Region(
            field=field,
            value=mark.name,
            shape=Polygons(outlines=(Outline(points=mark.points),)),
            evidence=mark.evidence,
        )
        for mark in stack.marks[k]
    )
    return Case(
        key=key,
        images=(ImageRef(paths=(stack.paths[k],)),),
        labels=tuple(
            Label(field="calcium", value=region.value, evidence=region.evidence)
            for region in regions
        ),
        regions=regions,
        facts=(("ImageIndex", stack.counted),),
    )


def _clear(key: str, stack: MarkedStack) -> Iterator[Case]:
    """Yield the slice nearest to the middle that, like its neighbours, has no mark of any kind."""
    middle = (len(stack.paths) - 1) / 2
    empty = [not marks and k not in stack.doubted for k, marks in enumerate(stack.marks)]
    clear = [k for k in range(1, len(stack.paths) - 1) if all(empty[k - 1 : k + 2])]
    if clear:
        k = min(clear, key=lambda k: abs(k - middle))
        evidence = "no mark on it or beside it, of a scan with marks"
        yield Case(
            key=f"{key}-clear",
            images=(ImageRef(paths=(stack.paths[k],)),),
            labels=(Label(field="calcium", value="none", evidence=evidence),),
            facts=(("ImageIndex", stack.counted),),
        )


def _check_sides(marks: Sequence[OsirixRoi]) -> None:
    """Check that the right coronary artery is on the patient's right of the circumflex."""
    right, left = (
        [x for mark in marks if mark.name == name for x, _, _ in mark.corners]
        for name in (_RIGHT_TO_LEFT[0], _RIGHT_TO_LEFT[-1])
    )
    if right and left and fmean(right) >= fmean(left):
        raise RowError(f"marks of the {_RIGHT_TO_LEFT[0]} lie left of the {_RIGHT_TO_LEFT[-1]}")
