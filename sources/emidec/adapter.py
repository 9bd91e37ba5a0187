"""EMIDEC: one slice per exam, with the largest infarct or in the middle of a normal heart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from medrcube.errors import RefusedError, RowError
from medrcube.facts import Case, ImageRef, Label, MaskFile, Region, Skip
from medrcube.regions import files_of
from medrcube.sources._formats.tables.contents import read_text_of_case
from medrcube.sources._formats.tables.rows import cases_or_skip
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
LEAST_MM2 = CARD.number("least_infarct_mm2")
CAVITY, WALL, INFARCT = 1, (2, 3, 4), (3, 4)
STRUCTURES = {"cavity": (CAVITY,), "myocardium": WALL}
MOST = 4
_PLACE = CARD.pattern("volume", "case", "kind")
_SEXES = {"F": "female", "M": "male"}


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case per exam with a mask."""
    del layout  # one layout has folders where the other has files
    masks = {_case_of(root, path): path for path in root.part("masks")}
    info = root.index("info")
    keys: set[str] = set()
    for path in root.part("images"):
        case = _case_of(root, path)
        if not case or case in keys:
            reason = "another copy of an exam" if case else "names no exam"
            yield Skip(key=root.name_of(path), reason=reason, paths=(path,))
            continue
        keys.add(case)
        mask = masks.get(case, path.parents[1] / "Contours" / path.name)
        sidecar = info.get(f"{case.replace('_', ' ')}.txt")
        make = partial(_exam, case, path, mask, sidecar)
        yield from cases_or_skip(make, key=case, paths=(path, mask))


def frames(case: Case, volume: Any) -> list[int]:
    """Return the slice with the largest infarct, else the middle of those with cavity and wall.

    Raises:
        RefusedError: code ``label-order`` if the mask has labels not defined by EMIDEC,
            ``contradiction`` if a normal exam has an infarct, ``no-slice`` if the infarct is too
            small to be visible or no slice shows the heart.
    """
    from medrcube.build import readers  # noqa: PLC0415

    path = files_of(case.guide[0])[0]
    labels = np.rint(np.asarray(readers.read(ImageRef(paths=(path,))).slices))
    if labels.min() < 0 or labels.max() > MOST:
        raise RefusedError(
            f"{path.name}: holds labels from {labels.min():g} to {labels.max():g}; expected 0 to "
            f"{MOST}: is this a copy with colours, or of another dataset?",
            code="label-order",
        )
    _, rows, columns = volume.spacing or (0.0, 0.0, 0.0)
    areas = np.isin(labels, INFARCT).sum(axis=(1, 2)) * rows * columns
    if _PLACE.fullmatch(case.key)["kind"] == "P":  # type: ignore[index]
        if areas.max() < LEAST_MM2:
            raise RefusedError(
                f"{path.name}: the largest infarct of a slice has {areas.max():.0f} mm2; expected "
                f"at least {LEAST_MM2:g}, or nobody sees it",
                code="no-slice",
            )
        return [int(areas.argmax())]
    if areas.any():
        raise RefusedError(
            f"{path.name}: marks an infarct in an exam that is named normal", code="contradiction"
        )
    slices = [k for k, plane in enumerate(labels) if (plane == CAVITY).any() and (plane > 1).any()]
    if not slices:
        raise RefusedError(f"{path.name}: no slice shows cavity and wall", code="no-slice")
    return [slices[len(slices) // 2]]


def _exam(case: str, image: Path, mask: Path, sidecar: Path | None) -> Iterator[Case]:
    kind = _PLACE.fullmatch(case)["kind"]  # type: ignore[index]
    marks = {("structure", name): values for name, values in STRUCTURES.items()}
    if kind == "P":
        marks["enhancement", "P"] = INFARCT
    yield Case(
        key=case,
        images=(ImageRef(paths=(image,)),),
        patient=case,
        labels=tuple(
            Label(field=field, value=kind, evidence=case) for field in ("enhancement", "diagnosis")
        ),
        regions=tuple(
            Region(
                field=field,
                value=value,
                shape=MaskFile(paths=(mask,), values=values),
                evidence=f"{mask.name}={'+'.join(map(str, values))}",
            )
            for (field, value), values in marks.items()
        ),
        guide=(MaskFile(paths=(mask,)),),
        facts=() if sidecar is None else _facts(sidecar),
        sidecars=() if sidecar is None else (sidecar,),
    )


def _facts(path: Path) -> tuple[tuple[str, str], ...]:
    """Return sex and age; the keys have non-ASCII characters in various encodings."""
    facts: dict[str, str] = {}
    for line in read_text_of_case(path, "latin-1").splitlines():
        key, _, value = line.partition(":")
        letters = re.sub("[^a-z]", "", key.lower())
        if letters.startswith("sex"):
            sex = _SEXES.get(value.strip())
            if sex is None:
                raise RowError(f"{path.name}: expected Sex F or M")
            facts["sex"] = sex
        elif letters.startswith("age") and value.strip().isdigit():
            facts["age"] = value.strip()
    return tuple(facts.items())


def _case_of(root: RawTree, path: Path) -> str:
    """Return the name of the exam: the folder above Images or Contours."""
    names = path.relative_to(root.path).parts
    return next((name for name in reversed(names[:-1]) if _PLACE.fullmatch(name)), "")
