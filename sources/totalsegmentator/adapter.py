"""TotalSegmentator: per scan, three planes of the lungs, a chest slice and a heart slice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from medrcube.errors import RefusedError, RowError, TableError
from medrcube.facts import Case, ImageRef, Label, MaskFile, Region, Skip
from medrcube.regions import files_of
from medrcube.sources._formats.nifti_masks import load_labels, middle_of_most
from medrcube.sources._formats.tables.rows import cases_or_skip, group_by_name, only_row
from medrcube.sources._formats.tables.tables import TableRow, find_table, read_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree
from medrcube.taxonomy import Anatomy

CARD = own_card(__file__)
LOBES, ORGANS, CHAMBERS = (CARD.names(name) for name in ("lobes", "organs", "chambers"))
STRUCTURES = {*LOBES, *ORGANS, *CHAMBERS}
SIDES = CARD.names("lower_lobes")
HEALTHY = CARD.names("without_pathology")
ELSEWHERE = {"v1": "heart", "v2": CHAMBERS[0]}  # layout -> mask that only the other edition has
LEAST, MOST_HU = CARD.integer("least_voxels"), CARD.number("most_lung_hu")
SURE = CARD.integer("sure_rows")
LEAST_SHARE = CARD.number("least_share")
CHEST, LUNG = "ct:mediastinum", "ct:lung"


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield three planes of the lungs, one chest slice and one heart slice per scan."""
    rows, unnamed = group_by_name(
        read_csv(find_table(root, "table"), columns=("study_type", "split")), "image_id"
    )
    yield from unnamed
    stated = [_pathology(row) for members in rows.values() for row in members]
    if layout == "v2" and len(stated) >= SURE and not {*stated} & {*HEALTHY}:
        raise TableError(
            find_table(root, "table"),
            f"none of {len(stated):,} rows has {HEALTHY[0]!r} as pathology, which the card assumes "
            "of healthy scans ([names] without_pathology); correct the card: no lobe can be asked",
        )
    for image in sorted(root.part("images")):
        name = image.parent.name
        masks = {_part(path): path for path in root.below(image.parent / "segmentations")}
        make = partial(_scan, image, masks, rows.get(name, []), layout)
        yield from cases_or_skip(make, key=name, paths=(image, *masks.values()))


def frames(case: Case, volume: Any) -> list[int]:
    """Return the middle of the slices that show most of the structures.

    Raises:
        RefusedError: code ``no-slice`` if no slice shows any, ``wrong-side`` if the left lung is on
            the right, ``not-hu`` if the lungs are too bright.
    """
    paths = {_part(path): path for shape in case.guide for path in files_of(shape)}
    masks = {name: load_labels(path).mask_of() for name, path in paths.items()}
    middle = middle_of_most(masks, str(case.plane), least=LEAST, share=LEAST_SHARE)
    lower = [masks[name] for name in SIDES if name in masks and masks[name].voxels.any()]
    if len(lower) > 1 and lower[0].centre()[0] >= lower[1].centre()[0]:
        raise RefusedError(f"{case.key}: the left lung lies at the right", code="wrong-side")
    if case.window == LUNG:
        places = np.concatenate([mask.places_on(volume) for mask in masks.values()])
        own = places[places[:, 0] == middle]
        mean = float(np.asarray(volume.slices[middle])[own[:, 1], own[:, 2]].mean())
        if mean > MOST_HU:
            fault = (
                f"{case.key}: the lungs have {mean:.0f} on average; expected at most {MOST_HU:g}: "
            )
            raise RefusedError(f"{fault}are these Hounsfield units?", code="not-hu")
    return [middle]


def _pathology(row: TableRow) -> str | None:
    """Return the stated pathology; ``None`` for a damaged cell, which costs its own scan later."""
    try:
        return row.get("pathology")
    except RowError:
        return None


def _scan(
    image: Path, masks: dict[str, Path], rows: Sequence[TableRow], layout: str
) -> Iterator[Case | Skip]:
    name = image.parent.name
    row = only_row(rows, name)
    if ELSEWHERE[layout] in masks:
        raise RowError(
            f"{name}: has a mask {ELSEWHERE[layout]!r}, which {layout} has not; get the scan "
            "again, from one edition"
        )
    rest = tuple(path for part, path in masks.items() if part not in STRUCTURES)
    if rest:
        yield Skip(key=f"{name}-rest", reason="structures that are not asked", paths=rest)
    healthy = row.get("pathology") in HEALTHY
    inner, organs = ("chambers", CHAMBERS) if layout == "v1" else ("organ", ("heart",))
    for part, plane, window, anatomy, field, structures in (
        ("lungs", "axial", LUNG, "Lungs", "lobe", LOBES),
        ("coronal", "coronal", LUNG, "Lungs", "lobe", LOBES),
        ("sagittal", "sagittal", LUNG, "Lungs", "", LOBES[2:]),
        ("chest", "axial", CHEST, "Chest", "organ", ORGANS),
        ("heart", "axial", CHEST, "Heart", inner, organs),
    ):
        shapes = {m: MaskFile(paths=(masks[m],)) for m in structures if m in masks}
        yield Case(
            key=f"{name}-{part}",
            images=(ImageRef(paths=(image,)),),
            patient=name,
            labels=(Label(field="plane", value=plane, evidence=image.name),),
            regions=tuple(
                Region(field=field, value=m, shape=shape, evidence=masks[m].name, optional=True)
                for m, shape in shapes.items()
                if field and (healthy or field != "lobe")
            ),
            guide=tuple(shapes.values()),
            split=row["split"],
            plane=plane,
            window=window,
            anatomy=Anatomy(anatomy),
            facts=row.facts(age="age", sex="gender"),
        )


def _part(path: Path) -> str:
    return path.name.partition(".")[0]
