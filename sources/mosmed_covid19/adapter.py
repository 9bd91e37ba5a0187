"""MosMed: the folder is the grade of the study; fifty studies have lesion masks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from medrcube.errors import RefusedError, SourceError
from medrcube.facts import BAD_ROW, Case, ImageRef, Label, LabelState, MaskFile, Region, Skip
from medrcube.sources._formats.nifti_masks import load_labels, slice_at
from medrcube.sources._formats.tables.redaction import redact_cell
from medrcube.sources._formats.tables.spreadsheets import read_cells
from medrcube.sources._formats.tables.tables import find_optional_table
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

SHEET = "MosMedData COVID19_1110"
GRADES = ("CT-0", "CT-1", "CT-2", "CT-3", "CT-4")
CARD = own_card(__file__)
SPARING = CARD.names("sparing_grades")
LEAST_VISIBLE = CARD.number("least_lesion_mm2")
AERATED = CARD.numbers("aerated_hu", 2)
_STUDY = CARD.pattern("study", "study")
_CITED = re.compile(r"study_\d{4}")


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield every study, and a second case if its lesions are marked.

    Raises:
        SourceError: the copy is the small teaching edition.
    """
    del layout
    if any(path.parent.name == "CT-23" for path in root.files):
        raise SourceError(
            f"{root}: holds a folder CT-23, so this is the small teaching edition in which two "
            "grades are merged; expected COVID19_1110 with the folders CT-0 to CT-4"
        )
    masks = {path.name[:10]: path for path in root.part("masks")}
    registry = find_optional_table(root, "registry")
    grades = None if registry is None else _registry(registry)
    studies: set[str] = set()
    # An unpacked .nii is preferred to its .nii.gz; the volumes are identical.
    for path in sorted(root.part("volumes"), key=lambda path: (path.name, str(path))):
        name = _STUDY.fullmatch(path.name)
        if name is None or name["study"] in studies:
            reason = "not named study_NNNN" if name is None else "another copy of a study"
            yield Skip(key=path.relative_to(root.path).as_posix(), reason=reason, paths=(path,))
            continue
        studies.add(name["study"])
        grade = next(part for part in reversed(path.parts) if part in GRADES)
        if grades is not None and grades.get(name["study"]) != grade:
            other_grade = grades.get(name["study"], "dataset_registry.xlsx: holds no row of it")
            says = f"{name['study']}: {other_grade}; the folder says {grade}"
            reason = f"{says}: is this a re-sorted copy?"
            yield Skip(key=name["study"], reason=reason, paths=(path,), code=BAD_ROW)
            continue
        yield _graded(name["study"], path, grade, marked=name["study"] in masks)
        if name["study"] in masks:
            yield _mask_case(name["study"], path, grade, masks[name["study"]])


def frames(case: Case, volume: Any) -> list[int]:
    """Return the slice with the largest mask, or, for a grade, with the most aerated lung."""
    for region in case.regions:
        if isinstance(region.shape, MaskFile):
            return [_most_marked(region.shape.paths[0], volume)]
    slope, intercept = volume.greys.slope, volume.greys.intercept
    aerated = []
    for k in range(volume.slices.shape[0]):
        units = volume.slices[k] * slope + intercept
        aerated.append(int(((units > AERATED[0]) & (units < AERATED[1])).sum()))
    return [aerated.index(max(aerated))]


def _most_marked(path: Path, volume: Any) -> int:
    lesion = load_labels(path).mask_of()
    k = lesion.largest("axial")
    covered = float(lesion.areas("axial")[k] * lesion.pixel_area("axial"))
    if covered < LEAST_VISIBLE:
        raise RefusedError(
            f"{path.name}: lesions cover at most {covered:.0f} square mm of a slice; expected "
            f"{LEAST_VISIBLE:.0f}: less is too little to be seen",
            code="small-lesion",
        )
    return slice_at(volume, lesion.centre_of_slice("axial", k))


def _graded(study: str, path: Path, grade: str, *, marked: bool) -> Case:
    evidence = f"folder {grade}"
    labels = [Label(field="grade", value=grade, evidence=evidence)]
    if grade == "CT-0":
        labels.append(Label(field="opacity", value="CT-0", evidence=evidence))
    if not marked:  # marked lesions are asked on their own slice
        state = LabelState.UNKNOWN if grade in SPARING else LabelState.PRESENT
        labels.append(Label(field="diagnosis", value=grade, state=state, evidence=evidence))
    image = ImageRef(paths=(path,))
    return Case(key=study, images=(image,), patient=study, labels=tuple(labels))


def _mask_case(study: str, path: Path, grade: str, mask: Path) -> Case:
    return Case(
        key=f"{study}-lesion",
        images=(ImageRef(paths=(path,)),),
        patient=study,
        labels=(
            Label(field="opacity", value="mask", evidence=mask.name),
            Label(field="diagnosis", value=grade, evidence=f"folder {grade}"),
        ),
        regions=(
            Region(
                field="opacity",
                value="mask",
                shape=MaskFile(paths=(mask,), values=(1,)),
                evidence=mask.name,
            ),
        ),
    )


def _registry(path: Path) -> dict[str, str]:
    """Return the grade of each study, or the raw cell in its place.

    Only the position of the grade column is verified.
    """
    grades: dict[str, str] = {}
    for line, row in enumerate(read_cells(path, sheet=SHEET)[1:], 2):
        studies = {name for cell in row for name in _CITED.findall(cell)}
        grade = row[1].strip() if len(row) > 1 else ""
        for study in studies:
            sound = len(studies) == 1 and grade in GRADES and study not in grades
            cell = redact_cell(grade, GRADES)
            conflict = f"{path.name}:{line} second column={cell} for {', '.join(sorted(studies))}"
            grades[study] = grade if sound else conflict
    return grades
