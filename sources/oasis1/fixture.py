"""A synthetic OASIS-1: every grade in the table, a retest, and all kinds of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nibabel
import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.head import head_volume
from medrcube.sources._synthetic.images import CANARY, write_lines
from medrcube.sources._synthetic.spreadsheets import Value, write_spreadsheet

TABLE = "oasis_cross-sectional-5708aa0a98d82080.xlsx"
HEADER = ("ID", "M/F", "Hand", "Age", "Educ", "SES", "MMSE", "CDR", "eTIV", "nWBV", "ASF", "Delay")
ROWS: tuple[tuple[Value, ...], ...] = (
    ("OAS1_0001_MR1", "F", "R", 74, 2, 3, 29, 0, 1344, 0.783, 1.306, "N/A"),
    ("OAS1_0002_MR1", "M", "R", 24, None, None, None, None, 1420, 0.847, 1.236, "N/A"),
    ("OAS1_0003_MR1", "F", "R", 78, 1, 4, 22, 1, 1402, 0.703, 1.252, "N/A"),
    ("OAS1_0004_MR1", "M", "R", 86, 4, 1, 15, 2, 1590, 0.668, 1.104, "N/A"),
    ("OAS1_0005_MR1", "M", "R", 71, 3, 2, 28, 0.5, 1512, 0.742, 1.161, "N/A"),
    ("OAS1_0006_MR1", "F", "R", 88, 3, 3, 30, 0, 1390, 0.691, 1.263, "N/A"),
    ("OAS1_0002_MR2", "M", "R", 24, None, None, None, None, 1421, 0.849, 1.235, 41),
)
AVERAGES = ("n4_anon", "n3_anon", "n6_anon", "n4_fdcanon")
"""Of the first sessions; two of the real ones are named otherwise than anon."""
SHAPE = (44, 104, 88)
"""Slices, rows and columns; each slice is stored twice, in voxels of 2 mm."""


def build(root: Path, layout: str) -> None:
    """Write four persons, the retest of one of them and the table of six."""
    del layout
    for seed, average in enumerate(AVERAGES):
        session = f"OAS1_{seed + 1:04}_MR1"
        folder = root / f"disc{1 + seed // 3}" / session
        _write(
            folder / f"PROCESSED/MPRAGE/T88_111/{session}_mpr_{average}_111_t88_masked_gfc", seed
        )
        write_lines(folder / f"{session}.xml", [f"<subject>{CANARY}</subject>"])
        write_lines(folder / f"{session}.txt", [f"SESSION ID: {CANARY}"])
    first = root / "disc1/OAS1_0001_MR1"
    for name in (
        "RAW/OAS1_0001_MR1_mpr-1_anon",
        "PROCESSED/MPRAGE/SUBJ_111/OAS1_0001_MR1_mpr_n4_anon_sbj_111",
        "PROCESSED/MPRAGE/T88_111/OAS1_0001_MR1_mpr_n4_anon_111_t88_gfc",
        "FSL_SEG/OAS1_0001_MR1_mpr_n4_anon_111_t88_masked_gfc_fseg",
    ):
        _write_pair(first / name, np.full((4, 4, 4), 7, np.int16))
    retest = root / "disc2/OAS1_0002_MR2/PROCESSED/MPRAGE/T88_111"
    _write(retest / "OAS1_0002_MR2_mpr_n4_anon_111_t88_masked_gfc", 1)
    write_spreadsheet(root / TABLE, {"Sheet1": (HEADER, *ROWS)})


def _write(stem: Path, seed: int) -> None:
    """One brain, stored from the front to the back and from below to the top."""
    volume = head_volume(SHAPE, seed=seed, sequence="t1", maximum=3000, stripped=True)
    volume[: SHAPE[0] * 2 // 5, : SHAPE[1] // 2] = 0  # below the frontal lobe
    volume[:, :, : SHAPE[2] // 8] = volume[:, :, -(SHAPE[2] // 8) :] = 0
    _write_pair(stem, np.repeat(volume, 2, axis=0))


def _write_pair(stem: Path, volume: NDArray[np.int16]) -> None:
    """An Analyze pair in big-endian byte order, ``(slices, rows, columns)``."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    make: Any = nibabel.AnalyzeHeader
    header = make(endianness=">")
    header.set_data_dtype(">i2")
    header.set_data_shape(volume.shape[::-1])
    header.set_zooms((2.0, 2.0, 2.0))
    header["descrip"] = CANARY.encode()
    stem.with_name(f"{stem.name}.hdr").write_bytes(header.binaryblock)
    stem.with_name(f"{stem.name}.img").write_bytes(volume.astype(">i2").tobytes())
