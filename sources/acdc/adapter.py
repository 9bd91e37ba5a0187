"""ACDC: labelled end-diastolic and end-systolic volumes, and both together for the group."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from medrcube.errors import RowError
from medrcube.facts import Case, ImageRef, Scope, Skip
from medrcube.sources._formats.label_maps import label_map_regions
from medrcube.sources._formats.tables.rows import cases_or_skip
from medrcube.sources._formats.tables.tables import natural_key, read_key_values
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

PHASES = ("ED", "ES")


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield two single-frame cases per patient, and one with both frames."""
    del layout  # same names; one layout has folders where the other has files
    folders = sorted((info.parent for info in root.part("info")), key=natural_key)
    patients: set[str] = set()
    # Older test sets exist twice, without and with ground truth; the latter is preferred.
    for folder in sorted(folders, key=lambda folder: not _has_truth(root, folder)):
        if folder.name in patients or not _has_truth(root, folder):
            reason = "another copy of a patient" if folder.name in patients else "no ground truth"
            frames = (
                path for path in root.below(folder) if "_frame" in str(path.relative_to(folder))
            )
            yield Skip(key=str(folder.relative_to(root.path)), reason=reason, paths=tuple(frames))
        else:
            make = partial(_patient, root, folder)
            yield from cases_or_skip(make, key=folder.name, paths=tuple(root.below(folder)))
        patients.add(folder.name)


def _patient(root: RawTree, folder: Path) -> Iterator[Case]:
    sidecar = root / (folder / "Info.cfg")
    info = read_key_values(sidecar, keys=PHASES)
    facts = info.facts(height_cm="Height", weight_kg="Weight")
    split = "testing" if folder.parent.name.startswith("testing") else "training"
    names = [f"{folder.name}_frame{info.integer(phase):02}" for phase in PHASES]
    images = [ImageRef(paths=(_volume(root, folder / f"{name}.nii.gz"),)) for name in names]
    truths = [_volume(root, folder / f"{name}_gt.nii.gz") for name in names]
    # The slice with the largest heart at end-diastole; end-systole uses the same one.
    guide = tuple(
        region.shape for region in label_map_regions(truths[0], (1, 2, 3), field="structure")
    )
    for phase, image, truth in zip(PHASES, images, truths, strict=True):
        yield Case(
            key=f"{folder.name}-{phase}",
            images=(image,),
            patient=folder.name,
            regions=label_map_regions(truth, (1, 2, 3), field="structure"),
            guide=guide,
            split=split,
            facts=facts,
            sidecars=(sidecar,),
        )
    ed, es = (label_map_regions(truths[n], (1, 2, 3), field="structure", image=n) for n in (0, 1))
    yield Case(
        key=f"{folder.name}-ED-ES",
        images=tuple(images),
        patient=folder.name,
        labels=(info.label("Group", field="diagnosis"),) if "Group" in info else (),
        panels=tuple(info.label(phase, field="phase", value=phase) for phase in PHASES),
        regions=(*ed, *es),
        split=split,
        shows=Scope.PATIENT,
        facts=facts,
        sidecars=(sidecar,),
    )


def _has_truth(root: RawTree, folder: Path) -> bool:
    return any("_gt.nii" in str(path.relative_to(folder)).lower() for path in root.below(folder))


def _volume(root: RawTree, path: Path) -> Path:
    """Return the file, or the only file in the folder that some copies have in its place."""
    inner = [*root.below(path), *root.below(path.with_suffix(""))]
    if not inner:
        return root / path
    if len(inner) != 1 or ".nii" not in inner[0].suffixes:
        raise RowError(
            f"{path.relative_to(root.path)}: is a folder with {len(inner)} files; expected one "
            ".nii, as in copies that turn each .nii.gz into a folder; report this copy"
        )
    return inner[0]
