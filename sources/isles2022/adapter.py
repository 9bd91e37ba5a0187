"""ISLES 2022: three sequences a patient at the height of the lesion; DWI and ADC without, too."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from medrcube.errors import RefusedError, RowError, TableError
from medrcube.facts import Case, ImageRef, Label, MaskFile, Region, Skip
from medrcube.regions import files_of
from medrcube.sources._formats.borrowed_levels import drawn_slice
from medrcube.sources._formats.comparisons import compared_case
from medrcube.sources._formats.nifti_masks import VoxelMask, load_labels, slice_at
from medrcube.sources._formats.tables.contents import read_json
from medrcube.sources._formats.tables.rows import cases_or_skip
from medrcube.sources._formats.tables.tables import natural_key
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
LEAST = CARD.integer("least_lesion_voxels")
APART = CARD.integer("least_slices_from_lesion")
EVENLY = tuple(k / 10 for k in range(11))
"""Levels among the slices without a lesion."""
_FILES = {
    "zenodo": {"dwi": "dwi/{}_dwi", "adc": "dwi/{}_adc", "flair": "anat/{}_FLAIR"},
    "grand-challenge": {"dwi": "{}_dwi", "adc": "{}_adc", "flair": "{}_flair"},
}
_SESSION = CARD.pattern("mask", "patient", "session")


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield four cases for every mask; the files of a session are found from it."""
    masks = root.stems("masks")
    volumes = root.stems("volumes")
    sidecars = root.stems("sidecars")
    for mask in sorted(masks.values(), key=natural_key):
        name = _SESSION.fullmatch(mask.name)
        if name is None:
            yield Skip(key=mask.name, reason="names no case and session", paths=(mask,))
            continue
        patient, session = name["patient"], name["session"]
        top = root.path / ("rawdata" if layout == "grand-challenge" else "") / patient / session
        places = {
            sequence: Path(pattern.format(f"{patient}_{session}"))
            for sequence, pattern in _FILES[layout].items()
        }
        files = {
            sequence: volumes.get(place.name, top / f"{place}.nii.gz")
            for sequence, place in places.items()
        }
        for sequence, file in files.items():
            drawn_on = files["dwi"] if sequence == "flair" else None  # a grid of its own
            guide = MaskFile(paths=(mask,), drawn_on=drawn_on)
            sidecar = sidecars.get(places[sequence].name)
            make = partial(_cases, file, guide, patient, sequence, sidecar)
            yield from cases_or_skip(make, key=f"{patient}-{sequence}", paths=(file,))
        yield compared_case(  # the map is computed of the diffusion image
            {name: files[name] for name in ("dwi", "adc")},
            key=f"{patient}-sequences",
            patient=patient,
            field="sequence",
            guide=(MaskFile(paths=(mask,)),),
        )


def frames(case: Case, volume: Any) -> list[int]:
    """The largest slice of the lesion, at the same height in FLAIR, or one far from any lesion."""
    mask = files_of(case.guide[0])[0]
    lesion = load_labels(mask).mask_of()
    clear = case.key.endswith("-clear")
    index = _clear(lesion, volume, mask) if clear else lesion.largest("axial", least=LEAST)
    return [slice_at(volume, lesion.centre_of_slice("axial", index))]


def _clear(lesion: VoxelMask, volume: Any, mask: Path) -> int:
    """A slice within the middle half of the head, apart from any lesion; the patient decides."""
    from medrcube.build.pixels.extent import body_extent  # noqa: PLC0415  # of an extra

    first, last = body_extent(volume)
    count = last - first + 1
    lesions = np.flatnonzero(lesion.areas("axial"))
    middle = [first + k for k in range(count) if count <= 4 * k + 2 <= 3 * count]
    free = [k for k in middle if lesions.size and np.abs(lesions - k).min() >= APART]
    if not free:
        raise RefusedError(
            f"no slice in the middle half of the head lies {APART} slices from a lesion, or "
            "nothing is marked",
            code="no-slice",
        )
    patient = mask.name.split("_")[0]  # as its files name it, in every workspace alike
    return free[drawn_slice(patient, len(free), EVENLY)]


def _cases(
    file: Path, guide: MaskFile, patient: str, sequence: str, sidecar: Path | None
) -> Iterator[Case]:
    yield _case(file, guide, patient, sequence, sidecar, lesion=sequence != "flair")
    if sequence != "flair":
        yield _case(file, guide, patient, sequence, sidecar, clear=True)


def _case(
    file: Path,
    guide: MaskFile,
    patient: str,
    sequence: str,
    sidecar: Path | None,
    *,
    lesion: bool = False,
    clear: bool = False,
) -> Case:
    mask = guide.paths[0]
    labels = [
        Label(field="plane", value="axial", evidence="cut by the affine"),
        Label(field="sequence", value=sequence, evidence=file.name),
    ]
    regions: tuple[Region, ...] = ()
    if clear:
        evidence = f"{mask.name} marks nothing within {APART - 1} slices"
        labels.append(Label(field="infarct", value="none", evidence=evidence))
    elif lesion:
        labels.append(Label(field="infarct", value="lesion", evidence=mask.name))
        labels.append(Label(field="diagnosis", value="stroke", evidence="challenge description"))
        region = Region(
            field="infarct",
            value="lesion",
            shape=MaskFile(paths=(mask,), values=(1,)),  # some are fractions: 1 after rounding
            evidence=mask.name,
            optional=True,  # three masks are empty: ``frames`` refuses them
        )
        regions = (region,)
    return Case(
        key=f"{patient}-{sequence}{'-clear' if clear else ''}",
        images=(ImageRef(paths=(file,)),),
        guide=(guide,),
        unguided="" if lesion or clear else "middle",  # FLAIR states no lesion
        patient=patient,
        labels=tuple(labels),
        regions=regions,
        facts=_facts(sidecar),
        sidecars=(sidecar,) if sidecar else (),
    )


def _facts(sidecar: Path | None) -> tuple[tuple[str, str], ...]:
    """Sex, age and field strength where a sidecar states them.

    Raises:
        RowError: the sidecar is not a valid JSON object.
    """
    if sidecar is None:
        return ()
    try:
        header = read_json(sidecar)
    except TableError as error:
        raise RowError(f"{sidecar.name}: {error.what}") from None
    if not isinstance(header, dict):
        raise RowError(f"{sidecar.name}: expected a JSON object, found {type(header).__name__}")
    tags = {"sex": "PatientSex", "age": "PatientAge", "tesla": "MagneticFieldStrength"}
    return tuple((name, str(header[key])) for name, key in tags.items() if header.get(key))
