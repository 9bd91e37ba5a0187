"""EchoNet-Dynamic: the two traced frames of each video, single and side by side, and a control.

The control of the pair end-diastole and end-systole is end-diastole next to the following frame,
which is of the same phase.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from medrcube.errors import RowError, SourceError
from medrcube.facts import Case, ImageRef, Label, Outline, Polygons, Region, Scope, Skip
from medrcube.sources._formats.ejection_fraction import ejection_labels, ejection_quantities
from medrcube.sources._formats.tables.redaction import redact_cell
from medrcube.sources._formats.tables.rows import cases_or_skip, skip_if_unnamed
from medrcube.sources._formats.tables.tables import TableRow, find_table, read_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

TRACING = ("FileName", "X1", "Y1", "X2", "Y2", "Frame")
SPLITS = {"TRAIN": "train", "VAL": "val", "TEST": "test"}
CARD = own_card(__file__)
SIDE = CARD.integer("side_px")
SMALLEST = CARD.number("least_outline_px2")
FARTHEST = CARD.number("most_steps_to_axis_end")

Point = tuple[float, float]
Trace = Sequence[tuple[Point, Point]]
"""Tracing: long axis first, then the chords across it."""


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield end-diastole, end-systole and both together per row of FileList.csv."""
    del layout
    table = find_table(root, "table")
    columns = (
        "FileName",
        "EF",
        "ESV",
        "EDV",
        "FrameHeight",
        "FrameWidth",
        "NumberOfFrames",
        "Split",
    )
    traces, faults = _traces(find_table(root, "tracings"))
    videos = {path.stem: path for path in root.part("videos")}
    for row in read_csv(table, columns=columns):
        if skip := skip_if_unnamed(row, "FileName"):
            yield skip
            continue
        name = _stem(row["FileName"])
        video = videos.get(name, table.parent / "Videos" / f"{name}.avi")
        if name not in videos:
            yield Skip(key=name, reason="the video is not in this copy", paths=(video,))
            continue
        tracing = faults.get(name) or traces.get(name, {})
        yield from cases_or_skip(
            partial(_video, row, name, video, tracing), key=name, paths=(video,)
        )


def _stem(name: str) -> str:
    """Return a file name without ``.avi``, which some editions of the list omit."""
    return re.sub(r"\.avi$", "", name, flags=re.IGNORECASE)


def _video(
    row: TableRow, name: str, video: Path, traces: Mapping[int, Trace] | RowError
) -> Iterator[Case | Skip]:
    if isinstance(traces, RowError):
        raise traces
    reason, short = _reason(row, traces), _short(traces)
    if reason:
        yield Skip(key=name, reason=reason, paths=(video,))
    elif short:
        yield Skip(key=f"{name} outlines", reason=f"{short}; its frames are kept without outlines")
        yield from _bare(row, name, video, traces)
    else:
        yield from _frames(row, name, video, traces)


def outline(trace: Trace) -> tuple[Point, ...]:
    """Return the outline: along one end of the chords and back along the other."""
    chords = trace[1:]
    return (*(first for first, _ in chords), *(second for _, second in reversed(chords)))


def area(points: Sequence[Point]) -> float:
    """Return the area in pixels of an outline that does not cross itself."""
    pairs = zip(points, (*points[1:], *points[:1]), strict=True)
    return abs(sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in pairs)) / 2


def is_simple(trace: Trace) -> bool:
    """Whether all chords cross the long axis in the same direction and are in order along it."""
    (x0, y0), (x1, y1) = trace[0]
    along = (x1 - x0, y1 - y0)
    turns = [along[0] * (d - b) - along[1] * (c - a) for (a, b), (c, d) in trace[1:]]
    steps = [along[0] * (a + c) + along[1] * (b + d) for (a, b), (c, d) in trace[1:]]
    one_way = all(turn > 0 for turn in turns) or all(turn < 0 for turn in turns)
    return one_way and steps in (sorted(steps), sorted(steps, reverse=True))


def _frames(
    row: TableRow, patient: str, video: Path, traces: Mapping[int, Trace]
) -> Iterator[Case | Skip]:
    outlines = {frame: outline(trace) for frame, trace in traces.items()}
    es, ed = sorted(outlines, key=lambda frame: area(outlines[frame]))
    split = row.meaning("Split", SPLITS)
    volumes = {"diastole": "EDV", "systole": "ESV"}
    fraction, skips = ejection_labels(
        row, "EF", **volumes, field="ejection_fraction", key=f"{patient}-ED-ES"
    )
    yield from skips
    drawn_in = (row.integer("FrameWidth"), row.integer("FrameHeight"))
    phases: list[Label] = []
    marks: list[Region] = []
    images = {"ED": _frame(row, video, ed), "ES": _frame(row, video, es)}
    for phase, frame in (("ED", ed), ("ES", es)):
        evidence = f"VolumeTracings.csv {video.name} Frame={frame}"
        phases.append(Label(field="phase", value=phase, evidence=evidence))
        shape = Polygons(outlines=(Outline(points=outlines[frame]),), frame=drawn_in)
        mark = Region(field="structure", value="trace", shape=shape, evidence=evidence)
        marks.append(replace(mark, image=len(marks)))
        yield Case(
            key=f"{patient}-{phase}",
            images=(images[phase],),
            patient=patient,
            regions=(mark,),
            split=split,
        )
    yield Case(
        key=f"{patient}-ED-ES",
        images=tuple(images.values()),
        patient=patient,
        labels=fraction,
        quantities=ejection_quantities(fraction, "left_ejection_fraction"),
        panels=tuple(phases),
        regions=tuple(marks),
        split=split,
        shows=Scope.PATIENT,
    )
    beside = ed + 1 if ed + 1 < row.integer("NumberOfFrames") else ed - 1
    yield Case(
        key=f"{patient}-ED-ED",
        images=(images["ED"], _frame(row, video, beside)),
        patient=patient,
        split=split,
    )


