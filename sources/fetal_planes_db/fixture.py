"""Synthetic planes of every kind in the three colour modes of the release."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from medrcube.sources._synthetic.images import write_lines, write_picture
from medrcube.sources._synthetic.ultrasound import Plane, fetal_plane

ROWS = (
    ("Patient00001_Plane1_1_of_15", 1, "Other", "Not A Brain", "Other", "Aloka", 1),
    ("Patient00003_Plane3_1_of_3", 3, "Fetal brain", "Trans-thalamic", "Op. 1", "Voluson E6", 0),
    ("Patient00003_Plane3_2_of_3", 3, "Fetal brain", "Trans-cerebellum", "Op. 1", "Voluson E6", 0),
    ("Patient00003_Plane3_3_of_3", 3, "Fetal brain", "Other", "Op. 1", "Voluson E6", 0),
    ("Patient00004_Plane3_1_of_1", 4, "Fetal brain", "Trans-ventricular", "Op. 2", "Aloka", 1),
    ("Patient00005_Plane5_1_of_1", 5, "Fetal thorax", "Not A Brain", "Op. 3", "Voluson S10", 1),
    ("Patient00006_Plane2_1_of_1", 6, "Fetal abdomen", "Not A Brain", "Other", "Other", 0),
    ("Patient00007_Plane4_1_of_1", 7, "Fetal femur", "Not A Brain", "Other", "Other", 0),
    ("Patient01792_Plane6_1_of_1", 1792, "Maternal cervix", "Not A Brain", "Other", "Other", 1),
)


_PLANES: Mapping[tuple[str, str], Plane] = {
    ("Fetal brain", "Trans-thalamic"): "brain",
    ("Fetal brain", "Trans-cerebellum"): "cerebellum",
    ("Fetal brain", "Trans-ventricular"): "ventricle",
    ("Fetal brain", "Other"): "brain",
    ("Fetal thorax", "Not A Brain"): "thorax",
    ("Fetal abdomen", "Not A Brain"): "abdomen",
    ("Fetal femur", "Not A Brain"): "femur",
    ("Maternal cervix", "Not A Brain"): "cervix",
    ("Other", "Not A Brain"): "other",
}


def build(root: Path, layout: str) -> None:
    """Write grey, RGB and RGBA images and the table with its trailing blanks."""
    del layout
    for seed, row in enumerate(ROWS):
        pixels = fetal_plane(112, 150, seed=seed, plane=_PLANES[row[2], row[3]])
        channels = (1, 3, 4)[seed % 3]
        if channels > 1:
            opaque = np.full_like(pixels, 255)
            pixels = np.stack([pixels, pixels, pixels, opaque][:channels], axis=2)
        write_picture(root / "Images" / f"{row[0]}.png", pixels)
    header = "Image_name;Patient_num;Plane;Brain_plane;Operator;US_Machine;Train "
    rows = [";".join(map(str, row)) + " " for row in ROWS]
    write_lines(root / "FETAL_PLANES_DB_data.csv", [header, *rows])
