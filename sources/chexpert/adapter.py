"""CheXpert: study labels on each image, and CheXlocalize masks if available."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

from medrcube.errors import RowError, SourceError, TableError
from medrcube.facts import BAD_ROW, Case, ImageRef, Label, LabelState, Region, Runs, Scope, Skip
from medrcube.sources._formats.annotations.run_length import coco_runs, connected_pieces
from medrcube.sources._formats.chexpert_labels import (
    COLUMNS,
    NO_FINDING,
    OPACITY,
    case_labels,
    read_states,
)
from medrcube.sources._formats.tables.contents import read_json
from medrcube.sources._formats.tables.redaction import redact_exception
from medrcube.sources._formats.tables.rows import cases_or_skip, check_no_finding, skip_if_unnamed
from medrcube.sources._formats.tables.tables import TableRow, iter_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

_LARGE = {"train": ("train.csv", "train"), "valid": ("valid.csv", "valid")}
_TABLES = {"valid": ("val_labels.csv", "val"), "test": ("test_labels.csv", "test")}
_BATCH = "CheXpert-v1.0 batch 1 (validate & csv)"
# Folder of the tables; table and patient folder of each split.
_LAYOUTS = {
    "small": ("CheXpert-v1.0-small", _LARGE),
    "full": ("CheXpert-v1.0", _LARGE),
    "batches": (_BATCH, _LARGE),
    "localize": ("CheXpert", _TABLES),
}
_SIDEWAYS = ("LL", "RL")
CARD = own_card(__file__)
_PATH = CARD.pattern("path", "patient", "study", "view", "side")
_NO_FACT = {("sex", "Unknown"), ("age", "0")}  # both stand for a missing entry
_LINES = "Support Devices"  # thin, so a box around them is uninformative


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case per row of the label tables, in order."""
    home, splits = _LAYOUTS[layout]
    if layout == "small" and not any(
        root.name_of(table_file).startswith(f"{home}/") for table_file in root.part("tables")
    ):
        home = "."  # a copy without the archive's top folder
    # Training patients are spread over batches that are not in any table.
    batches = _batches(root) if layout == "batches" else {}
    tables, mask_files = root.index("tables"), root.index("masks")
    for split, (table, folder) in splits.items():
        drawings = f"gt_segmentations_{folder}.json"
        masks = _masks(mask_files[drawings]) if drawings in mask_files else {}
        if table not in tables:
            continue  # a copy may contain only one split
        for row in iter_csv(tables[table], columns=("Path", *COLUMNS)):
            if skip := skip_if_unnamed(row, "Path"):
                yield skip
                continue
            match = _PATH.fullmatch(row["Path"])
            if match is None:
                expected = "patientNNNNN/studyN/viewN_frontal.jpg or _lateral.jpg"
                reason = f"{row.quote('Path')}: expected {expected}"
                yield Skip(key=row.place, reason=reason, code=BAD_ROW)
                continue
            patient, study, view, side = match.groups()
            place = batches.get(patient, root / home / folder / patient)
            path = place / study / f"{view}.jpg"
            key = f"{split}/{patient}/{study}/{view}"
            picture = f"{patient}_{study}_{view}"
            regions = partial(_regions, masks.get(picture, {}), f"{drawings} {picture}")
            make = partial(_film, row, path, key=key, side=side, split=split, make_regions=regions)
            yield from cases_or_skip(make, key=key, paths=(path,))


def _batches(root: RawTree) -> Mapping[str, Path]:
    """Map each patient to its folder."""
    return {path.parents[1].name: path.parents[1] for path in root.part("films")}


def _film(
    row: TableRow,
    path: Path,
    *,
    key: str,
    side: str,
    split: str,
    make_regions: Callable[[], Iterator[Region]],
) -> Iterator[Case | Skip]:
    if row.get("AP/PA") in _SIDEWAYS:
        reason = f"{row.quote('AP/PA', _SIDEWAYS)}: the table calls a lateral projection frontal"
        yield Skip(key=key, reason=reason, paths=(path,))
        return
    reading, regions = read_states(row), tuple(make_regions())
    if reading.states.get(NO_FINDING) is LabelState.PRESENT:
        check_no_finding(row.cite(NO_FINDING), [region.evidence for region in regions])
    yield Case(
        key=key,
        images=(ImageRef(paths=(path,)),),
        patient=key.split("/")[1],
        unit=key.rpartition("/")[0],
        labels=(*_view(row, side), *case_labels(reading)),
        regions=regions,
        split=split,
        shows=Scope.STUDY if side == "frontal" else Scope.IMAGE,
        facts=tuple(fact for fact in row.facts(sex="Sex", age="Age") if fact not in _NO_FACT),
    )


def _view(row: TableRow, side: str) -> Iterator[Label]:
    if side == "lateral":
        yield row.label("Path", field="view", value="lateral")
    elif row.get("AP/PA"):
        yield row.label("AP/PA", field="view")


def _masks(path: Path) -> Mapping[str, Any]:
    masks = read_json(path)
    if not isinstance(masks, dict) or not all(isinstance(entry, dict) for entry in masks.values()):
        raise TableError(path, "expected an object of masks for each film; get it again")
    return cast("Mapping[str, Any]", masks)


def _regions(masks: Mapping[str, Any], place: str) -> Iterator[Region]:
    """Yield one region per connected component of a mask; an absent finding has none."""
    for name, mask in masks.items():
        try:
            rows, columns = map(int, mask["size"])
            runs = coco_runs(mask["counts"], (rows, columns))
        except (KeyError, TypeError, ValueError, SourceError) as error:
            raise RowError(
                f"{place} {name} is not a mask of COCO: {redact_exception(error)}"
            ) from None
        value = OPACITY[0] if name in OPACITY else name
        for piece in () if name == _LINES else connected_pieces(runs, rows):
            shape = Runs(runs=piece, size=(rows, columns), down=True)
            yield Region(field="mask", value=value, shape=shape, evidence=f"{place} {name}")
