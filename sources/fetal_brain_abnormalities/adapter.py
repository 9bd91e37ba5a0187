"""Fetal Brain Abnormalities Ultrasound: the folder is the label chosen by the uploader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from medrcube.errors import SourceError, TableError
from medrcube.facts import BAD_ROW, Case, ImageRef, Label, Skip
from medrcube.sources._formats.tables.contents import read_text
from medrcube.sources._formats.tables.redaction import redact_cell
from medrcube.sources._formats.tables.tables import find_table
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
_CLASSES = CARD.names("classes")
_FILE = CARD.pattern("file", "stem", "copy")
_UNAUGMENTED = CARD.pattern("unaugmented")
_STRETCHED = CARD.pattern("stretched", "width", "height")
_DEGREES = tuple(name for name in _CLASSES if name.endswith("-ventriculomegaly"))
_FINDINGS = (*_DEGREES, "colphocephaly", "intracranial-hemorrdge", "intracranial-tumor", "m-magna")


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the images by class; possible copies of other images are skipped.

    Raises:
        SourceError: the export was augmented or distorted, or a folder is not one of the 16
            classes.
    """
    del layout
    _check_export(find_table(root, "readme"))
    images = sorted((path.parent.name, path.name, path) for path in root.part("images"))
    strange = [label for label, _, _ in images if label not in _CLASSES]
    if strange:
        raise SourceError(
            f"{root}: holds the class folder {redact_cell(strange[0], _CLASSES)}, none of the 16 "
            "of version 1 with their spelling; the card assumes exactly these: is this the sister "
            "set of 14 classes, or a corrected copy? Get version 1 from the home page"
        )
    names = [(label, _FILE.fullmatch(path.stem), path) for label, _, path in images]
    stems = Counter((label, name["stem"].lower()) for label, name, _ in names if name)
    for label, name, path in names:
        if name is None:
            reason = "not named as the site names an exported image, so copies cannot be recognised"
            yield Skip(key=_place(path), reason=reason, paths=(path,), code=BAD_ROW)
            continue
        key = f"{label}/{name['copy']}"
        if stems[label, name["stem"].lower()] > 1:
            reason = f"several images of {label} bear its original name: copies of one are likely"
            yield Skip(key=key, reason=reason, paths=(path,))
            continue
        yield Case(key=key, images=(ImageRef(paths=(path,)),), labels=tuple(_labels(label)))


def _labels(label: str) -> Iterator[Label]:
    evidence = f"folder {label}"
    yield Label(
        field="finding" if label in _FINDINGS else "malformation", value=label, evidence=evidence
    )
    if label in _DEGREES:
        yield Label(field="degree", value=label, evidence=evidence)


def _place(path: Path) -> str:
    return "/".join(path.parts[-3:])


def _check_export(readme: Path) -> None:
    """Reject an export whose images were augmented or changed in aspect ratio."""
    lines = [line.strip() for line in read_text(readme, errors="replace").splitlines()]
    if not any(map(_UNAUGMENTED.fullmatch, lines)):
        raise TableError(
            readme,
            "does not say that no augmentation was applied, as the card assumes of version 1: "
            "the export may hold several copies of an image; download version 1 from the home page",
        )
    for size in filter(None, map(_STRETCHED.fullmatch, lines)):
        if size["width"] != size["height"]:
            raise TableError(
                readme,
                f"says that images were stretched to {size['width']} x {size['height']} pixels; "
                "expected equal sides, as the card assumes of version 1: a head of another shape "
                "is another finding",
            )
