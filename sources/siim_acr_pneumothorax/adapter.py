"""SIIM-ACR pneumothorax: relative, column-major run-length codes of each drawn region."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from medrcube.errors import ReadError, RowError, SourceError
from medrcube.facts import Case, ImageRef, Label, MaskFile, Region, Runs, Skip
from medrcube.sources._formats.annotations.run_length import (
    connected_pieces,
    merge_runs,
    relative_runs,
)
from medrcube.sources._formats.dicom.headers import read_header
from medrcube.sources._formats.tables.rows import cases_or_skip, group_by_name
from medrcube.sources._formats.tables.tables import TableRow, find_table, natural_key, read_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

_NONE = "-1"
CARD = own_card(__file__)
_SIDE = CARD.integer("side_px")
_PNG = CARD.pattern("png", "label")
_SERIES = CARD.pattern("series", "view")


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case per film in the table; others are skipped."""
    if layout == "png":
        yield from _pictures(root)
        return
    files = root.stems("films")
    table = find_table(root, "table")
    coded = read_csv(table, columns=("ImageId", "EncodedPixels"))
    films, nameless = group_by_name(coded, "ImageId", opens=("film",))
    yield from nameless
    for name, rows in films.items():
        file = files.pop(name, None)
        path = file or root.path / "dicom-images-train" / f"{name}.dcm"
        make = partial(_film, name, path, rows, has_file=file is not None)
        try:
            yield from cases_or_skip(make, key=name, paths=(path,))
        except ReadError as error:
            yield Skip(key=name, reason=str(error), paths=(path,))
    for name, path in files.items():
        yield Skip(key=name, reason=f"{table.name} has no row for it", paths=(path,))


def _film(name: str, path: Path, rows: list[TableRow], *, has_file: bool) -> Iterator[Case | Skip]:
    codes = [row["EncodedPixels"] for row in rows]
    if _NONE in codes and len(rows) > 1:
        reason = f"{rows[0].table}:{rows[0].line} says both that nothing is marked and what is"
        yield Skip(key=name, reason=reason, paths=(path,))
        return
    header: Mapping[str, str] = {}
    if has_file:
        keywords = ("ViewPosition", "SeriesDescription", "PatientSex", "PatientAge")
        header = read_header(path, keywords)
    described = _SERIES.fullmatch(header.get("SeriesDescription", ""))
    view = header.get("ViewPosition") or (described[1] if described else "")
    evidence = "ViewPosition" if header.get("ViewPosition") else "SeriesDescription"
    views = (Label(field="view", value=view, evidence=evidence),) if view else ()
    with_runs = [row for row in rows if row["EncodedPixels"] != _NONE]
    tags = (("sex", "PatientSex"), ("age", "PatientAge"))
    yield Case(
        key=name,
        images=(ImageRef(paths=(path,)),),
        labels=(*views, *_labels("1" if with_runs else "0", f"{rows[0].table}:{rows[0].line}")),
        regions=_regions(with_runs),
        split="train",
        facts=tuple((fact, header[keyword]) for fact, keyword in tags if keyword in header),
    )


def _regions(rows: Sequence[TableRow]) -> tuple[Region, ...]:
    """Return the connected components of the union of all rows of a film."""
    rows_of_film = ", ".join(str(row.line) for row in rows)
    mask = merge_runs(map(_runs, rows))
    return tuple(
        Region(
            field="film",
            value="1",
            shape=Runs(runs=piece, size=(_SIDE, _SIDE), down=True),
            evidence=f"{rows[0].table}:{rows_of_film}",
        )
        for piece in connected_pieces(mask, _SIDE)
    )


def _runs(row: TableRow) -> tuple[tuple[int, int], ...]:
    """Return the runs of a row; a code truncated between two numbers would look complete."""
    if not row.ended:
        raise RowError(
            f"{row.place} EncodedPixels: the table ends here without a line break, so the code may "
            "be cut; get the table again, or end it with a line break if it is whole"
        )
    try:
        return relative_runs(row["EncodedPixels"])
    except SourceError as error:
        raise RowError(f"{row.quote('EncodedPixels')}: {error}") from None


def _pictures(root: RawTree) -> Iterator[Case]:
    """Yield the PNG edition, in which the last digit of the file name is the class."""
    for path in sorted(root.part("films"), key=natural_key):
        name = _PNG.fullmatch(path.name)
        if name is None:
            continue
        mask = path.parent.with_name("png_masks") / path.name
        region = Region(
            field="film",
            value="1",
            shape=MaskFile(paths=(mask,)),
            evidence=f"png_masks/{mask.name}",
        )
        yield Case(
            key=path.stem,
            images=(ImageRef(paths=(path,)),),
            labels=_labels(name["label"], path.name),
            regions=(region,) if name["label"] == "1" else (),
            split="train",
        )


def _labels(value: str, evidence: str) -> tuple[Label, ...]:
    return (Label(field="film", value=value, evidence=evidence),)
