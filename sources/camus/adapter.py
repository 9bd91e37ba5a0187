"""CAMUS: end-diastolic and end-systolic frames of two views, alone and as a pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from medrcube.facts import Case, ImageRef, Label, Region, Scope, Skip
from medrcube.sources._formats.ejection_fraction import ejection_labels, ejection_quantities
from medrcube.sources._formats.label_maps import companion_files, label_map_regions
from medrcube.sources._formats.tables.contents import read_text
from medrcube.sources._formats.tables.rows import cases_or_skip
from medrcube.sources._formats.tables.tables import TableRow, natural_key, read_key_values
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

SUFFIXES = {"nifti": ".nii.gz", "mhd": ".mhd"}


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield four frames per patient and both pairs; the four-chamber pair carries the EF."""
    splits = _splits(root)
    for file in sorted(root.part("info"), key=natural_key):
        person, split = file.parent.name, splits.get(file.parent.name)
        if layout == "mhd":  # test ids restart at patient0001 and are different patients
            split = file.relative_to(root.path).parts[0]
            person = f"{split}-{person}"
        view = file.stem.removeprefix("Info_")
        make = partial(_view, file, layout, person, split)
        yield from cases_or_skip(make, key=f"{person}-{view}", paths=_files(file, layout))


def read(image: ImageRef) -> Any:
    """Read a frame; integer greys from 0 to 255 stored as floats are converted to 8 bit."""
    from medrcube.build import readers  # noqa: PLC0415  # of an extra: adapters load without it

    volume = readers.read(image)
    values = np.asarray(volume.slices)
    whole = ((values >= 0) & (values <= 255) & (values == np.rint(values))).all()
    return replace(volume, slices=values.astype(np.uint8)) if whole else volume


def _view(file: Path, layout: str, person: str, split: str | None) -> Iterator[Case | Skip]:
    info = read_key_values(file, keys=("ED", "ES"))
    facts = info.facts(sex="Sex", age="Age", quality="ImageQuality")
    view = file.stem.removeprefix("Info_")
    labels = [Label(field="view", value=view, evidence=f"{file.parent.name}/{file.name}")]
    if "ImageQuality" in info:
        labels.append(info.label("ImageQuality", field="quality"))
    blind = layout == "mhd" and split == "testing"  # published without contours
    unsure = blind or info.get("ImageQuality") == "Poor"
    frames: list[ImageRef] = []
    phases: list[Label] = []
    cavities: list[Region] = []
    for phase in ("ED", "ES"):
        stem = file.with_name(f"{file.parent.name}_{view}_{phase}")
        picture = Path(f"{stem}{SUFFIXES[layout]}")
        image = ImageRef(paths=(picture,), parts=companion_files(picture))
        truth = Path(f"{stem}_gt{SUFFIXES[layout]}")
        frames.append(image)
        phases.append(info.label(phase, field="phase", value=phase))
        if not unsure:
            cavities += label_map_regions(truth, (1,), field="structure", image=len(cavities))
        yield Case(
            key=f"{person}-{view}-{phase}",
            images=(image,),
            patient=person,
            labels=tuple(labels),
            regions=() if unsure else label_map_regions(truth, (1, 2, 3), field="structure"),
            split=split,
            facts=facts,
            sidecars=(file,),
        )
    key = f"{person}-{view}-ED-ES"

    def pair() -> Iterator[Case | Skip]:
        fraction, skips = _fraction(info, key) if view == "4CH" else ((), ())
        yield from skips
        yield Case(
            key=key,
            images=tuple(frames),
            patient=person,
            labels=(*labels, *fraction),
            quantities=ejection_quantities(fraction, "left_ejection_fraction"),
            panels=tuple(phases),
            regions=tuple(cavities),
            split=split,
            shows=Scope.PATIENT,
            facts=facts,
            sidecars=(file,),
        )

    yield from cases_or_skip(pair, key=key)


def _files(file: Path, layout: str) -> tuple[Path, ...]:
    """Return the images and ground truths of a view."""
    stem = f"{file.parent.name}_{file.stem.removeprefix('Info_')}"
    names = (f"{phase}{end}" for phase in ("ED", "ES") for end in ("", "_gt"))
    pictures = [file.with_name(f"{stem}_{name}{SUFFIXES[layout]}") for name in names]
    return tuple(file for picture in pictures for file in (picture, *companion_files(picture)))


def _fraction(info: TableRow, key: str) -> tuple[tuple[Label, ...], tuple[Skip, ...]]:
    column = next((key for key in ("EF", "LVef") if info.get(key)), None)
    volumes = {"diastole": "LVedv", "systole": "LVesv", "field": "ejection_fraction"}
    return ejection_labels(info, column, **volumes, key=key) if column else ((), ())


def _splits(root: RawTree) -> Mapping[str, str]:
    return {
        patient: file.stem.removeprefix("subgroup_")
        for file in root.part("splits")
        for patient in read_text(file).split()
    }
