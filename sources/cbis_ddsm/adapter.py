"""CBIS-DDSM: one case per mammogram, with a table row and a mask for each abnormality."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from medrcube.errors import ReadError, RowError, SourceError
from medrcube.facts import BAD_ROW, Case, ImageRef, Label, LabelState, MaskFile, Region, Skip
from medrcube.sources._formats.dicom.headers import read_header
from medrcube.sources._formats.tables.rows import cases_or_skip
from medrcube.sources._formats.tables.tables import TableRow, find_table, natural_key, read_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

Size = tuple[int, int, int]
"""Bits per pixel, rows and columns."""
Files = Mapping[str, Mapping[Path, TableRow | None]]
"""Image folder -> its files with the size from the table, or ``None`` to read their headers."""

TABLES = tuple(
    (f"{kind}_case_description_{part}_set.csv", split)
    for kind in ("mass", "calc")
    for part, split in (("train", "training"), ("test", "test"))
)
SHAPES = ("OVAL", "ROUND", "IRREGULAR", "LOBULATED")
NO_MASS = ("LYMPH_NODE", "ASYMMETRIC_BREAST_TISSUE", "FOCAL_ASYMMETRIC_DENSITY")
"""Names in the shape column that are not shapes of a mass; distortion may accompany one."""
NAMES = {
    "density": ("breast_density", "breast density"),
    "side": ("left or right breast", "side"),
    "view": ("image view", "view"),
    "kind": ("abnormality type", "abnormality_type"),
    "shape": ("mass shape", "mass_shape"),
    "margin": ("mass margins", "mass_margins"),
    "calc_type": ("calc type", "calc_type"),
    "distribution": ("calc distribution", "calc_distribution"),
    "image": ("image file path", "od_img_path"),
    "mask": ("ROI mask file path", "mask_path"),
}
"""Names of a column in different editions."""
BITS, ROWS, COLUMNS = "BitsAllocated", "Rows", "Columns"
DESCRIPTORS = ("shape", "margin", "calc_type", "distribution")
OF_A_MASS = ("shape", "margin")

CARD = own_card(__file__)
_TOP = CARD.pattern("folder", "patient", "side", "view")


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the mammograms in table order; those with an unidentifiable mask are skipped."""
    files, lost = _kaggle(root) if layout == "kaggle" else (_tcia(root), [])
    yield from lost
    pictures: dict[str, list[TableRow]] = {}
    breasts: dict[tuple[str, ...], list[TableRow]] = {}
    splits: dict[str, str] = {}
    tables = root.index("tables")
    faults: dict[tuple[str, ...], str] = {}
    for table, split in TABLES:
        for row in read_csv(tables[table], columns=("patient_id",)) if table in tables else ():
            try:
                breasts.setdefault(_checked(row), []).append(row)
            except RowError as error:
                try:
                    faults[_breast(row)] = str(error)
                    match = _TOP.fullmatch(_first(row, "image"))
                except RowError:  # the breast is unknown
                    match = None
                if match is None:
                    yield Skip(key=row.place, reason=str(error), code=BAD_ROW)
                    continue
            pictures.setdefault(_folder(row, "image"), []).append(row)
            # Some women are in both parts: an image that may have been trained on is not test.
            woman = _breast(row)[0]
            if splits.setdefault(woman, split) == "test":
                splits[woman] = split
    for top, rows in pictures.items():
        nowhere = root / "CBIS-DDSM" / top / "1-1.dcm"
        images = tuple(files.get(top, ())) or (nowhere,)
        if len(images) > 1:
            reason = f"{len(images)} files lie in its folder; expected one mammogram"
            yield Skip(key=top, reason=reason, paths=images)
        elif fault := next((faults[side] for side in map(_breast, rows) if side in faults), ""):
            # Each view gets the statements of all rows of the breast, so no row may be left out.
            yield Skip(key=top, reason=fault, paths=images, code=BAD_ROW)
        else:
            make = partial(
                _case,
                top,
                images[0],
                rows,
                breast=breasts[_breast(rows[0])],
                split=splits[_breast(rows[0])[0]],
                region=partial(_region, files, root),
            )
            yield from cases_or_skip(make, key=top, paths=images)


