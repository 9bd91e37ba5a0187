"""A few synthetic films with the tables of each edition."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.chest_film import chest_film, lung_lesion
from medrcube.sources._synthetic.images import CANARY, write_dicom, write_lines, write_picture

_HEADER = (
    "Filename,StudyDate,Modality,StudyId,BrixiaScore,BrixiaScoreGlobal,ConsensusTestset,Subject,"
    "Sex,AgeAtStudyDateFiveYear,Manufacturer,PhotometricInterpretation,Rows,Columns"
)
# Zones without their leading zeros, score, part of the consensus, view in the header.
_FILMS = (
    ("0", "0", "0", "AP"),
    ("110", "2", "0", "PA"),
    ("123", "6", "0", ""),
    ("213123", "12", "0", "AP"),
    ("333333", "18", "0", "LL"),
    ("111111", "6", "1", "AP"),
    ("222111", "9", "1", ""),
    ("332", "7", "0", "AP"),  # does not add up
)
_PANEL = {5: ("9.2", "111222", "9"), 6: ("9.4", "222111", "12")}
# Name, grades of the senior and of the junior reader.
_PUBLIC = (
    ("immagine 2.png", "000000", "000000"),
    ("16724_1_1.jpg", "233101", "123103"),
    ("covid-19-pneumonia-evolution-over-a-week-1-day4.jpg", "333332", "333333"),
    ("kjr-21-e24-g001-l-a.jpg", "133031", "111122"),
    ("kjr-21-e24-g002-l-a.jpg", "100001", "000101"),
)


def build(root: Path, layout: str) -> None:
    """Write films and tables of one edition."""
    if layout == "public":
        _build_public(root / "data")
        return
    lines = [_HEADER]
    for number, (zones, score, consensus, view) in enumerate(_FILMS):
        name = f"{7319560022110 + number}.dcm"
        inverted = number % 2 == 1
        _write_film(root / "data" / "dicom_clean" / name, number, view, inverted=inverted)
        cell = name if layout == "v2" else name.removesuffix(".dcm")
        photometric = "MONOCHROME1" if inverted else "MONOCHROME2"
        lines.append(
            f"{cell},20200317,CR,{number},{zones},{score},{consensus},{CANARY}{number},M,12,"
            f"{CANARY},{photometric},160,140"
        )
    separator, bom = (";", "\ufeff") if layout == "v2" else (",", "")
    table = [line.replace(",", separator) for line in lines]
    _write(root / f"metadata_global_{layout}.csv", table, bom)
    columns = [f"{kind}{zone}" for kind in ("Mean", "Mode") for zone in (*"ABCDEF", "Global")]
    panel = [",".join(("Filename", *columns))]
    for number, (mean, modes, mode) in _PANEL.items():
        cells = ",".join((*("1.4",) * 6, mean, *modes, mode))
        panel.append(f"{7319560022110 + number}.dcm,{cells}")
    _write(root / "metadata_consensus_v1.csv", panel, "\ufeff")


def _build_public(root: Path) -> None:
    parts = (*"ABCDEF", "Global")
    lines = [",".join(("filename", *(f"{who}-{part}" for who in "SJ" for part in parts)))]
    for number, (name, *readings) in enumerate(_PUBLIC):
        cells = [",".join((*zones, str(sum(map(int, zones))))) for zones in readings]
        lines.append(",".join((name, *cells)))
        grey = chest_film(120, 150, seed=number, opacity=_opacity(120, 150, number, readings[0]))
        layers = 4 if name.endswith(".png") else 3
        pixels = np.stack([grey] * 3 + [np.full_like(grey, 255)], axis=2)[..., :layers]
        write_picture(root / "public-cohen-subset" / name, pixels)
    _write(root / "public-annotations.csv", lines, "\ufeff")


def _write_film(path: Path, number: int, view: str, *, inverted: bool) -> None:
    dense = _opacity(160, 140, number, _FILMS[number][0])
    pixels = chest_film(160, 140, seed=number, maximum=4095, opacity=dense)
    write_dicom(
        path,
        np.uint16(4095) - pixels if inverted else pixels,
        Modality="CR",
        PhotometricInterpretation="MONOCHROME1" if inverted else "MONOCHROME2",
        BitsStored=12,
        HighBit=11,
        ViewPosition=view,
        StudyDate="20200317",
        WindowCenter=1,
        WindowWidth=1,
    )


def _opacity(height: int, width: int, seed: int, zones: str) -> NDArray[np.bool_]:
    """A dense place in each lung that has a zone above 0."""
    dense = np.zeros((height, width), np.bool_)
    for side in (0, 1):
        if any(zones.zfill(6)[3 * side : 3 * side + 3].strip("0")):
            dense |= lung_lesion(height, width, seed=seed, which=side)
    return dense


def _write(path: Path, lines: Sequence[str], bom: str) -> None:
    write_lines(path, [bom + lines[0], *lines[1:]])
