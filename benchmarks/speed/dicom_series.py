"""Synthetic DICOM series in four codings, with headers as long as those of a scanner."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from data import CT_STORAGE, ct_volume, write_dicom
from pydicom.uid import ExplicitVRLittleEndian, JPEG2000Lossless, JPEGLosslessSV1, RLELossless

__all__ = ["SYNTAXES", "write_series"]

SYNTAXES = {
    "uncompressed": ExplicitVRLittleEndian,
    "RLE": RLELossless,
    "JPEG lossless": JPEGLosslessSV1,
    "JPEG 2000": JPEG2000Lossless,
}
_ORDINARY = {
    "Manufacturer": "phantom",
    "ManufacturerModelName": "phantom",
    "StudyDate": "20200101",
    "SeriesDate": "20200101",
    "AcquisitionDate": "20200101",
    "ContentDate": "20200101",
    "StudyTime": "120000",
    "AcquisitionTime": "120000",
    "BodyPartExamined": "CHEST",
    "ScanOptions": "HELICAL MODE",
    "KVP": "120",
    "DataCollectionDiameter": "500",
    "SoftwareVersions": "1",
    "ProtocolName": "phantom",
    "ReconstructionDiameter": "360",
    "DistanceSourceToDetector": "949",
    "DistanceSourceToPatient": "541",
    "GantryDetectorTilt": "0",
    "TableHeight": "150",
    "RotationDirection": "CW",
    "ExposureTime": "570",
    "XRayTubeCurrent": "360",
    "Exposure": "12",
    "FilterType": "BODY FILTER",
    "GeneratorPower": "43200",
    "FocalSpots": "1.2",
    "ConvolutionKernel": "STANDARD",
    "PatientPosition": "FFS",
    "StudyID": "1",
    "SeriesNumber": "2",
    "AcquisitionNumber": "1",
    "PositionReferenceIndicator": "SN",
}
"""Elements that a CT scanner writes beside those that an image needs."""


def write_series(folder: Path, slices: int, coding: str) -> None:
    """A chest of so many files, coded in one of ``SYNTAXES``."""
    for k, units in enumerate(ct_volume(slices)):
        write_dicom(
            folder / "series" / f"{k + 1:04}.dcm",
            (units + 1024).astype(np.uint16),
            CT_STORAGE,
            syntax=SYNTAXES[coding],
            **_ORDINARY,
            Modality="CT",
            SeriesInstanceUID="1.2.826.0.1.3680043.8.498.1",
            FrameOfReferenceUID="1.2.826.0.1.3680043.8.498.2",
            ImageType=["ORIGINAL", "PRIMARY", "AXIAL"],
            InstanceNumber=k + 1,
            ImagePositionPatient=[-179.0, -179.0, -120.0 + 1.25 * k],
            ImageOrientationPatient=[1, 0, 0, 0, 1, 0],
            PixelSpacing=[0.7, 0.7],
            SliceThickness=1.25,
            RescaleSlope=1,
            RescaleIntercept=-1024,
            WindowCenter=40,
            WindowWidth=400,
            BitsStored=12,
        )