def _case(
    top: str,
    image: Path,
    rows: Sequence[TableRow],
    *,
    breast: Sequence[TableRow],
    split: str,
    region: Callable[[TableRow, Path], Region],
) -> Iterator[Case | Skip]:
    try:
        regions = tuple(region(row, image) for row in rows)
    except ReadError as error:
        yield Skip(key=top, reason=str(error), paths=(image,))
        return
    yield Case(
        key=top,
        images=(ImageRef(paths=(image,)),),
        patient=rows[0]["patient_id"],
        labels=tuple(_labels(rows[0], breast)),
        regions=regions,
        split=split,
        facts=(("side", rows[0][_name(rows[0], "side")]),),
    )


def mask_among(sizes: Mapping[Path, Size], mammogram: Size) -> Path | None:
    """Identify the mask among the files of an abnormality: 8 bit, or the mammogram's size.

    Neither file number nor series distinguishes it from the cropped image.
    """
    eight = [path for path, size in sizes.items() if size[0] == 8]
    masks = eight if len(eight) == 1 else [p for p, s in sizes.items() if s[1:] == mammogram[1:]]
    return masks[0] if len(masks) == 1 else None


def _region(files: Files, root: RawTree, row: TableRow, image: Path) -> Region:
    top = _folder(row, "mask")
    # A download tool of 2017 put two series into one study, so all files below the folder count.
    candidates = files.get(top, {})
    path: Path | None = root / "CBIS-DDSM" / top / "1-1.dcm"
    if candidates:
        mammogram = files[_folder(row, "image")][image] if image.exists() else None
        sizes = {file: _size(file, listed) for file, listed in candidates.items()}
        path = mask_among(sizes, _size(image, mammogram))
    if path is None:
        raise ReadError(
            f"{row.place}: none or several of the {len(candidates)} files in {top} "
            "look like the mask (8 bit, or as large as the mammogram)",
            code="no-mask",
        )
    shape = MaskFile(paths=(path,))
    field, value = _outlined(row)
    return Region(field=field, value=value, shape=shape, evidence=row.cite("patient_id"))


def _outlined(row: TableRow) -> tuple[str, str]:
    """Return field and value of an outline; a "mass" may be a lymph node or an asymmetry."""
    kind = row[_name(row, "kind")]
    if kind != "mass":
        return "marked_calcification", kind
    other = [name for name in _values(row, "shape") if name not in SHAPES]
    return ("special", other[0]) if other and not _holds_as_called(row) else ("marked", kind)


def _holds_as_called(row: TableRow) -> bool:
    """Whether the descriptors confirm the type: a mass has the shape of a mass."""
    if row[_name(row, "kind")] != "mass":
        return True
    shapes = _values(row, "shape")
    return any(shape in SHAPES for shape in shapes) and not any(
        shape in NO_MASS for shape in shapes
    )


def _labels(first: TableRow, breast: Sequence[TableRow]) -> Iterator[Label]:
    """Yield the labels of a view, from all rows of the breast in either table."""
    view = first[_name(first, "view")]
    both = sorted(breast, key=lambda row: row[_name(row, "view")] != view)
    rows = [row for row in both if row[_name(row, "view")] == view]
    yield first.label(_name(first, "view"), field="view")
    kinds: dict[str, TableRow] = {}
    for row in sorted(rows, key=_holds_as_called):  # a doubtful row makes its type unknown
        kinds.setdefault(row[_name(row, "kind")], row)
    for row in kinds.values():
        state = LabelState.PRESENT if _holds_as_called(row) else LabelState.UNKNOWN
        yield row.label(_name(row, "kind"), field="abnormality", state=state)
    yield from _agreed(both, "density", [_name(row, "density") for row in both])
    yield from _agreed(both, "assessment", ["assessment"] * len(both))
    yield from _agreed(both, "pathology", ["pathology"] * len(both))
    if len(rows) == 1:
        yield from _described(first)


