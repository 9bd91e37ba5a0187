"""Axial stacks among DICOM files, from their headers alone.

Used for exams with several series of which one is shown. Localisers, reformations in other planes,
series with gaps and series of other body parts are excluded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from pathlib import Path

from medrcube.errors import ReadError
from medrcube.facts import ImageRef, Label, Skip
from medrcube.sources._formats.dicom.headers import distance_along_normal, read_header

__all__ = ["ANY_SIZE", "AxialStack", "axial_stacks", "skip_each_reason", "skip_rest"]

ANY_SIZE = (0.0, inf)
"""Bounds in mm that exclude no stack."""

_ELEMENTS = (
    "Columns",
    "ConvolutionKernel",
    "ImageOrientationPatient",
    "ImagePositionPatient",
    "PixelSpacing",
    "SOPInstanceUID",
    "SeriesDescription",
    "SeriesInstanceUID",
    "StudyInstanceUID",
)
_LEAST_UPRIGHT = 0.8
"""Cosine of the largest tilt of an axial slice, 37 degrees, as where images are made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AxialStack:
    """One series, from foot to head.

    Attributes:
        series: SeriesInstanceUID.
        study: StudyInstanceUID; empty if not stated.
        description: SeriesDescription; empty if there is none.
        paths: one file per slice.
        slices: SOPInstanceUID of each slice.
    """

    series: str
    study: str
    description: str
    paths: tuple[Path, ...]
    slices: tuple[str, ...]

    def image(self, at: int) -> ImageRef:
        """Return the image of slice ``at``; its number depends on the positions of all slices."""
        path = self.paths[at]
        return ImageRef(paths=(path,), parts=tuple(p for p in self.paths if p != path))

    def described(self, field: str, values: Mapping[str, re.Pattern[str]]) -> tuple[Label, ...]:
        """Return labels of raw values whose pattern matches the description, without quoting it."""
        evidence = f"{self.paths[0].name} SeriesDescription"
        fit = (value for value, words in values.items() if words.fullmatch(self.description))
        return tuple(Label(field=field, value=value, evidence=evidence) for value in fit)


def axial_stacks(
    paths: Iterable[Path],
    *,
    least: int,
    uneven: float,
    wide: Sequence[float] = ANY_SIZE,
    tall: Sequence[float] = ANY_SIZE,
    without: re.Pattern[str] | None = None,
) -> tuple[list[AxialStack], dict[Path, str]]:
    """Return evenly spaced axial series by UID, and all other files with the reason.

    Args:
        paths: files of one exam, which may be damaged or not DICOM.
        least: minimum number of slices.
        uneven: permitted deviation of a slice distance, as a share of the median distance.
        wide: minimum and maximum image width in mm, to distinguish a head from a chest or an ear.
        tall: minimum and maximum stack height in mm, to distinguish a head from a part of it or
            from a head with neck and chest.
        without: kernels (ConvolutionKernel) of excluded series.
    """
    series: dict[str, list[tuple[Path, dict[str, str]]]] = {}
    others: dict[Path, str] = {}
    for path in sorted(paths):
        try:
            header = dict(read_header(path, _ELEMENTS))
        except ReadError as error:
            others[path] = str(error)
            continue
        series.setdefault(header.get("SeriesInstanceUID", ""), []).append((path, header))
    stacks = []
    for uid, files in sorted(series.items()):
        headers = [header for _, header in files]
        reason, places = _places(headers, uid, least, uneven)
        reason = reason or _strange_size(headers[0], max(places) - min(places), wide, tall)
        if without and without.fullmatch(headers[0].get("ConvolutionKernel", "")):
            reason = reason or "its reconstruction kernel is unsuitable for what is to be shown"
        if reason:
            others.update((path, reason) for path, _ in files)
            continue
        order = sorted(range(len(files)), key=places.__getitem__)
        first = headers[0]
        stacks.append(
            AxialStack(
                series=uid,
                study=first.get("StudyInstanceUID", ""),
                description=first.get("SeriesDescription", ""),
                paths=tuple(files[k][0] for k in order),
                slices=tuple(files[k][1].get("SOPInstanceUID", "") for k in order),
            )
        )
    return stacks, others


def skip_each_reason(key: str, reasons: Mapping[Path, str]) -> Iterator[Skip]:
    """Yield one ``Skip`` for all files that are omitted for the same reason.

    Args:
        key: key of the case that they would belong to, which is not excluded by the skips.
        reasons: reason for each omitted file.
    """
    for reason in dict.fromkeys(reasons.values()):
        paths = tuple(path for path, own in reasons.items() if own == reason)
        yield Skip(key=f"{key} without {paths[0].name}", reason=reason, paths=paths)


def skip_rest(key: str, others: Mapping[Path, str], stacks: Iterable[AxialStack]) -> Iterator[Skip]:
    """Yield one ``Skip`` per reason for omitted files of an exam, including unused stacks."""
    unshown = "its series is not the one that is shown"
    yield from skip_each_reason(key, {**others, **{p: unshown for s in stacks for p in s.paths}})


def _places(
    headers: list[dict[str, str]], uid: str, least: int, uneven: float
) -> tuple[str, list[float]]:
    """Return why the slices are not an axial stack (or empty), and their heights in mm."""
    if not uid:
        return "names no series (SeriesInstanceUID); expected one in every file", []
    turns = {tuple(_numbers(header.get("ImageOrientationPatient", ""))) for header in headers}
    places = [_numbers(header.get("ImagePositionPatient", "")) for header in headers]
    if len(turns) != 1 or len(turn := turns.pop()) != 6 or any(len(spot) != 3 for spot in places):
        return "its series lacks one orientation or a position for each slice", []
    upright = distance_along_normal((0.0, 0.0, 1.0), turn)
    if abs(upright) < _LEAST_UPRIGHT:
        return "its series is not axial", []
    if len(headers) < least:
        return f"its series has {len(headers)} slices; expected {least} at least", []
    side = 1.0 if upright > 0 else -1.0
    heights = [side * distance_along_normal(spot, turn) for spot in places]
    gaps = sorted(after - before for before, after in pairwise(sorted(heights)))
    middle = gaps[len(gaps) // 2]
    if middle <= 0 or any(abs(gap - middle) > uneven * middle for gap in (gaps[0], gaps[-1])):
        return f"its slices lie {gaps[0]:.2f} to {gaps[-1]:.2f} mm apart; expected one distance", []
    return "", heights


def _strange_size(
    header: dict[str, str], height: float, wide: Sequence[float], tall: Sequence[float]
) -> str:
    """Return why a stack shows another part of the body, or empty."""
    spacing, columns = (_numbers(header.get(name, "")) for name in ("PixelSpacing", "Columns"))
    width = spacing[-1] * columns[0] if spacing and columns else 0.0
    for size, (lowest, highest), what in (
        (width, wide, "its images are {} mm wide"),
        (height, tall, "its slices cover {} mm from foot to head"),
    ):
        if not lowest <= size <= highest:
            size_text = what.format(f"{size:.0f}")
            return (
                f"{size_text}; expected {lowest:g} to {highest:g}: is it another part of the body?"
            )
    return ""


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split("\\") if part]
    except ValueError:
        return []
