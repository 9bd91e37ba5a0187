"""HC18: images of a fetal head, with its ellipse and its circumference in mm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from medrcube.errors import ReadError, RowError
from medrcube.facts import Case, ImageRef, MaskFile, Quantity, Region, Skip
from medrcube.sources._formats.tables.rows import cases_or_skip, skip_if_unnamed
from medrcube.sources._formats.tables.tables import TableRow, find_table, read_csv
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
_NAME = CARD.pattern("picture", "examination")
_LEAST, _MOST = CARD.numbers("outline_by_table", 2)
_PIXEL_ERROR = CARD.number("most_pixel_error")
_SIZE, _LENGTH = "pixel size(mm)", "head circumference (mm)"
_PIXEL = "pixel size in mm"


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the rows of the training table, then the test images, which have no annotation."""
    del layout
    pictures, outlines = root.index("pictures"), root.index("outlines")
    for row in read_csv(find_table(root, "table"), columns=("filename", _SIZE, _LENGTH)):
        if skip := skip_if_unnamed(row, "filename"):
            yield skip
            continue
        name = row["filename"]
        path = pictures.get(name, root / "training_set" / name)
        outline = outlines.get(name.replace(".png", "_Annotation.png"))
        paths = (path,) if outline is None else (path, outline)
        key = f"training_set/{Path(name).stem}"
        yield from cases_or_skip(partial(_case, row, key, paths), key=key, paths=paths)
    for path in root.part("tests"):
        image = ImageRef(paths=(path,))
        yield Case(key=f"test_set/{path.stem}", images=(image,), split="test")


def _case(row: TableRow, key: str, paths: tuple[Path, ...]) -> Iterator[Case]:
    match = _NAME.fullmatch(row["filename"])
    if match is None:
        raise RowError(f"{row.quote('filename')}: expected a name such as 010_2HC.png")
    if not row.number(_SIZE) > 0:
        raise RowError(f"{row.quote(_SIZE)}: expected millimetres above zero")
    length = row.number(_LENGTH)
    yield Case(
        key=key,
        images=(ImageRef(paths=paths[:1]),),
        regions=tuple(
            Region(
                field="head",
                value="head",
                shape=MaskFile(paths=(path,), outlined=True),
                evidence=path.name,
            )
            for path in paths[1:]
        ),
        quantities=(
            Quantity(
                field="head_circumference", value=length, unit="mm", evidence=row.cite(_LENGTH)
            ),
        ),
        split="train",
        facts=(("examination", match["examination"]), (_PIXEL, row[_SIZE])),
    )


def read(image: ImageRef) -> Any:
    """Read an image with its pixel size, which is stored in the PNG files of the release.

    The ``pHYs`` chunk contains 1000 / (pixel size in mm) without a unit; read as dpi it is wrong.
    """
    from PIL import Image  # noqa: PLC0415  # of an extra: adapters load without it

    from medrcube.build import readers  # noqa: PLC0415

    volume = readers.read(image)
    with Image.open(image.paths[0]) as picture:
        density = picture.info.get("aspect", (0, 0))
    if density[0] != density[1] or not density[0]:
        return volume  # re-encoded file: pixel size lost, image usable
    mm = 1000 / density[0]
    return replace(volume, spacing=(1.0, mm, mm))


def frames(case: Case, volume: Any) -> list[int]:
    """Return the only frame.

    Raises:
        ReadError: code ``pixel-size`` if image and table differ, ``circumference`` if outline and
            table differ.
    """
    if not case.quantities:
        return [0]
    name, stated = case.images[0].paths[0].name, float(dict(case.facts)[_PIXEL])
    if volume.spacing and abs(volume.spacing[1] / stated - 1) > _PIXEL_ERROR:
        raise ReadError(
            f"{name}: its pixels are {volume.spacing[1]:.4g} mm by its own header, {stated:.4g} mm "
            f"by the table; expected them within {100 * _PIXEL_ERROR:.0f} %: is it of this row?",
            code="pixel-size",
        )
    for region in case.regions:
        _check_length(region.shape, volume, stated, case.quantities[0].value)
    return [0]


def _check_length(shape: Any, volume: Any, mm: float, stated: float) -> None:
    from medrcube.build.readers import read_mask  # noqa: PLC0415
    from medrcube.build.regions.measure import measure  # noqa: PLC0415

    mask, name = read_mask(shape, volume)[0], shape.paths[0].name
    length = measure(mask).ellipse.circumference * mm if mask.any() else 0.0
    if not _LEAST <= length / stated <= _MOST:
        raise ReadError(
            f"{name}: the outline measures {length:.4g} mm around, the table says {stated:.4g} mm; "
            f"expected {100 * _LEAST:.0f} to {100 * _MOST:.0f} %: is it resized or of another row?",
            code="circumference",
        )
