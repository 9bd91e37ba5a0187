"""BraTS 2021: four sequences per patient, on the slice where the whole tumour is largest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from medrcube.errors import ReadError, RefusedError
from medrcube.facts import Case, ImageRef, Label, LabelState, MaskFile, Region, Skip
from medrcube.regions import files_of
from medrcube.sources._formats.comparisons import compared_case
from medrcube.sources._formats.nifti_masks import LabelVolume, load_labels, slice_at
from medrcube.sources._formats.tables.tables import natural_key
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

SEQUENCES = ("t1", "t1ce", "t2", "flair")
PLANES = ("axial", "coronal", "sagittal")
CARD = own_card(__file__)
LABELS = CARD.numbers("labels", 4)
_LEAST = CARD.integer("least_tumour_voxels")
_APART = CARD.integer("least_slices_from_enhancement")
_FOLDER = CARD.pattern("folder", "number")
WHOLE, ENHANCING = "1+2+4", "4"
_CLEAR = "clear"
# Core and enhancing tumour are visible after contrast, oedema in T2; plain T1 shows none well.
_VISIBLE = {"t1": (), "t1ce": ("1", "4", "1+4"), "t2": ("2", WHOLE), "flair": ("2", WHOLE)}


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the axial slice of each sequence, and two other planes of one sequence in rotation."""
    del layout
    patients: set[str] = set()
    homes = {path.parent for part in ("masks", "sequences") for path in root.part(part)}
    for folder in sorted(homes, key=natural_key):
        name = _FOLDER.fullmatch(folder.name)
        if name is None:
            continue
        truth = root / (folder / f"{folder.name}_seg.nii.gz")
        if folder.name in patients or not truth.exists():
            reason = (
                "another copy of a patient" if folder.name in patients else "has no segmentation"
            )
            files = tuple(root.below(folder))
            yield Skip(key=folder.relative_to(root.path).as_posix(), reason=reason, paths=files)
            continue
        patients.add(folder.name)
        for sequence in SEQUENCES:
            yield _case(truth, sequence, "axial")
        yield _clear(truth)
        yield compared_case(  # all sequences share one grid
            {name: truth.with_name(f"{folder.name}_{name}.nii.gz") for name in SEQUENCES},
            key=f"{folder.name}-sequences",
            patient=folder.name,
            field="sequence",
            guide=(MaskFile(paths=(truth,)),),
            plane="axial",
        )
        for plane in PLANES[1:]:
            yield _case(truth, SEQUENCES[int(name["number"]) % len(SEQUENCES)], plane)


def frames(case: Case, volume: Any) -> list[int]:
    """Return the slice with the largest whole tumour, the same for all sequences of a patient.

    For the case without enhancement: the slice with the most tumour away from any enhancing part.

    Raises:
        ReadError: code ``label-values`` for a segmentation of another edition.
        RefusedError: code ``no-slice`` if there is no such slice.
    """
    plane, path = case.plane or "axial", files_of(case.guide[0])[0]
    labels = load_labels(path)
    if not np.isin(labels.values, LABELS).all():
        expected = ", ".join(f"{value:g}" for value in LABELS)
        raise ReadError(
            f"{path.name}: holds values other than ({expected}); is this BraTS 2023 or later, "
            "where 3 is the enhancing tumour?",
            code="label-values",
        )
    tumour = labels.mask_of()
    if case.key.endswith(_CLEAR):
        return [slice_at(volume, tumour.centre_of_slice(plane, _without_enhancement(labels)))]
    return [slice_at(volume, tumour.centre_of_slice(plane, tumour.largest(plane, least=_LEAST)))]


def _without_enhancement(labels: LabelVolume) -> int:
    """Return the axial slice with the most tumour among those away from any enhancing part."""
    enhancing = np.flatnonzero(labels.mask_of(int(ENHANCING)).areas("axial"))
    tumour = labels.mask_of().areas("axial")
    slices = np.flatnonzero(tumour >= _LEAST) if enhancing.size else ()
    apart = [k for k in slices if np.abs(enhancing - k).min() >= _APART]
    if not apart:
        raise RefusedError(
            f"no slice with {_LEAST} voxels of tumour lies {_APART} slices from its enhancing "
            "part, or none is marked",
            code="no-slice",
        )
    return int(max(apart, key=lambda k: tumour[k]))


def _clear(truth: Path) -> Case:
    """Return the case of a post-contrast slice through non-enhancing tumour."""
    case = _case(truth, "t1ce", "axial")
    evidence = f"{truth.name} marks no {ENHANCING} within {_APART - 1} slices"
    none = Label(field="subregion", value=ENHANCING, state=LabelState.ABSENT, evidence=evidence)
    return replace(case, key=f"{case.key}-{_CLEAR}", labels=(*case.labels, none), regions=())


def _case(truth: Path, sequence: str, plane: str) -> Case:
    patient = truth.parent.name
    file = truth.with_name(f"{patient}_{sequence}.nii.gz")
    return Case(
        key=f"{patient}-{sequence}-{plane}",
        images=(ImageRef(paths=(file,)),),
        guide=(MaskFile(paths=(truth,)),),
        patient=patient,
        labels=(
            Label(field="plane", value=plane, evidence="cut by the affine"),
            Label(field="sequence", value=sequence, evidence=file.name),
            Label(field="diagnosis", value="Task 1", evidence="challenge description"),
        ),
        regions=tuple(_region(truth, value) for value in _VISIBLE[sequence]),
        plane=plane,
    )


def _region(truth: Path, value: str) -> Region:
    return Region(
        field="extent" if "+" in value else "subregion",
        value=value,
        shape=MaskFile(
            paths=(truth,),
            values=tuple(map(int, value.split("+"))),
            needs=((1, 4), (2,)) if value == WHOLE else (),  # its name says tumor and edema
        ),
        evidence=f"{truth.name}={value}",
        optional=value != WHOLE,  # a tumour need not have every part
    )
