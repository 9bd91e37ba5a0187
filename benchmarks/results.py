"""What a run found, and the cases that the memory of a worker is measured with."""

from __future__ import annotations

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
