"""Pictures to measure with, made once into a cache folder outside the repository.

They are synthetic, but their noise is correlated as that of a scanner is, so that they compress
about as well as real ones: a CT volume to about a quarter, a radiograph to about a third.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.uid import (
    ExplicitVRLittleEndian,
    JPEG2000Lossless,
    JPEGLosslessSV1,
    generate_uid,
)
from speed.jpeg_lossless import encode_jpeg_lossless

CT_SLICES = 200
_SIDE = 512
_FILM = (4096, 3328)
_CHEST = (3056, 2544)
CT_STORAGE = "1.2.840.10008.5.1.4.1.1.2"
_DX = "1.2.840.10008.5.1.4.1.1.1.1"
_MG = "1.2.840.10008.5.1.4.1.1.1.2"


def cache_folder() -> Path:
    """Where data and environments stay between runs; ``MEDRCUBE_BENCH`` names another place."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("MEDRCUBE_BENCH") or Path(home) / "medrcube-bench").resolve()


def make_data(folder: Path) -> None:
    """Write what is not there yet; a part that was cut short is made again."""
    make_once(folder / "ct", _write_ct)
    make_once(folder / "radiograph12", lambda target: write_radiograph(target, 12))
    make_once(folder / "radiograph16", lambda target: write_radiograph(target, 16))
    make_once(folder / "mammogram", write_mammogram)
    make_once(folder / "marks", lambda target: _write_marks(target, folder / "ct" / "ct.nii.gz"))
    make_once(folder / "film", write_large_mammogram)
    make_once(folder / "chest", write_chest)


def make_once(folder: Path, write: Callable[[Path], None]) -> None:
    if folder.exists():
        return
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    write(partial)
    partial.rename(folder)


def smooth(noise: NDArray[np.float32], times: int) -> NDArray[np.float32]:
    """Spread noise over its neighbours by a 1-2-1 kernel along rows and columns."""
    for _ in range(times):
        for axis in (-2, -1):
            noise = (np.roll(noise, 1, axis) + 2 * noise + np.roll(noise, -1, axis)) / 4
    return noise / noise.std()


def ellipse(shape: tuple[int, int], rows: float, columns: float) -> NDArray[np.bool_]:
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]]
    inside: NDArray[np.bool_] = ((y / shape[0] - 0.5) / rows) ** 2 + (
        (x / shape[1] - 0.5) / columns
    ) ** 2 < 1
    return inside