def _agreed(rows: Sequence[TableRow], field: str, columns: Sequence[str]) -> Iterator[Label]:
    """Yield one label if all rows agree; otherwise all of them as unknown."""
    cells: dict[str, tuple[TableRow, str]] = {}
    for row, column in zip(rows, columns, strict=True):
        cells.setdefault(row[column], (row, column))
    kinds = {"BENIGN" if "BENIGN" in value else value for value in cells}
    state = LabelState.PRESENT if len(kinds) == 1 else LabelState.UNKNOWN
    for row, column in cells.values():
        yield row.label(column, field=field, state=state)


def _described(row: TableRow) -> Iterator[Label]:
    for field in DESCRIPTORS:
        for value in _values(row, field):
            name = "special" if field == "shape" and value not in SHAPES else field
            doubted = name in OF_A_MASS and not _holds_as_called(row)
            state = LabelState.UNKNOWN if doubted else LabelState.PRESENT
            yield row.label(_name(row, field), field=name, value=value, state=state)


def _values(row: TableRow, field: str) -> list[str]:
    """Split the descriptors in a cell; empty if it is blank or there is no such column."""
    column = next((name for name in NAMES[field] if name in row), None)
    cell = row[column] if column else ""
    return cell.split("-") if cell not in {"", "N/A"} else []


def _tcia(root: RawTree) -> Files:
    files: dict[str, dict[Path, TableRow | None]] = {}
    for path in sorted(root.part("films"), key=natural_key):
        parts = path.relative_to(root.path).parts
        top = next((part for part in parts if _TOP.fullmatch(part)), None)
        if top:
            files.setdefault(top, {})[path] = None
    return files


def _kaggle(root: RawTree) -> tuple[Files, list[Skip]]:
    """Read the DICOM element table of the JPEG edition, in which PatientID is the folder name."""
    table = find_table(root, "elements")
    files: dict[str, dict[Path, TableRow | None]] = {}
    skips: list[Skip] = []
    for row in read_csv(table, columns=("image_path", "PatientID", BITS, ROWS, COLUMNS)):
        try:
            path = root.resolve(table.parents[1] / row["image_path"].removeprefix("CBIS-DDSM/"))
            files.setdefault(row["PatientID"], {})[path] = row
        except RowError as error:
            skips.append(Skip(key=row.place, reason=str(error), code=BAD_ROW))
    return files, skips


def _size(path: Path, listed: TableRow | None) -> Size:
    if listed is not None:
        listed.name("image_path")
        return (listed.integer(BITS), listed.integer(ROWS), listed.integer(COLUMNS))
    header = read_header(path, (BITS, ROWS, COLUMNS))
    return (int(header[BITS]), int(header[ROWS]), int(header[COLUMNS]))


def _folder(row: TableRow, column: str) -> str:
    """Return the first part of a path; the rest no longer exists in current releases."""
    top = _first(row, column)
    if not _TOP.fullmatch(top):
        raise RowError(f"{row.quote(_name(row, column))}: expected Mass- or Calc-Training_P_...")
    return top


def _first(row: TableRow, column: str) -> str:
    return re.split(r"[\\/]", row[_name(row, column)])[0]


def _breast(row: TableRow) -> tuple[str, str]:
    """Return patient and side, from the folder name or else from the cells."""
    match = _TOP.fullmatch(_first(row, "image"))
    if match:
        return (match["patient"], match["side"])
    return (row["patient_id"], row[_name(row, "side")])


def _checked(row: TableRow) -> tuple[str, str]:
    """Return the breast of a row, checked against its paths.

    Raises:
        RowError: a path has no folder of the release, or contradicts patient, side and view.
    """
    _folder(row, "mask")
    match = _TOP.fullmatch(_folder(row, "image"))
    for column, part in (
        ("patient_id", "patient"),
        *((_name(row, part_name), part_name) for part_name in ("side", "view")),
    ):
        if match is not None and row[column] != match[part]:
            raise RowError(f"{row.quote(column)}: its folder says {match[part]}")
    return _breast(row)


def _name(row: TableRow, field: str) -> str:
    """Return the name of a column in this edition."""
    name = next((name for name in NAMES[field] if name in row), None)
    if name is None:
        names = " or ".join(map(repr, NAMES[field]))
        raise SourceError(f"{row.table}: column {names} is missing; is this another edition?")
    return name
