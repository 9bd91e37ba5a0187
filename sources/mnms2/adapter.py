"""M&Ms-2: short-axis and four-chamber view of each heart, and both phases for the group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from medrcube.errors import RefusedError, RowError
from medrcube.facts import Case, ImageRef, Label, Scope, Skip
from medrcube.regions import files_of
from medrcube.sources._formats.label_maps import label_map_regions
from medrcube.sources._formats.nifti_masks import load_labels
from medrcube.sources._formats.tables.rows import cases_or_skip, group_optional_table, only_row
from medrcube.sources._formats.tables.tables import TableRow
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
MOST_TURN = CARD.number("most_turn_deg")
LAST = CARD.numbers("last_of_training_and_validation", 2)
COLUMNS = ("DISEASE", "VENDOR", "SCANNER", "FIELD")
VIEWS, PHASES = ("SA", "LA"), ("ED", "ES")
LEFT, WALL, RIGHT = LABELS = (1, 2, 3)


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case per view of a subject, and both phases of each view together."""
    del layout  # layouts differ only in the folders above the subjects
    rows, unnamed = group_optional_table(root, "table", "SUBJECT_CODE", columns=COLUMNS)
    yield from unnamed
    by_number = {name.lstrip("0"): members for name, members in (rows or {}).items()}
    masked = {path.parent for path in root.part("masks")}
    for folder in sorted({path.parent for path in root.part("images")}):
        paths = tuple(path for path in root.below(folder) if "_CINE" not in path.name)
        if folder in masked:
            make = partial(_subject, root, folder, by_number.get(folder.name.lstrip("0"), ()))
            yield from cases_or_skip(make, key=folder.name, paths=paths)
        else:
            yield Skip(key=folder.name, reason="no masks: cannot be checked", paths=paths)


def frames(case: Case, volume: Any) -> list[int]:
    """Return the middle of the slices with all three structures.

    Raises:
        RefusedError: code ``label-order`` if the mask has labels not defined by M&Ms-2,
            ``no-slice`` if no slice shows all three, ``turned`` if the right ventricle is not to
            the left of the left one on the image.
    """
    path = files_of(case.guide[0])[0]
    labels = load_labels(path)
    labels.check_values(path, *LABELS)
    places = {label: labels.mask_of(label).places_on(volume) for label in LABELS}
    slices = sorted(set.intersection(*(set(voxels[:, 0]) for voxels in places.values())))
    if not slices:
        raise RefusedError(f"{path.name}: no slice shows all three structures", code="no-slice")
    middle = int(slices[len(slices) // 2])
    left, right = (
        places[label][places[label][:, 0] == middle, 1:].mean(axis=0) for label in (LEFT, RIGHT)
    )
    down, across = right - left
    turn = abs(float(np.degrees(np.arctan2(down, -across))))
    if turn > MOST_TURN:
        raise RefusedError(
            f"{path.name}: turned by its affine, the right ventricle lies {turn:.0f} degrees off "
            f"the left of the image, seen from the left one; expected at most {MOST_TURN:g}: the "
            "card assumes that affines place the slices in the patient; does this one?",
            code="turned",
        )
    return [middle]


def _subject(root: RawTree, folder: Path, rows: Sequence[TableRow]) -> Iterator[Case]:
    if not folder.name.isdecimal():
        raise RowError(f"{folder.name}: expected the number of a subject as name of a folder")
    own = [only_row(rows, f"subject {folder.name}")] if rows else []
    diagnosis = tuple(row.label("DISEASE", field="diagnosis") for row in own)
    number = int(folder.name)
    for view in VIEWS:
        stems = [f"{folder.name}_{view}_{phase}" for phase in PHASES]
        images = tuple(ImageRef(paths=(root / (folder / f"{stem}.nii.gz"),)) for stem in stems)
        regions = [
            label_map_regions(
                root / (folder / f"{stem}_gt.nii.gz"), LABELS, field="structure", image=image
            )
            for image, stem in enumerate(stems)
        ]
        whole = partial(
            Case,
            patient=folder.name,
            guide=tuple(region.shape for region in regions[0]),
            split=("train", "val", "test")[sum(number > last for last in LAST)],
            facts=tuple(fact for row in own for fact in row.facts(vendor="VENDOR")),
        )
        yield whole(
            key=f"{folder.name}-{view}",
            images=images[:1],
            labels=(Label(field="view", value=view, evidence=stems[0]),),
            regions=regions[0],
        )
        yield whole(
            key=f"{folder.name}-{view}-ED-ES",
            images=images,
            labels=diagnosis,
            panels=tuple(
                Label(field="phase", value=phase, evidence=stem)
                for phase, stem in zip(PHASES, stems, strict=True)
            ),
            regions=(*regions[0], *regions[1]),
            shows=Scope.PATIENT,
        )
