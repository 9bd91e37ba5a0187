"""Planning CT of a few synthetic patients, with every combination of drawings."""

from __future__ import annotations

from pathlib import Path

from medrcube.sources._synthetic.chest_ct import chest, organ, tumour
from medrcube.sources._synthetic.dicom import (
    Series,
    uid_of,
    write_segmentation,
    write_series,
    write_structures,
)
from medrcube.sources._synthetic.images import write_lines

HEAD = (
    "PatientID,age,clinical.T.Stage,Clinical.N.Stage,Clinical.M.Stage,Overall.Stage,"
    "Histology,gender,Survival.time,deadstatus.event"
)
ORGANS = {
    "Lung-Left": "left lung",
    "Lung-Right": "right lung",
    "Heart": "heart",
    "Esophagus": "esophagus",
    "Spinal-Cord": "spinal cord",
}

SERIES = ("1.000000-NA-61228", "4.000000-NA-45931", "300.000000-Segmentation-5.421")
PATTERNS = {
    "descriptive": "1-{:03}.dcm",
    "classic": "{:06}.dcm",
    "idc": "0b1f{:04}-5a7e-4c2d-9b3f-1d2e3f4a5b6c.dcm",
    "series": "1-{:03}.dcm",
}


def build(root: Path, layout: str) -> None:
    """Write patients with SEG and RTSTRUCT, with RTSTRUCT alone, and one that is dropped."""
    base = root / "manifest-1603198545583" / "NSCLC-Radiomics"
    classic = layout == "classic"
    rows = [HEAD]
    for number in (1, 2, 128):
        patient = f"LUNG1-{number:03}"
        mass = tumour(seed=number)
        scan = Series(name=f"{patient} CT", patient=patient, volume=chest(seed=number, tumour=mass))
        masks = {"GTV-1": mass} | {name: organ(part) for name, part in ORGANS.items()}
        if number == 2:
            total = masks.pop("Lung-Left") | masks.pop("Lung-Right")
            masks["Lungs-Total"] = total
        study = base / patient / "01-01-2014-StudyID-NA-85095"
        homes = [study / name for name in SERIES]
        if layout == "series":
            homes = [root / f"{kind}_{uid_of(patient, kind)}" for kind in ("CT", "RTSTRUCT", "SEG")]
        pattern = PATTERNS[layout]
        write_series(homes[0], scan, pattern=pattern)
        single = "1-1.dcm" if layout == "descriptive" else pattern.format(0)
        # A line cannot run round both lungs at once.
        lines = {name: mask for name, mask in masks.items() if "Total" not in name}
        write_structures(homes[1] / single, scan, lines)
        if not classic:
            write_segmentation(homes[2] / single, scan, masks)
        rows.append(f"{patient},78.75,2,3,0,IIIb,large cell,male,2165,NA")
    write_lines(root / "NSCLC Radiomics Lung1.clinical-version3-Oct 2019.csv", rows)