def ct_volume(slices: int) -> NDArray[np.int16]:
    """``(slices, 512, 512)`` in HU: a body with lungs and bones in air, noise of 10 HU."""
    rng = np.random.default_rng(4)
    shape = (_SIDE, _SIDE)
    volume = np.empty((slices, *shape), np.int16)
    for k in range(slices):
        swell = 0.02 * np.sin(k / 20)
        units = np.full(shape, -1000, np.float32)
        units[ellipse(shape, 0.34 + swell, 0.44)] = -90
        units[ellipse(shape, 0.31 + swell, 0.41)] = 45
        units[:, : _SIDE // 2][ellipse(shape, 0.2, 0.3 + swell)[:, : _SIDE // 2]] = -850
        units[ellipse(shape, 0.05, 0.04 + swell / 4)] = 400
        noise = smooth(rng.standard_normal(shape, np.float32), 3)
        volume[k] = np.clip(np.rint(units + 10 * noise), -1024, 3071)
        volume[k][~ellipse(shape, 0.5, 0.5)] = -1024
    return volume


def _write_ct(folder: Path) -> None:
    volume = ct_volume(CT_SLICES)
    image = nibabel.Nifti1Image(volume.T, np.diag([-0.7, -0.7, 1.25, 1.0]))
    nibabel.save(image, folder / "ct.nii.gz")
    (folder / "plain").mkdir()
    nibabel.save(image, folder / "plain" / "ct.nii")
    series = generate_uid(entropy_srcs=["medrcube", "series"])
    for k, units in enumerate(volume):
        write_dicom(
            folder / "series" / f"{k + 1:04}.dcm",
            (units + 1024).astype(np.uint16),
            CT_STORAGE,
            Modality="CT",
            SeriesInstanceUID=series,
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


def _film(shape: tuple[int, int], body: NDArray[np.bool_], bits: int, seed: int) -> NDArray[Any]:
    """A projection: smooth shades in a body before a dark ground, with fine noise."""
    rng = np.random.default_rng(seed)
    coarse = smooth(rng.standard_normal((shape[0] // 32, shape[1] // 32), np.float32), 8)
    shades = np.kron(coarse, np.ones((32, 32), np.float32))
    noise = smooth(rng.standard_normal(shape, np.float32), 1)
    grey = np.where(body, 0.55 + 0.06 * _smooth_ends(shades) + 0.004 * noise, 0.02)
    return np.asarray(np.clip(grey, 0, 1) * (2**bits - 1), np.uint16)


def _smooth_ends(shades: NDArray[np.float32]) -> NDArray[np.float32]:
    for _ in range(6):
        for axis in (-2, -1):
            shades = (np.roll(shades, 9, axis) + shades + np.roll(shades, -9, axis)) / 3
    return shades


def write_radiograph(folder: Path, bits: int) -> None:
    shape = (2048, 2048)
    pixels = _film(shape, ellipse(shape, 0.47, 0.45), bits, seed=5)
    write_dicom(
        folder / "radiograph.dcm",
        pixels,
        _DX,
        Modality="DX",
        BitsStored=bits,
        WindowCenter=2 ** (bits - 1),
        WindowWidth=2**bits,
    )


def write_mammogram(folder: Path) -> None:
    shape = (2560, 2048)
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]]
    breast = ((y / shape[0] - 0.5) / 0.45) ** 2 + (x / shape[1] / 0.7) ** 2 < 1
    pixels = _film(shape, breast, 12, seed=6)
    write_dicom(
        folder / "mammogram.dcm",
        pixels,
        _MG,
        syntax=JPEG2000Lossless,
        Modality="MG",
        BitsStored=12,
        WindowCenter=2048,
        WindowWidth=4096,
    )


def _write_marks(folder: Path, ct: Path) -> None:
    """Two lungs on every slice of the CT, as labels 1 and 2, and a lesion on the large film."""
    rows, columns = np.mgrid[0:_SIDE, 0:_SIDE]
    labels = np.zeros((CT_SLICES, _SIDE, _SIDE), np.uint8)
    for label, centre in ((1, 150), (2, 360)):
        labels[:, (rows - 256) ** 2 + (columns - centre) ** 2 < 80**2] = label
    affine = nibabel.load(ct).affine
    nibabel.save(nibabel.Nifti1Image(labels.T, affine), folder / "ct.nii.gz")
    lesion = np.zeros(_FILM, np.uint8)
    lesion[1500:2100, 600:1200] = 255
    Image.fromarray(lesion).save(folder / "film.png")


def write_large_mammogram(folder: Path) -> None:
    """A mammogram of the largest common detector, plain and in JPEG 2000."""
    y, x = np.mgrid[0 : _FILM[0], 0 : _FILM[1]]
    breast = ((y / _FILM[0] - 0.5) / 0.45) ** 2 + (x / _FILM[1] / 0.7) ** 2 < 1
    pixels = _film(_FILM, breast, 12, seed=7)
    elements = {"Modality": "MG", "BitsStored": 12, "WindowCenter": 2048, "WindowWidth": 4096}
    write_dicom(folder / "plain.dcm", pixels, _MG, **elements)
    write_dicom(folder / "jpeg2000.dcm", pixels, _MG, syntax=JPEG2000Lossless, **elements)


def write_chest(folder: Path) -> None:
    """A film as those of MIMIC-CXR: 16 bits a pixel in DICOM, and 8 bits as JPEG of quality 95.

    The JPEG has its histogram equalised, as in MIMIC-CXR-JPG, and about the size of a file there.
    """
    whole = (3072, 2560)  # shades are made in blocks of 32
    pixels = _film(whole, ellipse(whole, 0.47, 0.45), 12, seed=8)[: _CHEST[0], : _CHEST[1]]
    elements = {"Modality": "DX", "BitsStored": 12, "WindowCenter": 2048, "WindowWidth": 4096}
    write_dicom(folder / "film.dcm", pixels, _DX, **elements)
    share = np.cumsum(np.bincount(pixels.ravel(), minlength=1 << 12)) / pixels.size
    equalised = (255 * share).astype(np.uint8)[pixels]
    Image.fromarray(equalised).save(folder / "film.jpg", quality=95)


def write_dicom(
    path: Path, pixels: NDArray[Any], kind: str, *, syntax: str = "", **elements: Any
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = kind
    meta.MediaStorageSOPInstanceUID = generate_uid(entropy_srcs=["medrcube", path.name, kind])
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    data = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    standard = {
        "SOPClassUID": kind,
        "SOPInstanceUID": meta.MediaStorageSOPInstanceUID,
        "StudyInstanceUID": generate_uid(entropy_srcs=["medrcube", "study", kind]),
        "PatientID": "phantom",
        "PatientName": "Phantom",
        "Rows": pixels.shape[0],
        "Columns": pixels.shape[1],
        "SamplesPerPixel": 1,
        "PhotometricInterpretation": "MONOCHROME2",
        "BitsAllocated": 16,
        "PixelRepresentation": 0,
        "PixelData": pixels.tobytes(),
    }
    for keyword, value in {**standard, **elements}.items():
        setattr(data, keyword, value)
    data.HighBit = data.BitsStored - 1
    if syntax == JPEGLosslessSV1:
        meta.TransferSyntaxUID = syntax
        data.PixelData = encapsulate([encode_jpeg_lossless(pixels, data.BitsStored)])
        data["PixelData"].VR = "OB"
        data["PixelData"].is_undefined_length = True
    elif syntax and syntax != ExplicitVRLittleEndian:
        data.compress(syntax, encoding_plugin="pylibjpeg", generate_instance_uid=False)
    data.save_as(path, enforce_file_format=True)
