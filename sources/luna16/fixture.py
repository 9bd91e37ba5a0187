"""Synthetic scans with the traps of the tables: a turned one, a near mark, an unclear one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from medrcube.sources._synthetic.chest_ct import chest, tumour
from medrcube.sources._synthetic.images import CANARY, write_lines, write_metaimage

ROOT = "1.3.6.1.4.1.14519.5.2.1.6279.6001"
SPACING = (0.7, 0.7, 2.5)
OFFSET = (-33.6, -40.2, -290.5)
UIDS = tuple(f"{ROOT}.10022528722236566367867{number:04}" for number in range(5))
ALONE, TURNED, CLEAR, UNCLEAR, SMALL = UIDS
_HEAD = "seriesuid,coordX,coordY,coordZ,diameter_mm"


def build(root: Path, layout: str) -> None:
    """Write scans in two subsets, and the tables."""
    del layout
    nodules, marks = [_HEAD], [_HEAD]
    for seed, uid in enumerate(UIDS):
        point, size = _scan(root / f"subset{seed % 2}" / f"{uid}.mhd", seed, turned=uid == TURNED)
        x, y, z = point
        if uid in {ALONE, TURNED, SMALL}:
            nodules.append(f"{uid},{x},{y},{z},{4.2 if uid == SMALL else size}")
            marks.append(f"{uid},{x + 0.5},{y},{z},{size}")  # of one reader, on the nodule
        if uid == TURNED:
            marks.append(f"{uid},{x},{y + 25},{z + 2},5.5")
        if uid == UNCLEAR:
            marks.append(f"{uid},{x},{y},{z},5.1")
        marks.append(f"{uid},{x - 5},{y},{z},-1")
    write_lines(root / "CSVFILES/annotations.csv", nodules)
    write_lines(root / "evaluationScript/annotations/annotations_excluded.csv", marks)
    write_lines(root / "CSVFILES/seriesuids.csv", UIDS)
    write_lines(root / "CSVFILES/candidates_V2.csv", ["seriesuid,coordX,coordY,coordZ,class"])
    series = [
        f"LIDC-IDRI,{CANARY}{max(seed, 1)},01/01/2000,CT,{uid}" for seed, uid in enumerate(UIDS)
    ]
    head = "Collection,Patient Id,Study Date,Modality,Series UID"
    write_lines(root / "LIDC-IDRI_MetaData.csv", [head, *series])


def _scan(path: Path, seed: int, *, turned: bool) -> tuple[tuple[float, float, float], float]:
    """Write one scan; centre of its ball in mm and the diameter of that."""
    ball = tumour(seed=seed, radius=6.0 + 2 * (seed % 3))
    volume = chest(seed=seed, tumour=ball if seed != UIDS.index(CLEAR) else None)
    write_metaimage(path, volume[:, ::-1, ::-1] if turned else volume, spacing=SPACING)
    k, y, x = (np.flatnonzero(ball.any(axis=axes)) for axes in ((1, 2), (0, 2), (0, 1)))
    place = [(along[0] + along[-1]) / 2 for along in (x, y, k)]
    if turned:
        place[:2] = [side - 1 - at for side, at in zip((96, 96), place[:2], strict=True)]
    sign = -1 if turned else 1
    turn = f"{sign} 0 0 0 {sign} 0 0 0 1"
    header = [
        f"Offset = {' '.join(map(str, OFFSET))}"
        if line.startswith(("Offset", "Origin", "Position"))
        else f"TransformMatrix = {turn}"
        if line.startswith("TransformMatrix")
        else line
        for line in path.read_text().splitlines()
    ]
    write_lines(path, header)
    steps = (sign * SPACING[0], sign * SPACING[1], SPACING[2])
    left, back, up = (
        round(first + step * at, 4) for first, step, at in zip(OFFSET, steps, place, strict=True)
    )
    return (left, back, up), round(len(x) * SPACING[0], 4)
