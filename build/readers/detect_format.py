"""Format detection by the first bytes of a file, and dispatch to its reader."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from medrcube.build.execution.lean_imports import lean_import
from medrcube.build.pixels.volume import Volume
from medrcube.errors import ReadError
from medrcube.facts import ImageRef

__all__ = ["content_of", "module_of", "read"]

Reader = Callable[[Path, int | None, str | None], Volume]

_HEAD = 1024
_STARTS: Mapping[str, tuple[bytes, ...]] = MappingProxyType(
    {
        "raster": (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM"),
        "nrrd": (b"NRRD000",),
        "hdf5": (b"MATLAB ", b"\x89HDF\r\n\x1a\n"),
        "video": (b"\x00\x00\x01\xba", b"\x00\x00\x01\xb3", b"\x1aE\xdf\xa3", b"\x30\x26\xb2\x75"),
    }
)
_QUICKTIME = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")
_NIFTI_SIZES = tuple(size.to_bytes(4, order) for size in (348, 540) for order in ("little", "big"))
_ANALYZE_SIZES = tuple((348).to_bytes(4, order) for order in ("little", "big"))
_MODULES: Mapping[str, str] = MappingProxyType(
    {
        "raster": "medrcube.build.readers.raster",
        "dicom": "medrcube.build.readers.dicom.image",
        "nifti": "medrcube.build.readers.nifti",
        "analyze": "medrcube.build.readers.analyze",
        "metaimage": "medrcube.build.readers.itk.metaimage",
        "nrrd": "medrcube.build.readers.itk.nrrd",
        "hdf5": "medrcube.build.readers.hdf5",
        "video": "medrcube.build.readers.video.video",
        "series": "medrcube.build.readers.dicom.series",
        "segmentation": "medrcube.build.readers.dicom.segmentation",
        "structures": "medrcube.build.readers.dicom.structure_set",
        "headerless": "medrcube.build.readers.raw_pixels",
    }
)
_LIBRARIES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("nifti", "analyze"), "nibabel"),
        **dict.fromkeys(("dicom", "series", "segmentation", "structures"), "pydicom"),
    }
)


def read(image: ImageRef, *, forward: bool = False) -> Volume:
    """Read one image or stack as stored, without windowing, flipping or resampling.

    ``ImageRef.frame`` selects one entry of the slowest stored axis: a frame of a video, GIF or
    multi-frame DICOM, a slice of a 3-D array (n = 1), or a time point of a 4-D array (n = its
    number of slices).

    Several files are the slices of one DICOM series, in any order; then ``frame`` selects one by
    its position in the stack.

    Args:
        image: files, and the member and frame to read.
        forward: whether the slices are taken only once, in ascending order; compressed NIfTI slices
            are then decompressed one by one and never all held in memory.

    Raises:
        ReadError: code ``series-unsupported`` (several files that are not DICOM), ``missing-file``,
            ``unsupported-format``, ``truncated``, ``unreadable``, ``missing-frame``,
            ``frame-count`` and those of the individual readers.
    """
    path = image.paths[0]
    if image.raw is not None:
        _head(path)
        return module_of("headerless").read(path, image.raw, image.frame)  # type: ignore[no-any-return]
    if len(image.paths) > 1:
        return _read_series(image)
    content = content_of(path)
    if forward and content == "nifti" and image.frame is None:
        return module_of(content).read_forward(path)  # type: ignore[no-any-return]
    if image.count is not None and content == "video":
        module_of(content).check_count(path, image.count)
    reader: Reader = module_of(content).read
    return reader(path, image.frame, image.member)


def module_of(content: str) -> Any:
    """Return the reader module of a format, imported on first use.

    pydicom, nibabel, SimpleITK and PyAV take 10 to 90 MB each; a worker imports only those that its
    files need.
    """
    return lean_import(_MODULES[content], _LIBRARIES.get(content, ""))


def _read_series(image: ImageRef) -> Volume:
    for path in image.paths:
        content = content_of(path)
        if content != "dicom":
            raise ReadError(
                f"{path.name}: is one of {len(image.paths)} files of one image, but holds "
                f"{content}; only slices of a DICOM series are read together",
                code="series-unsupported",
            )
    return module_of("series").read(image.paths, image.frame)  # type: ignore[no-any-return]


def content_of(path: Path) -> str:
    """Return the format that the first bytes of a file indicate: a key of the reader table.

    Raises:
        ReadError: code ``missing-file``, ``truncated`` for an empty file, or
            ``unsupported-format``.
    """
    head = _head(path)
    if head[:2] == b"\x1f\x8b":
        return _gzip_content(path, head)
    content = _plain_content(head)
    if content is None:
        raise ReadError(
            f"{path.name}: its first bytes match no known format; expected PNG, JPEG, GIF, "
            "BMP, DICOM, NIfTI, Analyze, NRRD, MetaImage, MATLAB 7.3, HDF5 or a video",
            code="unsupported-format",
        )
    return content


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except FileNotFoundError:
        raise ReadError(
            f"{path.name}: the file is missing from this copy of the data", code="missing-file"
        ) from None
    except OSError as error:
        raise ReadError(
            f"{path.name}: cannot be opened ({error.strerror}); check the permissions",
            code="unreadable",
        ) from error
    if not head:
        raise ReadError(f"{path.name}: is empty; get the file again", code="truncated")
    return head


def _gzip_content(path: Path, head: bytes) -> str:
    try:
        inner = zlib.decompressobj(wbits=31).decompress(head, _HEAD)
    except zlib.error as error:
        raise ReadError(
            f"{path.name}: is damaged gzip ({error}); get the file again", code="unreadable"
        ) from error
    if _is_nifti(inner) or len(inner) < 348:
        return "nifti"
    raise ReadError(
        f"{path.name}: is gzip, but what is inside is not NIfTI; unpack it first",
        code="unsupported-format",
    )


def _plain_content(head: bytes) -> str | None:
    if head[128:132] == b"DICM":
        return "dicom"
    if _is_nifti(head):
        return "nifti"
    if len(head) >= 348 and head[:4] in _ANALYZE_SIZES:
        return "analyze"
    for content, starts in _STARTS.items():
        if head.startswith(starts):
            return content
    if head[4:8] in _QUICKTIME:
        return "video"
    if head[:4] == b"RIFF" and head[8:12] == b"AVI ":
        return "video"
    if any(line.startswith((b"ObjectType", b"NDims")) for line in head.splitlines()[:8]):
        return "metaimage"
    # Datasets without the 128-byte preamble start at group 0002 or 0008 (little endian).
    if head[:2] in {b"\x02\x00", b"\x08\x00"} and head[3:4] == b"\x00":
        return "dicom"
    return None


def _is_nifti(head: bytes) -> bool:
    if len(head) < 348:  # truncated within the header, which starts with its own size
        return head[:4] in _NIFTI_SIZES
    return head[344:347] in {b"n+1", b"ni1"} or head[4:7] in {b"n+2", b"ni2"}
