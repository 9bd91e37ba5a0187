"""Synthetic images for fixtures, with every property that a test needs but no real data.

Phantoms are asymmetric in every direction (bright corner mark, gradient, off-centre lesion), so
that a flip, rotation or swap of axes changes them.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CANARY",
    "bounds",
    "chambers",
    "lesion",
    "picture",
    "write_clip",
    "write_dicom",
    "write_lines",
    "write_metaimage",
    "write_nifti",
    "write_picture",
]

CANARY = "CANARY^IDENTITY"
"""Placed wherever real data contain an identifier; must never appear in any output."""


_GREYS = {1: 0.85, 2: 0.12, 3: 0.72}
"""Grey value of each label."""


def picture(
    height: int,
    width: int,
    *,
    seed: int,
    maximum: int = 255,
    parts: NDArray[Any] | None = None,
) -> NDArray[np.uint16]:
    """Return a grey image ``(height, width)`` with values 0 to ``maximum``.

    ``parts`` is a label image of what lies in the body, such as ``chambers``; without it the
    body holds the first ``lesion`` of the seed.
    """
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[0:height, 0:width]
    body = (((rows / height - 0.5) / 0.47) ** 2 + ((columns / width - 0.5) / 0.42) ** 2) < 1
    ramp = 0.25 + 0.3 * rows / height + 0.15 * columns / width
    noise = rng.normal(0, 0.02, (height, width))
    grey = np.where(body, ramp + noise, 0.02)
    grey[height // 16 : height // 6, width // 16 : width // 5] = 0.9
    labels = lesion(height, width, seed=seed) if parts is None else parts
    for label, value in _GREYS.items():
        grey[labels == label] = value
    return (np.clip(grey, 0, 1) * maximum).astype(np.uint16)


def lesion(height: int, width: int, *, seed: int, which: int = 0) -> NDArray[np.bool_]:
    """Return an ellipse inside the body of ``picture``; ``which`` selects its position."""
    rng = np.random.default_rng((seed, which))
    row = height * (0.36 + 0.26 * rng.random())
    column = width * (0.36 + 0.26 * rng.random())
    radius = min(height, width) * (0.07 + 0.05 * rng.random())
    rows, columns = np.mgrid[0:height, 0:width]
    inside: NDArray[np.bool_] = (
        ((rows - row) / radius) ** 2 + ((columns - column) / (1.4 * radius)) ** 2
    ) < 1
    return inside


def bounds(mask: NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """Return the bounding box ``(x0, y0, x1, y1)`` of a mask; ``x1``, ``y1`` are exclusive."""
    rows, columns = np.nonzero(mask)
    return (int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)


def chambers(height: int, width: int, *, seed: int, scale: float = 1.0) -> NDArray[np.uint8]:
    """Return a label image of a heart: 1 cavity, 2 surrounding wall, 3 second cavity next to it.

    The cavity is off-centre and the second one to its left, so that every flip and rotation moves
    both. ``scale`` shrinks the heart, as in contraction.
    """
    rng = np.random.default_rng((seed, 7))
    rows, columns = np.mgrid[0:height, 0:width]
    size = scale * min(height, width) * (0.09 + 0.02 * rng.random())
    row, column = height * 0.45, width * 0.56
    distance = np.hypot(rows - row, (columns - column) / 1.2)
    beside = np.hypot((rows - row - 0.4 * size) / 1.3, columns - column + 2.7 * size)
    labels = np.zeros((height, width), np.uint8)
    labels[beside < size] = 3
    labels[distance < 1.45 * size] = 2
    labels[distance < size] = 1
    return labels


def write_picture(path: Path, pixels: NDArray[Any], *, density: int | None = None) -> None:
    """Write one PNG or JPEG file with an identifier in its metadata.

    Args:
        path: target; its suffix determines the format, and parents are created.
        pixels: ``(rows, columns)`` booleans (a 1-bit file) or 8-bit greys, or
            ``(rows, columns, 3 or 4)`` 8-bit colours.
        density: pixels per unit, without a name of the unit, in the ``pHYs`` chunk of a PNG.
    """
    from PIL import Image, PngImagePlugin  # noqa: PLC0415

    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(pixels if pixels.dtype == np.bool_ else pixels.astype(np.uint8))
    if path.suffix == ".png":
        text = PngImagePlugin.PngInfo()
        text.add_text("Comment", CANARY)
        image.save(path, pnginfo=text)
        if density is not None:
            _insert_density(path, density)
    else:
        image.save(path, quality=95, comment=CANARY)


def _insert_density(path: Path, density: int) -> None:
    """Insert a ``pHYs`` chunk after the PNG header, because Pillow writes none without a unit."""
    data, header = path.read_bytes(), 33
    body = b"pHYs" + struct.pack(">IIB", density, density, 0)
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    path.write_bytes(data[:header] + chunk + data[header:])


def write_nifti(
    path: Path,
    slices: NDArray[Any],
    *,
    spacing: tuple[float, ...],
    signs: tuple[int, int, int] = (1, 1, 1),
    axes: NDArray[Any] | None = None,
) -> None:
    """Write one NIfTI file with an identifier in its description.

    Args:
        path: target; ``.gz`` compresses, and parents are created.
        slices: ``([frames,] [slices,] rows, columns)``; stored with columns fastest.
        spacing: mm along columns, rows, then slices.
        signs: diagonal of the affine; the second and first are -1 in files of ITK origin.
        axes: ``(3, 3)``, in its columns where columns, rows and slices run, as unit vectors of
            right, anterior and superior; instead of ``signs``.
    """
    import nibabel  # noqa: PLC0415

    path.parent.mkdir(parents=True, exist_ok=True)
    scale = [*spacing, 1.0][:3]
    affine = np.diag([*np.multiply(signs, scale), 1.0])
    if axes is not None:
        affine[:3, :3] = axes * np.asarray(scale)
    make: Any = nibabel.Nifti1Image
    image = make(np.ascontiguousarray(slices.T), affine)
    image.header["descrip"] = CANARY.encode()
    nibabel.save(image, path)


def write_metaimage(
    path: Path, slices: NDArray[Any], *, spacing: tuple[float, float, float]
) -> None:
    """Write a volume with an identifier, as MetaImage or NRRD depending on the suffix.

    Args:
        path: target, of the header where pixels have a file of their own; parents are made.
        slices: ``(slices, rows, columns)``.
        spacing: mm along columns, rows, then slices.
    """
    import SimpleITK  # noqa: PLC0415

    path.parent.mkdir(parents=True, exist_ok=True)
    image: Any = SimpleITK.GetImageFromArray(slices)
    image.SetSpacing(spacing)
    image.SetMetaData("PatientName", CANARY)
    SimpleITK.WriteImage(image, str(path))


def write_clip(path: Path, frames: Sequence[NDArray[Any]], *, codec: str = "mpeg4") -> None:
    """Write a video or an animated GIF of 8-bit grey frames with even sides.

    Args:
        path: target; its suffix decides the container and parents are made.
        frames: ``(rows, columns)`` each, all of one size.
        codec: encoder of a video; a GIF has its own.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    pictures = [np.stack([frame.astype(np.uint8)] * 3, axis=-1) for frame in frames]
    if path.suffix.lower() == ".gif":
        from PIL import Image  # noqa: PLC0415

        first, *rest = [Image.fromarray(picture).quantize(256) for picture in pictures]
        first.save(path, save_all=True, append_images=rest, duration=40, comment=CANARY.encode())
        return
    import av  # noqa: PLC0415

    with av.open(str(path), "w") as container:
        container.metadata["title"] = CANARY
        stream: Any = container.add_stream(codec, rate=25)
        stream.height, stream.width = frames[0].shape
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))