def _bare(row: TableRow, patient: str, video: Path, frames: Iterable[int]) -> Iterator[Case]:
    """Yield single frames without phase, which is unknown without both outlines."""
    for frame in sorted(frames):
        yield Case(
            key=f"{patient}-{frame}",
            images=(_frame(row, video, frame),),
            patient=patient,
            split=row.meaning("Split", SPLITS),
        )


def _frame(row: TableRow, video: Path, frame: int) -> ImageRef:
    return ImageRef(paths=(video,), frame=frame, count=row.integer("NumberOfFrames"))


def _traces(
    path: Path,
) -> tuple[dict[str, dict[int, list[tuple[Point, Point]]]], dict[str, RowError]]:
    """Return the tracings by file name and frame, and the first unusable row of each file.

    Raises:
        SourceError: the table belongs to another EchoNet dataset.
    """
    traces: dict[str, dict[int, list[tuple[Point, Point]]]] = {}
    faults: dict[str, RowError] = {}
    last = ""
    for row in read_csv(path, columns=TRACING):
        if tuple(row) != TRACING:
            columns = ", ".join(redact_cell(column, TRACING) for column in row)
            raise SourceError(
                f"{path.name}: columns are {columns}, expected exactly {', '.join(TRACING)}; is "
                "this EchoNet-LVH or EchoNet-Pediatric?"
            )
        # Chords of a video are consecutive: an unnamed one belongs to the last or the next video.
        try:
            last = _stem(row["FileName"]) or last
            row.name("FileName")
            chord = (
                (row.number("X1"), row.number("Y1")),
                (row.number("X2"), row.number("Y2")),
            )
            traces.setdefault(last, {}).setdefault(row.integer("Frame"), []).append(chord)
        except RowError as error:
            faults.setdefault(last, error)
    return traces, faults


def _short(traces: Mapping[int, Trace]) -> str:
    """Return why an outline is incomplete, or empty; a truncated table loses its last rows."""
    counts = {frame: len(trace) - 1 for frame, trace in sorted(traces.items())}
    if len(set(counts.values())) > 1:
        numbers = " and ".join(f"{count} of frame {frame}" for frame, count in counts.items())
        return f"chords are {numbers}; expected equal numbers: is VolumeTracings.csv cut short?"
    for frame, trace in sorted(traces.items()):
        gap = _widest_end(trace) if len(trace) >= 4 else 0.0
        if gap > FARTHEST:
            return (
                f"the chords of frame {frame} end {gap:.1f} steps before the long axis does; "
                f"expected at most {FARTHEST:.0f}: is VolumeTracings.csv cut short?"
            )
    return ""


def _widest_end(trace: Trace) -> float:
    """Return the largest gap from an end of the long axis to a chord, in mean chord distances."""
    (x0, y0), (x1, y1) = trace[0]
    along = (x1 - x0, y1 - y0)
    length = along[0] ** 2 + along[1] ** 2
    places = [
        (along[0] * ((a + c) / 2 - x0) + along[1] * ((b + d) / 2 - y0)) / length if length else 0.0
        for (a, b), (c, d) in trace[1:]
    ]
    step = (max(places) - min(places)) / (len(places) - 1)
    return max(min(places), 1 - max(places)) / step if step else 0.0


def _reason(row: TableRow, traces: Mapping[int, Trace]) -> str:
    """Return why a video cannot be used, or empty."""
    height, width = row.integer("FrameHeight"), row.integer("FrameWidth")
    if (height, width) != (SIDE, SIDE):
        return f"{width} x {height} pixels; tracings belong to {SIDE}"
    if len(traces) != 2:
        return f"{len(traces)} frames are traced; expected two"
    count = row.integer("NumberOfFrames")
    if max(traces) >= count:
        return f"frame {max(traces)} is traced, of {count} frames counted from 0"
    if _short(traces):
        return ""
    for frame, trace in sorted(traces.items()):
        points = outline(trace)
        if len(trace) < 4 or not is_simple(trace):
            return f"the outline of frame {frame} crosses itself"
        if not all(0 <= value < SIDE for point in points for value in point):
            return f"the outline of frame {frame} leaves the picture"
        if area(points) < SMALLEST:
            return f"the outline of frame {frame} encloses less than {SMALLEST:.0f} square pixels"
    if len({area(outline(trace)) for trace in traces.values()}) < 2:
        return "both traced areas are equal, so the phases cannot be distinguished"
    return ""
