"""Synthetic examinations: registered series whose files are out of order, a mask and maps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.dicom import uid_of
from medrcube.sources._synthetic.head import head_volume
from medrcube.sources._synthetic.images import CANARY, write_dicom

SHAPE = (8, 80, 72)
ORDER = (5, 1, 6, 3, 0, 7, 2, 4)
"""Slice of each file."""
TILT = (1.0, 0.0, 0.0, 0.0, 0.982, -0.187)
# Folder, SeriesDescription, sequence drawn, echo and inversion time in ms.
SERIES: tuple[tuple[str, str, Any, float, float | None], ...] = (
    ("T1post", "T1post", "t1ce", 9.5, None),
    ("T1prereg", "T1pre_reg", "t1", 9.5, None),
    ("T2reg", "T2_reg", "t2", 92.0, None),
    ("FLAIRreg", "FLAIR_reg", "flair", 90.0, 2600.0),
    ("ADCreg", "ADC_reg", "adc", 90.0, None),
    ("sRCBVreg", "sRCBV_reg", "adc", 30.0, None),
    ("nRCBVreg", "nRCBV_reg", "adc", 30.0, None),
    ("nCBFreg", "nCBF_reg", "adc", 30.0, None),
)
PATIENTS = (1, 2, 3)
GREYS = {1: 0.95}


def build(root: Path, layout: str) -> None:
    """Write two examinations of one patient and one of each other; the last has no mask."""
    for number in PATIENTS:
        patient = f"PGBM-{number:03}"
        for exam in (1, 2) if number == 1 else (1,):
            study = f"11-19-199{exam}-FH-HEADBrain Protocols-4099{exam}"
            home = root / "Brain-Tumor-Progression" / patient / study
            if layout == "series":
                home = root / f"Study{2 * number + exam}"
            _examination(home, patient, exam, newer=number == 2, masked=number != PATIENTS[-1])


def _examination(home: Path, patient: str, exam: int, *, newer: bool, masked: bool) -> None:
    seed = int(patient[-3:])
    tumour = _tumour(seed)
    for place, (name, description, sequence, echo, inversion) in enumerate(SERIES):
        parts = np.zeros_like(tumour) if sequence == "t1" else tumour
        volume = head_volume(
            SHAPE, seed=seed, sequence=sequence, maximum=1500, parts=parts, greys=GREYS
        )
        folder = _folder(home, place, name, newer=newer)
        tags = {"EchoTime": echo, **({"InversionTime": inversion} if inversion else {})}
        _write(folder, volume, patient, exam, description, newer=newer, **tags)
    post = _head(seed, "t1ce", tumour)
    _write(_folder(home, 8, "dT1", newer=newer), post - 700, patient, exam, "dT1", newer=newer)
    if masked:
        mask = tumour.astype(np.int16)
        folder = _folder(home, 9, "MaskTumor", newer=newer)
        _write(folder, mask, patient, exam, "Mask_Tumor", newer=newer)
    else:
        crop = np.ones((3, 20, 12), np.int16)
        _write(home / "11_HCropVolume", crop, patient, exam, "HippoCrop", newer=newer)


def _head(seed: int, sequence: Any, parts: NDArray[np.uint8]) -> NDArray[np.int16]:
    return head_volume(SHAPE, seed=seed, sequence=sequence, maximum=1500, parts=parts, greys=GREYS)


def _folder(home: Path, place: int, name: str, *, newer: bool) -> Path:
    return home / f"{place + 11}{'.000000' if newer else ''}-{name}-{10000 + 7 * place}"


def _tumour(seed: int) -> NDArray[np.uint8]:
    """An ellipsoid off the middle, largest on the sixth slice."""
    k, y, x = np.mgrid[: SHAPE[0], : SHAPE[1], : SHAPE[2]]
    distance = ((k - 5) / 2.2) ** 2 + ((y - 34 - seed) / 9) ** 2 + ((x - 46 + seed) / 8) ** 2
    tumour: NDArray[np.uint8] = (distance < 1).astype(np.uint8)
    return tumour


def _write(
    folder: Path,
    volume: NDArray[np.int16],
    patient: str,
    exam: int,
    description: str,
    *,
    newer: bool,
    **tags: Any,
) -> None:
    """One file a slice, in an order that is not theirs."""
    order = ORDER if len(volume) == len(ORDER) else range(len(volume))
    step = np.cross(TILT[:3], TILT[3:]) * 6.5
    for number, k in enumerate(order):
        name = f"1-{number + 1:02}.dcm" if newer else f"{number:06}.dcm"
        write_dicom(
            folder / name,
            np.ascontiguousarray(volume[k]),
            Modality="MR",
            PatientID=patient,
            InstitutionName=CANARY,
            SeriesDescription=description,
            StudyInstanceUID=uid_of(patient, exam),
            SeriesInstanceUID=uid_of(patient, exam, description),
            SOPInstanceUID=uid_of(patient, exam, description, k),
            FrameOfReferenceUID=uid_of(patient, exam, "frame"),
            InstanceNumber=k + 1,
            PixelRepresentation=1,
            PixelSpacing=[0.69, 0.69],
            SliceThickness=5,
            SpacingBetweenSlices=6.5,
            ImageOrientationPatient=list(TILT),
            ImagePositionPatient=[round(part, 4) for part in (step * k).tolist()],
            **tags,
        )
