"""What a run of the benchmarks found, and the comparison with what was promised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The best run of one program.

    Attributes:
        seconds: of the best of all runs.
        runs: how many there were.
        pictures: made in one run.
        bytes: size of the PNG files of one run.
        idle: memory of the process before the work, in bytes.
        peak: largest memory of a process that did the work once.
    """

    seconds: float
    runs: int
    pictures: int
    bytes: int
    idle: int
    peak: int

    @property
    def rate(self) -> float:
        """Pictures a second."""
        return self.pictures / self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A program to compare with.

    Attributes:
        name: for people.
        environment: key of ``environments.ENVIRONMENTS``.
        script: file in ``peers``.
        least: how many times as fast as it we promise to be; below 1, the share of its speed
            that we promise to keep.
    """

    name: str
    environment: str
    script: str
    least: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """One kind of data and the programs that make images of it.

    Attributes:
        name: for people.
        data: path in the folder of data.
        batch: how often one run does the work, so that a run is not over in a blink.
        times: runs in one process.
        volume: bytes of the largest thing that has to be in memory.
        peers: whom we compare with.
    """

    name: str
    data: str
    batch: int
    times: int
    volume: int
    peers: Sequence[Peer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Ours against one peer, measured alternately."""

    contest: Contest
    peer: Peer
    ours: Timing
    theirs: Timing

    @property
    def ratio(self) -> float:
        """How many times as fast as the peer."""
        return self.theirs.seconds / self.ours.seconds

    @property
    def reached(self) -> bool:
        """Whether the promise is kept."""
        return self.ratio >= self.peer.least


_CT_BYTES = 512 * 512 * 200 * 2
_FILM_BYTES = 4096 * 3328 * 2
CASES = (
    ("CT volume, `.nii.gz`, 512 x 512 x 200", "ct/ct.nii.gz", "", _CT_BYTES),
    ("the same with a mask of its size, all slices", "ct/ct.nii.gz", "marks/ct.nii.gz", _CT_BYTES),
    ("the same CT as a DICOM series of 200 files", "ct/series", "", _CT_BYTES),
    ("mammogram, DICOM, 4096 x 3328", "film/plain.dcm", "", _FILM_BYTES),
    ("the same with a mask", "film/plain.dcm", "marks/film.png", _FILM_BYTES),
    ("the same in JPEG 2000, with a mask", "film/jpeg2000.dcm", "marks/film.png", _FILM_BYTES),
)
"""What the memory of a worker is measured with: name, data, mask, bytes of the stored pixels."""

CONTESTS = (
    Contest(
        name="CT volume, `.nii.gz`, 512 x 512 x 200",
        data="ct/ct.nii.gz",
        batch=1,
        times=2,
        volume=_CT_BYTES,
        peers=(
            Peer(
                name="MONAI: LoadImage, Orientation, SaveImage",
                environment="monai",
                script="monai_nifti.py",
                least=5,
            ),
            Peer(
                name="nibabel get_fdata, Pillow",
                environment="monai",
                script="nibabel_nifti.py",
                least=3.5,
            ),
        ),
    ),
    Contest(
        name="the same CT as a DICOM series of 200 files",
        data="ct/series",
        batch=1,
        times=2,
        volume=_CT_BYTES,
        peers=(
            Peer(
                name="pydicom modality and VOI LUT, Pillow",
                environment="dicom",
                script="pydicom_files.py",
                least=2.5,
            ),
            Peer(
                name="dicom2jpg, to PNG, one process",
                environment="dicom",
                script="dicom2jpg_files.py",
                least=1.8,
            ),
        ),
    ),
    Contest(
        name="radiograph, DICOM, 2048 x 2048, 12 bit",
        data="radiograph12/radiograph.dcm",
        batch=5,
        times=3,
        volume=2048 * 2048 * 2,
        peers=(
            Peer(
                name="Pillow's default PNG of the finished image, no reading",
                environment="dicom",
                script="pillow_png.py",
                least=5,
            ),
        ),
    ),
    Contest(
        name="radiograph, DICOM, 2048 x 2048, 16 bit",
        data="radiograph16/radiograph.dcm",
        batch=5,
        times=3,
        volume=2048 * 2048 * 2,
        peers=(
            Peer(
                name="Pillow's default PNG of the finished image, no reading",
                environment="dicom",
                script="pillow_png.py",
                least=5,
            ),
        ),
    ),
    Contest(
        name="mammogram, DICOM, JPEG 2000, 2560 x 2048, 12 bit",
        data="mammogram/mammogram.dcm",
        batch=10,
        times=2,
        volume=2560 * 2048 * 2,
        peers=(
            Peer(
                name="openjpeg, decoding alone",
                environment="dicom",
                script="openjpeg_decode.py",
                least=1 / 1.15,
            ),
        ),
    ),
)
