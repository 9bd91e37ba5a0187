"""A synthetic CBIS-DDSM in three editions: several abnormalities, both types, odd folders."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.breast import mammogram
from medrcube.sources._synthetic.images import (
    CANARY,
    bounds,
    lesion,
    write_dicom,
    write_lines,
    write_picture,
)

HEIGHT, WIDTH = 168, 120
MASS = "patient_id,breast_density,left or right breast,image view,abnormality id,abnormality type,mass shape,mass margins,assessment,pathology,subtlety,image file path,cropped image file path,ROI mask file path"  # noqa: E501
CALC = "patient_id,breast density,left or right breast,image view,abnormality id,abnormality type,calc type,calc distribution,assessment,pathology,subtlety,image file path,cropped image file path,ROI mask file path"  # noqa: E501
EARLY = "patient_id,breast_density,side,view,abn_num,abnormality_type,mass_shape,mass_margins,assessment,pathology,subtlety,od_img_path,od_crop_path,mask_path"  # noqa: E501
INFO = "file_path,image_path,BitsAllocated,Columns,PatientID,PatientName,Rows,SeriesDescription"
M, B, C = "MALIGNANT", "BENIGN", "BENIGN_WITHOUT_CALLBACK"
# Patient, density, view, abnormality, two descriptors, assessment, pathology.
MASSES = {
    "Training": (
        ("P_00001", 3, "LEFT_CC", 1, "IRREGULAR-ARCHITECTURAL_DISTORTION", "SPICULATED", 4, M),
        ("P_00001", 3, "LEFT_MLO", 1, "IRREGULAR", "SPICULATED", 5, M),
        ("P_00004", 2, "RIGHT_CC", 1, "OVAL", "CIRCUMSCRIBED", 2, C),
        ("P_00004", 2, "RIGHT_CC", 2, "ROUND", "OBSCURED", 3, M),
        ("P_00005", 1, "RIGHT_MLO", 1, "ROUND", "OBSCURED-ILL_DEFINED", 3, B),
        ("P_00006", 4, "LEFT_CC", 1, "LOBULATED", "MICROLOBULATED", 0, B),
        ("P_00007", 2, "LEFT_CC", 1, "ROUND", "OBSCURED", 3, B),
        ("P_00008", 2, "LEFT_CC", 1, "OVAL", "CIRCUMSCRIBED", 3, B),
        ("P_00008", 2, "LEFT_MLO", 1, "OVAL-LYMPH_NODE", "CIRCUMSCRIBED", 3, B),
    ),
    "Test": (
        ("P_00016", 2, "LEFT_CC", 1, "LYMPH_NODE", "CIRCUMSCRIBED", 1, C),
        ("P_00017", 2, "RIGHT_MLO", 1, "ASYMMETRIC_BREAST_TISSUE", "", 4, B),
        ("P_00018", 2, "RIGHT_CC", 1, "FOCAL_ASYMMETRIC_DENSITY", "", 4, B),
        ("P_00019", 2, "RIGHT_CC", 1, "OVAL", "ILL_DEFINED", 4, M),
    ),
}
CALCS = {
    "Training": (
        ("P_00005", 1, "RIGHT_MLO", 1, "PLEOMORPHIC", "CLUSTERED", 4, M),
        ("P_00020", 3, "LEFT_CC", 1, "AMORPHOUS-COARSE-PLEOMORPHIC", "LINEAR", 4, B),
        ("P_00021", 3, "LEFT_CC", 1, "DYSTROPHIC-EGGSHELL-SKIN", "REGIONAL", 2, C),
        ("P_00022", 3, "LEFT_CC", 1, "FINE_LINEAR_BRANCHING-PUNCTATE", "SEGMENTAL", 5, M),
        ("P_00016", 3, "RIGHT_CC", 1, "LARGE_RODLIKE-VASCULAR", "DIFFUSELY_SCATTERED", 2, C),
    ),
    "Test": (
        ("P_01743", 0, "LEFT_MLO", 1, "LUCENT_CENTER-LUCENT_CENTERED", "CLUSTERED", 2, B),
        ("P_00151", 2, "LEFT_MLO", 1, "MILK_OF_CALCIUM-ROUND_AND_REGULAR", "CLUSTERED", 2, B),
    ),
}
TWO = "Mass-Training_P_00004_RIGHT_CC"
"""It shows two masses."""
SPLIT_STUDIES = "Mass-Training_P_00001_LEFT_MLO"
"""Its crop and its mask lie in two studies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Abnormality:
    """One row of a table, with the folder of its mammogram."""

    top: str
    number: int
    seed: int
    calc: bool


