"""Two synthetic scans of each group."""

from __future__ import annotations

from pathlib import Path

from medrcube.sources._synthetic.chest_ct import chest
from medrcube.sources._synthetic.dicom import Series, write_series

FOLDERS = {
    "COVID-19 subjects": "P{:03}",
    "Cap subjects": "cap{:03}",
    "Normal subjects": "normal{:03}",
}


def build(root: Path, layout: str) -> None:
    """Write the folders of six patients."""
    del layout
    seed = 0
    for folder, names in FOLDERS.items():
        for number in (1, 2):
            seed += 1
            name = names.format(number)
            scan = Series(name=name, patient=name, volume=chest(seed=seed))
            write_series(root / folder / name, scan, pattern="IM{:04}.dcm")
