"""Cheng's brain tumours: one MATLAB 7.3 file per slice, with label, patient and mask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from medrcube.errors import TableError
from medrcube.facts import Case, ImageRef, Label, MaskFile, Region, Skip
from medrcube.sources._formats.tables.tables import find_optional_table
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
_FILES = CARD.integer("slices")
_SLICE = CARD.pattern("slice", "number")
_MEMBERS = ("label", "PID", "image", "tumorMask", "tumorBorder")


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case per numbered file; reads its label and patient, but no pixels."""
    del layout
    files, parts = root.index("slices"), find_optional_table(root, "folds")
    folds = None if parts is None else _folds(parts)
    numbers = [int(match["number"]) for match in map(_SLICE.fullmatch, files) if match]
    for number in sorted(number for number in numbers if number <= _FILES):
        split = None if folds is None else f"fold-{folds[number - 1]}"
        yield _case(files[f"{number}.mat"], split)


def _case(path: Path, split: str | None) -> Case | Skip:
    import h5py  # noqa: PLC0415  # the card and its checks do without it

    try:
        with h5py.File(path) as file:
            code, codes, image, mask, _ = (file["cjdata"][name] for name in _MEMBERS)
            label = f"{code[()].item():g}"
            patient = "".join(chr(code) for code in codes[()].ravel())
            shapes = image.shape, mask.shape
    except (OSError, KeyError, ValueError) as error:
        reason = f"is no MATLAB 7.3 file with cjdata/{', '.join(_MEMBERS)}: {error}"
        return Skip(key=path.stem, reason=reason, paths=(path,))
    if shapes[0] != shapes[1]:
        reason = f"image and tumorMask differ in shape: {shapes[0]} and {shapes[1]}"
        return Skip(key=path.stem, reason=reason, paths=(path,))
    shape = MaskFile(paths=(path,), member="cjdata/tumorMask")
    return Case(
        key=path.stem,
        images=(ImageRef(paths=(path,), member="cjdata/image"),),
        patient=patient,
        labels=(Label(field="tumor", value=label, evidence=f"{path.name} cjdata/label={label}"),),
        regions=(
            Region(field="mask", value="tumor", shape=shape, evidence=f"{path.name} tumorMask"),
        ),
        split=split,
    )


def _folds(path: Path) -> list[int]:
    """Return the fold of each file number, from 1."""
    import h5py  # noqa: PLC0415

    assumed = f"the card assumes a MATLAB 7.3 file with {_FILES} numbers named cvind"
    try:
        with h5py.File(path) as file:
            folds = [int(value) for value in file["cvind"][()].ravel()]
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise TableError(path, f"cannot be read as folds ({error}); {assumed}") from error
    if len(folds) != _FILES:
        raise TableError(path, f"cvind holds {len(folds)} values; {assumed}")
    return folds
