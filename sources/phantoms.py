"""Synthetic pictures for fixtures: no real data, but every property that a test looks for.

A phantom is asymmetric in every direction (a bright corner mark, a gradient, a lesion off
centre), so that a flip, a turn or a swap of axes changes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CANARY = "CANARY^IDENTITY"
"""Stands wherever real data hold an identifier; must never appear in an output byte."""


def picture(height: int, width: int, *, seed: int, maximum: int = 255) -> NDArray[np.uint16]:
    """A grey picture ``(height, width)`` with values 0 to ``maximum``."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[0:height, 0:width]
    body = (((rows / height - 0.5) / 0.47) ** 2 + ((columns / width - 0.5) / 0.42) ** 2) < 1
    ramp = 0.25 + 0.3 * rows / height + 0.15 * columns / width
    noise = rng.normal(0, 0.02, (height, width))
    grey = np.where(body, ramp + noise, 0.02)
    grey[height // 16 : height // 6, width // 16 : width // 5] = 0.9
    grey[lesion(height, width, seed=seed)] = 0.8
    return (np.clip(grey, 0, 1) * maximum).astype(np.uint16)


def lesion(height: int, width: int, *, seed: int, which: int = 0) -> NDArray[np.bool_]:
    """An ellipse inside the body of ``picture``; ``which`` moves it to another place."""
    rng = np.random.default_rng((seed, which))
    row = height * (0.36 + 0.26 * rng.random())
    column = width * (0.36 + 0.26 * rng.random())
    radius = min(height, width) * (0.07 + 0.05 * rng.random())
    rows, columns = np.mgrid[0:height, 0:width]
    inside: NDArray[np.bool_] = (
        ((rows - row) / radius) ** 2 + ((columns - column) / (1.4 * radius)) ** 2
    ) < 1
    return inside


def write_dicom(path: Path, pixels: NDArray[Any], **tags: Any) -> None:
    """Write one uncompressed DICOM file.

    Args:
        path: target; parents are made.
        pixels: ``(rows, columns)`` or ``(frames, rows, columns)`` unsigned integers.
        tags: further data elements by keyword, which replace the defaults.
    """
    from pydicom.dataset import FileDataset, FileMetaDataset  # noqa: PLC0415
    from pydicom.uid import ExplicitVRLittleEndian, UID  # noqa: PLC0415

    path.parent.mkdir(parents=True, exist_ok=True)
    digits = str(sum((i + 1) * b for i, b in enumerate(path.name.encode())))
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = UID("1.2.840.10008.5.1.4.1.1.7")
    meta.MediaStorageSOPInstanceUID = UID(f"1.2.826.0.1.3680043.10.999.{digits}")
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    data = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    frames = pixels[None] if pixels.ndim == 2 else pixels
    bits = 8 * pixels.dtype.itemsize
    elements: dict[str, Any] = {
        "SOPClassUID": meta.MediaStorageSOPClassUID,
        "SOPInstanceUID": meta.MediaStorageSOPInstanceUID,
        "PatientName": CANARY,
        "PatientID": CANARY,
        "AccessionNumber": "CANARY",
        "InstitutionName": CANARY,
        "Rows": frames.shape[1],
        "Columns": frames.shape[2],
        "SamplesPerPixel": 1,
        "PhotometricInterpretation": "MONOCHROME2",
        "BitsAllocated": bits,
        "BitsStored": bits,
        "HighBit": bits - 1,
        "PixelRepresentation": 0,
        **({"NumberOfFrames": len(frames)} if len(frames) > 1 else {}),
        **tags,
    }
    for keyword, value in elements.items():
        setattr(data, keyword, value)
    data.PixelData = frames.tobytes()
    data.save_as(path, enforce_file_format=True)
