"""Rows of the table of speed, as data: what is rendered, against whom, and what is wanted."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from data import write_chest, write_large_mammogram, write_mammogram, write_radiograph

from speed.dicom_series import write_series
from speed.videos import write_video
from speed.volumes import write_ct, write_mr, write_uniform_ct

__all__ = ["ROWS", "Peer", "Row", "real_rows"]

Writer = Callable[[Path], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A program to compare with.

    Attributes:
        name: for people.
        environment: key of ``environments.ENVIRONMENTS``.
        script: file in ``peers``; at its best it takes ``--best``.
        windowed: whether it is told the window.
        tuned: whether it has a best.
    """

    name: str
    environment: str
    script: str
    windowed: bool = False
    tuned: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One kind of data.

    Attributes:
        name: for people.
        data: path in the folder of data, whose first part ``write`` makes; absolute if real.
        write: makes the data; ``None`` for real ones.
        window: policy of the card.
        peer: whom we compare with.
        colour: for a video, whether all sides make grey images (``grey``) or keep its colours.
        best: how many times as fast as the peer at its best we want to be.
        limit: share of the least work that we want to reach; 0 where none is wanted.
        decoder: share of the speed of the bare decoder that we want; 0 where none is wanted.
    """

    name: str
    data: str
    write: Writer | None
    window: str
    peer: Peer
    colour: str = ""
    best: float = 1.0
    limit: float = 0.0
    decoder: float = 0.0

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return f"{self.name} against {self.peer.name}"


NIFTI = Peer(name="nibabel", environment="loops", script="nifti_loop.py", windowed=True)
DICOM = Peer(name="pydicom", environment="loops", script="dicom_loop.py")
RASTER = Peer(name="Pillow", environment="loops", script="raster_loop.py")
VIDEO = Peer(name="OpenCV", environment="loops", script="video_loop.py")
MONAI = Peer(name="MONAI", environment="monai", script="monai_nifti.py", tuned=False)
DICOM2JPG = Peer(
    name="dicom2jpg", environment="dicom2jpg", script="dicom2jpg_folder.py", tuned=False
)
_LIMIT = 0.85
_SERIES = 1.8
_DECODER = 0.9
_MEDIASTINUM = "ct:mediastinum"
_MR = "percentile:1-99"


def _ct(slices: int, peer: Peer = NIFTI) -> Row:
    return Row(
        name=f"CT with noise, `.nii.gz`, {slices} slices",
        data=f"ct{slices}/ct.nii.gz",
        write=partial(write_ct, slices=slices),
        window=_MEDIASTINUM,
        peer=peer,
        limit=_LIMIT if slices >= 60 else 0.0,
    )


def _mr(kind: str, slices: int, side: int) -> Row:
    return Row(
        name=f"MR, {kind}, `.nii.gz`, {slices} slices of {side} x {side}",
        data=f"mr-{kind}-{slices}/mr.nii.gz",
        write=partial(write_mr, slices=slices, side=side, kind=kind),
        window=_MR,
        peer=NIFTI,
        limit=_LIMIT if slices >= 60 else 0.0,
    )


def _series(coding: str, slices: int, peer: Peer = DICOM) -> Row:
    return Row(
        name=f"CT, DICOM series, {coding}, {slices} files",
        data=f"series-{coding.lower().replace(' ', '-')}-{slices}/series",
        write=partial(write_series, slices=slices, coding=coding),
        window="header",
        peer=peer,
        best=_SERIES,
        limit=_LIMIT if slices >= 60 else 0.0,
        decoder=_DECODER if coding == "JPEG 2000" else 0.0,
    )


def _film(name: str, data: str, write: Writer, *, coded: bool = False) -> Row:
    return Row(
        name=name,
        data=data,
        write=write,
        window="header",
        peer=DICOM,
        limit=_LIMIT,
        decoder=_DECODER if coded else 0.0,
    )


def _video(name: str, place: str, frames: int, height: int, width: int) -> Row:
    return Row(
        name=name,
        data=f"video-{place.partition('.')[0]}/{place}",
        write=lambda folder: write_video(folder / place, frames, height, width),
        window="none",
        peer=VIDEO,
        colour="grey",
    )


ROWS: Sequence[Row] = (
    _ct(20),
    _ct(60),
    _ct(200),
    _ct(200, MONAI),
    _ct(600),
    Row(
        name="CT, noise in the middle alone, `.nii.gz`, 200 slices",
        data="ct-uniform/ct.nii.gz",
        write=partial(write_uniform_ct, slices=200),
        window=_MEDIASTINUM,
        peer=NIFTI,
        limit=_LIMIT,
    ),
    Row(
        name="CT with noise, `.nii`, 200 slices",
        data="ct200/plain/ct.nii",
        write=partial(write_ct, slices=200),
        window=_MEDIASTINUM,
        peer=NIFTI,
        limit=_LIMIT,
    ),
    _mr("int16", 20, 256),
    _mr("int16", 60, 256),
    _mr("int16", 200, 256),
    _mr("uint8", 20, 256),
    _mr("uint8", 60, 256),
    _mr("uint8", 200, 256),
    _mr("float32", 20, 256),
    _mr("float32", 60, 256),
    _mr("float32", 200, 256),
    _series("uncompressed", 20),
    _series("uncompressed", 200),
    _series("uncompressed", 200, DICOM2JPG),
    _series("RLE", 60),
    _series("JPEG lossless", 60),
    _series("JPEG 2000", 20),
    _film("film, DICOM, 2048 x 2048", "film2k/radiograph.dcm", partial(write_radiograph, bits=12)),
    _film("film, DICOM, 4096 x 3328", "film4k/plain.dcm", write_large_mammogram),
    Row(
        name="film, JPEG, 3056 x 2544",
        data="chest/film.jpg",
        write=write_chest,
        window="none",
        peer=RASTER,
        limit=_LIMIT,
    ),
    _film(
        "mammogram, JPEG 2000, 2560 x 2048", "mammogram/mammogram.dcm", write_mammogram, coded=True
    ),
    _film(
        "mammogram, JPEG 2000, 4096 x 3328",
        "film4k/jpeg2000.dcm",
        write_large_mammogram,
        coded=True,
    ),
    _video("ultrasound, AVI (MJPEG), 112 x 112, 180 frames", "echo.avi", 180, 112, 112),
    _video("ultrasound, MP4 (H.264), 640 x 480, 90 frames", "lung.mp4", 90, 480, 640),
)
"""Rows of synthetic data."""

_REAL = (
    ("CT, NIfTI", "niivue-images/CT_AVM.nii.gz", _MEDIASTINUM, NIFTI),
    ("MR, NIfTI", "niivue-images/chris_PD.nii.gz", _MR, NIFTI),
    ("CT, six files of a series", "COVID-CT-MD/COVID-19 subjects/P001", "header", DICOM),
    ("radiograph, JPEG 2000", "DICOM_WG04/J2KI/RG1_J2KI", "header", DICOM),
    ("mammogram, JPEG 2000", "DICOM_WG04/J2KI/MG1_J2KI", "header", DICOM),
    ("MR slice, RLE", "DICOM_WG04/RLE/MR3_RLE", "header", DICOM),
    ("MR slice, lossless JPEG", "DICOM_WG04/JPLL/MR4_JPLL", "header", DICOM),
    ("radiograph, DICOM", "ChestX-ray14/dicom_wrapped/test1.dcm", "header", DICOM),
)
_FILM = "covid19_pocus_ultrasound/data/pocus_videos/convex/Reg_Avi_lung-sliding.MP4"
_COLOURS = {"grey": "as grey", "keep": "in colour"}


def real_rows() -> list[Row]:
    """Rows of real samples, where a folder of them is there.

    ``MEDRCUBE_SHARED`` names it; without it, it is ``shared`` beside the repository.
    """
    beside = Path(__file__).resolve().parents[3] / "shared"
    samples = Path(os.environ.get("MEDRCUBE_SHARED") or beside) / "real_raw"
    rows = [
        Row(
            name=f"real: {name}",
            data=str(samples / place),
            write=None,
            window=window,
            peer=peer,
            limit=0.0,
            decoder=_DECODER if "JPEG 2000" in name else 0.0,
        )
        for name, place, window, peer in _REAL
        if (samples / place).exists()
    ]
    if not (samples / _FILM).exists():
        return rows
    return rows + [
        Row(
            name=f"real: ultrasound video, {name}",
            data=str(samples / _FILM),
            write=None,
            window="none",
            peer=VIDEO,
            colour=colour,
        )
        for colour, name in _COLOURS.items()
    ]