def write_lines(path: Path, lines: Iterable[str], *, newline: str = "\n") -> None:
    """Write a text file in UTF-8; each line, the last one too, ends with ``newline``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(line + newline for line in lines).encode())


def write_dicom(path: Path, pixels: NDArray[Any], **tags: Any) -> None:
    """Write one uncompressed DICOM file.

    Args:
        path: target; parents are made.
        pixels: ``(rows, columns)`` or ``(frames, rows, columns)`` unsigned integers.
        tags: further data elements by keyword, which replace the defaults.
    """
    from pydicom.config import disable_value_validation  # noqa: PLC0415
    from pydicom.dataset import FileDataset, FileMetaDataset  # noqa: PLC0415
    from pydicom.uid import UID, ExplicitVRLittleEndian  # noqa: PLC0415

    path.parent.mkdir(parents=True, exist_ok=True)
    digits = str(sum((i + 1) * b for i, b in enumerate(path.name.encode())))
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = UID("1.2.840.10008.5.1.4.1.1.7")
    with disable_value_validation():
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
        "PixelData": frames.tobytes(),
        **tags,
    }
    # Real files break the rules too: an age of `51`, a UID of letters.
    with disable_value_validation():
        for keyword, value in elements.items():
            setattr(data, keyword, value)
        data.save_as(path, enforce_file_format=True)
