"""A few synthetic scans with the readings of four readers each, in both directory styles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.chest_ct import chest, tumour
from medrcube.sources._synthetic.chest_film import chest_film
from medrcube.sources._synthetic.dicom import Series, uid_of, write_series
from medrcube.sources._synthetic.images import CANARY, write_dicom, write_lines
from medrcube.sources._synthetic.spreadsheets import write_spreadsheet

Mask = NDArray[np.bool_]
Ratings = Mapping[str, tuple[int, ...]]

# Texture, margin and malignancy as each reader rates the first nodule, and the code of the
# diagnosis with its method; a second nodule lies in the other lung.
PATIENTS: tuple[tuple[int, Ratings, int, tuple[int, int]], ...] = (
    (1, {"texture": (5, 5, 5, 5), "margin": (5, 5, 5, 4), "malignancy": (5, 5, 5, 4)}, 1, (2, 3)),
    (2, {"texture": (1, 1, 1, 1), "margin": (1, 1, 1, 1), "malignancy": (4, 4, 4, 4)}, 1, (1, 1)),
    (3, {"texture": (3, 3, 3, 2), "margin": (2, 4, 3, 5), "malignancy": (1, 1, 1, 1)}, 2, (3, 2)),
    (4, {"texture": (5, 5, 5), "margin": (5, 5, 5), "malignancy": (2, 2, 2)}, 1, (0, 0)),
    (5, {"texture": (5, 5), "margin": (5, 5), "malignancy": (3, 3)}, 1, (1, 0)),
    (6, {}, 0, (0, 0)),
)
BASES = {
    "classic": "LIDC-IDRI",
    "descriptive": "manifest-1600709154662/LIDC-IDRI",
    "idc": "lidc_idri",
    "series": "tciaDownload",
}
FILES = {
    "classic": "{:06}.dcm",
    "descriptive": "1-{:03}.dcm",
    "idc": "0b1f{:04}-5a7e-4c2d-9b3f-1d2e3f4a5b6c.dcm",
    "series": "1-{:03}.dcm",
}
NAMES = ("subtlety", "texture", "margin", "malignancy")


def build(root: Path, layout: str) -> None:
    """Write scans, readings, a film with its reading, a superseded reading and the diagnoses."""
    classic, by_series = layout == "classic", layout == "series"
    base = root / BASES[layout]
    table: list[list[str | int | None]] = [
        [
            "TCIA Patient ID",
            "Diagnosis at the Patient Level\n0=Unknown",
            "Diagnosis Method\n0 = unknown",
        ]
    ]
    for number, ratings, nodules, (code, method) in PATIENTS:
        patient = f"LIDC-IDRI-{number:04}"
        masks = _masks(number, nodules)
        mass = np.any(masks, axis=0) if masks else None
        volume = chest(seed=number, tumour=mass)
        # Without a folder of the patient the header names them, under the collection's own id.
        identifier = patient if by_series else CANARY
        series = Series(name=patient, patient=identifier, volume=volume)
        has_names = layout == "descriptive"
        study = "01-01-2000-30178" if has_names else "1.3.6.1.4.1.14519.5.2.1"
        below = base / patient / study / ("3000566.000000-03192" if has_names else series.uid)
        folder = base / series.uid if by_series else below
        write_series(folder, series, pattern=FILES[layout], InstitutionName=CANARY)
        beside = folder if classic else root / "tcia-lidc-xml" / "157"
        reading = list(_reading(series, masks, ratings))
        write_lines(beside / f"{number:03}.xml", reading)
        if number == 1:
            film = (
                base / uid_of("film") if by_series else base / patient / "study-of-film" / "series"
            )
            _film(film, identifier, root / "tcia-lidc-xml" / "185")
            superseded = list(_reading(series, masks, {}))
            write_lines(root / "tcia-lidc-xml" / "186" / "161.xml", superseded)
            write_lines(root / "161-resubmitted-correction-3-9-12.xml", reading)
        table.append([patient, code, method])
    write_spreadsheet(root / "tcia-diagnosis-data-2012-04-20.xls", {"Diagnosis Truth": table})


def _masks(number: int, count: int) -> list[Mask]:
    first = tumour(seed=number)
    second = np.roll(tumour(seed=number + 50, radius=6)[:, :, ::-1], -3, axis=0)
    return [first, second][:count]


def _reading(series: Series, masks: Sequence[Mask], ratings: Ratings) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<LidcReadMessage xmlns="http://www.nih.gov">'
    yield f"<ResponseHeader><RequestingSite>{CANARY}</RequestingSite>"
    yield f"<SeriesInstanceUid>{series.uid}</SeriesInstanceUid></ResponseHeader>"
    readers = len(ratings.get("texture", ()))
    for reader in range(4):
        yield f"<readingSession><servicingRadiologistID>{CANARY}</servicingRadiologistID>"
        yield from _small(series)
        for mask in masks if reader < readers else ():
            yield f"<unblindedReadNodule><noduleID>Nodule {reader}</noduleID><characteristics>"
            for name in NAMES:
                yield f"<{name}>{ratings.get(name, (5,) * 4)[reader]}</{name}>"
            yield "</characteristics>"
            for k in np.flatnonzero(mask.any(axis=(1, 2))):
                points = _around(np.roll(mask[k], reader % 2, axis=0))
                yield from _roi(series, int(k), points, inclusion="TRUE")
            yield "</unblindedReadNodule>"
        yield "</readingSession>"
    yield "</LidcReadMessage>"


def _small(series: Series) -> Iterator[str]:
    """A nodule below 3 mm, which is one point, with ratings of 0 all the same."""
    yield "<unblindedReadNodule><noduleID>IL1</noduleID><characteristics>"
    yield "<subtlety>0</subtlety><malignancy>0</malignancy></characteristics>"
    yield from _roi(series, 1, [(20, 40)], inclusion="TRUE")
    yield "</unblindedReadNodule>"


def _roi(
    series: Series, k: int, points: Sequence[tuple[int, int]], *, inclusion: str
) -> Iterator[str]:
    yield f"<roi><imageZposition>{series.height(k)}</imageZposition>"
    yield f"<imageSOP_UID>{series.slice_uid(k)}</imageSOP_UID><inclusion>{inclusion}</inclusion>"
    for x, y in points:
        yield f"<edgeMap><xCoord>{x}</xCoord><yCoord>{y}</yCoord></edgeMap>"
    yield "</roi>"


def _around(mask: Mask) -> list[tuple[int, int]]:
    """Pixels just outside a mask whose rows have no gaps."""
    rows = [int(row) for row in np.flatnonzero(mask.any(axis=1))]
    ends = {row: np.flatnonzero(mask[row])[[0, -1]].tolist() for row in rows}
    top, bottom = rows[0], rows[-1]
    edges = [(ends[row][0] - 1, row) for row in rows]
    right = [(ends[row][1] + 1, row) for row in reversed(rows)]
    return [
        (ends[top][0], top - 1),
        *edges,
        (ends[bottom][0], bottom + 1),
        (ends[bottom][1], bottom + 1),
        *right,
        (ends[top][1], top - 1),
    ]


def _film(folder: Path, patient: str, readings: Path) -> None:
    uid = uid_of("film")
    pixels = chest_film(64, 64, seed=9, maximum=4095)
    tags = {"Modality": "DX", "SeriesInstanceUID": uid, "PatientID": patient}
    write_dicom(folder / "000001.dcm", pixels, **tags)
    lines = [
        '<IdriReadMessage xmlns="http://www.nih.gov/idri"><ResponseHeader>',
        f"<SeriesInstanceUID>{uid}</SeriesInstanceUID></ResponseHeader></IdriReadMessage>",
    ]
    write_lines(readings / "068.xml", lines)