def build(root: Path, layout: str) -> None:
    """Write the tables, and for each row a crop and a mask beside a mammogram."""
    folder = root / "csv" if layout == "kaggle" else root
    info: list[list[object]] = []
    seeds: dict[str, int] = {}
    for kind, parts in (("Mass", MASSES), ("Calc", CALCS)):
        for part, rows in parts.items():
            lines = []
            for row in rows:
                patient, _, view, number, *_ = row
                top = f"{kind}-{part}_{patient}_{view}"
                new = top not in seeds
                seed = seeds.setdefault(top, len(seeds))
                abnormality = Abnormality(top=top, number=number, seed=seed, calc=kind == "Calc")
                _write(root, layout, abnormality, info, new=new)
                lines.append(_row(row, abnormality, early=layout == "early"))
            early = layout == "early" and kind == "Mass"
            header = EARLY if early else {"Mass": MASS, "Calc": CALC}[kind]
            name = f"{kind.lower()}_case_description_{part.lower().removesuffix('ing')}_set.csv"
            _table(folder / name, header.split(","), lines)
    if layout == "kaggle":
        _table(folder / "dicom_info.csv", INFO.split(","), info)
    else:
        write_lines(root / "metadata.csv", ["Series UID,Study UID,File Location", CANARY])


def _row(row: tuple[object, ...], abnormality: Abnormality, *, early: bool) -> list[object]:
    patient, density, view, number, first, second, assessment, pathology = row
    side, projection = str(view).split("_")
    kind = "calcification" if abnormality.calc else "mass"
    separator = "\\" if early else "/"
    top = abnormality.top
    mask_number = int(not abnormality.calc)  # the second path ends with a line break inside quotes
    names = [f"{top}_{number}", "1.3.6.1.4.1.9590.100.1.2.1", _uid(abnormality, "roi")]
    crop, mask = (
        separator.join([*names, f"00000{k}.dcm"]) + ("\n" if k else "")
        for k in (1 - mask_number, mask_number)
    )
    image = separator.join(
        [top, "1.3.6.1.4.1.9590.100.1.2.2", _uid(abnormality, "full"), "000000.dcm"]
    )
    head = [patient, density, side, projection, number, kind]
    return [*head, first, second, assessment, pathology, 4, image, crop, mask]


def _write(
    root: Path, layout: str, abnormality: Abnormality, info: list[list[object]], *, new: bool
) -> None:
    mark = lesion(HEIGHT, WIDTH, seed=abnormality.seed, which=abnormality.number - 1)
    whole = _mammogram(abnormality)
    x0, y0, x1, y1 = bounds(mark)
    pixels = {"full": whole, "crop": whole[y0:y1, x0:x1], "mask": (mark * 255).astype(np.uint8)}
    order = ["mask", "crop"] if abnormality.seed % 2 else ["crop", "mask"]
    for name in [*(["full"] if new else []), *order]:
        place = 0 if name == "full" else order.index(name)
        top = abnormality.top if name == "full" else f"{abnormality.top}_{abnormality.number}"
        series = {"full": "full mammogram images", "crop": "cropped images"}.get(
            name, "ROI mask images"
        )
        image = np.ascontiguousarray(pixels[name])
        if layout == "kaggle":
            uid = _uid(abnormality, "full" if name == "full" else "roi")
            file = f"{place + 1}-{100 + abnormality.seed}.jpg"
            grey = image if name == "mask" else image // 257
            write_picture(root / "jpeg" / uid / file, grey)
            paths = [f"CBIS-DDSM/dicom/{uid}/{file[:-4]}.dcm", f"CBIS-DDSM/jpeg/{uid}/{file}"]
            bits = 8 * image.itemsize
            info.append([*paths, bits, image.shape[1], top, CANARY, image.shape[0], series])
        else:
            folder = _folder(root, layout, abnormality, name)
            apart = abnormality.top == SPLIT_STUDIES and name != "full"
            if apart:  # two studies, and the mask in a series of crops
                folder = folder.parents[1] / f"08-29-2017-DDSM-{name}" / "1.000000-cropped images-1"
            number = 0 if apart else place
            file = f"00000{number}.dcm" if layout == "early" else f"1-{number + 1}.dcm"
            write_dicom(folder / file, image, PatientID=top)


def _mammogram(abnormality: Abnormality) -> NDArray[np.uint16]:
    """The whole breast with all that the tables say of it."""
    marks = [
        lesion(HEIGHT, WIDTH, seed=abnormality.seed, which=k)
        for k in range(1 + (abnormality.top == TWO))
    ]
    return mammogram(
        HEIGHT,
        WIDTH,
        seed=abnormality.seed,
        maximum=65535,
        side="L" if "LEFT" in abnormality.top else "R",
        oblique=abnormality.top.endswith("MLO"),
        lesion=np.logical_or.reduce(marks),
        specks=abnormality.calc,
    )


def _folder(root: Path, layout: str, abnormality: Abnormality, name: str) -> Path:
    top = abnormality.top if name == "full" else f"{abnormality.top}_{abnormality.number}"
    base = root / "CBIS-DDSM" / top
    uid = _uid(abnormality, "full" if name == "full" else "roi")
    if layout == "early":
        return base / "1.3.6.1.4.1.9590.100.1.2.1" / uid
    series = "full mammogram images" if name == "full" else "ROI mask images"
    return base / "08-29-2017-DDSM-NA-65980" / f"1.000000-{series}-{50000 + abnormality.seed}"


def _uid(abnormality: Abnormality, kind: str) -> str:
    return (
        f"1.3.6.1.4.1.9590.100.1.2.{abnormality.seed}{abnormality.number if kind == 'roi' else 0}9"
    )


def _table(path: Path, header: list[str], rows: list[list[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\r\n")
        table.writerows([header, *rows])
