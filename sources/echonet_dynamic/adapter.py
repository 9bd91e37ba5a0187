"""EchoNet-Dynamic: the two traced frames of each video, alone and side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from medrcube.errors import RowError, SourceError
from medrcube.records import Case, ImageRef, Label, Outline, Polygons, Region, Scope, Skip
from medrcube.sources.ejection import contradicted, ejection
from medrcube.sources.raw_tree import RawTree
from medrcube.sources.rows import nameless, unless_bad
from medrcube.sources.tables import Row, read_csv

TRACING = ("FileName", "X1", "Y1", "X2", "Y2", "Frame")
SPLITS = {"TRAIN": "train", "VAL": "val", "TEST": "test"}
SIDE = 112
SMALLEST = 200.0
"""Square pixels of a traced ventricle; smaller outlines are mistakes."""

Point = tuple[float, float]
Trace = Sequence[tuple[Point, Point]]
"""Long axis first, then chords across it."""


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield end-diastole, end-systole and both together for every row of FileList.csv."""
    del layout
    table = min(root.glob("**/FileList.csv"))
    columns = ("FileName", "EF", "ESV", "EDV", "FrameHeight", "FrameWidth", "Split")
    traces, faults = _traces(min(root.glob("**/VolumeTracings.csv")))
    videos = {path.stem: path for path in root.glob("**/Videos/0X*.avi")}
    for row in read_csv(table, columns=columns):
        name = _stem(row["FileName"])
        if not name:
            yield nameless(row, "FileName")
            continue
        video = videos.get(name, table.parent / "Videos" / f"{name}.avi")
        found = faults.get(name) or traces.get(name, {})
        yield from unless_bad(partial(_video, row, name, video, found), key=name, paths=(video,))


def _stem(name: str) -> str:
    """A file name without ``.avi``, which some editions of the list leave out."""
    return re.sub(r"\.avi$", "", name, flags=re.IGNORECASE)


def _video(
    row: Row, name: str, video: Path, found: Mapping[int, Trace] | RowError
) -> Iterator[Case | Skip]:
    if isinstance(found, RowError):
        raise found
    reason = _reason(row, found)
    if reason:
        yield Skip(key=name, reason=reason, paths=(video,))
    else:
        yield from _frames(row, name, video, found)


def outline(trace: Trace) -> tuple[Point, ...]:
    """Down one end of the chords and up the other, without the long axis."""
    chords = trace[1:]
    return (*(first for first, _ in chords), *(second for _, second in reversed(chords)))


def area(points: Sequence[Point]) -> float:
    """Square pixels inside an outline that does not cross itself."""
    pairs = zip(points, (*points[1:], *points[:1]), strict=True)
    return abs(sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in pairs)) / 2


def is_simple(trace: Trace) -> bool:
    """Whether all chords cross the long axis the same way round and follow each other along it."""
    (x0, y0), (x1, y1) = trace[0]
    along = (x1 - x0, y1 - y0)
    turns = [along[0] * (d - b) - along[1] * (c - a) for (a, b), (c, d) in trace[1:]]
    steps = [along[0] * (a + c) + along[1] * (b + d) for (a, b), (c, d) in trace[1:]]
    one_way = all(turn > 0 for turn in turns) or all(turn < 0 for turn in turns)
    return one_way and steps in (sorted(steps), sorted(steps, reverse=True))


def _frames(
    row: Row, patient: str, video: Path, found: Mapping[int, Trace]
) -> Iterator[Case | Skip]:
    outlines = {frame: outline(trace) for frame, trace in found.items()}
    es, ed = sorted(outlines, key=lambda frame: area(outlines[frame]))
    split = row.meaning("Split", SPLITS)
    fraction = ejection(row, "EF", diastole="EDV", systole="ESV", field="ejection_fraction")
    yield from contradicted(fraction, f"{patient}-ED-ES")
    phases: list[Label] = []
    marks: list[Region] = []
    images = {"ED": ImageRef(paths=(video,), frame=ed), "ES": ImageRef(paths=(video,), frame=es)}
    for phase, frame in (("ED", ed), ("ES", es)):
        evidence = f"VolumeTracings.csv {video.name} Frame={frame}"
        phases.append(Label(field="phase", value=phase, evidence=evidence))
        shape = Polygons(outlines=(Outline(points=outlines[frame]),))
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
        labels=(fraction,),
        panels=tuple(phases),
        regions=tuple(marks),
        split=split,
        shows=Scope.PATIENT,
    )


def _traces(
    path: Path,
) -> tuple[dict[str, dict[int, list[tuple[Point, Point]]]], dict[str, RowError]]:
    """Tracing by file name and frame, and the first row of a file that cannot be used.

    Raises:
        SourceError: the table is of another EchoNet set.
    """
    traces: dict[str, dict[int, list[tuple[Point, Point]]]] = {}
    faults: dict[str, RowError] = {}
    last = ""
    for row in read_csv(path, columns=TRACING):
        if tuple(row) != TRACING:
            raise SourceError(
                f"{path}: columns are {', '.join(row)}, expected exactly {', '.join(TRACING)}; is "
                "this EchoNet-LVH or EchoNet-Pediatric?"
            )
        # Chords of a video follow each other: one without a name is the last one's, or the next.
        last = _stem(row["FileName"]) or last
        try:
            row.name("FileName")
            chord = (
                (row.number("X1"), row.number("Y1")),
                (row.number("X2"), row.number("Y2")),
            )
            traces.setdefault(last, {}).setdefault(row.integer("Frame"), []).append(chord)
        except RowError as error:
            faults.setdefault(last, error)
    return traces, faults


def _reason(row: Row, found: Mapping[int, Trace]) -> str:
    """Why a video cannot be used, or nothing."""
    if (row.integer("FrameHeight"), row.integer("FrameWidth")) != (SIDE, SIDE):
        return f"{row['FrameWidth']} x {row['FrameHeight']} pixels; tracings belong to {SIDE}"
    if len(found) != 2:
        return f"{len(found)} frames are traced; expected two"
    if len({len(trace) for trace in found.values()}) > 1:
        counts = " and ".join(
            f"{len(found[frame]) - 1} of frame {frame}" for frame in sorted(found)
        )
        return f"chords are {counts}; expected equal numbers: is VolumeTracings.csv cut short?"
    for frame, trace in sorted(found.items()):
        points = outline(trace)
        if len(trace) < 4 or not is_simple(trace):
            return f"the outline of frame {frame} crosses itself"
        if not all(0 <= value < SIDE for point in points for value in point):
            return f"the outline of frame {frame} leaves the picture"
        if area(points) < SMALLEST:
            return f"the outline of frame {frame} encloses less than {SMALLEST:.0f} square pixels"
    if len({area(outline(trace)) for trace in found.values()}) < 2:
        return "both traced areas are equal, so the phases cannot be told"
    return ""
