"""BrEaST-Lesions-USG: one table row, one image and the mask of each lesion for every scan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from medrcube.errors import RowError
from medrcube.facts import Case, ImageRef, Label, LabelState, Skip
from medrcube.sources._formats.label_maps import mask_regions
from medrcube.sources._formats.tables.rows import cases_or_skip, skip_if_unnamed
from medrcube.sources._formats.tables.spreadsheets import read_sheet
from medrcube.sources._formats.tables.tables import TableRow, find_table
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
DISPUTED = CARD.names("disputed")
COLUMNS = (
    *("CaseID", "Image_filename", "Mask_tumor_filename", "Mask_other_filename", "Echogenicity"),
    *("Posterior_features", "Halo", "Calcifications", "Skin_thickening", "BIRADS", "Verification"),
    *("Diagnosis", "Classification"),
)
YES, NO, OPEN = LabelState.PRESENT, LabelState.ABSENT, LabelState.UNKNOWN
_YES_NO = {"yes": YES, "no": NO, "not applicable": OPEN}
_BEHIND = {"no": NO, "combined": OPEN, "not applicable": OPEN}
_CALCIFIED = {"no": NO, "in a mass": YES, "intraductal": OPEN, "indefinable": OPEN}
_CALCIFIED["not applicable"] = OPEN
SIGNS = {
    "halo": ("Halo", _YES_NO),
    "shadowing": ("Posterior_features", {**_BEHIND, "shadowing": YES, "enhancement": NO}),
    "enhancement": ("Posterior_features", {**_BEHIND, "shadowing": NO, "enhancement": YES}),
    "calcification": ("Calcifications", _CALCIFIED),
    "skin thickening": ("Skin_thickening", _YES_NO),
}
BIOPSY = {"confirmed by follow-up care": False, "not applicable": False}
BIOPSY["confirmed by biopsy"] = True


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case per table row."""
    del layout
    pictures, masks = root.index("pictures"), root.index("masks")
    for row in read_sheet(find_table(root, "table"), columns=COLUMNS):
        if skip := skip_if_unnamed(row, "Image_filename"):
            yield skip
            continue
        name = row["Image_filename"]
        path = pictures.get(name, root / name)
        key = Path(name).stem
        yield from cases_or_skip(partial(_case, row, path, masks), key=key, paths=(path,))


def _case(row: TableRow, path: Path, masks: Mapping[str, Path]) -> Iterator[Case]:
    key, normal = f"case{row.integer('CaseID'):03}", row["Classification"] == "normal"
    tumor = row["Mask_tumor_filename"]
    others = [name for name in row["Mask_other_filename"].split("&") if name]
    if row["Image_filename"] != f"{key}.png" or tumor != ("" if normal else f"{key}_tumor.png"):
        cells = ("CaseID", "Image_filename", "Mask_tumor_filename", "Classification")
        raise RowError(
            f"{', '.join(map(row.quote, cells))}: expected {key}.png with {key}_tumor.png, and no "
            "mask of a normal scan; has the table been sorted in part?"
        )
    own_masks = {name for name in masks if name.startswith(f"{key}_other")}
    if own_masks - {*others} or not all(name.startswith(f"{key}_other") for name in others):
        raise RowError(
            f"{row.quote('Mask_other_filename')}: expected the names of all further masks of {key}"
        )
    biopsy = row.meaning("Verification", BIOPSY)
    if biopsy == (row["Diagnosis"] == "not applicable"):
        raise RowError(
            f"{row.quote('Verification')}, {row.quote('Diagnosis')}: expected a diagnosis "
            "for a biopsy, and no other"
        )
    names = () if normal or not masks else (tumor, *others)
    files = [masks.get(name, path.parent / name) for name in names]
    yield Case(
        key=key,
        images=(ImageRef(paths=(path,)),),
        patient=row["CaseID"],
        labels=(
            row.label("Classification", field="lesion", value="none" if normal else "lesion"),
            *_described(row, alone=not others, disputed=key in DISPUTED),
        ),
        regions=mask_regions(files, field="lesion", value="lesion"),
        facts=row.facts(pixel_size_cm="Pixel_size", verification="Verification"),
    )


def _described(row: TableRow, *, alone: bool, disputed: bool) -> Iterator[Label]:
    """Yield the descriptors of a lesion; unknown if the image shows several lesions."""
    state_if_alone = YES if alone else OPEN
    yield row.label("BIRADS", field="birads", state=state_if_alone)
    yield row.label("Classification", field="pathology", state=OPEN if disputed else state_if_alone)
    for sign, (column, states) in SIGNS.items():
        state = row.state(column, states)
        yield row.label(column, field="sign", value=sign, state=state if alone else OPEN)
    if row["Echogenicity"] != "not applicable":
        yield row.label("Echogenicity", field="echogenicity", state=state_if_alone)
    if row["Diagnosis"] != "not applicable":
        diagnoses = row["Diagnosis"].split("&")
        for diagnosis in diagnoses:
            state = state_if_alone if len(diagnoses) == 1 else OPEN
            yield row.label("Diagnosis", field="histology", value=diagnosis, state=state)
